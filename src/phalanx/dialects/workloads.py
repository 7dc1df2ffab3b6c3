"""The workloads among the documents: each once, in the order given, with the pods that belong to it.

Kinds that make pods are read first. Where their templates, or pods, name an object that gathers pods (a Gang, a
Workload, a PodGroup) they are placed with it: it is read after them and learns their shapes.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from phalanx.dialects import (
    absentees,
    clusterstate,
    documents,
    exclusive,
    gang,
    inheritance,
    jobspec,
    links,
    owners,
    readers,
)
from phalanx.dialects.absentees import Naming
from phalanx.dialects.documents import Document, Role
from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.kindtable import Kind
from phalanx.dialects.links import Link
from phalanx.dialects.members import value
from phalanx.dialects.neighbours import Member, Neighbours
from phalanx.dialects.outline import Entry, Outline
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.decision import Invalid
from phalanx.model.mistakes import Mistake
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem
from phalanx.model.request import Request
from phalanx.model.snapshot import Snapshot

Problems = tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class WorkloadReading:
    """What is to be placed, in the order given.

    ``notes``: warnings by request id (``namespace/name`` for a workload that gave no Request).
    ``outlines``: the normal form of each workload that is valid.
    ``problems``, ``warnings``: about documents that are no workload at all.
    ``absentees``: who names what is not there; whoever reads all there is counts them among the items.
    """

    items: tuple[Request | Invalid, ...]
    notes: Mapping[str, Problems] = field(default_factory=dict)
    problems: Problems = ()
    warnings: Problems = ()
    outlines: tuple[Outline, ...] = ()
    absentees: tuple[Invalid, ...] = ()

    @property
    def requests(self) -> tuple[Request, ...]:
        return tuple(item for item in self.items if isinstance(item, Request))

    @property
    def invalid(self) -> tuple[Invalid, ...]:
        return tuple(item for item in self.items if isinstance(item, Invalid))


@dataclass(frozen=True, slots=True)
class _Aside:
    """Why a document is not placed by itself, and with whom it is."""

    why: str
    host: ObjectKey


@dataclass(slots=True)
class _Open:
    """A workload's document while it is read. ``aside``: why it is not placed by itself."""

    doc: Document
    at: Field
    outline: Outline | None = None
    aside: _Aside | None = None
    read: bool = False  # its reader was asked
    joins: set[ObjectKey] = field(default_factory=set)  # what its pods say they belong to
    lost: list[Link] = field(default_factory=list)  # those of its links that lead to what is not there


def read(docs: list[Document], around: Surroundings, snapshot: Snapshot | None) -> WorkloadReading:
    """Requests and Invalids of the workloads among the documents."""
    warnings = [note for doc in docs if (note := documents.passed_over(doc)) is not None]
    open_docs = [_Open(doc, Field.of(doc.value, Notes())) for doc in docs if _is_workload(doc)]
    around = readers.surrounded(docs, around)
    for one in open_docs:
        one.aside = _made_by(one, around.neighbours) or _foreign(one, around.neighbours)
        if one.aside is None and _readable(one) and _kind(one.doc) in readers.MAKERS:
            _outline(one, around)
    members = [*open_docs, *_running(docs, around)]
    made = {one.doc.key: one for one in open_docs if one.aside is not None}
    joined = _join(members, around.neighbours, made)
    around = replace(around, neighbours=around.neighbours.joined_by(joined))
    open_docs += _nameless(joined)
    for one in open_docs:
        if one.aside is None and not one.read and not one.at.notes.problems:
            _outline(one, around)
    found = _gathered([one for one in open_docs if one.aside is None], members, around, snapshot)
    lost = _lost(open_docs, members, docs)
    told = {(one.kind, one.namespace, one.name) for one in lost}
    aside = [one for one in open_docs if one.aside is not None and one.doc.key.address not in told]
    refused = {one.doc.key for one in open_docs if one.at.notes.problems}
    return replace(found, warnings=(*warnings, *_told(aside, refused)), absentees=lost)


def _lost(given: list[_Open], members: list[_Open], docs: list[Document]) -> tuple[Invalid, ...]:
    """An Invalid for each who waits for what is not there. Members that are not given to be placed run already."""
    running = {one.doc.key for one in members} - {one.doc.key for one in given}
    namings = (Naming(one.doc, link) for one in given for link in one.lost if not one.at.notes.problems)
    return tuple(absentees.told(namings, {doc.key: doc for doc in docs}, running))


def _gathered(
    given: list[_Open], members: list[_Open], around: Surroundings, snapshot: Snapshot | None
) -> WorkloadReading:
    running = Counter(one.gang for one in snapshot.pods if one.gang) if snapshot is not None else Counter()
    items: list[Request | Invalid] = []
    notes: dict[str, Problems] = {}
    outlines: list[Outline] = []
    taken: dict[str, Kind] = {}  # who goes by which id
    idle: list[_Open] = []  # those that want nothing now
    joining: dict[ObjectKey, list[_Open]] = {}
    for member in members:
        for key in member.joins:
            joining.setdefault(key, []).append(member)
    for one in given:
        found = _decidable(one, joining.get(one.doc.key, []), around, taken, running)
        items.extend(found)
        idle.extend([] if found else [one])
        if one.at.notes.warnings:
            ids = [item.id for item in found if isinstance(item, Request)]
            notes.update(dict.fromkeys(ids, tuple(one.at.notes.warnings)))
        outlines.extend([one.outline] if one.outline is not None and not one.at.notes.problems else [])
    for one in (one for one in idle if one.at.notes.warnings):
        notes[one.doc.called(_qualifier(one.doc, taken))] = tuple(one.at.notes.warnings)
    return WorkloadReading(tuple(items), notes, outlines=tuple(outlines))


def _told(aside: list[_Open], refused: set[ObjectKey]) -> list[Problem]:
    """A line for each document that is placed with another one, and what else there is to say about it.

    Pods that go together share theirs. ``refused``: workloads that are wrong, so that nothing is placed with them.
    """
    alike: dict[object, list[_Open]] = {}
    for one in aside:
        alike.setdefault(("Pod", one.aside) if one.doc.kind == "Pod" else id(one), []).append(one)
    remarks = [note.told_of(one.doc.key) for one in aside for note in one.at.notes.warnings]
    return [*(_line(those, refused) for those in alike.values()), *remarks]


def _line(those: list[_Open], refused: set[ObjectKey]) -> Problem:
    first, others = those[0], len(those) - 1
    more = f" (and {others} more {'pod' if others == 1 else 'pods'} alike)" if others else ""
    if first.aside is None:
        raise Mistake(f"nobody said why {first.doc.title} is left aside")
    _, kind, _, name = first.aside.host
    but = f", but {kind} {name[:100]} is refused" if first.aside.host in refused else ""
    return Problem("", first.doc.name, (), f"{first.aside.why}{but}{more}", first.doc.key)


# -- which documents are workloads -------------------------------------------------------------------------------


def _is_workload(doc: Document) -> bool:
    return doc.role in (Role.WORKLOAD, Role.UNREAD) and not _is_state_pod(doc)


def _running(docs: list[Document], around: Surroundings) -> list[_Open]:
    """Pods that have a place: members of what they name, and nothing to place."""
    found = [_Open(doc, Field.of(doc.value, Notes())) for doc in docs if _is_state_pod(doc)]
    held = [one for one in found if clusterstate.holds_a_place(one.at)]
    for one in held:
        _outline(one, around)
    return held


def _is_state_pod(doc: Document) -> bool:
    """Whether a Pod document is no workload: it runs, or is over."""
    at = Field.of(doc.value)
    return doc.kind == "Pod" and not doc.group and (clusterstate.holds_a_place(at) or clusterstate.has_ended(at))


def _readable(one: _Open) -> bool:
    if one.doc.wrong_version is not None:
        one.at.notes.problem(one.doc.wrong_version)
        return False
    if one.doc.role is Role.UNREAD:
        documents.refuse(one.doc, one.at)
        return False
    return True


def _kind(doc: Document) -> Kind:
    return doc.home, doc.kind


# -- who belongs to whom -----------------------------------------------------------------------------------------


def _made_by(one: _Open, neighbours: Neighbours) -> _Aside | None:
    """What is said of an object that a controller among the documents, or one that is not, has made."""
    owner = owners.controller(one.at.aside())
    if owner is None:
        return _made_by_job(one)
    host = owner.key(one.doc.namespace)
    given = neighbours.find(*host) is not None
    if owner.kind == "CronJob":  # one gang per run: the Job stands for itself (W-075)
        return None
    if not readers.is_part_of(_kind(one.doc), owner.of_kind):
        return None
    if given:
        return _Aside(f"is made by {owner.kind} {owner.name} and is placed with it"[:300], host)
    if one.doc.kind == "Pod" and not given and links.of(one.at.aside()) is None:
        absent = f"is made by {owner.kind} {owner.name}, which is not among the documents; it is placed with it"
        return _Aside(absent[:300], host)
    return None


def _foreign(one: _Open, neighbours: Neighbours) -> _Aside | None:
    """Of a kind that nobody reads, whose pods name what they belong to: that is all it takes. (W-017)"""
    if one.doc.role is not Role.UNREAD:
        return None
    link = links.of(one.at.at("spec", "template").aside())
    if link is None:
        return None
    one.lost += [] if _is_there(link, one.doc, neighbours) else [link]
    return _belongs(link, one.doc, neighbours)


def _belongs(link: Link, doc: Document, neighbours: Neighbours) -> _Aside:
    host = readers.target(link, doc.namespace)
    absent = "" if _is_there(link, doc, neighbours) else ", which is not among the documents: they wait for it"
    whom = f"{link.carrier.kind} {doc.namespace}/{link.name[:100]}"
    return _Aside(f"its pods belong to {whom} and are placed with it{absent}", host)


def _is_there(link: Link, doc: Document, neighbours: Neighbours) -> bool:
    """Whether what a link names is among the documents, or is no object at all."""
    return link.carrier is links.KUEUE_PODS or neighbours.find(*readers.target(link, doc.namespace)) is not None


def _made_by_job(one: _Open) -> _Aside | None:
    """Of a pod that only a label says is a Job's: exported without its owners."""
    labels = one.at.at("metadata", "labels")
    named = [labels.at(key).value for key in jobspec.labels("")]
    job = next((name for name in named if isinstance(name, str) and name), None)
    if one.doc.kind != "Pod" or job is None or links.of(one.at.aside()) is not None:
        return None
    return _Aside(
        f"is made by Job {job[:100]} and is placed with it", ObjectKey("batch", "Job", one.doc.namespace, job)
    )


def _outline(one: _Open, around: Surroundings) -> None:
    one.read = True
    one.outline = readers.ALL[_kind(one.doc)](one.at, around)


def _join(
    given: list[_Open], neighbours: Neighbours, made: Mapping[ObjectKey, _Open]
) -> dict[ObjectKey, tuple[Member, ...]]:
    """Members by the object they name. Workloads all of whose groups are such members are set aside, each with a
    word; of those with some the others are left.

    ``made``: objects that somebody made, perhaps the very workload that names them. Our Gang then counts, with
    whatever was written into it since (W-023); what others make is only a copy of the workload.
    """
    joined: dict[ObjectKey, list[Member]] = {}
    for one in given:
        if one.outline is None or one.at.notes.problems:
            continue
        left: list[Entry] = []
        named: list[Link] = []
        for entry in one.outline.groups:
            link = _link(entry)
            if link is None or not _gathers(link, one.doc, neighbours, made):
                left.append(entry)
                continue
            named.append(link)
            one.lost += [] if _is_there(link, one.doc, neighbours) else [link]
            one.joins.add(readers.target(link, one.doc.namespace))
            joined.setdefault(readers.target(link, one.doc.namespace), []).append(_member(one.doc, entry, link))
        if not one.at.notes.problems:  # a bad link is told on the one who wrote it
            _set_aside(one, left, named, neighbours)
    return {key: tuple(those) for key, those in joined.items()}


def _gathers(link: Link, doc: Document, neighbours: Neighbours, made: Mapping[ObjectKey, _Open]) -> bool:
    """Whether pods with this link are placed with the object it names."""
    target = readers.target(link, doc.namespace)
    if target in made and link.carrier is links.OURS:
        made[target].aside = None
    elif target in made:
        return False
    return readers.is_followed(link, doc.namespace, neighbours)


def _nameless(joined: Mapping[ObjectKey, tuple[Member, ...]]) -> list[_Open]:
    """Kueue's groups of pods have no object; each is read as if there were one that holds no more than its name."""
    group, kind = links.KUEUE_PODS.api_group, links.KUEUE_PODS.kind
    found: list[_Open] = []
    for _, _, namespace, name in (key for key in joined if key.of_kind == (group, kind)):
        value: dict[str, object] = {"metadata": {"namespace": namespace, "name": name}}
        found.append(_Open(Document(group, "", kind, Role.WORKLOAD, value), Field.of(value, Notes())))
    return found


def _link(entry: Entry) -> Link | None:
    """What the pods of a group say they belong to; several classes speak with the voice of the first."""
    classes = entry.get("podClasses")
    first = classes[0] if isinstance(classes, list) and classes else entry
    template = first.get("template") if isinstance(first, Mapping) else None
    return None if template is None else links.of(Field.of(template).aside())


def _member(doc: Document, entry: Entry, link: Link) -> Member:
    return Member(entry, link.group, link.replica, doc.key, doc.kind == "Pod", link.part_at)


def _set_aside(one: _Open, left: list[Entry], named: list[Link], neighbours: Neighbours) -> None:
    if not named or one.outline is None:
        return
    left = _with_members(left, [*one.outline.groups])
    if left:
        one.outline = replace(one.outline, spec={**one.outline.spec, "podGroups": left})
        return
    one.aside = _belongs(named[0], one.doc, neighbours)


def _with_members(left: list[Entry], before: list[Entry]) -> list[Entry]:
    """The entries that are left without groups whose members have all gone elsewhere."""
    parents = {str(value(entry.get("parent"))) for entry in before if entry.get("parent") is not None}
    while True:
        held = {str(value(entry.get("parent"))) for entry in left}
        kept = [e for e in left if str(value(e.get("name"))) not in parents or str(value(e.get("name"))) in held]
        if len(kept) == len(left):
            return kept
        left = kept


# -- requests ----------------------------------------------------------------------------------------------------


def _decidable(
    one: _Open, members: list[_Open], around: Surroundings, taken: dict[str, Kind], running: Counter[str]
) -> tuple[Request | Invalid, ...]:
    """The Requests of one workload, or its Invalid. What is wrong with its members is wrong with it."""
    doc, at = one.doc, one.at
    if one.outline is not None:
        makers = [member.outline for member in members if member.outline is not None]
        one.outline = inheritance.inherited(one.outline, makers)
    requests = () if one.outline is None else gang.requests(one.outline, at.notes, around)
    for member in members:
        for problem in member.at.notes.problems:
            at.notes.problem(problem.told_of(member.doc.key))
    qualifier = _qualifier(doc, taken)
    identity = doc.called(qualifier)
    if identity in taken:
        at.at("metadata", "name").wrong(documents.given_twice(doc.kind, identity))
    elif not at.notes.problems and requests:
        taken[identity] = _kind(doc)
    if running[identity] and requests:
        at.warn(f"{running[identity]} of its pods run already; the answer is for all of them once more")
    if at.notes.problems:
        return (Invalid(doc.kind, doc.namespace, doc.name, tuple(at.notes.problems), tuple(at.notes.warnings)),)
    if qualifier is not None and requests:
        _, other = taken[doc.called(None)]
        at.at("metadata", "name").warn(f"a {other} has the same name; this {doc.kind} goes by {identity}")
    return tuple(
        replace(exclusive.as_made(one, at.aside(), around.topologies), qualifier=qualifier) for one in requests
    )


def _qualifier(doc: Document, taken: Mapping[str, Kind]) -> str | None:
    """What tells a workload from others of its name: nothing for the first of them, then its kind, or more."""
    choices = (None, doc.kind, f"{doc.kind}.{doc.home}")
    return next(one for one in choices if taken.get(doc.called(one), _kind(doc)) == _kind(doc))
