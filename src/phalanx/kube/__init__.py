"""The scheduler on a real cluster.

Lives here: ``watching`` (mirrors of all kinds), ``loop`` (hands what they hear to the decider, in a thread),
``writer`` and ``reporter`` (effects carried out, people told), configuration, metrics and doors, our CRDs, and the
process around them. ``glance`` is one look at a cluster for the command line.
May import: wire and everything below it. May change: the cluster.
Will never: compare capacities or import another world (sim, embedded, web).
"""
