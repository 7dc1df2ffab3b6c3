"""Documents sorted by what they are: lists opened, kinds recognised, versions checked, strangers named."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum

from phalanx.dialects import kindtable
from phalanx.dialects.fields import Field
from phalanx.dialects.kindtable import OURS, Purpose
from phalanx.model.objects import Incarnation, ObjectKey
from phalanx.model.problems import Problem, shown

DOCUMENTS_MAX = 2_000_000  # aliases in YAML can make a short list of lists look endless
_LIST_DEPTH_MAX = 4
_NAME_MAX = 253  # Kubernetes has no longer names


class Role(Enum):
    """What a kind of object is to us."""

    STATE = "part of the cluster's state"
    WORKLOAD = "something to place"
    UNREAD = "something to place that is not read yet"
    LATER = "known, and not used yet"
    OTHER = "nothing to do with placement"
    UNKNOWN = "a kind that nobody knows"


@dataclass(frozen=True, slots=True)
class Document:
    """One object with its kind taken apart. ``value`` is the document as given."""

    group: str
    version: str
    kind: str
    role: Role
    value: Mapping[str, object]
    wrong_version: Problem | None = None

    @property
    def name(self) -> str:
        return _metadata(self.value, "name") or _metadata(self.value, "generateName")

    @property
    def namespace(self) -> str:
        return _metadata(self.value, "namespace") or "default"

    @property
    def home(self) -> str:
        """The API group under the name it has today: the designs wrote ``scheduling`` (X-12)."""
        return _HOMES.get(self.group, self.group)

    @property
    def of_kind(self) -> tuple[str, str]:
        return self.home, self.kind

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.home, self.kind, self.namespace, self.name)

    @property
    def incarnation(self) -> Incarnation:
        return Incarnation(self.key, self.uid)

    @property
    def uid(self) -> str:
        """Empty where it was never in a cluster."""
        metadata = self.value.get("metadata")
        found = metadata.get("uid") if isinstance(metadata, dict) else None
        return found if isinstance(found, str) else ""

    @property
    def title(self) -> str:
        return self.key.title

    def called(self, qualifier: str | None) -> str:
        """The id of a workload: ``namespace/name``, with what tells it from others of that name before it."""
        plain = f"{self.namespace}/{self.name}"
        return plain if qualifier is None else f"{qualifier}/{plain}"


_ROLES = {
    Purpose.MAKES_PODS: Role.WORKLOAD,  # a pod that runs is state: ``workloads`` looks
    Purpose.GATHERS_PODS: Role.WORKLOAD,
    Purpose.LOOKED_UP: Role.STATE,
    Purpose.CLUSTER: Role.STATE,
}
_HOMES = {row.group: row.home for row in kindtable.ROWS if row.home}
_READ: dict[tuple[str, str], tuple[Role, tuple[str, ...]]] = {
    (row.group, row.kind): (_ROLES[row.purpose], row.versions)
    for row in kindtable.ROWS
    if row.purpose in _ROLES and row.versions
}
WORKLOAD_KINDS = tuple(dict.fromkeys(kind for (_, kind), (role, _) in _READ.items() if role is Role.WORKLOAD))

_LATER = {
    ("kueue.x-k8s.io", "WorkloadPriorityClass"), ("kueue.x-k8s.io", "MultiKueueConfig"),
    ("kueue.x-k8s.io", "MultiKueueCluster"), ("kueue.x-k8s.io", "ProvisioningRequestConfig"),
    ("autoscaling.x-k8s.io", "ProvisioningRequest"), ("resource.k8s.io", "ResourceClaim"),
    ("resource.k8s.io", "ResourceClaimTemplate"), ("resource.k8s.io", "DeviceClass"),
    ("resource.k8s.io", "ResourceSlice"), ("node.k8s.io", "RuntimeClass"),
    ("", "LimitRange"), ("", "ResourceQuota"),
}  # fmt: skip

# Kinds that make pods, by name alone, and that nobody reads: their pods may name a Gang (W-017).
_UNREAD = {
    "LeaderWorkerSetGroup", "PodGang", "PodCliqueSet", "Workload", "PodGroup", "SparkApplication",
    "ScheduledSparkApplication", "AppWrapper", "Notebook", "InferenceService", "DisaggregatedSet", "MXJob",
    "Workflow", "CronWorkflow", "PipelineRun", "TaskRun",
}  # fmt: skip

# What everybody has, and placement does not ask for; the rest of it by API group.
_APART = {
    "Service", "Endpoints", "ConfigMap", "Secret", "ServiceAccount", "Event", "PodTemplate",
    "ControllerRevision", "DaemonSet",
}  # fmt: skip
_APART_GROUPS = {
    "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "certificates.k8s.io",
    "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io",
    "gateway.networking.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io", "storage.k8s.io",
    "kustomize.config.k8s.io", "monitoring.coreos.com", "cert-manager.io",
}  # fmt: skip
_HOLD_TEMPLATES = {"Task", "ClusterTask", "Pipeline", "WorkflowTemplate", "ClusterWorkflowTemplate", "ServingRuntime",
                   "ClusterServingRuntime"}  # others make pods of them  # fmt: skip

_SEARCH_DEPTH = 8  # how far below the top a pod template is looked for in a kind nobody knows
_SEARCH_WORK = 2_000  # and in how many entries

_WAY_OUT = "; a Gang whose name its pods carry as label phalanx.dev/gang is all it takes"
_DAEMONS = "DaemonSet is not placed: every node runs its pods, which count where they are among the documents"


def given_twice(kind: str, called: str) -> str:
    """What is said of the second of two objects that have one name."""
    return f"{kind} {called} is given already; a name is used once"


# -- opening lists -----------------------------------------------------------------------------------------------


def sort(given: object) -> tuple[list[Document], list[Problem]]:
    """Every object in the given documents, in order, and a Problem for each that cannot be recognised.

    ``given``: an iterable of documents, or one document. Empty documents are passed over.
    """
    found: list[Document] = []
    problems: list[Problem] = []
    for path, value in _opened(given):
        if isinstance(value, Problem):
            problems.append(value)
            continue
        document = _recognised(path, value)
        if isinstance(document, Problem):
            problems.append(document)
        else:
            found.append(document)
    return found, problems


def opened(document: object) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The objects in one document, each with the way to it there: nothing, or ``items[3]``."""
    for path, value in _flat("", document, 0):
        if not isinstance(value, Problem):
            yield path, value


def _opened(given: object) -> Iterator[tuple[str, Mapping[str, object] | Problem]]:
    if isinstance(given, dict):
        given = [given]
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        yield "", Problem("", shown(given), (), "expected a list of documents")
        return
    seen = 0
    for i, one in enumerate(given):
        for path, value in _flat(f"documents[{i}]", one, 0):
            seen += 1
            if seen > DOCUMENTS_MAX:
                yield "", Problem("", None, (), f"more than {DOCUMENTS_MAX} documents; the rest is not read")
                return
            yield path, value


def _flat(path: str, value: object, depth: int) -> Iterator[tuple[str, Mapping[str, object] | Problem]]:
    """The objects in a document: itself, or the items of a List (also of a JobList and the like)."""
    if value is None:
        return
    if not isinstance(value, dict):
        yield path, Problem(path, shown(value), (), f"{shown(value)!r} is not an object with kind and apiVersion")
        return
    kind, items = value.get("kind"), value.get("items")
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(items, (list, tuple))):
        yield path, value
        return
    if depth >= _LIST_DEPTH_MAX:
        yield path, Problem(path, kind, (), f"lists are opened {_LIST_DEPTH_MAX} deep and no deeper")
        return
    inherited = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List")}
    for i, item in enumerate(items):
        bare = isinstance(item, dict) and item.get("kind") is None and kind != "List"
        whole = {**inherited, **item} if bare and isinstance(item, dict) else item
        yield from _flat(f"{path}.items[{i}]", whole, depth + 1)


# -- recognising kinds -------------------------------------------------------------------------------------------


def _recognised(path: str, value: Mapping[str, object]) -> Document | Problem:
    kind, api = value.get("kind"), value.get("apiVersion")
    if not isinstance(kind, str) or not kind:
        return Problem(f"{path}.kind", shown(kind), (), "the document does not say what kind of object it is")
    group, _, version = api.rpartition("/") if isinstance(api, str) else ("", "", "")
    wrong = _wrong_version(api, group, version, kind)
    if not version:
        group = next((g for g, k in _READ if k == kind), "")
    return Document(str(shown(group)), version, str(shown(kind)), _role(group, kind, value), value, wrong)


def _role(group: str, kind: str, value: Mapping[str, object]) -> Role:
    if (group, kind) in _READ:
        return _READ[group, kind][0]
    if (group, kind) in _LATER:
        return Role.LATER
    if kind in _UNREAD or group == OURS or kind in WORKLOAD_KINDS:
        return Role.UNREAD
    if kind in _APART or group in _APART_GROUPS or kind in _HOLD_TEMPLATES:
        return Role.OTHER
    return Role.UNREAD if _makes_pods(value) else Role.UNKNOWN


def _makes_pods(value: Mapping[str, object]) -> bool:
    """Whether an object of a kind nobody told us about holds a pod template somewhere: level by level, with an end."""
    layer: list[object] = [value.get("spec")]
    work = 0
    for _ in range(_SEARCH_DEPTH):
        if any(_is_pod_spec(one) for one in layer):
            return True
        below: list[object] = []
        for one in layer:
            held = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
            work += len(held)
            if work > _SEARCH_WORK:
                return False
            below.extend(held)
        layer = below
    return False


def _is_pod_spec(value: object) -> bool:
    containers = value.get("containers") if isinstance(value, dict) else None
    return isinstance(containers, list) and any(isinstance(one, dict) for one in containers[:1])


def _versions(kind: str, group: str | None = None) -> tuple[str, ...]:
    """The apiVersions in which a kind is read: of one API group, or of all."""
    homes = [g for g, k in _READ if k == kind and group in (None, g)]
    return tuple(f"{g}/{v}" if g else v for g in homes for v in _READ[g, kind][1])


def _wrong_version(api: object, group: str, version: str, kind: str) -> Problem | None:
    """A Problem for a kind we read, in a version we do not."""
    good = _versions(kind, group if version else None)
    if not good or (version and version in _READ[group, kind][1]):
        return None
    return Problem("apiVersion", shown(api), good, f"{shown(api)!r} is not a version of {kind} that is read")


def _metadata(value: Mapping[str, object], key: str) -> str:
    metadata = value.get("metadata")
    found = metadata.get(key) if isinstance(metadata, dict) else None
    if not isinstance(found, str):
        return ""
    return found if len(found) <= _NAME_MAX and found.isprintable() else str(shown(found))


# -- kinds that nobody reads -------------------------------------------------------------------------------------


def passed_over(doc: Document) -> Problem | None:
    """Why a document is neither state nor a workload; None when it is."""
    if doc.role is Role.LATER:
        return Problem("", doc.kind, (), f"{doc.kind} is known but not used yet", doc.key)
    if doc.role is Role.OTHER:
        beside = f"{doc.kind} has nothing to do with placement and is ignored"
        return Problem("", doc.kind, (), _DAEMONS if doc.kind == "DaemonSet" else beside, doc.key)
    if doc.role is Role.UNKNOWN:
        close = _meant(doc)
        message = f"{_called(doc)} is not known and is ignored{_asking(close)}"
        return Problem("", doc.kind, close, message, doc.key)
    return None


def refuse(doc: Document, at: Field) -> None:
    """Notes the Problem of a kind that makes pods and is not read: what was probably meant, and the way out. (W-017)"""
    elsewhere = _versions(doc.kind)
    hint = f"; {doc.kind} is read as {', '.join(elsewhere)}" if elsewhere else _asking(_meant(doc))
    at.at("kind").wrong(f"kind {_called(doc)} is not read{hint}{_WAY_OUT}", WORKLOAD_KINDS)


def _meant(doc: Document) -> tuple[str, ...]:
    """The kind of the same API group that was probably meant, where there is one."""
    kinds = {kind.lower(): kind for group, kind in _READ if group == doc.group and kind != doc.kind}
    close = get_close_matches(doc.kind[:80].lower(), kinds, n=1, cutoff=0.8)
    return (kinds[close[0]],) if close else ()


def _called(doc: Document) -> str:
    return f"{doc.kind[:80]} ({doc.group[:80]})" if doc.group else doc.kind[:80]


def _asking(close: tuple[str, ...]) -> str:
    return f"; did you mean {close[0]}?" if close else ""
