"""A real Kubernetes control plane on loopback, for tests, benchmarks and people who want to look.

Every binary is built from exactly pinned Go modules, every manifest of others is read from the module cache. Nothing
here is imported by the package ``phalanx``, and nothing here imports it: the bed is the world, not a part of us.
"""
