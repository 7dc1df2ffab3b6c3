"""Which pods of a JobSet start together: ``gangConfig``, or the annotation that says the same.

::

    spec: {gangConfig: {gangMode: Gang}}                      all pods of the JobSet
    spec: {replicatedJobs: [{gangConfig: {gangMode: Gang}}]}  all pods of the replicated job
    ... {gangMode: ReplicatedGang}                            all pods of each of its Jobs
    ... {gangMode: "Off"}                                     each pod as it fits

Annotation ``phalanx.dev/gang-mode`` on the JobSet and on a replicated job's Job template (``template.metadata``) means
the same and survives a real API server, which knows no gangConfig. A replicated job that says ``Off`` while the JobSet
says ``Gang`` is left out of that gang; one that says nothing while others do is as if it said ``Off``.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from phalanx.dialects import wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.jobset import replicated
from phalanx.dialects.jobset.replicated import Replicated
from phalanx.model.problems import Problem

EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"

_OFF, _GANG, _REPLICATED = wishes.MODES
_ON_JOBSET = (_OFF, _GANG)
_AT_ONCE = "each is decided by itself, in the order of the list, and the answer is for all of them at once"
_EARLY = ("scheduleAtOnce", "scheduleAtOncePerReplica")  # the stories' spelling, which the design gave up (X-09)


class Start(Enum):
    """Whom the pods of a replicated job start together with."""

    TOGETHER = "all pods of the JobSet"
    AS_ONE = "all pods of the replicated job"
    PER_JOB = "the pods of the same Job"
    ALONE = "nobody"


@dataclass(frozen=True, slots=True)
class _Said:
    """A mode, and where it is written. None: nothing is said."""

    mode: str | None
    at: Field


_MEANS = {_GANG: Start.AS_ONE, _REPLICATED: Start.PER_JOB, _OFF: Start.ALONE, None: Start.ALONE}


def starts(doc: Field, jobs: Sequence[Replicated], elsewhere: Collection[str] = ()) -> Mapping[str, Start]:
    """Whom each replicated job starts with, by its name; every broken rule about modes is noted.

    ``elsewhere``: names of those whose pods are placed with something else, which has its own say.
    """
    whole, each = _whole(doc), {job.name: _each(job) for job in jobs}
    own = [job for job in jobs if job.name not in elsewhere]
    _check_levels(whole, each.values())
    _warn_of_pruning(doc, jobs)
    if whole.mode != _GANG or not _check_order(whole.at, doc, _members(jobs, each)):
        _tell_order(doc, own)
    if whole.mode is None and all(said.mode is None for said in each.values()):
        return _unsaid(doc, jobs, own)
    if whole.mode != _GANG:
        return {name: _MEANS[said.mode] for name, said in each.items()}
    return {name: Start.ALONE if said.mode == _OFF else Start.TOGETHER for name, said in each.items()}


# -- what is written ---------------------------------------------------------------------------------------------


def _whole(doc: Field) -> _Said:
    spec = doc.at("spec")
    early = _early(spec, f"{_REPLICATED} on each replicated job")
    return _said(spec.at("gangConfig"), doc.at("metadata"), _ON_JOBSET, early)


def _each(job: Replicated) -> _Said:
    early = _early(job.at, _REPLICATED)
    return _said(job.at.at("gangConfig"), job.job_metadata, wishes.MODES, early)


def _early(at: Field, each_job: str) -> bool:
    """Whether the booleans of the design's stories stand here; the Problem names what to write instead. (X-09)"""
    given = [at.at(key) for key in _EARLY if at.at(key).present]
    true = [key for key in _EARLY if at.at(key).value is True]
    mode = _OFF if not true else each_job if _EARLY[1] in true else _GANG
    for one in given:
        one.wrong(f"there is no such field; the equivalent is gangConfig.gangMode: {mode}", ("gangConfig",))
    return bool(given)


def _said(config: Field, metadata: Field, allowed: tuple[str, ...], refused: bool) -> _Said:
    """The mode from the field or the annotation, which must not disagree. ``refused``: it was spelt in vain."""
    note = metadata.at("annotations", wishes.GANG_MODE)
    named = config.at("gangMode")
    written, annotated = _mode(named, allowed), _mode(note, allowed)
    if config.known("gangMode"):
        written = written if named.present else _OFF  # J-024
    if None not in (written, annotated) and written != annotated:
        note.mistaken(f"contradicts {named.path}, which says {written}", (str(written),))
    if written is None and annotated is None:
        return _Said(_OFF if refused or named.present or note.present else None, named)
    return _Said(written, named) if written is not None else _Said(annotated, note)


def _warn_of_pruning(doc: Field, jobs: Sequence[Replicated]) -> None:
    """One word about gangConfig, however often it is written: no JobSet that runs anywhere has it. (X-43)"""
    places = [
        (doc.at("spec", "gangConfig"), doc.at("metadata")),
        *((j.at.at("gangConfig"), j.job_metadata) for j in jobs),
    ]
    for config, metadata in places:
        if config.present:
            config.warn(
                "an API server drops this field, which no released JobSet has; annotation "
                f"{metadata.at('annotations', wishes.GANG_MODE).path} says the same and stays"
            )
            return


def _mode(at: Field, allowed: tuple[str, ...]) -> str | None:
    """The mode at a field; None when there is none or, with a Problem noted, a wrong one."""
    if at.value is False:
        at.wrong('YAML takes a bare Off for false; write "Off"', allowed)
        return None
    if at.value == _REPLICATED and _REPLICATED not in allowed:
        at.mistaken("says that each Job is a gang, and belongs on a replicated job", allowed)
        return None
    return at.choice(None, *allowed)


# -- rules -------------------------------------------------------------------------------------------------------


def _check_levels(whole: _Said, each: Iterable[_Said]) -> None:
    """Gangs inside a gang of everything mean nothing: one level says Gang, the other nothing or Off. (J-020)"""
    for said in each:
        if whole.mode == _GANG and said.mode in (_GANG, _REPLICATED):
            said.at.mistaken(f"cannot be while {whole.at.path} makes one gang of the whole JobSet", (_OFF,))


def _members(jobs: Sequence[Replicated], each: Mapping[str, _Said]) -> list[Replicated]:
    """Those of the JobSet's gang."""
    return [job for job in jobs if each[job.name].mode != _OFF]


def _check_order(at: Field, doc: Field, members: Sequence[Replicated]) -> bool:
    """Pods that are made only when others run or have ended are never all there: whether that is so. (J-025, X-18)"""
    order = in_order(doc, members)
    if order is not None:
        at.mistaken(
            f"can never be complete: {order.path} keeps pods back until others have started; a gang for each "
            f"replicated job is possible: {_GANG} on the replicated jobs instead",
            (_OFF,),
        )
    return order is not None


def in_order(doc: Field, members: Sequence[Replicated]) -> Field | None:
    """What makes these replicated jobs start one after the other; None when nothing does."""
    wanting = [job for job in members if job.count]
    depending = [job.at.at("dependsOn") for job in wanting if job.at.at("dependsOn").value]
    reasons = [*_startup(doc), *depending]
    return reasons[0] if reasons and len(wanting) > 1 else None


def _tell_order(doc: Field, jobs: Sequence[Replicated]) -> None:
    """What the answer means where not all start at once: each is decided by itself, in the order of the list."""
    wanting = [job for job in jobs if job.count]
    orders = _startup(doc)
    for order in orders if len(wanting) > 1 else ():
        order.warn(f"its replicated jobs start one after the other; {_AT_ONCE}")
    for job in wanting:
        awaited = [at for at in job.at.at("dependsOn").items() if at.at("name").value in [one.name for one in wanting]]
        names = ", ".join(str(at.at("name").value) for at in awaited)[:200]
        ended = awaited and all(at.at("status").value == "Complete" for at in awaited)
        when = f"has ended, and does not need room at the same time; {_AT_ONCE}" if ended else f"is ready; {_AT_ONCE}"
        if awaited:
            job.at.at("dependsOn").warn(f"{job.name} starts when {names} {when}")


def _startup(doc: Field) -> list[Field]:
    """The JobSet's startup order, where it has one."""
    policy = doc.at("spec", "startupPolicy")
    policy.mapping()
    order = policy.at("startupPolicyOrder")
    return [order] if order.choice("AnyOrder", "AnyOrder", "InOrder") == "InOrder" else []


# -- nothing is written ------------------------------------------------------------------------------------------


def _unsaid(doc: Field, jobs: Sequence[Replicated], own: Sequence[Replicated]) -> Mapping[str, Start]:
    """Without a mode: a gang where a wish or a queue asks for one, else none. (J-021, W-073, W-074)"""
    mode, order = doc.at("metadata", "annotations", wishes.GANG_MODE), in_order(doc, jobs)
    if not _asked(doc, jobs):
        if sum(job.count for job in own) > 1:
            hint = (
                "starts them together" if order is None else "on a Job template starts the pods made from it together"
            )
            mode.warn(f"says nothing, so its pods start as they fit; {wishes.GANG_MODE}: Gang {hint}")
        return {job.name: Start.ALONE for job in jobs}
    if order is None:
        return {job.name: Start.TOGETHER for job in jobs}
    order.warn("its replicated jobs start one after the other, so each of them is a gang and the JobSet is not")
    return {job.name: Start.AS_ONE for job in jobs}


def _asked(doc: Field, jobs: Sequence[Replicated]) -> bool:
    top = doc.at("metadata")
    templates = [metadata for job in jobs for metadata in (job.job_metadata, job.pod_metadata)]
    alone = any(at.at("annotations", EXCLUSIVE).present for at in (top, *(job.job_metadata for job in jobs)))
    return alone or wishes.asked(top, templates)


def exclusive(doc: Field) -> Mapping[str, str]:
    """The level of which each Job of a replicated job is to have a domain for itself, by the name of that, where JobSet
    is asked for it: on the Job template, or on the JobSet."""
    found: dict[str, str] = {}
    for job in replicated.read(doc.at("spec", "replicatedJobs").aside()):
        own, whole = (at.at("annotations", EXCLUSIVE).value for at in (job.job_metadata, doc.at("metadata")))
        level = own if own is not None else whole
        found |= {job.name: level} if isinstance(level, str) else {}
    return found


# -- change ------------------------------------------------------------------------------------------------------


def changed(old: Field, new: Field) -> tuple[Problem, ...]:
    """A Problem for each gang mode that a JobSet would change; other mistakes of either are not told here. (J-023)"""
    was, now = _written(old.aside()), _written(new.aside())
    replaced = [(was[name], now[name]) for name in now if name in was and was[name].mode != now[name].mode]
    return tuple(problem for before, after in replaced for problem in _replaced(before, after.at.aside()))


def _written(doc: Field) -> Mapping[str, _Said]:
    """The modes by the name of the replicated job; that of the JobSet under the empty name."""
    jobs = replicated.read(doc.at("spec", "replicatedJobs"))
    return {"": _whole(doc), **{job.name: _each(job) for job in jobs}}


def _replaced(before: _Said, at: Field) -> list[Problem]:
    kept = before.mode or "nothing"
    at.mistaken(
        f"cannot replace {kept}: the gang mode of a JobSet is not changed", (before.mode,) if before.mode else ()
    )
    return at.notes.problems
