"""Kueue's queues as people write them: ResourceFlavor, ClusterQueue, LocalQueue, Cohort, AdmissionCheck.

A Cohort becomes the queue ``cohort/NAME`` above its members: Kueue lets a Cohort and a ClusterQueue share a name, and
no object's name has a slash. Fields that only one of v1beta1 and v1beta2 has are read in both, with a word about it.
"""

from dataclasses import dataclass

from phalanx.dialects import nodefilter, podrules
from phalanx.dialects.clusterstate import is_label_key
from phalanx.dialects.fields import Field
from phalanx.dialects.kueue import quotas
from phalanx.dialects.surroundings import identity
from phalanx.model.queues import STOPS, Flavor, LocalName, Preemption, Queue
from phalanx.model.resources import NANO

COHORT = "cohort/"

_STRATEGIES = {"StrictFIFO": "Strict", "BestEffortFIFO": "BestEffort"}
_WITHIN = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
_RECLAIM = ("Never", "LowerPriority", "Any")
_OLD_NAMES = {"cohortName": "cohort", "parentName": "parent"}  # v1beta2 -> v1beta1
_QUEUE_FIELDS = (
    "resourceGroups", "cohortName", "cohort", "queueingStrategy", "namespaceSelector", "flavorFungibility",
    "preemption", "admissionChecks", "admissionChecksStrategy", "stopPolicy", "fairSharing", "admissionScope",
    "concurrentAdmissionPolicy",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AdmissionCheck:
    """Somebody else who has a say before a workload starts. ``controller`` tells who."""

    name: str
    controller: str


@dataclass(frozen=True, slots=True)
class ClusterQueue:
    """A queue, and the names of the admission checks that its workloads must pass."""

    queue: Queue
    checks: tuple[str, ...] = ()


# -- flavors -----------------------------------------------------------------------------------------------------


def resource_flavor(doc: Field) -> Flavor:
    """A ResourceFlavor. With a topology it needs a node label, or it would claim every node. (K-019, K-027, X-49)"""
    _, name = identity(doc)
    spec = doc.at("spec")
    spec.mapping()
    spec.typos("nodeLabels", "nodeTaints", "tolerations", "topologyName", "resourceWeights")
    _not_considered(spec, "resourceWeights")
    labels = spec.at("nodeLabels").pairs()
    _check_keys(spec.at("nodeLabels"))
    if spec.at("topologyName").present and not labels:
        spec.at("nodeLabels").wrong("a flavor with a topology needs at least one node label")
    tolerations = [nodefilter.toleration(t) for t in spec.at("tolerations").items()]
    taints = [nodefilter.taint(t) for t in spec.at("nodeTaints").items()]
    return Flavor(
        name=name,
        node_labels=labels,
        tolerations=tuple(t for t in tolerations if t is not None),
        topology=spec.at("topologyName").name(None),
        taints=tuple(t for t in taints if t is not None),
    )


def _check_keys(labels: Field) -> None:
    for key, value in labels.entries():
        if not is_label_key(key):
            value.wrong(f"{key[:80]!r} is not the key of a label")


# -- queues ------------------------------------------------------------------------------------------------------


def cluster_queue(doc: Field) -> ClusterQueue:
    """A ClusterQueue: its quotas, its place under a cohort, and the checks it names. (K-112)"""
    _, name = identity(doc)
    spec = doc.at("spec")
    spec.mapping()
    spec.typos(*_QUEUE_FIELDS)
    _not_considered(spec, "flavorFungibility", "admissionScope", "concurrentAdmissionPolicy")
    parent = _cohort(doc, "cohortName")
    queue = Queue(
        name=name,
        parent=parent,
        namespace_selector=podrules.selector(spec.at("namespaceSelector")),
        when_blocked=_STRATEGIES[spec.at("queueingStrategy").choice("BestEffortFIFO", *_STRATEGIES)],
        weight=_weight(spec.at("fairSharing")),
        quotas=quotas.read(spec.at("resourceGroups"), in_cohort=parent is not None),
        preemption=_preemption(spec.at("preemption")),
        only_listed=True,
        stop=_stop(spec.at("stopPolicy")),
    )
    return ClusterQueue(queue, _checks(spec))


def cohort(doc: Field) -> Queue:
    """A Cohort: the queue above its members, with a pool of its own if it has quotas."""
    _, name = identity(doc)
    spec = doc.at("spec")
    spec.mapping()
    spec.typos("parentName", "parent", "resourceGroups", "fairSharing")
    parent = _cohort(doc, "parentName")
    if parent == COHORT + name:
        used = spec.at("parentName") if spec.at("parentName").present else spec.at("parent")
        used.mistaken("is the cohort itself; a cohort is not its own parent")
    return Queue(
        name=COHORT + name,
        parent=parent,
        weight=_weight(spec.at("fairSharing")),
        quotas=quotas.read(spec.at("resourceGroups"), in_cohort=parent is not None, lends_more=True),
        only_listed=True,
    )


def local_queue(doc: Field) -> LocalName:
    """A LocalQueue: what one namespace calls a ClusterQueue. (K-017)"""
    namespace, name = identity(doc)
    spec = doc.at("spec")
    spec.mapping()
    spec.typos("clusterQueue", "stopPolicy", "fairSharing", "wallTimePolicy")
    _not_considered(spec, "fairSharing", "wallTimePolicy")
    target = spec.at("clusterQueue")
    if not target.present:
        target.wrong("a LocalQueue needs the name of its ClusterQueue")
    return LocalName(namespace, name, target.name(""), _stop(spec.at("stopPolicy")))


def admission_check(doc: Field) -> AdmissionCheck:
    _, name = identity(doc)
    at = doc.at("spec", "controllerName")
    doc.at("spec").mapping()
    doc.at("spec").typos("controllerName", "parameters")
    if not at.present:
        at.wrong("an AdmissionCheck needs the name of its controller")
    return AdmissionCheck(name, at.text(""))


# -- their parts -------------------------------------------------------------------------------------------------


def _cohort(doc: Field, new: str) -> str | None:
    """The cohort above, by the field's name of either version."""
    old = _OLD_NAMES[new]
    spec = doc.at("spec")
    names = [spec.at(part).name(None) for part in (new, old) if spec.at(part).value not in (None, "")]
    if len(set(names)) > 1:
        spec.at(old).wrong(f"{new} and {old} are one field in two versions, and name different cohorts")
    _check_version(doc, new, old)
    return COHORT + names[0] if names and names[0] is not None else None


def _check_version(doc: Field, new: str, old: str) -> None:
    """A field of the other version is dropped by a real API server without a word."""
    version = doc.at("apiVersion").value
    for part, elsewhere, right in ((old, "kueue.x-k8s.io/v1beta2", new), (new, "kueue.x-k8s.io/v1beta1", old)):
        if doc.at("spec", part).present and version == elsewhere:
            doc.at("spec", part).warn(f"is called {right} in {elsewhere}; Kueue itself would drop it", (right,))


def _weight(at: Field) -> int:
    """Nano-units; 1 when not written. Kueue allows 0: always behind the others."""
    at.mapping()
    at.typos("weight")
    weight = quotas.amount(at.at("weight"))
    return NANO if weight is None else weight


def _preemption(at: Field) -> Preemption:
    at.mapping()
    at.typos("reclaimWithinCohort", "borrowWithinCohort", "withinClusterQueue")
    within = at.at("withinClusterQueue").choice("Never", *_WITHIN)
    if within == "LowerOrNewerEqualPriority":
        at.at("withinClusterQueue").warn("counts as LowerPriority: newer ones of equal priority stay")
        within = "LowerPriority"
    borrowing = at.at("borrowWithinCohort")
    borrowing.mapping()
    if borrowing.at("policy").choice("Never", "Never", "LowerPriority") != "Never":
        borrowing.warn("preempting others while borrowing is not considered")
    return Preemption(within, at.at("reclaimWithinCohort").choice("Never", *_RECLAIM))


def _checks(spec: Field) -> tuple[str, ...]:
    """The names of both spellings, each once; what they check is not ours to do, and that is said."""
    spec.at("admissionChecksStrategy").mapping()
    strategy = spec.at("admissionChecksStrategy", "admissionChecks")
    plain = spec.at("admissionChecks")
    named = [*plain.items(), *(rule.at("name") for rule in strategy.items() if rule.mapping())]
    found = tuple(dict.fromkeys(name for name in (one.name(None) for one in named) if name))
    if plain.items() and strategy.items():
        plain.wrong("admissionChecks and admissionChecksStrategy exclude each other")
    for at in (plain, strategy):
        if at.items():
            at.warn(f"admission checks are not run; nobody waits for {', '.join(found)}"[:300])
    return found


def _stop(at: Field) -> str:
    return at.choice("None", *STOPS)


def _not_considered(spec: Field, *names: str) -> None:
    for name in names:
        if spec.at(name).value not in (None, {}, []):
            spec.at(name).warn(f"{name} is not considered")
