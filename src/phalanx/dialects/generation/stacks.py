"""The workloads that may own something generated: those at the top of their stack, read, with what they name.

A Job of a JobSet, a ReplicaSet of a Deployment, a StatefulSet of a LeaderWorkerSet is none: its parent speaks for
all its pods, and a stack has one object (W-031, W-086, W-114, J-010). A Job of a CronJob is one: each run is a workload
of its own (W-075).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from phalanx.dialects import gang, owners, readers, wishes
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import WORK_MAX, Field, Notes
from phalanx.dialects.generation import linking
from phalanx.dialects.links import Link
from phalanx.dialects.neighbours import Neighbours
from phalanx.dialects.outline import Outline
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem

CRON_JOB = ("batch", "CronJob")
JOB = ("batch", "Job")

_DEPTH_MAX = 100  # of a document; those of Kubernetes are a tenth as deep


@dataclass(frozen=True, slots=True)
class Top:
    """A workload at the top of its stack. ``outline``: None when it wants no pods or cannot be read.

    ``cron``: the CronJob whose run it is, where that is given. ``links``: what its templates name, each once.
    """

    doc: Document
    at: Field
    outline: Outline | None = None
    cron: Field | None = None
    links: tuple[Link, ...] = ()

    @property
    def key(self) -> ObjectKey:
        return self.doc.key

    @property
    def kind(self) -> tuple[str, str]:
        return self.doc.home, self.doc.kind

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with it, each note with the object in its path."""
        return tuple(one.told_of(self.doc.key) for one in self.at.notes.problems)

    def note(self, message: str) -> Problem:
        return Problem("", self.doc.name, (), message, self.doc.key)

    def target(self, link: Link) -> ObjectKey:
        return readers.target(link, self.doc.namespace)

    def mode(self) -> object:
        """The gang mode that it, or else the CronJob it is a run of, is given."""
        holders = [self.at] if self.cron is None else [self.at, self.cron]
        said = [one.at("metadata", "annotations", wishes.GANG_MODE).value for one in holders]
        return next((one for one in said if one is not None), None)


@dataclass(frozen=True, slots=True)
class Pile:
    """All documents as generation sees them.

    ``gatherers``: Gangs, Workloads and PodGroups. ``referring``: those of them that nobody controls, by the workload
    that their controllerRef names.
    """

    tops: tuple[Top, ...]
    around: Surroundings
    gatherers: Mapping[ObjectKey, Field]
    referring: Mapping[ObjectKey, tuple[ObjectKey, ...]]

    @property
    def neighbours(self) -> Neighbours:
        return self.around.neighbours


def read(docs: Sequence[Document], around: Surroundings) -> Pile:
    """The tops among the documents, in their order; of two with the same name the first."""
    first = {doc.key: doc for doc in reversed(docs)}
    index = {one: Field.of(doc.value) for one, doc in first.items()}
    around = readers.surrounded(docs, around)
    makers = [doc for doc in docs if doc.of_kind in readers.MAKERS and doc.kind != "Pod"]
    by_kind = {(kind, namespace, name): at for (_, kind, namespace, name), at in index.items()}
    tops = [_top(doc, by_kind, around) for doc in makers if first[doc.key] is doc]
    gatherers = {one: at for one, at in sorted(index.items()) if one.of_kind in readers.GATHERERS}
    return Pile(tuple(top for top in tops if top is not None), around, gatherers, _referring(gatherers))


def _referring(gatherers: Mapping[ObjectKey, Field]) -> dict[ObjectKey, tuple[ObjectKey, ...]]:
    found: dict[ObjectKey, tuple[ObjectKey, ...]] = {}
    for one, at in gatherers.items():
        reference = at.at("spec", "controllerRef").aside()
        group, kind, name = (reference.at(part).text("") for part in ("apiGroup", "kind", "name"))
        if owners.controller(at.aside()) is None:
            named = ObjectKey(group, kind, one.namespace, name)
            found[named] = (*found.get(named, ()), one)
    return found


def _top(doc: Document, index: Mapping[tuple[str, str, str], Field], around: Surroundings) -> Top | None:
    """The workload, if the walk up from a pod of it ends there."""
    api = f"{doc.group}/{doc.version}" if doc.group else doc.version
    reference = {"apiVersion": api, "kind": doc.kind, "name": doc.name, "controller": True}
    pod = {"metadata": {"name": "", "namespace": doc.namespace, "ownerReferences": [reference]}}
    walk = owners.walk(Field.of(pod), lambda kind, namespace, name: index.get((kind, namespace, name)))
    top = Top(doc, Field.of(doc.value, Notes()))
    if walk.problem is not None:
        top.at.notes.problem(walk.problem)
        return top
    return _read(top, around) if len(walk.chain) == 1 else None


# -- reading one -------------------------------------------------------------------------------------------------


def _read(top: Top, around: Surroundings) -> Top:
    if top.doc.wrong_version is not None:
        top.at.notes.problem(top.doc.wrong_version)
        return top
    if not _is_small(top.doc.value):
        top.at.wrong(f"the document is too large: more than {WORK_MAX} entries, or {_DEPTH_MAX} levels")
        return top
    cron = _cron(top, around.neighbours)
    found = readers.MAKERS[top.kind](top.at, around) if cron is None else _run(top.at, cron, around)
    if found is not None:
        gang.requests(found, top.at.notes, around)
    named = linking.named(found) if found is not None else []
    counted = {
        top.target(link): link
        for link in reversed(named)
        if readers.is_followed(link, top.doc.namespace, around.neighbours)
    }
    return replace(top, outline=found, cron=cron, links=tuple(reversed(counted.values())))


def _is_small(value: object) -> bool:
    """Whether a document can be copied: aliases in YAML can make a small file look endless."""
    level, seen = [value], 0
    for _ in range(_DEPTH_MAX):
        held = [one for one in level if isinstance(one, (dict, list, tuple))]
        if not held:
            return True
        seen += sum(map(len, held))
        if seen > WORK_MAX:
            return False
        level = [below for one in held for below in (one.values() if isinstance(one, dict) else one)]
    return False


# -- runs of a CronJob -------------------------------------------------------------------------------------------


def _cron(top: Top, neighbours: Neighbours) -> Field | None:
    """The CronJob that made a Job, where it is given; its notes are the Job's."""
    owner = owners.controller(top.at.aside()) if top.kind == JOB else None
    if owner is None or (owner.api_group, owner.kind) != CRON_JOB:
        return None
    found = neighbours.find(*CRON_JOB, top.doc.namespace, owner.name)
    return None if found is None else Field.of(found.value, top.at.notes, owner.key(top.doc.namespace))


def _run(job: Field, cron: Field, around: Surroundings) -> Outline | None:
    """The normal form of a run: its own spec, inside what the CronJob asks for."""
    own, above = job.at("metadata"), cron.at("metadata")
    template = {part: own.at(part) for part in ("labels", "annotations")}
    named = {part: own.at(part) for part in ("name", "namespace")}
    written = {**named, **{part: above.at(part) for part in ("labels", "annotations")}}
    spec = {"jobTemplate": {"metadata": template, "spec": job.at("spec")}}
    made = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": written, "spec": spec}
    found = readers.MAKERS[CRON_JOB](Field.of(made, job.notes), around)
    return None if found is None else replace(found, kind="Job")
