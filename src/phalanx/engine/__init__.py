"""The loop body: from a picture of the cluster to decisions, and from decisions to intended changes.

Lives here: ``decide``, the straight line one decision takes, and ``whatif``, the same line on an edited picture, which
finds the ways out of a refusal. Later the book of what runs and what is assumed, the lifecycle of a gang,
and the two ways to enforce a placement.
May import: preempt, place, order, explain, record and model. May change: its own Book.
Will never: read a clock (time is an argument called ``now``), do I/O, or know an annotation key (dialects).
"""
