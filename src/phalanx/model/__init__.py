"""The values everybody speaks.

Lives here: frozen, slotted values and the arithmetic that needs nothing but themselves.
May import: nothing of ours. Will never: read a clock, a file or a snapshot to make up its mind.
"""
