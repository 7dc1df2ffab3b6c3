"""WHO is next, and whether they may.

Lives here: the sequence of waiting requests and the quota of their queues.
May import: model. May change: nothing.
Will never: look at what is free on a node (place), or choose whom to move (preempt).
Not built yet: the offline core decides requests in the order they are given.
"""
