"""Our kinds as msgspec structs: what a manifest may say, what each field means, what must hold between them."""

from phalanx.kube.crds.models.conditions import Condition, Status
from phalanx.kube.crds.models.gang import Gang, GangSpec
from phalanx.kube.crds.models.gangstatus import DomainCount, GangStatus, GroupPlacement, GroupStatus, Placement
from phalanx.kube.crds.models.queue import Flavor, Queue
from phalanx.kube.crds.models.topology import Topology

__all__ = [
    "Condition", "DomainCount", "Flavor", "Gang", "GangSpec", "GangStatus", "GroupPlacement", "GroupStatus",
    "Placement", "Queue", "Status", "Topology",
]  # fmt: skip
