"""Gang: one workload whose pods start together."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from phalanx.kube.crds.models import gangrules
from phalanx.kube.crds.models.base import (
    ATOMIC,
    Count,
    FieldPath,
    LevelName,
    Model,
    Name,
    Seconds,
    ShortName,
    keyed,
    says,
)  # fmt: skip
from phalanx.kube.crds.models.gangstatus import GangStatus
from phalanx.kube.crds.rules import Rule

# Distinct groups as written; replicas make more of them. Rules that look for a parent compare each with each, and
# twice as many would cost more than the API server grants a rule.
GROUPS_MAX = 256
CLASSES_MAX = 16
SLICES_MAX = 8
REPLICAS_MAX = 10_000

_Replicas = Annotated[int, Meta(ge=1, le=REPLICAS_MAX)]
_Policy = Literal["Gang", "Basic"]


class ControllerRef(Model, frozen=True):
    """The object that makes the pods."""

    api_group: Annotated[Annotated[str, Meta(max_length=253)] | None, says("Its API group; absent: core.")] = None
    kind: Annotated[Annotated[str, Meta(max_length=63)] | None, says("Its kind.")] = None
    name: Annotated[Annotated[str, Meta(max_length=253)] | None, says("Its name.")] = None


class Spread(Model, frozen=True):
    """How pods are spread over domains. Exactly one of the three limits is given."""

    RULES: ClassVar[tuple[Rule, ...]] = (gangrules.ONE_LIMIT,)

    level: Annotated[LevelName, says("The level whose domains are counted.")]
    max_per_domain: Annotated[Count | None, says("At most so many pods in one domain.")] = None
    min_domains: Annotated[Count | None, says("At least so many domains.")] = None
    max_skew: Annotated[Count | None, says("Fullest and emptiest domain differ by at most so many pods.")] = None


class Nearness(Model, frozen=True):
    """How close together pods must be."""

    required: Annotated[
        LevelName | None,
        says("All pods in one domain of this level, or none starts. A label key, a short name, or auto."),
    ] = None
    preferred: Annotated[
        LevelName | None,
        says("The level to try first; then wider ones, up to required. At or below required."),
    ] = None
    spread: Annotated[Spread | None, says("Limits the pods of one domain, or evens them out.")] = None


class Template(Model, frozen=True):
    """Part of a pod template: what decides where the pods can go."""

    metadata: Annotated[dict[str, Any] | None, says("Labels and annotations, as of a pod.")] = None
    spec: Annotated[
        dict[str, Any] | None,
        says("Requests, nodeSelector, affinity, tolerations and volumes, as of a pod; the rest may be left out."),
    ] = None


class Slice(Model, frozen=True):
    """So many pods always share a domain of a level."""

    level: Annotated[LevelName, says("The level whose domain they share.")]
    size: Annotated[Count, says("How many pods share it.")]


class Rank(Model, frozen=True):
    """The number of each pod in its group, and where numbers go."""

    RULES: ClassVar[tuple[Rule, ...]] = gangrules.RANK

    field_path: Annotated[
        FieldPath | None, says("Where a pod carries its rank: metadata.labels['KEY'] or metadata.annotations['KEY'].")
    ] = None
    order: Annotated[
        Literal["None", "Consecutive", "Stripe", "Balance"] | None,
        says(
            "Consecutive: neighbours in number are neighbours in the tree; Stripe, Balance: dealt over the domains of "
            "across; absent: Consecutive."
        ),
    ] = None
    across: Annotated[LevelName | None, says("The level that Stripe and Balance go over.")] = None
    with_same_rank_of: Annotated[
        ShortName | None, says("Another group with the same parent: rank i of both share a domain of level.")
    ] = None
    level: Annotated[LevelName | None, says("The level at which equal ranks share a domain.")] = None


class PodClass(Model, frozen=True):
    """Pods of one shape among several in a group."""

    FIXED: ClassVar[tuple[str, ...]] = ("template",)

    name: Annotated[ShortName, says("The class; unique in its group.")]
    count: Annotated[Count | None, says("Pods of this shape; absent: 1.")] = None
    template: Annotated[Template | None, says("Their shape; absent: that of the group.")] = None


class PodGroup(Model, frozen=True):
    """One group: of pods, or of the groups that name it as their parent."""

    RULES: ClassVar[tuple[Rule, ...]] = gangrules.GROUP
    FIXED: ClassVar[tuple[str, ...]] = (
        "parent", "replicas", "replicaKey", "minCount", "topology", "policy", "minGroups", "slices", "rank", "template",
    )  # fmt: skip

    name: Annotated[ShortName, says("The group; unique in its gang. Pods name it in the label phalanx.dev/group.")]
    parent: Annotated[ShortName | None, says("The group around this one; absent: none.")] = None
    replicas: Annotated[_Replicas | None, says("So many copies of the group, each with the same content.")] = None
    replica_key: Annotated[
        FieldPath | None,
        says("What tells the pods of copies apart. Without replicas: a copy for each key, under policy Basic."),
    ] = None
    count: Annotated[Count | None, says("Pods wanted; absent: minCount. May change.")] = None
    min_count: Annotated[Count | None, says("Pods that must start together; absent: count.")] = None
    max_count: Annotated[Count | None, says("Pods the group may grow to; absent: count. May change.")] = None
    topology: Annotated[Nearness | None, says("How close together the group must be; for copies: each by itself.")] = (
        None
    )
    policy: Annotated[
        _Policy | None,
        says("Of a group with children. Gang: they start together; Basic: each on its own; absent: Gang."),
    ] = None
    min_groups: Annotated[
        _Replicas | None, says("With policy Gang: how many children must start, copies counted; absent: all.")
    ] = None
    slices: Annotated[
        tuple[Slice, ...],
        Meta(max_length=SLICES_MAX),
        says(
            "Pods that stay together, coarse to fine; each size divides the one before.", gangrules.DIVIDING, **ATOMIC
        ),
    ] = ()
    rank: Annotated[Rank | None, says("The number of each pod, and where numbers go.")] = None
    pod_classes: Annotated[
        tuple[PodClass, ...],
        Meta(max_length=CLASSES_MAX),
        says("Several shapes in one group, with one numbering.", gangrules.SAME_CLASSES, **keyed("name")),
    ] = ()
    template: Annotated[
        Template | None, says("The shape of the pods; absent: that of the pods that name the gang.")
    ] = None


class GangSpec(Model, frozen=True, kw_only=True):
    """What starts together, and where."""

    RULES: ClassVar[tuple[Rule, ...]] = gangrules.SPEC
    FIXED: ClassVar[tuple[str, ...]] = (
        "controllerRef", "preemptible", "enforcement", "topologyName", "topology", "policy", "minGroups", "onFailure",
        "disruption", "expectedDurationSeconds",
    )  # fmt: skip

    controller_ref: Annotated[ControllerRef | None, says("The object that makes the pods; for people to read.")] = None
    queue: Annotated[Name, says("The queue it waits in. May change while it waits.")] = "default"
    priority_class_name: Annotated[Name | None, says("The PriorityClass it counts with. May change.")] = None
    preemptible: Annotated[bool | None, says("Whether its pods may have to go for others; absent: true.")] = None
    suspend: Annotated[bool | None, says("Hold it back: nothing starts, and what runs leaves. May change.")] = None
    enforcement: Annotated[
        Literal["Bind", "Gate"] | None,
        says(
            "Bind: Phalanx gives pods their nodes; Gate: kube-scheduler does, once Phalanx opens their gates; absent: "
            "as configured."
        ),
    ] = None
    topology_name: Annotated[
        Name | None, says("The Topology whose levels it names; may be left out when there is one.")
    ] = None
    topology: Annotated[Nearness | None, says("How close together the whole gang must be.")] = None
    policy: Annotated[_Policy, says("Gang: the groups start together; Basic: each on its own.")] = "Gang"
    min_groups: Annotated[
        _Replicas | None,
        says("With policy Gang: how many of the top groups must start, copies counted; absent: all."),
    ] = None
    schedule_timeout_seconds: Annotated[
        Seconds | None, says("Only partly bound for so long: released, and queued again. May change.")
    ] = None
    ready_timeout_seconds: Annotated[
        Seconds | None, says("Bound and not ready for so long: evicted, and queued again. May change.")
    ] = None
    recovery_timeout_seconds: Annotated[
        Seconds | None, says("Below its minimum for so long after a loss: evicted, and queued again. May change.")
    ] = None
    on_failure: Annotated[
        Literal["None", "ReplacePod", "RestartGang"] | None,
        says(
            "None: late and replacement pods wait until the whole set is there again; ReplacePod: each is placed as it "
            "comes; RestartGang: one failure evicts all."
        ),
    ] = None
    disruption: Annotated[Literal["Pod", "Group", "Gang"] | None, says("Who goes together when pods are evicted.")] = (
        None
    )
    expected_duration_seconds: Annotated[
        Seconds | None, says("How long it is thought to run; lets others be planned around it.")
    ] = None
    pod_groups: Annotated[
        tuple[PodGroup, ...],
        Meta(min_length=1, max_length=GROUPS_MAX),
        says("The groups as a flat list; parent makes a tree of it.", *gangrules.GROUPS, **keyed("name")),
    ]


class Gang(Model, frozen=True):
    """One workload whose pods start together, near each other, or not at all."""

    RULES: ClassVar[tuple[Rule, ...]] = (gangrules.QUEUE_WHILE_WAITING,)

    spec: Annotated[GangSpec, says("What starts together, and where.")]
    status: Annotated[GangStatus | None, says("How far it is, and why it waits.")] = None
