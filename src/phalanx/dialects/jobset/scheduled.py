"""``spec.scheduling`` of a JobSet, by which it asks Kubernetes for PodGroups, as annotations that say the same::

    scheduling:                                                   gang-mode, topology-required of
      schedulingPolicy: {gang: {}}                                  the JobSet
      schedulingConstraints: {topology: [{key: topology/rack}]}     the JobSet
      replicatedJobs:
      - targetReplicatedJobs: [workers]
        schedulingPolicy: {gang: {}}                                the Job template
        schedulingConstraints: ...                                  the pod template: all pods of the replicated job
        job: {schedulingPolicy: ..., schedulingConstraints: ...}    the Job template: ReplicatedGang, each of its Jobs

An empty ``scheduling`` asks for one gang. Where replicated jobs start one after the other, what is asked of the JobSet
is asked of each of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from phalanx.dialects import scheduled, scheduling
from phalanx.dialects.fields import Field
from phalanx.dialects.jobset import gangconfig, replicated
from phalanx.dialects.jobset.replicated import Replicated
from phalanx.dialects.scheduled import GANG, LEAST, OFF, REPLICATED, Note, Place, notes
from phalanx.dialects.scheduling import Scheduling

_TARGETS = "targetReplicatedJobs"


@dataclass(frozen=True, slots=True)
class _Entry:
    """One of ``scheduling.replicatedJobs``. ``own``: of all pods of its targets, ``each``: of each of their Jobs."""

    at: Field
    targets: tuple[Field, ...]
    own: Scheduling
    each: Scheduling

    @property
    def shared(self) -> bool:
        """Whether several replicated jobs are one gang by it."""
        return len(self.targets) > 1 and self.own.mode == GANG


def applied(doc: Field) -> Field:
    """The JobSet with the annotations that its ``spec.scheduling`` stands for."""
    at = doc.at("spec", "scheduling")
    if not at.present:
        return doc
    jobs = replicated.read(doc.aside().at("spec", "replicatedJobs"))
    whole, entries = scheduling.read(at, GANG, "replicatedJobs"), _entries(at)
    _check(at, entries, jobs)
    return scheduled.annotated(doc, _of_entries(entries, jobs) if entries else _of_whole(doc, whole, jobs))


def disruption(doc: Field) -> str | None:
    """Who goes together, where it is said: ``Pod``, or ``Group`` of the pods that start together."""
    at = doc.at("spec", "scheduling").aside()
    listed = [one.own.disruption or one.each.disruption or "Pod" for one in _entries(at)]
    if len(set(listed)) > 1:
        doc.at("spec", "scheduling", "replicatedJobs").warn(
            "groups have one disruption mode together: all pods of a group go when one has to"
        )
        return "Group"
    return listed[0] if listed else scheduling.read(at, GANG, "replicatedJobs").disruption


def _entries(at: Field) -> list[_Entry]:
    found: list[_Entry] = []
    for one in at.at("replicatedJobs").items():
        usual = None if one.at("job").present else GANG
        own = scheduling.read(one, usual, _TARGETS, "job")
        found.append(_Entry(one, tuple(one.at(_TARGETS).items()), own, scheduling.read(one.at("job"), GANG)))
    return found


# -- rules -------------------------------------------------------------------------------------------------------


def _check(at: Field, entries: Sequence[_Entry], jobs: Sequence[Replicated]) -> None:
    """One level speaks, and of every replicated job once."""
    scheduled.check_levels(at, "replicatedJobs")
    for one in entries:
        scheduled.check_levels(one.at, "job")
    names = [job.name for job in jobs]
    seen: list[object] = []
    for target in (target for one in entries for target in one.targets):
        if target.name(None) not in names:
            target.mistaken("is not a replicated job of this JobSet", names)
        elif target.value in seen:
            target.mistaken("is the target of two entries; each replicated job is of one")
        seen.append(target.value)
    if entries and (left := [name for name in names if name not in seen]):
        at.at("replicatedJobs").wrong(
            f"says nothing of {', '.join(left)[:200]}; each replicated job is a target of one"
        )


# -- what the fields stand for -----------------------------------------------------------------------------------


def _of_whole(doc: Field, said: Scheduling, jobs: Sequence[Replicated]) -> Iterator[Note]:
    order = gangconfig.in_order(doc, jobs)
    if order is None:
        yield from notes(said, said.mode)
        yield from _few(said, jobs)
        return
    if said.least.present:
        said.least.wrong(
            f"each replicated job is a gang by itself, for {order.path} lets them start one after the other"
        )
    for i, _ in enumerate(jobs):
        yield from notes(said, said.mode, _job(i), _pods(i))


def _of_entries(entries: Sequence[_Entry], jobs: Sequence[Replicated]) -> Iterator[Note]:
    shared = [one for one in entries if one.shared]
    gangs = [one for one in entries if one.own.mode == GANG or one.each.mode == GANG]
    if shared and len(gangs) > 1:
        shared[0].at.at(_TARGETS).wrong("a gang of several replicated jobs beside other gangs is not supported yet")
        return
    by_name = {job.name: (i, job) for i, job in enumerate(jobs)}
    for one in entries:
        mine = [by_name[name] for target in one.targets if (name := str(target.value)) in by_name]
        if one.shared:
            yield from notes(one.own, GANG)
            yield from _few(one.own, [job for _, job in mine])
            continue
        for i, job in mine:
            yield from _of_job(one, i, job)


def _of_job(entry: _Entry, number: int, job: Replicated) -> Iterator[Note]:
    if entry.each.mode is None:
        yield from notes(entry.own, entry.own.mode, _job(number), _pods(number))
        yield from _few(entry.own, [job], number)
        return
    mode = REPLICATED if entry.each.mode == GANG else OFF
    yield from notes(entry.each, mode, _job(number), _job(number))
    least = scheduling.least(entry.each, job.pods)
    if least is not None:
        yield Note(_job(number), LEAST, least.meaning(str(least.value)))


def _few(said: Scheduling, jobs: Sequence[Replicated], number: int = 0) -> Iterator[Note]:
    """How few pods of these replicated jobs will do: where they are one Job, the least of it."""
    count = sum(job.count for job in jobs)
    least = scheduling.least(said, count)
    if least is None or least.value == count:
        return
    if len(jobs) != 1 or jobs[0].replicas != 1:
        least.wrong(f"less than the {count} pods of several Jobs is not supported yet", (str(count),))
        return
    yield Note(_job(number), LEAST, least.meaning(str(least.value)))


def _job(number: int) -> Place:
    return "spec", "replicatedJobs", number, "template", "metadata"


def _pods(number: int) -> Place:
    return "spec", "replicatedJobs", number, "template", "spec", "template", "metadata"
