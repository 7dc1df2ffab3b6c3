"""The Workload of the designs (Rev1, RevN) and the kinds of scheduling.k8s.io that came of it.

``designs`` reads the Workload: ``matrix`` knows which field stands at which of its four levels, ``nested`` reads the
levels into one canonical form, ``requested`` what they ask of the topology; ``entries`` and ``pods`` make the groups
of the normal form of it, with the pods that ``joining`` finds. ``templates`` reads the Workload of Kubernetes,
``podgroup`` and ``composite`` the groups made by it, ``ancestors`` the way up to the root of a tree; ``policies`` is
what those share. ``shapes`` names the five shapes of workloads, ``changes`` says what may not change.
"""

from phalanx.dialects.workload.composite import read as read_composite
from phalanx.dialects.workload.designs import read
from phalanx.dialects.workload.podgroup import read as read_podgroup

__all__ = ["read", "read_composite", "read_podgroup"]
