"""The scheduler on a real cluster.

Lives here: ``watching`` (mirrors of all kinds), ``mind`` (follower and engine in a thread), ``advice`` (what would help
those who wait, looked for in between), ``loop`` between them,
``writer`` and ``reporter`` (effects carried out, people told), configuration, metrics and doors, our CRDs, and the
process around them. ``glance`` is one look at a cluster for the command line.
May import: wire and everything below it. May change: the cluster.
Will never: compare capacities or import another world (sim, embedded, web).
"""
