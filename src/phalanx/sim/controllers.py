"""The controllers of a simulated world: they make and replace pods, start them, and end what has run long enough."""

from collections import Counter
from random import Random

from phalanx.model.daemons import DaemonSet
from phalanx.model.mistakes import Mistake
from phalanx.model.pods import Pod, PodKey
from phalanx.model.request import PodSet
from phalanx.sim.agenda import Agenda
from phalanx.sim.faults import Faults
from phalanx.sim.minimum import whole
from phalanx.sim.truth import Bound, Gang, Truth

FAIL_WITHIN = 60.0  # a pod that is going to fail does so within these seconds after it came up


class Controllers:
    """What stands between a gang and its pods. ``finished``: ids in the order they ended, each once."""

    def __init__(self, truth: Truth, agenda: Agenda, faults: Faults, chance: Random) -> None:
        self._truth, self._agenda, self._faults, self._chance = truth, agenda, faults, chance
        self._complete_since: dict[str, float] = {}  # gangs whose minimum is ready
        self._pinned: dict[PodKey, Bound] = {}  # ungated, and not bound yet
        self.finished: list[str] = []

    # -------------------------------------------------------------------------------------------- gangs

    def submit(self, gang: Gang) -> None:
        self._truth.put_gang(gang)
        self.make_all(gang.request.id)

    def make_all(self, name: str) -> None:
        """Every pod of a gang, each after a moment of its own."""
        for group in self._truth.gangs[name].request.root.groups():
            first = 0
            for pods in (member for member in group.members if isinstance(member, PodSet)):
                for number in range(pods.count):
                    self._make_later(name, pods, first + number)
                first += pods.count if group.ranks is not None else 0

    def hold(self, name: str) -> None:
        """The owner is suspended: its pods are deleted, and no others come."""
        gang = self._truth.gangs[name]
        gang.held, gang.prepared = True, False
        for pod in self._truth.members(name):
            self.delete(pod.key)

    def let_go(self, name: str) -> None:
        gang = self._truth.gangs[name]
        if gang.held:
            gang.held = False
            self.make_all(name)

    def follow_size(self, name: str) -> None:
        """The gang was made larger or smaller: pods come or go, those of the highest ranks."""
        gang = self._truth.gangs[name]
        (pods,) = gang.request.root.pod_sets()
        for pod in self._truth.members(name):
            if pod.rank is not None and pod.rank >= pods.count:
                self.delete(pod.key)
        if not gang.held:
            self.make_all(name)

    def end(self, name: str, how: str) -> None:
        """The gang is over, by itself or by its user; its pods go with it."""
        if self._truth.gangs[name].ended:
            return
        self.finished.append(name)
        self._truth.end_gang(name, how)
        for pod in self._truth.members(name):
            self.delete(pod.key)

    # --------------------------------------------------------------------------------------------- pods

    def _make_later(self, name: str, pods: PodSet, rank: int) -> None:
        self._agenda.after(self._chance.uniform(0, self._faults.delays.make), lambda: self._make(name, pods, rank))

    def _make(self, name: str, pods: PodSet, rank: int) -> None:
        gang = self._truth.gangs[name]
        taken = any((pod.pod_set, pod.rank) == (pods.name, rank) and pod.phase != "Failed" for pod in self._pods(name))
        if not (gang.ended or gang.held or taken or self._is_surplus(name, rank)):
            self._truth.make_pod(name, self._name(name, pods, rank), pods.shape, pods.name, rank)

    def _name(self, gang: str, pods: PodSet, rank: int) -> str:
        """The name its predecessor had, unless that is still there."""
        name = f"{self._truth.gangs[gang].request.name}-{pods.name}-{rank}"
        taken = {pod.key.name for pod in self._pods(gang)}
        return name if name not in taken else f"{name}-{self._truth.version}"

    def _pods(self, name: str) -> list[Pod]:
        return self._truth.members(name)

    def delete(self, key: PodKey) -> None:
        """The pod is told to leave, and is gone after its grace. Told again, nothing more happens."""
        pod = self._truth.pods.get(key)
        if pod is None or pod.leaving:
            return
        grace = self._chance.uniform(0, self._faults.delays.grace) if pod.holds else 0.0
        self._truth.change_pod(key, leaving=True, ready=False)
        self._agenda.after(grace, lambda: self.remove(key))
        self._watch_completeness(pod.gang)

    def remove(self, key: PodKey) -> None:
        """The pod is gone, and its controller makes another in its place, if it is still to have one."""
        if key not in self._truth.pods:
            return
        pod = self._truth.drop_pod(key)
        if pod.gang is not None and pod.phase != "Failed":  # a failed one has been replaced
            self._replace(pod)

    def _replace(self, pod: Pod) -> None:
        if pod.gang is None or pod.rank is None:
            raise Mistake("a pod of no gang is made again by nobody")
        sets = {one.name: one for one in self._truth.gangs[pod.gang].request.root.pod_sets()}
        if not self._is_surplus(pod.gang, pod.rank):
            self._make_later(pod.gang, sets[pod.pod_set or ""], pod.rank)
        self._watch_completeness(pod.gang)

    def _is_surplus(self, gang: str, rank: int) -> bool:
        """Whether a gang has become smaller, and does without a pod of this rank."""
        members = self._truth.gangs[gang].request.root.members
        return len(members) == 1 and isinstance(members[0], PodSet) and rank >= members[0].count

    # ------------------------------------------------------------------------------------------- daemons

    def make_daemons(self, node: str) -> None:
        """Every DaemonSet brings its pod to a node that came, each after a moment of its own."""
        for one in self._truth.daemon_sets:
            self._agenda.after(
                self._chance.uniform(0, self._faults.delays.make),
                lambda one=one: self._make_daemon(one, node),  # type: ignore[misc]
            )

    def _make_daemon(self, one: DaemonSet, node: str) -> None:
        there = any(pod.daemon_set == one.id for pod in self._truth.on_node(node))
        if node in self._truth.nodes and not there:
            self._truth.make_pod(None, f"{one.name}-{node}", one.shape, None, None, node, one.id)

    def lose(self, key: PodKey) -> None:
        """The pod and its node are no more. What has succeeded is counted, and stays so."""
        pod = self._truth.pods.get(key)
        if pod is not None and pod.phase != "Succeeded":
            self.note_loss(pod)
            self.remove(key)

    def fail(self, key: PodKey) -> None:
        """The pod failed; it stays to be looked at, for a while or for good, beside the one made in its place."""
        pod = self._truth.pods.get(key)
        if pod is None or pod.leaving or pod.ended:
            return
        self.note_loss(pod)
        self._truth.change_pod(key, phase="Failed", ready=False)
        self._replace(pod)
        if self._chance.random() >= self._faults.kept:
            self._agenda.after(self._faults.delays.grace, lambda: self.remove(key))

    def note_loss(self, pod: Pod) -> None:
        """From now on its gang has one pod less, by no doing of the engine."""
        if pod.gang is not None:
            self._truth.gangs[pod.gang].losses.append(self._agenda.now)

    # ------------------------------------------------------------------------------------------ running

    def was_bound(self, key: PodKey) -> None:
        """A pod on a node comes up, unless it is one of those that never do."""
        if self._agenda.now < self._faults.until and self._chance.random() < self._faults.stuck:
            return
        self._agenda.after(self._chance.uniform(0, self._faults.delays.start), lambda: self._start(key))

    def _start(self, key: PodKey) -> None:
        pod = self._truth.pods.get(key)
        if pod is None or pod.leaving or pod.ended or pod.node not in self._truth.nodes:
            return
        self._truth.change_pod(key, phase="Running", ready=True)
        if self._agenda.now < self._faults.until and self._chance.random() < self._faults.pod_failed:
            self._agenda.after(self._chance.uniform(0, FAIL_WITHIN), lambda: self.fail(key))
        self._watch_completeness(pod.gang)

    def _watch_completeness(self, name: str | None) -> None:
        """A gang runs from the moment its minimum is ready. What it did is lost when it falls below that again."""
        if name is None or self._truth.gangs[name].ended:
            return
        gang = self._truth.gangs[name]
        ready = Counter(pod.pod_set or "" for pod in self._pods(name) if pod.ready or pod.phase == "Succeeded")
        if not whole(gang.request, ready):
            self._complete_since.pop(name, None)
        elif name not in self._complete_since:
            since = self._complete_since[name] = self._agenda.now
            self._agenda.after(gang.duration, lambda: self._finish(name, since))

    def _finish(self, name: str, since: float) -> None:
        if self._complete_since.get(name) != since or self._truth.gangs[name].ended:
            return
        gang = self._truth.gangs[name]
        for pod in self._pods(name):
            if gang.staggered:
                self._succeed_later(pod.key, self._chance.uniform(0, gang.staggered))
            else:
                self._succeed(pod.key)
        over = gang.staggered + self._chance.uniform(0, self._faults.delays.make)
        self._agenda.after(over, lambda: self._end_if_done(name, since))

    def _succeed_later(self, key: PodKey, seconds: float) -> None:
        self._agenda.after(seconds, lambda: self._succeed(key))

    def _succeed(self, key: PodKey) -> None:
        pod = self._truth.pods.get(key)
        if pod is not None and pod.ready and not pod.leaving:
            self._truth.change_pod(key, phase="Succeeded", ready=False)

    def _end_if_done(self, name: str, since: float) -> None:
        """One that lost a pod while others succeeded goes on from there, and is looked at again when it is whole."""
        if self._complete_since.get(name) == since:
            for pod in self._pods(name):
                self._succeed(pod.key)
            self.end(name, "finished")

    def came_too_late(self, node: str, how: Bound) -> bool:
        """Whether a node is too full since a pod of no gang came there of which the engine had not heard when it chose.
        Its kubelet refuses the pod then. Where the engine knew, the pod is let in, to be seen by the invariants."""
        return bool(self._truth.strangers(node) - how.strangers) and self._truth.is_overfull(node)

    # -------------------------------------------------------------------------- the scheduler beside ours

    def schedule_pinned(self, key: PodKey, how: Bound) -> None:
        """The other scheduler binds a pod that was ungated to the node it is pinned to, once that is there."""
        self._pinned[key] = how
        self._agenda.after(self._chance.uniform(0, self._faults.delays.schedule), lambda: self._bind_pinned(key))

    def _bind_pinned(self, key: PodKey) -> None:
        pod, how = self._truth.pods.get(key), self._pinned.get(key)
        if pod is None or pod.leaving or pod.node or how is None:
            self._pinned.pop(key, None)
        elif (node := self._truth.pinned_node(key)) is None:
            self._agenda.after(self._faults.delays.schedule, lambda: self._bind_pinned(key))
        else:
            del self._pinned[key]
            self._truth.bind(key, node, how)
            if self.came_too_late(node, how):
                self.fail(key)
            else:
                self.was_bound(key)
