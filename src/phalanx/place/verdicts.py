"""The four things an answer can say."""

PLACED = "placed"
IMPOSSIBLE = "impossible"  # proved: every constraint of the request was part of the proof
UNDECIDED = "undecided"  # the budget ran out before a placement or a proof was found
INVALID = "invalid"  # the request cannot even be held: see the problem
