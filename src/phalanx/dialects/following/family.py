"""One family read as a whole: its requests, what is wrong with it, and where its pods belong."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from phalanx.dialects import links, members, owners, podspec, readers, recognised, workloads
from phalanx.dialects.documents import Document
from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.following import membership, oddities, ours, strays, ties
from phalanx.dialects.following.membership import Called, Levels, Membership, Said, Seat
from phalanx.dialects.following.ours import Marks
from phalanx.dialects.gang import copied
from phalanx.dialects.kindtable import RANKED_KINDS
from phalanx.dialects.neighbours import NOBODY, Neighbours
from phalanx.dialects.outline import Outline
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.decision import Invalid
from phalanx.model.nodes import PodShape
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem
from phalanx.model.request import Request

_OTHERWISE = {
    "Bind": "is not followed: its pods name our scheduler, so that we bind them; leave schedulerName out to have gates",
    "Gate": "is not followed: its pods do not name our scheduler, or our gate is on them, so that another binds them",
}
_POD = ("", "Pod")


@dataclass(frozen=True, slots=True)
class Family:
    """``docs``: its objects, pods among them only where they say what their group is like."""

    docs: Mapping[ObjectKey, Document]
    requests: tuple[Request, ...] = ()
    invalid: tuple[Invalid, ...] = ()
    notes: Mapping[str, tuple[Problem, ...]] | None = None
    seats: tuple[Seat, ...] = ()
    paths: Mapping[str, str] | None = None  # group -> where its pods carry their rank
    neighbours: Neighbours = NOBODY
    strays: frozenset[ObjectKey] = frozenset()  # pods that are wrong, and count for nothing

    def subject(self, kind: str, namespace: str, name: str) -> Document | None:
        """The object that a request was read from."""
        for (_, what, space, called), doc in self.docs.items():
            if (what, space, called) == (kind, namespace, name):
                return doc
        return None


def gathers(keys: Iterable[ObjectKey]) -> bool:
    """Whether pods have a say in what is asked for: something gathers them, or they stand for themselves."""
    return any(key.of_kind in readers.GATHERERS for key in keys) or not any(
        key.of_kind in readers.MAKERS for key in keys
    )


def read(
    docs: Mapping[ObjectKey, Document], around: Surroundings, marks: Marks, running: frozenset[ObjectKey] = frozenset()
) -> Family:
    """The family of these objects; one that is none of our business has no requests. ``running``: pods with a node."""
    if not ours.is_marked(docs.values(), marks):
        return Family(docs)
    found = strays.left_out(docs, running, lambda those: workloads.read(those, around, None))
    wanted = tuple(_enforced(one, found.docs, marks) for one in found.reading.requests if not _is_over(one, docs))
    outlines = found.reading.outlines
    notes = {one.id: (*found.notes.get(one.id, ()), *_otherwise(one, found.docs)) for one in wanted}
    return Family(
        docs,
        wanted,
        (*found.reading.invalid, *found.invalid),
        {**found.notes, **notes},
        _with_likeness(_seats(wanted, outlines), found.docs, around),
        {name: path for outline in outlines for name, path in _paths(outline)},
        readers.surrounded(found.docs.values(), around).neighbours,
        frozenset(docs.keys() - found.docs.keys()),
    )


def _is_over(request: Request, docs: Mapping[ObjectKey, Document]) -> bool:
    return any(
        key.address == (request.kind, request.namespace, request.name) and ours.has_finished(doc)
        for key, doc in docs.items()
    )


def _enforced(request: Request, docs: Mapping[ObjectKey, Document], marks: Marks) -> Request:
    """The request with the way its pods get their nodes: bound by us where they name us, else gated. (X-01)"""
    if any(_names_us(doc, marks) for doc in docs.values()) and not any(_is_gated(doc) for doc in docs.values()):
        request = replace(request, rules=replace(request.rules, enforcement="Bind"))
        own = _own(request, docs)
        held = own is not None and own.kind != "Gang" and Field.of(own.value).at("spec", "suspend").value is True
        return replace(request, suspended=request.suspended or held)
    return replace(request, rules=replace(request.rules, enforcement="Gate"))


def _own(request: Request, docs: Mapping[ObjectKey, Document]) -> Document | None:
    """The object that it was read from."""
    named = (doc for key, doc in docs.items() if key.address == (request.kind, request.namespace, request.name))
    return next(named, None)


def _otherwise(request: Request, docs: Mapping[ObjectKey, Document]) -> list[Problem]:
    """That the pods of a Gang get their nodes in another way than it says: what they are decides. (X-01)"""
    own, way = _own(request, docs), request.rules.enforcement
    if own is None or own.kind != "Gang" or not any(_pods_of(doc) for doc in docs.values() if doc is not own):
        return []
    at = Field.of(own.value).at("spec", "enforcement")
    return [] if at.value in (None, way) else [Problem(at.path, at.value, (way,), _OTHERWISE[way])]


def _names_us(doc: Document, marks: Marks) -> bool:
    return any(ours.is_bound_by_us(one, marks) for one in _pods_of(doc))


def _is_gated(doc: Document) -> bool:
    return any(ours.was_gated(one) for one in _pods_of(doc))


def _pods_of(doc: Document) -> list[Field]:
    """A pod itself, and the templates of whatever makes pods."""
    return [Field.of(doc.value)] if doc.kind == "Pod" and not doc.group else ties.templates(doc.value)


def _paths(outline: Outline) -> list[tuple[str, str]]:
    found = []
    for entry in outline.groups:
        at = Field.of(dict(entry))
        name, path = at.at("name").value, at.at("rank", "fieldPath").value
        if isinstance(name, str) and isinstance(path, str):
            found.append((name, path))
    return found


def _seats(requests: Iterable[Request], outlines: Iterable[Outline]) -> tuple[Seat, ...]:
    """The pod sets of all requests, with what tells the copies of their groups apart."""
    levels: dict[tuple[str, str, str], Levels] = {}
    for one in outlines:
        levels[one.kind, one.namespace, one.name] = copied.around([Field.of(dict(entry)) for entry in one.groups])
    found: list[Seat] = []
    for request in requests:
        own = levels.get((request.kind, request.namespace, request.name), {})
        found += membership.with_levels(membership.seats([request]), own)
    return tuple(found)


def _with_likeness(
    seats: tuple[Seat, ...], docs: Mapping[ObjectKey, Document], around: Surroundings
) -> tuple[Seat, ...]:
    """The seats, with what their pods are like where these tell themselves which shapes their gang has."""
    pods = [doc for key, doc in docs.items() if key.of_kind == _POD] if _is_told_by_pods(docs) else []
    if not pods or not seats:
        return seats
    shapes = [(doc, replace(podspec.read(_aside(doc), doc.namespace, around), labels=())) for doc in pods]
    return tuple(_as_its_pods(seat, shapes, around) for seat in seats)


def _is_told_by_pods(docs: Mapping[ObjectKey, Document]) -> bool:
    """Whether pods gather under something that says nothing of their shapes itself."""
    kinds = {key.of_kind for key in docs}
    makers = kinds & (readers.MAKERS.keys() - {_POD})
    written = any(ties.templates(doc.value) for key, doc in docs.items() if key.of_kind in readers.GATHERERS)
    return not makers and not written


def _aside(doc: Document) -> Field:
    return Field.of(doc.value).aside()


def _as_its_pods(seat: Seat, shapes: list[tuple[Document, PodShape]], around: Surroundings) -> Seat:
    wanted, name = replace(seat.pods.shape, labels=()), seat.group if seat.pod_class is None else seat.pod_class
    alike = [doc for doc, shape in shapes if shape == wanted]
    named = [doc for doc in alike if doc.name == name]
    if not alike or (seat.pod_class is not None and not named):
        return seat  # nobody is like that yet, or it is a class that somebody wrote
    first = (named or alike)[0]
    like = members.likeness(first.value, first.namespace, around)
    return replace(seat, like=like, is_role=bool(named) and seat.pod_class is None)


# -- pods --------------------------------------------------------------------------------------------------------


def member(family: Family, pod: Document, called: Called, around: Surroundings) -> Membership | None:
    """Where a pod belongs, if anything tells. ``called``: what the copies of its group are called by their keys."""
    if not family.seats or pod.key in family.strays:
        return None
    seats = seats_of(family, pod)
    return membership.find(_said(family, pod, seats, around), seats, called)


def may_rename(family: Family, known: Membership | None) -> bool:
    """Whether the shapes of a gang may be called otherwise than when a pod joined it."""
    own = [seat for seat in family.seats if known is not None and seat.part in (known.part, ())]
    return any(seat.like is not None for seat in own) or all(seat.pods.name != known.pod_set for seat in own if known)


def called(family: Family, joined: Iterable[Membership], coming: Iterable[Document]) -> Called:
    """What copies are called by the keys that the pods of a family carry."""
    if not any(seat.levels for seat in family.seats):
        return {}
    said = [_said(family, pod, seats_of(family, pod), None) for pod in coming]
    return membership.called(joined, said, family.seats)


def seats_of(family: Family, pod: Document) -> tuple[Seat, ...]:
    """Those of what the pod names or was made by: all runs of a CronJob are one family, and each a gang. (W-075)"""
    link, top = links.of(Field.of(pod.value).aside()), _top(family, pod)
    linked = link is not None and readers.is_followed(link, pod.namespace, family.neighbours)
    keys = [readers.target(link, pod.namespace)] if link is not None and linked else []
    keys += [top.key] if top is not None else []
    for key in (*keys, pod.key):
        gangs = {one.id for one in family.requests if (one.kind, one.namespace, one.name) == key.address}
        if gangs:
            return tuple(seat for seat in family.seats if seat.gang in gangs)
    others = {one.id for one in family.requests if top is not None and one.kind == top.kind}  # as of another run
    return tuple(seat for seat in family.seats if seat.gang not in others)


def is_awaiting(family: Family, pod: Document) -> bool:
    """Whether a pod names something that is not there. It may come later, and the pod waits for it."""
    link = links.of(Field.of(pod.value).aside())
    if link is None or not readers.is_followed(link, pod.namespace, family.neighbours):
        return False
    target = readers.target(link, pod.namespace)
    return target not in family.docs and target.of_kind not in readers.NEVER_THERE


def remarks(family: Family, pod: Document) -> list[Problem]:
    """Where a pod does not agree with itself: it names two gangs, or two copies of its own. (W-031, X-08)"""
    at = Field.of(pod.value, Notes(), pod.key)
    link = links.of(at)
    ours.note_spoiled(at)
    if link is None or link.replica is None or not any(seat.levels for seat in family.seats):
        return list(at.notes.warnings)
    carried = list(_carried(at, seats_of(family, pod)).values())[-1:]
    return [*at.notes.warnings, *(oddities.torn(pod.key, one, link.replica) for one in carried if one != link.replica)]


def replica(pod: Document, seats: Iterable[Seat] = ()) -> str | None:
    """The key by which a pod says which copy it is in."""
    at = Field.of(pod.value).aside()
    link = links.of(at)
    said = [*_carried(at, seats).values(), link.replica if link is not None else None]
    return said[0]


def _carried(pod: Field, seats: Iterable[Seat]) -> dict[str, str]:
    """The keys that a pod carries where its gang says so, by their paths."""
    paths = dict.fromkeys(level.path for seat in seats for level in seat.levels if level.path is not None)
    return {path: key for path in paths if (key := copied.key(pod, path)) is not None}


def _said(family: Family, pod: Document, seats: tuple[Seat, ...], around: Surroundings | None) -> Said:
    at = Field.of(pod.value).aside()
    link, top = links.of(at), _top(family, pod)
    row = recognised.recognise(top.kind if top else "Pod", at, Field.of(top.value if top else None, Notes()))
    linked = link is not None and readers.is_followed(link, pod.namespace, family.neighbours)
    own = (link.group, link.name) if link is not None and linked else (None, None)
    groups = [own[0], row.group, own[1]]  # a group of a tree is named by its pods as what they belong to
    named = tuple(name for name in groups if name is not None)
    several = len(family.seats) > 1 and around is not None
    by_likeness = any(seat.like is not None for seat in family.seats)
    return Said(
        groups=named,
        replica=link.replica if linked and link is not None and link.replica is not None else row.replica,
        carried=_carried(at, seats),
        pod_class=row.pod_class,
        rank=_rank(family, at, top, row.rank, named),
        shape=podspec.read(at, pod.namespace, around) if several and around is not None else None,
        likeness=members.likeness(pod.value, pod.namespace, around) if by_likeness and around is not None else None,
    )


def _top(family: Family, pod: Document) -> Document | None:
    """The workload that made the pod, where its object is there."""

    def find(kind: str, namespace: str, name: str) -> Field | None:
        doc = family.subject(kind, namespace, name)
        return None if doc is None else Field.of(doc.value)

    walk = owners.walk(Field.of(pod.value), find)
    above = reversed(walk.chain) if walk.top is not None else ()  # the highest may be of a kind that nobody follows
    given = (family.docs.get(one.key(pod.namespace)) for one in above)
    return next((doc for doc in given if doc is not None), None)


def _rank(family: Family, pod: Field, top: Document | None, known: int | None, groups: tuple[str, ...]) -> int | None:
    path = next((family.paths[name] for name in groups if family.paths and name in family.paths), None)
    if path is None and family.paths and len(family.paths) == 1:
        path = next(iter(family.paths.values()))
    if (top is not None and top.kind in RANKED_KINDS and known is not None) or path is None:
        return known
    return recognised.rank_by_path(pod, Field.of(path))
