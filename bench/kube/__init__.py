"""``make bench-kube``: Phalanx against the in-tree scheduler, on the same objects and one real API server."""
