"""Whether a workload is handed to Phalanx at all: its pods name us, or it is held back until we have a place for it."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from phalanx.cluster import Note
from phalanx.dialects import documents, readers
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field
from phalanx.dialects.following import Follower, Marks, Told, ours, ties
from phalanx.dialects.kindtable import SUSPENDED
from phalanx.model.objects import ObjectKey

Named = tuple[str, str, str]  # kind, namespace and name
_MANY = ("Node", "Pod")  # of a cluster: they have no say in who is handed over
_USUAL = "default-scheduler"  # what a server writes into pods that name none


def missed(asked: Iterable[Named], docs: Sequence[Any], there: Iterable[Any], marks: Marks) -> dict[Named, Note]:
    """Which of these workloads nobody hands to us, were the documents applied to a cluster of those objects: another
    scheduler starts their pods, whatever we think of them. Of what gathers pods that are nowhere to be seen nobody can
    tell."""
    given = {doc.key: doc for doc in documents.sort(docs)[0]}
    around = [one for one in there if isinstance(one, Mapping) and one.get("kind") not in _MANY]
    asked_about, applied = (_told(given.values(), around, marks, **about) for about in ({}, {"uid": "applied"}))
    known = {subject.key.address for subject in applied.subjects.values()}
    known |= {subject.key.address for subject, _ in asked_about.refused}  # for a reason of their own, and told of it
    astray = {key.address: key for key, doc in given.items() if key.address not in known and not ours.has_finished(doc)}
    able = {named: astray[named] for named in asked if named in astray}
    return {
        named: _note(key, given, marks)
        for named, key in able.items()
        if key.of_kind in readers.MAKERS or _pods_of(key, given)
    }


def misspelt(docs: Iterable[Document], marks: Marks) -> dict[Named, Note]:
    """Workloads whose pods name a scheduler much like us. Who has our whole name in its own is another one."""
    found: dict[Named, Note] = {}
    for doc in docs:
        pods = [Field.of(doc.value)] if _is_pod(doc) else ties.templates(doc.value)
        for at in (one.at("spec", "schedulerName") for one in pods):
            close = _close(at.value, marks.schedulers)
            if close is not None:
                message = f"its pods name the scheduler {at.value}; did you mean {close}?"
                found.setdefault(doc.key.address, Note(at.path, at.value, marks.schedulers, message))
    return found


def _close(name: object, schedulers: Sequence[str]) -> str | None:
    if not isinstance(name, str) or any(one in name for one in schedulers):
        return None
    return next(iter(get_close_matches(name[:80], schedulers, n=1, cutoff=0.75)), None)


def _told(docs: Iterable[Document], around: Iterable[Any], marks: Marks, **about: str) -> Told:
    """What a scheduler would make of documents that a server knows by this uid; without one they start nothing yet."""
    follower = Follower(marks)
    for one in around:
        follower.seen(one)
    for doc in docs:
        metadata = doc.value.get("metadata")
        kept = {key: one for key, one in metadata.items() if key != "uid"} if isinstance(metadata, Mapping) else {}
        follower.seen({**doc.value, "metadata": {**kept, **about}})
    return follower.tell()


def _note(key: ObjectKey, given: Mapping[ObjectKey, Document], marks: Marks) -> Note:
    if not marks.covers(key.namespace):
        return Note(
            "metadata.namespace",
            key.namespace,
            marks.namespaces,
            "nobody hands it to Phalanx: its namespace is not ours",
        )
    names = [pod.at("spec", "schedulerName").value for pod in _pods_of(key, given)]
    others = ", ".join(dict.fromkeys(str(name) for name in names if name))
    where = _where(given[key])
    says = f"{where} says schedulerName: {others}"
    starts = f"{where} names no scheduler, and {_USUAL} starts its pods"
    message = f"nobody hands it to Phalanx: {says if others else starts}; write {how(given[key], marks)}"
    return Note("schedulerName", others or None, marks.schedulers, message)


def how(doc: Document, marks: Marks) -> str:
    """What brings a workload to us."""
    can_wait = doc.of_kind in SUSPENDED
    held = f"suspend: true and label {marks.queues[0]}" if can_wait else f"gate {ours.GATE} there"
    return f"schedulerName: {marks.schedulers[0]} in {_where(doc)}, or {held}"


def _where(doc: Document) -> str:
    return "its spec" if _is_pod(doc) else "its pod template"


def _is_pod(doc: Document) -> bool:
    return doc.kind == "Pod" and not doc.group


def _pods_of(key: ObjectKey, given: Mapping[ObjectKey, Document]) -> list[Field]:
    """The pod or pod templates of a workload, and of those that name it as what their pods belong to."""
    found = [doc for other, doc in given.items() if other == key or key in ties.of(doc)]
    return [one for doc in found for one in ([Field.of(doc.value)] if _is_pod(doc) else ties.templates(doc.value))]
