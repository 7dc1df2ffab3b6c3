"""The loop body: from a picture of the cluster to decisions, and from decisions to intended changes.

Lives here: ``engine``, the one step that worlds call; ``book``, what runs and what is assumed; ``lifecycle``, the
table of a gang's states; ``reactions``, how it goes through them; ``mending``, what is lost; ``turns``,
whose turn it is; ``enforce``, bind or gate.
``decide`` is the straight line one decision takes, ``whatif`` the same on an edited picture: ways out of a refusal.
May import: preempt, place, order, explain, record and model. May change: its own Book.
Will never: read a clock (time is an argument called ``now``), do I/O, or know an annotation key (dialects).
"""
