"""The laptop cluster: a Kubernetes-shaped door onto one process.

Lives here: the object store, the API server, small controllers, and kubelets that only pretend.
May import: the rooms below the worlds. May change: its own store.
Will never: hold a scheduling rule; what it schedules goes through the same engine as everything else.
Not built yet: there is no ``phalanx up`` so far.
"""
