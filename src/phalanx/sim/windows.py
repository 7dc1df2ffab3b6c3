"""What may be so in a world for a while, and not for longer.

How long is said exactly, by the rules of the gang and the delays of the world, which the engine cannot shorten:

* **Half a gang.** Some of its pods stand and they are not its minimum. It may last until the latest of
  ``opened + schedule``, ``last loss of a bound pod + recovery`` and ``start of this engine + the longer of both``
  (a new one counts from when it found the half), plus ``told_within + done_within``: the engine has to hear of it, and
  what it does about it has to be carried out. So it is with every group and pod set inside a gang of which some pods
  stand, even if the gang can do without it, as long as the gang lost no pod: then the part was begun so. After a loss
  it may stay so for good, where no room comes for the lost one.
* **Two opinions.** The minimum of a gang stands and the engine has it queued, evicting or finished; or nothing of it
  stands and the engine has it starting or running. For ``told_within + done_within``.
* **Standing still.** No fault, and no pod got or lost its node, for as long as ``patience``: then nobody waits who
  would fit. Patience is the longest time-out of all gangs (who is repaired holds room that is not to be seen), the
  longest back-off with its jitter, and ``told_within + done_within``.
"""

from collections.abc import Iterator, Mapping

from phalanx.model.queues import Queue
from phalanx.model.request import Request
from phalanx.sim import picture, witness
from phalanx.sim.invariants import lineage, usage
from phalanx.sim.minimum import begun, whole
from phalanx.sim.picture import Amounts, Tallies
from phalanx.sim.truth import Gang, Truth
from phalanx.sim.world import World

BACKOFF_MOST = 90.0  # the engine's longest back-off and half of it as jitter
GATE = "Gate"
WHOLE = ""  # of the parts of a gang: all of it
_STANDING_STATES = ("Starting", "Running")
_ABSENT_STATES = ("Queued", "Evicting", "Finished", "Invalid")


class Windows:
    """Looks at a world after every step and remembers since when things are as they are."""

    def __init__(self, tallies: Tallies) -> None:
        self._tallies = tallies
        self._half: dict[tuple[str, str], float] = {}  # gang and part of it
        self._doubt: dict[str, float] = {}
        self._where: dict[object, str] = {}
        self._moved = 0.0
        self._version = -1

    def broken(self, world: World, states: Mapping[str, str]) -> Iterator[str]:
        if world.truth.version != self._version:
            self._version = world.truth.version
            self._note(world)
        yield from self._too_long_half(world)
        yield from self._lost(world, states)
        yield from self._two_opinions(world, states)
        if world.agenda.now - max(self._moved, world.last_fault) > patience(world):
            yield from standing_still(world.truth)
            self._moved = world.agenda.now

    def _note(self, world: World) -> None:
        truth, now = world.truth, world.agenda.now
        half = {(name, part) for name, gang in truth.active() for part in self._halves(name, gang)}
        self._half = {one: self._half.get(one, now) for one in sorted(half)}
        where: dict[object, str] = {key: pod.node for key, pod in truth.pods.items() if pod.holds}
        if where != self._where:
            self._where, self._moved = where, now

    def _too_long_half(self, world: World) -> Iterator[str]:
        for (name, part), opened in self._half.items():
            until = _half_until(world, world.truth.gangs[name], opened)
            if world.agenda.now > until:
                count = dict(self._tallies.of(name).counts)
                what = f"{name} has only" if part == WHOLE else f"{part} of {name} was begun with too few:"
                yield f"{what} {count} since {opened:.1f}, allowed until {until:.1f}"

    def _lost(self, world: World, states: Mapping[str, str]) -> Iterator[str]:
        """Every gang the engine was told of has one state, and nobody has one who was never submitted."""
        for name in world.told_gangs():
            if name not in states:
                yield f"{name} is lost: the engine was told of it and has no state for it"
        for name in states:
            if name not in world.truth.gangs:
                yield f"{name} has the state {states[name]} and was never submitted"

    def _two_opinions(self, world: World, states: Mapping[str, str]) -> Iterator[str]:
        differs = {name for name, state in states.items() if self._differs(world.truth, name, state)}
        now = world.agenda.now
        self._doubt = {name: max(self._doubt.get(name, now), world.started_at) for name in sorted(differs)}
        for name, since in self._doubt.items():
            if now - since > world.faults.told_within + world.faults.done_within:
                count = dict(self._tallies.of(name).counts)
                yield f"{name} is {states[name]} for the engine since {since:.1f}, and in truth has {count}"

    def _halves(self, name: str, gang: Gang) -> Iterator[str]:
        """The parts of a gang of which some pods stand and not their minimum."""
        tally = self._tallies.of(name)
        if tally.standing and not tally.whole:
            yield WHOLE
        elif tally.standing and not gang.losses:
            yield from begun(gang.request, tally.counts)

    def _differs(self, truth: Truth, name: str, state: str) -> bool:
        if name not in truth.gangs or truth.gangs[name].ended:
            return False
        tally = self._tallies.of(name)
        if state in _STANDING_STATES:
            return not tally.counts
        return state in _ABSENT_STATES and tally.whole and not tally.succeeded


def _half_until(world: World, gang: Gang, opened: float) -> float:
    rules = gang.request.rules
    ends = [opened + rules.schedule]
    if gang.losses:
        ends.append(gang.losses[-1] + rules.recovery)
    if world.started_at > opened:
        ends.append(world.started_at + max(rules.schedule, rules.recovery))
    return max(ends) + world.faults.told_within + world.faults.done_within


# ------------------------------------------------------------------------------------------------- standing still


def patience(world: World) -> float:
    times = [max(g.request.rules.schedule, g.request.rules.recovery) for _, g in world.truth.active()]
    return max(times, default=0.0) + BACKOFF_MOST + world.faults.told_within + world.faults.done_within


def standing_still(truth: Truth) -> Iterator[str]:
    """Gangs that wait although they may start and would fit on what is free now."""
    free = picture.free(truth)
    for name, gang in truth.active():
        if not _waits(truth, name, gang) or not _is_its_turn(truth, name, gang):
            continue
        if any(witness.fits(truth, gang.request, rest) for rest in _allowed(truth, gang.request, free)):
            yield f"{name} waits, fits, and nothing moves"


def _waits(truth: Truth, name: str, gang: Gang) -> bool:
    """Nothing of it stands, nobody holds it back, and its pods are there or come when it is resumed."""
    members = truth.members(name)
    if gang.request.suspended or any(pod.holds or pod.ended or pod.leaving for pod in members):
        return False
    made: dict[str, int] = {}
    for pod in members:
        made[pod.pod_set or ""] = made.get(pod.pod_set or "", 0) + 1
    return bool(gang.owner and gang.held) or whole(gang.request, made)


def _is_its_turn(truth: Truth, name: str, gang: Gang) -> bool:
    """Behind the head of a strict queue one has to wait."""
    queue = truth.queues.named(gang.request.queue)
    if queue is None or queue.when_blocked != "Strict":
        return queue is not None
    by_age = queue.order == "Fifo"
    line = [
        (0 if by_age else -other.request.priority, other.since, one)
        for one, other in truth.active()
        if other.request.queue == gang.request.queue and _waits(truth, one, other)
    ]
    return bool(line) and min(line)[2] == name


def _allowed(truth: Truth, request: Request, free: Amounts) -> Iterator[Amounts]:
    """What is free on the nodes of each flavor that its queues have enough quota in for the least it needs."""
    chain = [queue for one in lineage(truth, request.queue) if (queue := truth.queues.queues.get(one)) is not None]
    flavors = dict.fromkeys(quota.flavor for queue in chain for quota in queue.quotas) or {None: None}
    for flavor in flavors:
        if all(_has_quota(truth, queue, flavor, request) for queue in chain):
            found = truth.queues.flavors.get(flavor) if flavor is not None else None
            labels = dict(found.node_labels) if found is not None else {}
            yield {name: left for name, left in free.items() if picture.has_labels(truth.nodes[name], labels)}


def _has_quota(truth: Truth, queue: Queue, flavor: str | None, request: Request) -> bool:
    """Whether all pods of a gang, not only its minimum, are within what a queue has left. Pods on other flavors count
    as if they were on this one: that is never too little."""
    needed: dict[str, int] = {}
    for pods in request.root.pod_sets():
        for resource, amount in pods.shape.requests:
            needed[resource] = needed.get(resource, 0) + pods.count * amount
    used = usage(truth)
    listed = {quota.resource: quota.nominal for quota in queue.quotas if quota.flavor in (flavor, None)}
    if queue.only_listed and any(resource not in listed for resource in needed):
        return False
    return all(used.get((queue.name, None, name), 0) + needed.get(name, 0) <= most for name, most in listed.items())
