"""Figures for Prometheus, in a registry of their own. Pure counting: whoever knows a figure calls a method.

Labels come from catalogues of ours (states, reasons, answers, effects), from the kinds that are watched, and from the
names of queues, of which only so many are told apart. Nothing a user can make without end becomes a label.
All methods are for the thread of the event loop: a scrape is answered there too, so it sees whole changes.
"""

import platform
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Protocol, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from phalanx.dialects import kindtable
from phalanx.engine.gangs import Gang
from phalanx.engine.lifecycle import State
from phalanx.model.decision import Decision, Invalid
from phalanx.model.effects import Effect
from phalanx.model.events import Answer
from phalanx.model.mistakes import Mistake
from phalanx.model.reasons import Why

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
QUEUES_MAX = 200  # told apart; the rest is summed up
OTHER_QUEUES = "(other)"  # no queue can be called so
OTHER_KINDS = "(other)"
OUTCOMES = ("Placed", "Waiting", "Invalid")
EFFECTS = tuple(sorted(kind.__name__ for kind in get_args(Effect)))
_SHORT = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_LONG = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 4 * 3600, 24 * 3600)
_WORK = tuple(10**power for power in range(2, 10))

Gangs = Mapping[tuple[str, str], int]  # how many, by state and reason


class Named(Protocol):
    @property
    def group_resource(self) -> str: ...


class Counts(Protocol):
    """What a mirror has counted since it began."""

    @property
    def events(self) -> int: ...
    @property
    def relists(self) -> int: ...
    @property
    def restarts(self) -> int: ...


class Synced(Protocol):
    def is_set(self) -> bool: ...


class Watched(Protocol):
    """What can be asked of a mirror: see ``wire.mirror``."""

    @property
    def resource(self) -> Named: ...
    @property
    def store(self) -> Sized: ...
    @property
    def unread(self) -> Sized: ...
    @property
    def counts(self) -> Counts: ...
    @property
    def synced(self) -> Synced: ...
    @property
    def last_heard(self) -> float: ...
    @property
    def problem(self) -> str: ...


def counted(gangs: Iterable[Gang]) -> Gangs:
    """How many gangs there are in each state, for each reason. To be called where no step is under way."""
    return Tally((gang.state.value, gang.reason.type.value if gang.reason else "") for gang in gangs)


class Metrics:
    """``mirrors``: those that are running, asked for at each scrape. ``clock``: the one that ``last_heard`` is of.
    ``unseen``: kinds that restrict what may start and are not seen, and why."""

    def __init__(
        self,
        version: str,
        mirrors: Callable[[], Iterable[Watched]],
        clock: Callable[[], float],
        unseen: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        registry.register(_Mirrors(mirrors, clock, unseen))
        build = Gauge("phalanx_build_info", "Always 1.", ("version", "python"), registry=registry)
        build.labels(version, platform.python_version()).set(1)
        self._gangs = Gauge(
            "phalanx_gangs", "Gangs by state, and by why they wait.", ("state", "reason"), registry=registry
        )
        self._waiting = Gauge(
            "phalanx_queue_gangs_waiting", "Gangs that wait, by queue.", ("queue",), registry=registry
        )
        self._idle = Gauge(
            "phalanx_reserved_idle", "What gangs hold and no pod uses yet; summed over time it is what waiting costs.",
            ("resource",), registry=registry,
        )  # fmt: skip
        self._backlog = Gauge(
            "phalanx_backlog", "What waits to be worked on: events for the engine, effects to carry out.",
            ("of",), registry=registry,
        )  # fmt: skip
        self._decisions = Counter(
            "phalanx_decisions", "Decisions by outcome, and by why not.", ("outcome", "reason"), registry=registry
        )
        self._decision_seconds = Histogram(
            "phalanx_decision_seconds", "Seconds of a decision: those of its step, shared by all decisions of it.",
            buckets=_SHORT, registry=registry,
        )  # fmt: skip
        self._decision_work = Histogram(
            "phalanx_decision_work_units", "Counted work of a decision; its bound is policy.budget.",
            buckets=_WORK, registry=registry,
        )  # fmt: skip
        self._step_seconds = Histogram(
            "phalanx_step_seconds", "Seconds of one step of the engine.", buckets=_SHORT, registry=registry
        )
        self._binds = Counter("phalanx_binds", "Binds by what became of them.", ("answer",), registry=registry)
        self._bind_seconds = Histogram(
            "phalanx_bind_seconds", "Seconds until a bind was answered, or given up.", buckets=_SHORT, registry=registry
        )
        self._start_seconds = Histogram(
            "phalanx_gang_start_seconds", "Seconds from when a gang was first seen until its minimum was bound.",
            buckets=_LONG, registry=registry,
        )  # fmt: skip
        self._effects = Counter(
            "phalanx_effects", "Effects carried out, and those that failed.", ("effect", "outcome"), registry=registry
        )
        self._unheard = Counter(
            "phalanx_unheard_seconds", "Seconds that do not count for any gang, for pods or nodes could not be heard.",
            registry=registry,
        )  # fmt: skip
        self._aside = Gauge(
            "phalanx_objects_set_aside", "Objects and gangs over which we tripped, or that nobody can read, by kind.",
            ("kind",), registry=registry,
        )  # fmt: skip
        self._anew = Counter(
            "phalanx_begun_anew", "Times a mistake of ours made it forget all and read it again.", registry=registry
        )
        self._show_zeros()

    def _show_zeros(self) -> None:
        """Counters that exist before anything happened: a rate over them sees the first time too."""
        for answer in Answer:
            self._binds.labels(answer.name.lower())
        for effect in EFFECTS:
            for outcome in ("done", "failed"):
                self._effects.labels(effect, outcome)
        for outcome in ("Placed", "Invalid"):
            self._decisions.labels(outcome, "")
        for why in Why:
            self._decisions.labels("Waiting", why.value)

    # -- what the loop tells -----------------------------------------------------------------------------------------

    def gangs(self, found: Gangs) -> None:
        """All gangs there are now, as ``counted`` gives them."""
        self._gangs.clear()
        for known in State:
            self._gangs.labels(known.value, "").set(0)
        for (state, reason), count in found.items():
            self._gangs.labels(_one_of(State, state), _one_of(Why, reason)).set(count)

    def queues(self, waiting: Mapping[str, int]) -> None:
        """How many gangs wait in each queue there is."""
        self._waiting.clear()
        names = sorted(waiting)
        for name in names[:QUEUES_MAX]:
            self._waiting.labels(name).set(waiting[name])
        if len(names) > QUEUES_MAX:
            self._waiting.labels(OTHER_QUEUES).set(sum(waiting[name] for name in names[QUEUES_MAX:]))

    def idle(self, amounts: Mapping[str, float]) -> None:
        """What is reserved for pods that are not there yet, by resource in whole units."""
        self._idle.clear()
        for name, amount in amounts.items():
            self._idle.labels(name).set(amount)

    def backlog(self, events: int, effects: int) -> None:
        self._backlog.labels("events").set(events)
        self._backlog.labels("effects").set(effects)

    def stepped(self, seconds: float, decisions: Sequence[Decision]) -> None:
        """One step of the engine, and what was decided in it."""
        self._step_seconds.observe(seconds)
        for decision in decisions:
            self._decisions.labels(*_outcome(decision)).inc()
            if not isinstance(decision, Invalid):
                self._decision_seconds.observe(seconds / len(decisions))
                self._decision_work.observe(decision.work)

    def unheard(self, seconds: float) -> None:
        """So much time did not count."""
        self._unheard.inc(seconds)

    def set_aside(self, found: Mapping[tuple[str, str], int]) -> None:
        """All objects and gangs that are left alone now, by API group and kind."""
        self._aside.clear()
        for (group, kind), count in found.items():
            self._aside.labels(_kind(group, kind)).inc(count)

    def began_anew(self) -> None:
        """A step failed."""
        self._anew.inc()

    def bound(self, answer: Answer, seconds: float) -> None:
        """One bind was answered, or nobody answered in time."""
        self._binds.labels(answer.name.lower()).inc()
        self._bind_seconds.observe(seconds)

    def started(self, seconds: float) -> None:
        """A gang has its minimum bound, so long after it was first seen."""
        self._start_seconds.observe(seconds)

    def carried_out(self, effect: Effect, done: bool) -> None:
        """An effect was carried out, or could not be."""
        self._effects.labels(type(effect).__name__, "done" if done else "failed").inc()

    # -- what Prometheus asks ----------------------------------------------------------------------------------------

    def text(self) -> bytes:
        """Everything, in the text format of Prometheus (``CONTENT_TYPE``)."""
        return generate_latest(self.registry)


def _kind(group: str, kind: str) -> str:
    """As ``kubectl`` writes it: ``Job.batch``. Kinds that we do not know have one name for all of them."""
    if (group, kind) not in kindtable.BY_KEY:
        return OTHER_KINDS
    return f"{kind}.{group}" if group else kind


def _one_of(catalogue: type[State] | type[Why], value: str) -> str:
    if value and value not in {one.value for one in catalogue}:
        raise Mistake(f"{value} is in no catalogue")
    return value


def _outcome(decision: Decision) -> tuple[str, str]:
    name = type(decision).__name__
    if name not in OUTCOMES:
        raise Mistake(f"{name} is no outcome")
    reason = getattr(decision, "reason", None)
    return name, reason.type.value if reason is not None else ""


class _Mirrors(Collector):
    """Figures of the mirrors, read when they are asked for."""

    def __init__(
        self,
        mirrors: Callable[[], Iterable[Watched]],
        clock: Callable[[], float],
        unseen: Callable[[], Mapping[str, str]],
    ) -> None:
        self._mirrors, self._clock, self._unseen = mirrors, clock, unseen

    def describe(self) -> Iterable[Metric]:
        return ()  # nothing is known before the first scrape

    def collect(self) -> Iterator[Metric]:
        found = sorted(self._mirrors(), key=lambda one: one.resource.group_resource)
        now = self._clock()
        yield _gauge("objects", "Objects held.", found, lambda one: len(one.store))
        yield _gauge("unread", "Objects that cannot be read.", found, lambda one: len(one.unread))
        yield _gauge("synced", "1: its first whole picture is in.", found, lambda one: int(one.synced.is_set()))
        synced = [one for one in found if one.synced.is_set()]
        yield _gauge("silent_seconds", "Since it last heard the server.", synced, lambda one: now - one.last_heard)
        yield self._unseen_kinds()
        yield _counter("events", "Changes heard.", found, lambda one: one.counts.events)
        yield _counter("relists", "Times everything was read again.", found, lambda one: one.counts.relists)
        yield _counter("restarts", "Times a watch ended before its time.", found, lambda one: one.counts.restarts)

    def _unseen_kinds(self) -> Metric:
        says = "1: a kind that restricts what may start is not seen. awaited: at the start nothing is bound before."
        family = GaugeMetricFamily("phalanx_unseen_kinds", says, labels=("resource", "why"))
        for name, why in sorted(self._unseen().items()):
            family.add_metric((name, why), 1)
        return family


def _gauge(name: str, says: str, found: Iterable[Watched], value: Callable[[Watched], float]) -> Metric:
    family = GaugeMetricFamily(f"phalanx_mirror_{name}", says, labels=("resource",))
    for one in found:
        family.add_metric((one.resource.group_resource,), value(one))
    return family


def _counter(name: str, says: str, found: Iterable[Watched], value: Callable[[Watched], float]) -> Metric:
    family = CounterMetricFamily(f"phalanx_mirror_{name}", says, labels=("resource",))
    for one in found:
        family.add_metric((one.resource.group_resource,), value(one))
    return family
