"""The reader of our own kind, Gang (``phalanx.dev/v1alpha1``).

``spec`` reads what stands at the top, ``declared`` the flat list of groups and its parents, ``leaf`` the pods of
a group, ``build`` copies the replicas and grows the tree of the Request.
"""

from phalanx.dialects.gang.spec import read

__all__ = ["read"]
