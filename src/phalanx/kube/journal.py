"""What is written down of every step: log lines, and the figures that count gangs."""

from collections import Counter
from collections.abc import Callable, Iterable

from phalanx.decider import Outcome
from phalanx.engine.gangs import Gang
from phalanx.engine.lifecycle import Cause, State
from phalanx.kube import metrics
from phalanx.kube.logs import GangLog
from phalanx.kube.metrics import Metrics
from phalanx.model.effects import Report
from phalanx.model.resources import NANO

COUNT_SECONDS = 1.0  # gangs are counted at most this often: there may be very many


class Journal:
    """``gangs``: all there are, asked for only between two steps: by ``note`` after each, by ``settle`` later on."""

    def __init__(
        self, log: GangLog, figures: Metrics, gangs: Callable[[], Iterable[Gang]], clock: Callable[[], float]
    ) -> None:
        self._log, self._figures, self._gangs, self._clock = log, figures, gangs, clock
        self._counted = float("-inf")
        self._owes = False  # something may have changed since

    def note(self, outcome: Outcome) -> None:
        for decision in outcome.decisions:
            self._log.decided(decision)
        for effect in outcome.effects:
            if isinstance(effect, Report):
                self._log.reported(effect)
                self._note_start(effect, outcome)
        self._owes = True
        self.settle()

    def settle(self) -> float | None:
        """Counts what the last steps changed, unless others were counted just now: then the seconds until it may."""
        left = self._counted + COUNT_SECONDS - self._clock()
        if not self._owes or left > 0:
            return left if self._owes else None
        self._counted, self._owes = self._clock(), False
        self._count()
        return None

    def _note_start(self, report: Report, outcome: Outcome) -> None:
        view = outcome.views.get(report.gang)
        if report.cause == Cause.BOUND.name and view is not None:
            self._figures.started(max(report.at - view.since, 0.0))

    def _count(self) -> None:
        gangs = list(self._gangs())
        self._figures.gangs(metrics.counted(gangs))
        self._figures.idle(reserved_idle(gangs))
        self._figures.queues(Counter(one.request.queue for one in gangs if one.state is State.QUEUED))


def reserved_idle(gangs: Iterable[Gang]) -> dict[str, float]:
    """What gangs hold that are not bound whole yet, on places without a pod. (W-164)"""
    found: Counter[str] = Counter()
    for gang in gangs:
        if gang.state in (State.RESERVED, State.BINDING):
            running = {pod.key for pod in gang.on_nodes()}
            shapes = {pods.name: pods.shape for pods in gang.request.root.pod_sets()}
            for slot in gang.every_slot():
                if slot.pod not in running and not slot.done:
                    found.update(dict(shapes[slot.pod_set].requests))
    return {name: amount / NANO for name, amount in sorted(found.items())}
