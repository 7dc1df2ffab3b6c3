"""Everything there is to say of a name: which gangs it stands for, and what was decided about each."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from phalanx import cluster
from phalanx.cli import ending, late, missing, naming, refused, said
from phalanx.cli.clusters import Look
from phalanx.cli.ending import Ended
from phalanx.cli.kin import Kin, title
from phalanx.cli.refused import Refused
from phalanx.cli.standing import Standing, Standings
from phalanx.engine.gangs import Gang
from phalanx.engine.lifecycle import State
from phalanx.engine.views import View
from phalanx.kube.glance import Glance
from phalanx.model.decision import Decided, Internal, Invalid, Placed
from phalanx.model.objects import ObjectKey
from phalanx.model.placement import Placement
from phalanx.model.reasons import WayOut
from phalanx.model.request import Request

MOST = 5  # gangs told of that one object made


@dataclass(frozen=True, slots=True)
class Told:
    """One answer. ``view`` None: it is wrong, or no gang of ours, and then it has no ``queue`` either. ``said``: by the
    scheduler, where it differs; ``standing``: what it comes to. ``late``: which pods wait while it runs, and why.
    ``via``: what it has to do with the object that was asked for. ``ended``: how, of one that is over.
    """

    decision: Decided
    ways_out: tuple[WayOut, ...] = ()
    view: View | None = None
    said: str = ""
    queue: str | None = None
    late: str = ""
    via: str = ""
    ended: str = ""
    standing: Standing | None = None


def told(look: Look, seen: Glance, name: str) -> list[Told]:
    """Everything there is to say of a name: all units of a gang, a wrong manifest, a manifest of nobody's, or what an
    object has to do with gangs that is none itself."""
    stands = Standings(seen, look)
    found = [_of_gang(stands, gang) for gang in naming.named(seen, name, look.namespace)]
    found += [_of_refused(stands, one) for one in refused.found(look, seen) if _is_meant(one, name, look)]
    found = found or _of_manifests(look, name) or _of_kin(look, stands, name)
    queue = found[0].queue if found else None
    found += [Told(one.invalid, queue=queue) for one in refused.twice(look) if _is_meant(one, name, look)]
    return [replace(one, decision=look.places.decided(one.decision)) for one in found]


def _is_meant(one: Refused, name: str, look: Look) -> bool:
    return naming.is_meant(one.invalid.kind, one.invalid.namespace, one.invalid.name, name, look)


def _of_manifests(look: Look, name: str) -> list[Told]:
    """What ``place`` says of manifests that are handed to nobody yet; objects of a cluster belong to somebody else."""
    meant = missing.workloads(look, name)
    if not meant or any(said.uid(one.value) for one in meant):
        return []
    decisions = cluster.Cluster.from_manifests(look.objects).place(look.objects)
    chosen = [one for one in decisions if naming.is_meant(one.kind, one.namespace, one.name, name, look)]
    return [Told(one.decided, one.ways_out) for one in chosen]


def _of_kin(look: Look, stands: Standings, name: str) -> list[Told]:
    """That an object has ended, or what is said of the gang that it is part of, or of those that it made."""
    kin = Kin.of(look)
    for key in kin.meant(name, look):
        above, below = kin.belongs_to(key), kin.holds(key)
        alike = [one for gone in above if gone not in kin.docs for one in kin.holds(gone) if one.kind == key.kind]
        found = (
            _of_keys(look, stands, kin, [key])
            or _through(f"{title(key)} is part of", _of_keys(look, stands, kin, above, below))
            or _through(f"{title(key)} is placed as what it made:", _of_keys(look, stands, kin, below)[:MOST])
            or _through(f"{title(key)} waits for the same as", _of_keys(look, stands, kin, alike)[:1])
        )
        if found:
            return found
    return []


def _through(how: str, found: Sequence[Told]) -> list[Told]:
    """The answers, each with what it has to do with what was asked for."""
    named = [named_in(one.decision) for one in found]
    titles = dict.fromkeys(f"{one.kind} {one.namespace}/{one.name}" for one in named)  # units of one share it
    return [replace(one, via=f"{how} {', '.join(titles)}") for one in found]


def _of_keys(
    look: Look, stands: Standings, kin: Kin, keys: Sequence[ObjectKey], parts: Sequence[ObjectKey] = ()
) -> list[Told]:
    """What there is to say of the gangs among these objects, and of those that have pods among them; where there are
    none, of those that have ended. The newest come first. ``parts``: of several gangs those with these pods are meant.
    """
    seen = stands.seen
    gangs = _gangs(seen, seen.gangs(), keys)
    found = [_of_gang(stands, gang) for gang in _gangs(seen, gangs, parts) or gangs]
    found += [_of_refused(stands, one) for one in refused.found(look, seen) if one.key in set(keys)]
    over = [] if found else ending.found(look, [kin.docs[key] for key in keys if key in kin.docs])
    return found or [_of_ended(one) for one in over]


def _gangs(seen: Glance, gangs: Iterable[Gang], keys: Sequence[ObjectKey]) -> list[Gang]:
    """Those that were read from one of these objects, or have one of them as a pod."""
    wanted = set(keys)
    found = [gang for gang in gangs if not wanted.isdisjoint(_keys_of(seen, gang))]
    return sorted(found, key=lambda gang: (-int(gang.since), gang.id))  # units of one object are as old as it is


def _keys_of(seen: Glance, gang: Gang) -> Iterator[ObjectKey]:
    """The object that a gang was read from, and its pods."""
    subject = seen.told.subjects.get(gang.id)
    if subject is not None:
        yield subject.key
    yield from (pod.object for pod in gang.pods)


def named_in(decision: Decided) -> Request | Invalid | Internal:
    """What knows the kind, namespace and name that a decision is about."""
    return decision if isinstance(decision, (Invalid, Internal)) else decision.request


# -- what --------------------------------------------------------------------------------------------------------


def _of_gang(stands: Standings, gang: Gang) -> Told:
    seen = stands.seen
    view = seen.view(gang)
    one = stands.of(view)
    decision, ways_out = seen.answer(gang)
    told_late = late.line(gang, ways_out)
    own = ways_out if gang.state is State.QUEUED else ()  # what would help pods that came late stands with them
    return Told(decision, own, view, one.line, view.queue, told_late, standing=one)


def _of_refused(stands: Standings, one: Refused) -> Told:
    found = stands.sayings.of_object(one.doc)
    line = found.line.removeprefix("invalid: ") if found is not None else ""
    if one.mishap is not None:
        return Told(Internal(*one.key.address, one.mishap), queue=one.queue)
    return Told(one.invalid, said="" if line == one.message else line, queue=one.queue)


def _of_ended(one: Ended) -> Told:
    done = {pods.name: pods.count for pods in one.request.root.pod_sets()}
    return Told(Placed(one.request, Placement({}), done=done), queue=one.request.queue, ended=one.how)
