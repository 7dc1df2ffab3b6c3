"""From Nodes, Topologies, bound Pods, volumes and priority classes to a Snapshot and its Surroundings."""

import re
from dataclasses import dataclass

from phalanx.dialects import alike, amounts, keys, kindtable, nodefilter, podrules
from phalanx.dialects.fields import Field
from phalanx.dialects.kindtable import OURS, PodIdentity
from phalanx.dialects.surroundings import identity
from phalanx.model.nodes import HostPort, Node, PodTerm, RunningPod, Taint
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.topology import AUTO, HOSTNAME, LEVELS_MAX, Topology

PODS_DEFAULT = 110  # what a kubelet allows unless told otherwise
AMOUNT_MAX = 10**15 * NANO  # of a node; more of it, added up, is beyond 64 bits for every gang of the cluster
GANG = "phalanx.dev/gang"

_KUEUE = "kueue.x-k8s.io"
_KUEUE_LEVELS = 5  # K-021, X-27; 8 upstream today
_ALIASES = {OURS: "name", "kai.scheduler": "alias"}  # the field of a level that gives it a short name

_LABEL_MAX = 316
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
_RESERVED = (AUTO, "cluster")  # words that already mean a level
_CONDITIONS = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
}
_ONE_BY_ONE = (PodIdentity.ALIKE, PodIdentity.BOUND_TO_NODES)
_NOT_GANGS = tuple(  # owners whose pods start one by one; what a pod owns counts as its own
    row.kind for row in kindtable.ROWS if row.pods in _ONE_BY_ONE and row.key != kindtable.POD
)


# -- nodes -------------------------------------------------------------------------------------------------------


def node(doc: Field) -> Node:
    """A node as placement sees it, with the taints its state implies."""
    _, name = identity(doc)
    labels = dict(doc.at("metadata", "labels").pairs())
    return Node(name, labels, _allocatable(doc.at("status")), _taints(doc))


def _allocatable(status: Field) -> Resources:
    status.mapping()
    chosen = status.at("allocatable")
    if not chosen.present:
        chosen.warn("is missing; capacity is used instead" if status.at("capacity").present else "is missing")
        chosen = status.at("capacity")
    found = amounts.of(chosen)
    if PODS not in found:
        chosen.at(PODS).warn(f"is missing; {PODS_DEFAULT} is assumed")
        found[PODS] = PODS_DEFAULT * NANO
    for name in [name for name, amount in found.items() if amount > AMOUNT_MAX]:
        chosen.at(name).warn(f"is more than any node has; {AMOUNT_MAX // NANO} is taken for it")
        found[name] = AMOUNT_MAX
    return Resources.of(found)


def _taints(doc: Field) -> tuple[Taint, ...]:
    """Written taints, then those of unschedulable and of the conditions, each once."""
    doc.at("spec").mapping()
    written = [nodefilter.taint(t) for t in doc.at("spec", "taints").items()]
    implied = [_blocking(key) for key in _state_keys(doc)]
    return tuple(dict.fromkeys(t for t in (*written, *implied) if t is not None))


def _state_keys(doc: Field) -> list[str]:
    keys = ["node.kubernetes.io/unschedulable"] if doc.at("spec", "unschedulable").flag(False) else []
    for condition in doc.at("status", "conditions").items():
        condition.mapping()
        kind, state = condition.at("type").text(""), condition.at("status").text("")
        if kind == "Ready" and state in ("False", "Unknown"):
            keys.append("node.kubernetes.io/not-ready" if state == "False" else "node.kubernetes.io/unreachable")
        if kind in _CONDITIONS and state == "True":
            keys.append(_CONDITIONS[kind])
    return keys


def _blocking(key: str) -> Taint:
    return Taint(key, "", "NoSchedule")


# -- topologies --------------------------------------------------------------------------------------------------


def topology(doc: Field, group: str) -> Topology | None:
    """The levels of a Topology, ours, Kueue's or KAI's; None with Problems noted. (K-020, KA-018)"""
    _, name = identity(doc)
    ours = group == OURS
    if ours:
        doc.known("apiVersion", "kind", "metadata", "spec", "status")
        doc.at("spec").known("levels")
    keys.note_typos(doc.at("metadata"))
    listed = doc.at("spec", "levels")
    levels = listed.items()
    if not 1 <= len(levels) <= LEVELS_MAX:
        listed.wrong(f"a topology has 1 to {LEVELS_MAX} levels, this one {len(levels)}")
        return None
    labels = [_level_label(level, ours) for level in levels]
    _check_order([level.at("nodeLabel") for level in levels])
    if group == _KUEUE and len(levels) > _KUEUE_LEVELS:
        listed.warn(
            f"has {len(levels)} levels; the design allows Kueue {_KUEUE_LEVELS}, and older versions refuse more"
        )
    aliases = _aliases(levels, _ALIASES[group]) if group in _ALIASES else [None] * len(levels)
    return Topology.of(name, labels, aliases)


def _level_label(level: Field, ours: bool) -> str:
    if ours:
        level.known("nodeLabel", "name")
    level.mapping()
    at = level.at("nodeLabel")
    label = at.text("")
    if not at.present:
        at.wrong("a level needs the key of a node label")
    elif at.value == label and not is_label_key(label):
        at.mistaken("is not the key of a label: an optional DNS prefix and a slash, then a name of 1 to 63 characters")
    return label


def is_label_key(text: str) -> bool:
    """Whether a text can be the key of a label: ``rack``, ``cloud.provider.com/topology-rack``. (K-023)"""
    if not 0 < len(text) <= _LABEL_MAX:
        return False
    prefix, slash, name = text.rpartition("/")
    prefix_good = len(prefix) <= 253 and _PREFIX.fullmatch(prefix) is not None if slash else True
    return prefix_good and len(name) <= 63 and _NAME.fullmatch(name) is not None


def _check_order(labels: list[Field]) -> None:
    seen: set[object] = set()
    for position, at in enumerate(labels, 1):
        if not isinstance(at.value, str):
            continue
        if at.value in seen:
            at.mistaken("is listed twice; each level has its own label")
        if at.value == HOSTNAME and position < len(labels):
            at.mistaken("is the node itself and can only be the last level")
        seen.add(at.value)


def _aliases(levels: list[Field], key: str) -> list[str | None]:
    found: list[str | None] = []
    labels = [level.at("nodeLabel").value for level in levels]
    for position, level in enumerate(levels):
        alias = level.at(key).name(None)
        others = [label for i, label in enumerate(labels) if i != position]
        if alias is not None and (alias in found or alias in others):
            level.at(key).mistaken("names another level too; aliases are unique")
        if alias in _RESERVED or (alias == "host" and labels[position] != HOSTNAME):
            level.at(key).mistaken("has a fixed meaning and cannot name a level")
        found.append(alias)
    return found


# -- pods that run -----------------------------------------------------------------------------------------------


def holds_a_place(doc: Field) -> bool:
    """Whether a Pod document is a pod on a node that has not ended."""
    return bool(doc.at("spec", "nodeName").value) and not has_ended(doc)


def has_ended(doc: Field) -> bool:
    return doc.at("status", "phase").value in ("Succeeded", "Failed")


def running_pod(doc: Field) -> RunningPod:
    """A pod that holds a place. Rules between pods that we cannot read are warnings here: it runs already."""
    namespace, name = identity(doc)
    spec = doc.at("spec")
    key = alike.on_its_node(_unbound(spec.value), doc.at("status").value, namespace)
    takes = _KNOWN.get(key, doc.notes, lambda: _takes(doc, namespace))
    return RunningPod(
        name=name,
        namespace=namespace,
        node=spec.at("nodeName").text(""),
        requests=takes.requests,
        labels=dict(doc.at("metadata", "labels").pairs()),
        ports=takes.ports,
        anti_affinity=takes.anti_affinity,
        gang=gang_id(doc, namespace),
    )


@dataclass(frozen=True, slots=True)
class _Takes:
    """What a pod takes on its node, and whom it keeps away."""

    requests: Resources
    ports: tuple[HostPort, ...]
    anti_affinity: tuple[PodTerm, ...]


_KNOWN: alike.Readings[_Takes] = alike.Readings()


def _takes(doc: Field, namespace: str) -> _Takes:
    spec = doc.at("spec")
    return _Takes(amounts.effective(spec, doc.at("status")), podrules.host_ports(spec), _repelled(doc, namespace))


def _unbound(spec: object) -> object:
    """The spec without what differs between equal pods once they have their places."""
    placed = ("nodeName", "nodeSelector", "schedulingGates")
    return {key: value for key, value in spec.items() if key not in placed} if isinstance(spec, dict) else spec


def _repelled(doc: Field, namespace: str) -> tuple[PodTerm, ...]:
    aside = doc.aside()
    terms = podrules.pod_terms(aside.at("spec", "affinity", "podAntiAffinity"), namespace)
    for problem in aside.notes.problems:
        doc.notes.warning(problem)
    return terms


def gang_id(doc: Field, namespace: str) -> str | None:
    """The workload a pod belongs to, as ``namespace/name``: our keys, then the Job's label, then the owner."""
    metadata = doc.at("metadata")
    for at in (
        metadata.at("labels", GANG),
        metadata.at("annotations", GANG),
        metadata.at("labels", "batch.kubernetes.io/job-name"),
        metadata.at("labels", "job-name"),
        *(owner.at("name") for owner in metadata.at("ownerReferences").items() if _leads(owner)),
    ):
        if isinstance(at.value, str) and at.value:
            return f"{namespace}/{at.value}"
    return None


def _leads(owner: Field) -> bool:
    return owner.at("controller").value is True and owner.at("kind").value not in _NOT_GANGS
