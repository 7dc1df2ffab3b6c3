"""What is written about a gang into objects: the status of our kinds, conditions of Kubernetes' own, and of pods.

Pure: a view and what stood there before go in, what is to stand there comes out. A condition keeps the time of its last
change unless its status changes, so equal views give equal documents and need no write.

::

    gang_status(views, before, generation, now)       Gang: conditions, groups, placement (several units: one status)
    group_conditions(kind, view, group, before, ...)  PodGroup, CompositePodGroup of scheduling.k8s.io
    pod_condition(view, before, now)                  PodScheduled=False of a pod that waits
    invalid_status, valid_status                      any of our kinds that was refused, or is good again
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from phalanx.dialects.following.dangling import INCONSISTENT
from phalanx.engine.lifecycle import Cause, State
from phalanx.engine.views import SPOTS_MAX, GroupView, View, left_out
from phalanx.engine.whatif import ROOM
from phalanx.explain import text, words
from phalanx.kube.crds.models.gangstatus import GROUPS_SHOWN
from phalanx.model.problems import Problem
from phalanx.model.reasons import Reason, Why

Document = dict[str, Any]
Seen = Mapping[str, Any] | None  # a status as it stands in an object

MESSAGE_MAX = 1024  # characters; events allow no more, and a status is no place for an essay
POINTER_MAX = 256  # of the message on each pod: a thousand pods say the same (W-014)
PROBLEMS_SHOWN = 8
NODES_SHOWN = 4
RUNS_ON = "what runs goes on as before, as the last valid manifest asked"
INTERNAL = "InternalError"  # the reason of what is our mistake, and not the object's
LEVEL_BROKEN = "LevelBroken"  # the condition of a gang that does not keep a level it requires
_SEVERITY = (
    State.INVALID, State.DEGRADED, State.EVICTING, State.QUEUED, State.RESERVED, State.BINDING, State.STARTING,
    State.RUNNING, State.FINISHED,
)  # fmt: skip
_NODES_HELP = (*ROOM, Why.NO_MATCHING_NODES)  # reasons for which more nodes may be the answer


def stamp(seconds: float) -> str:
    """A moment as Kubernetes writes it: ``2026-11-16T06:43:03Z``."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# ---- sentences --------------------------------------------------------------------------------------------------


def sentence(view: View) -> str:
    """Where a gang is, in one line: why it waits, or how far it is."""
    if view.mishap is not None:
        return _bounded(f"{_unit(view)}set aside: it {view.mishap.problem('cannot be decided').message}")
    if view.state is State.QUEUED and view.reason is not None:
        line = text.waiting(_counted(view, view.reason), view.ways_out)
        return _bounded(f"{_unit(view)}{line}{_next_try(view)}")
    if view.state is State.QUEUED:
        return f"{_unit(view)}waiting: for its turn."
    if view.state is State.INVALID and view.problems:
        return _bounded(f"{_unit(view)}invalid: {listed(view.problems)}")
    return _bounded(f"{_unit(view)}{view.state.lower()}: {_cause(view)}{_progress(view)}{_torn(view)}{_lack(view)}")


def _unit(view: View) -> str:
    return f"{view.unit}: " if view.unit is not None else ""


def _counted(view: View, reason: Reason) -> Reason:
    """The reason with how many pods are needed, where nobody had counted them: it is not about room."""
    return reason if reason.needed else replace(reason, needed=view.whole.least)


def _next_try(view: View) -> str:
    waits = view.reason is not None and view.reason.type is Why.BACKING_OFF
    return f" Next try at {stamp(view.not_before)}." if waits else ""


def _cause(view: View) -> str:
    return f"{view.cause}; " if view.cause is not None else ""


def _progress(view: View) -> str:
    whole = view.whole
    where = f" in {words.place(whole.domain)}" if whole.domain else ""
    return f"{whole.bound} of {words.pods(whole.wanted)} bound, {whole.ready} ready{where}."


def _lack(view: View) -> str:
    """Why pods have no place though their gang runs."""
    if view.lack is None or not view.unplaced:
        return ""
    count = len(view.unplaced)
    return f" {count} more {'pod waits' if count == 1 else 'pods wait'}: {text.held_back(view.lack, view.ways_out)}"


def _torn(view: View) -> str:
    """Which required level is not kept any more, and since which node moved."""
    return f" {torn(view)}" if view.torn else ""


def torn(view: View) -> str:
    """The first level that is not kept, with the nodes that left it."""
    one, more = view.torn[0], len(view.torn[0].nodes) - NODES_SHOWN
    places = [f"node {node} is in {words.place(path) if path else f'no {one.level}'}" for node, path in one.nodes]
    others = f" and {more} more" if more > 0 else ""
    left = f"{', '.join(places[:NODES_SHOWN])}{others} by now, the rest in {words.place(one.domain)}"
    return f'The {one.level} that group "{one.group}" requires is not kept: {left}.'


def listed(problems: Sequence[Problem], most: int = MESSAGE_MAX) -> str:
    """Problems with their field paths, the first few of them."""
    shown = [str(one) for one in problems[:PROBLEMS_SHOWN]]
    more = f"; and {len(problems) - PROBLEMS_SHOWN} more" if len(problems) > PROBLEMS_SHOWN else ""
    return _bounded("; ".join(shown), most - len(more)) + more


def refusal(problems: Sequence[Problem], runs: bool) -> str:
    """What is wrong with an object; and what becomes of what was placed for it before."""
    return f"{listed(problems, MESSAGE_MAX - len(RUNS_ON) - 2)}; {RUNS_ON}" if runs else listed(problems)


def _bounded(line: str, most: int = MESSAGE_MAX) -> str:
    return line if len(line) <= most else f"{line[: most - 3]}..."


# ---- conditions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Said:
    """One condition without its times."""

    type: str
    holds: bool
    reason: str
    message: str = ""


def _dated(said: Said, before: Iterable[Mapping[str, Any]], generation: int, now: str) -> Document:
    """A condition as it is written; it keeps its time unless its status changes."""
    status = "True" if said.holds else "False"
    old = next((one for one in before if one.get("type") == said.type), {})
    since = old.get("lastTransitionTime") if old.get("status") == status else None
    found = {"type": said.type, "status": status, "reason": said.reason, "message": said.message}
    return {**found, "lastTransitionTime": since or now, "observedGeneration": generation}


def _with(said: Sequence[Said], before: Seen, generation: int, now: str) -> list[Document]:
    """These conditions, and those of others as they stand."""
    old = conditions(before)
    own = {one.type for one in said}
    return [_dated(one, old, generation, now) for one in said] + [one for one in old if one.get("type") not in own]


def conditions(status: Seen) -> list[Document]:
    """The conditions in a status, whatever state it is in."""
    found = (status or {}).get("conditions")
    return [dict(one) for one in found if isinstance(one, Mapping)] if isinstance(found, (list, tuple)) else []


def is_true(status: Seen, kind: str) -> bool:
    return any(one.get("type") == kind and one.get("status") == "True" for one in conditions(status))


def word(cause: Cause | None, state: State) -> str:
    """A cause as a condition's reason: ``ScheduleTimeout``; the state where it has none."""
    return str(state) if cause is None else "".join(part.capitalize() for part in cause.name.split("_"))


def _why(view: View) -> str:
    """The reason word of a view: of the catalogue while it waits, else what brought it where it is."""
    if view.state is State.QUEUED:
        return str(view.reason.type) if view.reason is not None else "Queued"
    return word(view.cause, view.state)


# ---- our Gang ---------------------------------------------------------------------------------------------------


def gang_status(
    views: Sequence[View], before: Seen, generation: int, now: str, notes: Sequence[Problem] = ()
) -> Document:
    """The status of a Gang: of its one unit, or of all of them together, the one that is worst off first.

    ``notes``: what does not agree between it and its pods (W-103); it is told in ``Valid``.
    """
    units = _worst_first(views)
    groups = _named(units)
    worst, whole = units[0], [one.whole for one in units]
    found: Document = {
        "observedGeneration": generation,
        "state": str(worst.state),
        "pods": f"{sum(one.bound for one in whole)}/{sum(one.wanted for one in whole)}",
        "conditions": _with(_all_said(units, notes, before), before, generation, now),
        "groups": [_group(one) for one in groups[:GROUPS_SHOWN]],
    }
    if len(units) == 1 and worst.whole.domain:
        found["domain"] = "/".join(worst.whole.domain)
    placement = _placement(units)
    return {**found, "placement": placement} if placement else found


def _all_said(units: Sequence[View], notes: Sequence[Problem], before: Seen) -> list[Said]:
    alive = [one for one in units if one.state is not State.FINISHED]
    return [
        _valid(units, notes),
        _any("Queued", units, lambda one: one.state is State.QUEUED),
        _all("QuotaReserved", alive or units, lambda one: one.holds),
        _created(units, alive),
        _all("Scheduled", units, lambda one: one.scheduled or one.state is State.FINISHED),
        _all("Ready", units, lambda one: one.ready and one.state not in (State.EVICTING, State.FINISHED)),
        _any("Degraded", units, lambda one: one.state is State.DEGRADED),
        Said("Finished", not alive, _why(units[0]), "" if alive else sentence(units[0])),
        _any("DisruptionTarget", units, lambda one: one.state is State.EVICTING),
        *_level_broken(units, before),
    ]


def _level_broken(units: Sequence[View], before: Seen) -> Iterator[Said]:
    """That a required level is not kept any more; after that, that it is again."""
    told = next((one for one in units if one.torn), None)
    if told is not None:
        yield Said(LEVEL_BROKEN, True, "NodeChanged", _bounded(f"{_unit(told)}{torn(told)}"))
    elif is_true(before, LEVEL_BROKEN) or any(one.get("type") == LEVEL_BROKEN for one in conditions(before)):
        yield Said(LEVEL_BROKEN, False, "LevelsKept")


def _any(kind: str, units: Sequence[View], test: Callable[[View], bool]) -> Said:
    """Holds if it does for one of the units, and that one tells why."""
    told = next((one for one in units if test(one)), None)
    return Said(kind, told is not None, _why(told or units[0]), sentence(told) if told is not None else "")


def _all(kind: str, units: Sequence[View], test: Callable[[View], bool]) -> Said:
    """Holds if it does for all of them; the first for which it does not tells why."""
    told = next((one for one in units if not test(one)), None)
    return Said(kind, told is None, _why(told or units[0]), sentence(told or units[0]))


def _valid(units: Sequence[View], notes: Sequence[Problem]) -> Said:
    tripped = next((one for one in units if one.mishap is not None), None)
    if tripped is not None:
        return Said("Valid", False, INTERNAL, sentence(tripped))
    wrong = next((one for one in units if one.state is State.INVALID), None)
    if wrong is not None:
        return Said("Valid", False, "Invalid", sentence(wrong))
    return _accepted(notes)


def _accepted(notes: Sequence[Problem]) -> Said:
    """Valid, and perhaps not of one mind with others."""
    return Said("Valid", True, INCONSISTENT if notes else "Accepted", listed(notes))


def _created(units: Sequence[View], alive: Sequence[View]) -> Said:
    """Whether the pods of its minimum exist; if not, of which group too few do (W-019)."""
    short = next((one for one in alive if not one.complete), None)
    if short is None:
        return Said("PodsCreated", True, "PodsCreated", f"{sum(one.whole.seen for one in units)} pods exist")
    lacking = [one for one in short.groups if one.has_pods and one.seen < one.least] or [short.whole]
    first, more = lacking[0], len(lacking) - 1
    rest = f", and {more} more groups lack some" if more else ""
    line = f'{_unit(short)}group "{first.name}": {first.seen} of {first.least} pods exist{rest}'
    return Said("PodsCreated", False, str(Why.PODS_MISSING), _bounded(line))


def _named(units: Sequence[View]) -> list[GroupView]:
    """The groups people know, of all units. Two units with a group of one name say which is which."""
    found: dict[str, GroupView] = {}
    for view in sorted(units, key=lambda one: one.id):
        for one in view.groups:
            if one.named:
                name = one.name if one.name not in found else f"{view.unit}/{one.name}"
                found[name] = replace(one, name=name)
    return list(found.values())


def _group(one: GroupView) -> Document:
    counts = {"wanted": one.wanted, "seen": one.seen, "reserved": one.reserved, "bound": one.bound, "ready": one.ready}
    return {"name": one.name, **counts, "domain": list(one.domain)}


def _placement(units: Sequence[View]) -> Document | None:
    """Narrowest domains and counts per group, no more of them for many units than for one."""
    spots = [spot for view in sorted(units, key=lambda one: one.id) for spot in view.spots]
    if not spots:
        return None
    left = Counter(dict(left_out(spots)))
    for view in units:
        left.update(dict(view.more))
    groups: dict[str, list[Document]] = {}
    for spot in spots[:SPOTS_MAX]:
        groups.setdefault(spot.group, []).append({"domain": list(spot.domain), "pods": spot.pods})
    found = [_domains(name, domains, left.pop(name, 0)) for name, domains in groups.items()]
    level = next((view.level for view in units if view.level), "")
    return {"level": level, "groups": found, **({"more": len(left)} if left else {})}


def _domains(name: str, domains: list[Document], more: int) -> Document:
    return {"name": name, "domains": domains, **({"more": more} if more else {})}


# ---- Kubernetes' own groups -------------------------------------------------------------------------------------


def group_conditions(
    kind: str, view: View, group: str, before: Seen, generation: int, now: str, notes: Sequence[Problem] = ()
) -> list[Document]:
    """The conditions of a PodGroup or CompositePodGroup that are to be written, and no others.

    ``<kind>InitiallyScheduled`` is True once the group has its minimum on nodes, and stays so whatever happens later:
    that is its contract upstream. What does not agree with its pods is told there until then (``notes``).
    ``DisruptionTarget`` is there while it is made to leave, and after that as False.
    """
    found = [_initially(kind, view, group, notes)] if not is_true(before, f"{kind}InitiallyScheduled") else []
    leaving = view.state is State.EVICTING
    if leaving or is_true(before, "DisruptionTarget"):
        found.append(Said("DisruptionTarget", leaving, _why(view), sentence(view)))
    return [_dated(one, conditions(before), generation, now) for one in found]


def refused_group(
    kind: str, problems: Sequence[Problem], runs: bool, before: Seen, generation: int, now: str
) -> list[Document]:
    """The condition of a PodGroup or CompositePodGroup that cannot be read; none if it was scheduled before. ``runs``:
    whether pods of it are there from before."""
    if is_true(before, f"{kind}InitiallyScheduled"):
        return []
    said = Said(f"{kind}InitiallyScheduled", False, "SchedulerError", f"invalid: {refusal(problems, runs)}")
    return [_dated(said, conditions(before), generation, now)]


def _initially(kind: str, view: View, group: str, notes: Sequence[Problem]) -> Said:
    own = next((one for one in view.groups if one.name == group), view.whole)
    scheduled = view.scheduled and own.bound >= own.least
    reason = "Scheduled" if scheduled else "SchedulerError" if view.state is State.INVALID else "Unschedulable"
    line = f"{sentence(view)} {listed(notes)}" if notes else sentence(view)
    return Said(f"{kind}InitiallyScheduled", scheduled, reason, _bounded(line))


# ---- pods -------------------------------------------------------------------------------------------------------


def pod_reason(view: View) -> str:
    """The reason on the pods of a waiting gang; empty when nothing is to be said.

    Autoscalers add nodes for pods that are ``Unschedulable``. They are told so only where more nodes may be the answer;
    for a gang over its quota, or behind others, they would be bought in vain, and its pods carry its own reason. So do
    those that came late to a gang that runs.
    """
    reason = view.reason if view.state is State.QUEUED else view.lack
    if reason is None:
        return ""
    return "Unschedulable" if reason.type in _NODES_HELP else str(reason.type)


def pod_condition(view: View, before: Seen, now: str) -> Document | None:
    """``PodScheduled=False`` with the gang's line; None where it says so already, or the pod has a node."""
    reason = pod_reason(view)
    old = next((one for one in conditions(before) if one.get("type") == "PodScheduled"), {})
    if not reason or old.get("status") == "True" or old.get("reason") == reason:
        return None
    since = old.get("lastTransitionTime") if old.get("status") == "False" else None
    line = _bounded(f"{view.kind} {view.name}: {sentence(view)}", POINTER_MAX)
    found = {"type": "PodScheduled", "status": "False", "reason": reason, "message": line}
    return {**found, "lastTransitionTime": since or now}


# ---- good and bad manifests -------------------------------------------------------------------------------------


def invalid_status(
    kind: str, problems: Sequence[Problem], views: Sequence[View], before: Seen, generation: int, now: str
) -> Document:
    """The status of an object of ours that was refused; what else is said of it stands as it was, or as it is seen to
    be while pods of it run.

    Of a Gang ``Scheduled`` says why too: that is where people, and the columns of ``kubectl get``, look. Whether it
    holds stands as it was: pods that run do not stop running because of it.
    """
    runs = any(view.holds for view in views)
    valid = Said("Valid", False, "Invalid", refusal(problems, runs))
    if kind != "Gang":
        return _judged([valid], before, generation, now)
    before = gang_status(views, before, generation, now) if runs else {**(before or {}), "state": str(State.INVALID)}
    scheduled = replace(valid, type="Scheduled", holds=is_true(before, "Scheduled"))
    return _judged([valid, scheduled], before, generation, now)


def valid_status(before: Seen, generation: int, now: str, doubts: Sequence[Problem] = ()) -> Document:
    """The status of an object of ours that is good, be it that it was refused before or that it names what is not
    there (``doubts``)."""
    return _judged([_accepted(doubts)], before, generation, now)


def _judged(said: Sequence[Said], before: Seen, generation: int, now: str) -> Document:
    return {**(before or {}), "observedGeneration": generation, "conditions": _with(said, before, generation, now)}


def foreign_conditions(views: Sequence[View], before: Seen, generation: int, now: str) -> list[Document]:
    """The conditions of a kind of another project, where we may write them: one of ours, all others as they stand."""
    said = _all("phalanx.dev/Scheduled", _worst_first(views), lambda one: one.scheduled)
    return _with([said], before, generation, now)


def _worst_first(views: Sequence[View]) -> list[View]:
    return sorted(views, key=lambda one: (_SEVERITY.index(one.state), one.id))


def merged(before: Seen, found: Sequence[Document]) -> list[Document]:
    """All conditions after these were written over those of the same type."""
    own = {one["type"] for one in found}
    return [one for one in conditions(before) if one.get("type") not in own] + list(found)
