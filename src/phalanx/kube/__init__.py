"""The scheduler on a real cluster.

Lives here: the writer that carries out effects, leader election, webhook, metrics, and the process around them.
May import: wire and everything below it. May change: the cluster.
Will never: compare capacities or import another world (sim, embedded, web).
Not built yet: there is no ``phalanx run`` so far.
"""
