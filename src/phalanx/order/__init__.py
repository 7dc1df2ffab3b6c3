"""WHO is next, and whether they may.

Lives here: the sequence of waiting requests (sequence, lines), the quota of their queues and who uses it (quota, usage,
flavors, holders), and who is worth another look after a change (conditions, waiting).
May import: model. May change: its own Usage, Lines and Waiting, which the engine owns.
Will never: look at what is free on a node (place), or choose whom to move (preempt).
Not built yet: borrowing and lending, fair shares, reservations.
"""
