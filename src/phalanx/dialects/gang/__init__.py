"""Our own kind, Gang (``phalanx.dev/v1alpha1``), and what every normal form becomes.

``spec`` reads what stands at the top of a Gang, ``joined`` learns shapes from those who name it. ``normal`` turns
any normal form into Requests: ``declared`` reads the flat list of groups and its parents, ``leaf`` the pods of a
group, ``build`` copies the replicas and grows the tree.
"""

from phalanx.dialects.gang.normal import requests
from phalanx.dialects.gang.spec import read

__all__ = ["read", "requests"]
