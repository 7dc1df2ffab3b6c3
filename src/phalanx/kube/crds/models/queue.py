"""Queue and Flavor: who may use how much of which nodes."""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from phalanx.kube.crds.models.base import ATOMIC, LabelKey, LabelValue, Model, Name, Quantity, keyed, says
from phalanx.kube.crds.models.conditions import Status
from phalanx.kube.crds.rules import Rule

_OWN_PARENT = Rule(
    "!has(self.spec.parent) || self.spec.parent != self.metadata.name",
    "a queue is not its own parent",
    ".spec.parent",
)
_ONE_ENTRY = Rule(
    "self.all(a, self.exists_one(b, (has(b.flavor) ? b.flavor : '') == (has(a.flavor) ? a.flavor : '')))",
    "each flavor has one entry with all of its resources; one is listed twice",
)
_LENDS_ITS_OWN = Rule(
    "!has(self.lend) || quantity(string(self.lend)).compareTo(quantity(string(self.nominal))) <= 0",
    "a queue lends its own only: lend is at most nominal",
    ".lend",
)
_WEIGHT = Rule("quantity(string(self)).isGreaterThan(quantity('0'))", "a weight is greater than 0")

_PREEMPTION = Literal["Never", "LowerPriority", "Any"]
_Labels = Annotated[dict[LabelKey, LabelValue], Meta(max_length=64)]


class SelectorRequirement(Model, frozen=True):
    """One condition on a label."""

    key: Annotated[LabelKey, says("The label's key.")]
    operator: Annotated[Literal["In", "NotIn", "Exists", "DoesNotExist"], says("How its value is compared.")]
    values: Annotated[
        tuple[LabelValue, ...], Meta(max_length=256), says("The values, for In and NotIn.", **ATOMIC)
    ] = ()


class LabelSelector(Model, frozen=True):
    """All of its conditions must hold; none at all matches everything."""

    match_labels: Annotated[_Labels | None, says("Labels with exactly these values.")] = None
    match_expressions: Annotated[
        tuple[SelectorRequirement, ...], Meta(max_length=64), says("Further conditions.", **ATOMIC)
    ] = ()


class ResourceQuota(Model, frozen=True):
    """How much of one resource."""

    RULES: ClassVar[tuple[Rule, ...]] = (_LENDS_ITS_OWN,)

    name: Annotated[str, Meta(min_length=1, max_length=317), says("The resource, such as nvidia.com/gpu.")]
    nominal: Annotated[Quantity, says("What the queue may always use.")]
    borrow: Annotated[
        Quantity | None, says("How much more it may use of what its siblings leave; absent: as much as there is.")
    ] = None
    lend: Annotated[Quantity | None, says("How much siblings may use of what it leaves; absent: all of it.")] = None


class Quota(Model, frozen=True, kw_only=True):
    """Amounts on the nodes of one flavor."""

    flavor: Annotated[Name | None, says("The Flavor whose nodes are counted; absent: any node.")] = None
    resources: Annotated[
        tuple[ResourceQuota, ...], Meta(min_length=1, max_length=32), says("The amounts.", **keyed("name"))
    ]


class Preemption(Model, frozen=True):
    """Whose pods may have to go for those of this queue."""

    within: Annotated[_PREEMPTION | None, says("Which gangs of the queue itself; absent: Never.")] = None
    reclaim: Annotated[
        _PREEMPTION | None, says("Which gangs of siblings that borrow this queue's quota; absent: Never.")
    ] = None


class QueueSpec(Model, frozen=True):
    """Who may start what, and in which order."""

    parent: Annotated[
        Name | None, says("The queue above. Those under one parent lend and borrow; absent: on its own.")
    ] = None
    namespace_selector: Annotated[LabelSelector | None, says("Which namespaces may use the queue; absent: all.")] = None
    order: Annotated[
        Literal["Priority", "Fifo"] | None, says("Priority (then age) or Fifo, by age alone; absent: Priority.")
    ] = None
    when_blocked: Annotated[
        Literal["Strict", "BestEffort", "Reserve"] | None,
        says(
            "What those behind a gang that cannot start do. Strict: wait; BestEffort: pass it; Reserve: pass it only "
            "without delaying it; absent: BestEffort."
        ),
    ] = None
    weight: Annotated[
        Quantity | None, says("Share of what siblings leave unused, against theirs; absent: 1.", _WEIGHT)
    ] = None
    quota: Annotated[
        tuple[Quota, ...],
        Meta(max_length=64),
        says("How much the queue may use; absent: unlimited.", _ONE_ENTRY, **ATOMIC),
    ] = ()
    preemption: Annotated[Preemption | None, says("Whose pods may have to go for those of this queue.")] = None


class Queue(Model, frozen=True):
    """Where gangs wait: their order, and how much may run at once."""

    RULES: ClassVar[tuple[Rule, ...]] = (_OWN_PARENT,)

    spec: Annotated[QueueSpec, says("Who may start what, and in which order.")]
    status: Annotated[Status | None, says("What Phalanx says about the queue.")] = None


class Toleration(Model, frozen=True):
    """One taint that is put up with."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "(has(self.key) && self.key != '') || (has(self.operator) && self.operator == 'Exists')",
            "a toleration without a key needs operator Exists",
            ".key",
        ),
        Rule(
            "!has(self.operator) || self.operator != 'Exists' || !has(self.value) || self.value == ''",
            "operator Exists takes no value",
            ".value",
        ),
    )

    key: Annotated[
        Annotated[str, Meta(max_length=317)] | None, says("The taint's key; absent, with Exists: every taint.")
    ] = None
    operator: Annotated[
        Literal["Equal", "Exists"] | None, says("Equal: same value; Exists: any value; absent: Equal.")
    ] = None
    value: Annotated[LabelValue | None, says("The taint's value, for Equal.")] = None
    effect: Annotated[
        Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None, says("The taint's effect; absent: every effect.")
    ] = None
    toleration_seconds: Annotated[
        int | None, says("How long NoExecute is put up with; absent: for ever.", format="int64")
    ] = None


class FlavorSpec(Model, frozen=True):
    """Which nodes are of this sort."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.topologyName) || (has(self.nodeLabels) && self.nodeLabels.size() > 0)",
            "a flavor with a topology needs at least one node label, or it would claim every node",
            ".nodeLabels",
        ),
    )

    node_labels: Annotated[_Labels | None, says("Labels that all of its nodes have.")] = None
    tolerations: Annotated[
        tuple[Toleration, ...], Meta(max_length=64), says("Given to every pod that goes to its nodes.", **ATOMIC)
    ] = ()
    topology_name: Annotated[Name | None, says("The Topology of its nodes.")] = None


class Flavor(Model, frozen=True):
    """Nodes of one sort, which queues have quotas on."""

    spec: Annotated[FlavorSpec, says("Which nodes are of this sort.")]
    status: Annotated[Status | None, says("What Phalanx says about the flavor.")] = None
