"""Readers of workload kinds, one file per kind. They never import each other."""
