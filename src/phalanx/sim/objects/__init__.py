"""Worlds that speak manifests: a cluster in memory, and what ``phalanx run`` thinks with.

Lives here: what is drawn from a seed (``drawn``, ``places``, ``kinds``, ``plan``), what happens to it (``mishaps``,
``deeds``, ``accidents``), how the scheduler hears of it (``watches``) and acts on it (``hands``), and who judges: from
the objects alone (``record``, ``judge``, ``causes``), and at rest (``rest``). ``run`` puts it together and runs it.
May import: what ``sim`` may. May change: its own store and its own clock.
Will never: read a workload through a dialect to judge it. What a gang is the drawing says.
"""
