"""A world made of numbers, with the real engine in it.

Lives here: the simulated world and its clock, traces, generators, faults, and the report. ``drive`` is the short way
through a trace without faults, for ``phalanx simulate``.
May import: the rooms below the worlds. May change: its own clock, and chance that comes from a seed.
Will never: carry a second copy of the decision path or build a snapshot by hand.
"""
