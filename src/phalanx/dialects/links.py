"""How a pod, or the template it is made from, says which gang it belongs to.

Seven carriers are read in a fixed order and the first that names something wins (X-08). One further down that names
something else is a warning that names both, for a pod belongs to one gang (W-031)::

    metadata: {labels: {phalanx.dev/gang: llm, phalanx.dev/group: decode}}   Link(OURS, "llm", "decode")
    spec: {schedulingGroup: {podGroupName: pg-1}}                            Link(SCHEDULING_GROUP, "pg-1")
    spec: {workload: {name: w, podGroup: pg, podGroupReplicaIndex: 1}}       Link(WORKLOAD, "w", "pg", "1")

Whether the named object exists is not asked here (W-102), nor is the owner of a pod without any link: ``owners``.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from phalanx.dialects.fields import Field
from phalanx.dialects.wishes import GANG

GROUP = "phalanx.dev/group"
REPLICA = "phalanx.dev/replica"
KAI_GANG = "pod-group-name"
KAI_GROUP = "kai.scheduler/subgroup-name"
KUEUE_GANG = "kueue.x-k8s.io/workload"
KUEUE_GROUP = "kueue.x-k8s.io/podset"
KUEUE_PODS_GANG = "kueue.x-k8s.io/pod-group-name"
LABEL_MAX = 63  # characters of a label's value

_KEPT = 40  # characters of a long name that its shortened label begins with, at least
_REFERENCE = ("name", "podGroup", "podGroupReplicaKey", "podGroupReplicaIndex")
_INDEX_MIN = -(2**31)


@dataclass(frozen=True, slots=True)
class Carrier:
    """A place on a pod that names its gang, and the kind of object that is named there."""

    place: str
    api_group: str
    kind: str

    @property
    def of_kind(self) -> tuple[str, str]:
        return self.api_group, self.kind


OURS = Carrier(GANG, "phalanx.dev", "Gang")
SCHEDULING_GROUP = Carrier("spec.schedulingGroup", "scheduling.k8s.io", "PodGroup")
WORKLOAD_REF = Carrier("spec.workloadRef", "scheduling.k8s.io", "Workload")
WORKLOAD = Carrier("spec.workload", "scheduling.k8s.io", "Workload")
KAI = Carrier(KAI_GANG, "scheduling.run.ai", "PodGroup")
KUEUE = Carrier(KUEUE_GANG, "kueue.x-k8s.io", "Workload")
KUEUE_PODS = Carrier(KUEUE_PODS_GANG, "kueue.x-k8s.io", "PodGroup")


@dataclass(frozen=True, slots=True)
class Link:
    """The gang a pod names, in the pod's own namespace, and the part of it where the pod says so.

    ``group``, ``replica``: None when the pod does not say; a gang of one group needs neither (W-108). ``replica`` is
    a key and no number: only whether two are the same means something (X-10). ``at``: where the name is written;
    ``part_at``: where the group is, or the name if it is not.
    """

    carrier: Carrier
    name: str
    group: str | None = None
    replica: str | None = None
    at: Field = field(default_factory=lambda: Field.of(None), compare=False, repr=False)
    part_at: Field = field(default_factory=lambda: Field.of(None), compare=False, repr=False)

    def __str__(self) -> str:
        """``Gang.phalanx.dev llm``: several groups of kinds have a PodGroup or a Workload (X-13)."""
        parts = [("group", self.group), ("replica", self.replica)]
        said = "".join(f", {word} {value}" for word, value in parts if value is not None)
        return f"{self.carrier.kind}.{self.carrier.api_group} {self.name}{said}"


def of(pod: Field) -> Link | None:
    """The link of a Pod or a pod template; None when it has none or, with a Problem noted, a bad one."""
    held = _held(pod)
    found = [link for keys, read in _READERS if (held is None or keys & held) and (link := read(pod)) is not None]
    for other in found[1:]:
        if _disagree(found[0], other):
            other.at.warn(
                f"{other.carrier.place} names {other}, but {found[0].carrier.place} names {found[0]}; "
                "a pod belongs to one gang, and the latter is followed"
            )
    return found[0] if found else None


def leads_nowhere(to: Carrier, name: str, so: str) -> str:
    """What is said of a name of an object that is not there. ``so``: who waits for it."""
    return f"names {to.kind} {name[:100]} ({to.api_group}), which does not exist; {so} until it does"


def _disagree(one: Link, other: Link) -> bool:
    """Whether two links name different things; what only one of them says is no contradiction."""
    parts = ((one.group, other.group), (one.replica, other.replica))
    return one.name != other.name or any(a != b for a, b in parts if a is not None and b is not None)


# -- ours --------------------------------------------------------------------------------------------------------


def _ours(pod: Field) -> Link | None:
    labels = pod.at("metadata", "labels")
    at = _our_name(labels.at(GANG), pod.at("metadata", "annotations", GANG))
    if not at.present:
        for key in (GROUP, REPLICA):
            _lonely(labels.at(key), f"label {GANG}")
        return None
    return _linked(OURS, at, labels.at(GROUP), labels.at(REPLICA))


def _our_name(label: Field, annotation: Field) -> Field:
    """Where our name is: the label, or the annotation of the same key for names that no label can hold."""
    if isinstance(label.value, str) and len(label.value) > LABEL_MAX:
        label.wrong(f"a label holds at most {LABEL_MAX} characters; write a longer name as annotation {GANG}")
    if not annotation.present or not label.present:
        return annotation if annotation.present else label
    if _is_short_for(label.value, annotation.value):
        return annotation
    if label.name(None) != annotation.name(None):
        annotation.warn(f"names another gang than label {GANG}, which is followed")
    return label


def _is_short_for(label: object, annotation: object) -> bool:
    """Whether a label is the shortened copy of a name too long for it, there so that pods can be selected by it."""
    if not isinstance(label, str) or not isinstance(annotation, str):
        return False
    return len(annotation) > LABEL_MAX and label[:_KEPT] == annotation[:_KEPT]


# -- fields of the pod's spec ------------------------------------------------------------------------------------


def _scheduling_group(pod: Field) -> Link | None:
    at = pod.at("spec", "schedulingGroup")
    if not at.mapping():
        return None
    at.typos("podGroupName")
    if not at.at("podGroupName").present:
        at.wrong("names no group", ("podGroupName",))
    return _linked(SCHEDULING_GROUP, at.at("podGroupName"))


def _workload_ref(pod: Field) -> Link | None:
    return _reference(WORKLOAD_REF, pod.at("spec", "workloadRef"))


def _workload(pod: Field) -> Link | None:
    return _reference(WORKLOAD, pod.at("spec", "workload"))


def _reference(carrier: Carrier, at: Field) -> Link | None:
    """A reference to a Workload. Both spellings of the replica are read in both places: the design mixes them."""
    if not at.mapping():
        return None
    at.typos(*_REFERENCE)
    if at.at("namespace").present:
        at.at("namespace").wrong(
            "a pod belongs to a Workload of its own namespace; leave the namespace out", _REFERENCE
        )
    if not at.at("name").present:
        at.at("name").wrong("names no Workload")
    return _linked(carrier, at.at("name"), at.at("podGroup"), _replica(at))


def _replica(at: Field) -> Field:
    """The replica's key as a text, whichever spelling and type it has."""
    key, index = at.at("podGroupReplicaKey"), at.at("podGroupReplicaIndex")
    if key.present and index.present:
        index.wrong("podGroupReplicaKey and podGroupReplicaIndex say the same thing; give one")
    written = key if key.present else index
    if isinstance(written.value, int):
        number = written.integer(None, low=_INDEX_MIN)
        return written.meaning(None if number is None else str(number))
    return written


# -- KAI and Kueue -----------------------------------------------------------------------------------------------


def _kai(pod: Field) -> Link | None:
    metadata = pod.at("metadata")
    name, group = metadata.at("annotations", KAI_GANG), metadata.at("labels", KAI_GROUP)
    if not name.present:
        _lonely(group, f"annotation {KAI_GANG}")
    return _linked(KAI, name, group)


def _kueue(pod: Field) -> Link | None:
    """Kueue labels pods with their pod set also where it names no Workload, so that label alone says nothing."""
    metadata = pod.at("metadata")
    return _linked(KUEUE, metadata.at("annotations", KUEUE_GANG), metadata.at("labels", KUEUE_GROUP))


def _kueue_pods(pod: Field) -> Link | None:
    """A group of plain pods, which has no object: the pods themselves say all there is to say."""
    return _linked(KUEUE_PODS, pod.at("metadata", "labels", KUEUE_PODS_GANG))


# Each reader with the keys without which it finds nothing: every pod is asked, and most carry one of them or none.
_READERS: tuple[tuple[frozenset[str], Callable[[Field], Link | None]], ...] = (
    (frozenset({GANG, GROUP, REPLICA}), _ours),
    (frozenset({"schedulingGroup"}), _scheduling_group),
    (frozenset({"workloadRef"}), _workload_ref),
    (frozenset({"workload"}), _workload),
    (frozenset({KAI_GANG, KAI_GROUP}), _kai),
    (frozenset({KUEUE_GANG, KUEUE_GROUP}), _kueue),
    (frozenset({KUEUE_PODS_GANG}), _kueue_pods),
)


def _held(pod: Field) -> set[object] | None:
    """All keys of labels, annotations and spec; None where one of them is not as it should be."""
    metadata = pod.at("metadata")
    held: set[object] = set()
    for part in (metadata.at("labels"), metadata.at("annotations"), pod.at("spec")):
        if isinstance(part.value, dict):
            held.update(part.value)
        elif part.present:
            return None
    return held


def _linked(carrier: Carrier, name: Field, group: Field | None = None, replica: Field | None = None) -> Link | None:
    """The Link whose parts stand at these fields; None when no gang is named."""
    named = name.name(None)
    if named is None:
        return None
    part = group if group is not None and group.present else name
    return Link(carrier, named, _part(group), _part(replica), name, part)


def _part(at: Field | None) -> str | None:
    return None if at is None else at.name(None)


def _lonely(part: Field, missing: str) -> None:
    if part.present:
        part.warn(f"says which part of a gang, but {missing}, which names the gang, is missing; it is not read")
