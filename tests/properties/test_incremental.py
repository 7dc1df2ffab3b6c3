"""Counts that follow the log equal counts made anew, after any history of taking, undoing, keeping and giving back."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np
import numpy.typing as npt
import pytest

from phalanx.model.nodes import HostPort, PodShape, RunningPod
from phalanx.model.request import Group, PodSet, Ranks, Request
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.sketch import GPU, snapshot
from phalanx.model.snapshot import Snapshot
from phalanx.place import draft as draft_module
from phalanx.place import fit, solve
from phalanx.place.draft import Draft, Shape, Taken
from phalanx.place.fit import Capacity, Layers
from phalanx.place.verify import verify
from tests.properties import worlds

Ints = npt.NDArray[np.int64]

STEPS = 60
CLUSTER = "b1: r1=8,8,8,8 r2=8,4,8 r3=2,8,8,8 | b2: r1=8,8,6,8 r2=8,8,8,8 | b3: r1=8 r2=8,8,8"
LAYERS: list[tuple[Layers, Layers]] = [
    ((), ()),
    (((2, 4),), ()),
    (((1, 6), (2, 3)), ()),
    ((), ((2, 5),)),
    ((), ((3, 1),)),
    (((2, 2),), ((1, 9), (3, 3))),
]
AMOUNTS = (1, 2, 4, 3)  # whole devices
FINER = (NANO, NANO // 2, NANO // 3, 250_000_007, 7)  # each asks for steps the ones before do not have


def asking(gpus: int, **more: object) -> PodShape:
    return PodShape(Resources.of({GPU: gpus * NANO, PODS: NANO}), **more)  # type: ignore[arg-type]


def anew(draft: Draft, shape: Shape, units: Layers = (), limits: Layers = ()) -> list[int]:
    counted = Capacity(shape, units, dict(limits))
    fit.build(draft, counted)
    return counted.flat.tolist()


def sums_anew(draft: Draft, level: int) -> list[list[int]]:
    starts = draft.tree.start[level][:-1]
    found: list[list[int]] = np.add.reduceat(np.maximum(draft.free, 0), starts, axis=1).tolist()
    return found


@dataclass
class History:
    """A draft, what happened to it, and what it should hold by plain arithmetic on nano-units."""

    chance: Random
    draft: Draft
    pods: list[PodShape]
    marks: list[tuple[int, dict[str, list[int]]]] = field(default_factory=list)
    kept: list[tuple[Taken, ...]] = field(default_factory=list)

    def free(self) -> dict[str, list[int]]:
        return {name: self.draft.free_nano(name) for name in self.draft.row}

    def take(self) -> None:
        pod = self.chance.choice(self.pods)
        assert self.draft.accommodate([pod.requests], "test") is None
        shape = self.draft.shape(pod, bound=True)
        caps = np.array(anew(self.draft, shape)[-self.draft.tree.size :])
        open_ = np.flatnonzero(caps)
        if not len(open_):
            return
        nodes = np.array(sorted(self.chance.sample(open_.tolist(), min(len(open_), self.chance.randint(1, 4)))))
        counts = np.array([self.chance.randint(1, int(caps[node])) for node in nodes])
        before = self.free()
        self.draft.take(shape, nodes, counts)
        for name, amount in pod.requests:
            for node, count in zip(nodes.tolist(), counts.tolist(), strict=True):
                before[name][node] -= count * amount
        after = self.free()
        for name in [name for name in before if not name.startswith("port ")]:
            assert after[name] == before[name]

    def mark(self) -> None:
        self.marks.append((self.draft.mark(), self.free()))

    def undo(self) -> None:
        if self.marks:
            for _ in range(self.chance.randint(1, len(self.marks))):
                mark, before = self.marks.pop()
            self.draft.undo(mark)
            after = self.free()
            assert {name: after[name] for name in before} == before

    def keep(self) -> None:
        self.kept.append(self.draft.keep())
        self.marks.clear()

    def give(self) -> None:
        if self.kept:
            self.draft.give(self.kept.pop(self.chance.randrange(len(self.kept))))
            self.marks.clear()
            self.kept.append(self.draft.keep())

    def step(self) -> None:
        self.chance.choice((self.take, self.take, self.take, self.mark, self.undo, self.keep, self.give))()

    def audit(self) -> None:
        for pod in self.pods:
            assert self.draft.accommodate([pod.requests], "test") is None
            shape = self.draft.shape(pod, bound=True)
            for units, limits in LAYERS:
                found = fit.capacity(self.draft, shape, units, limits)
                assert found.flat.tolist() == anew(self.draft, shape, units, limits), (units, limits)
        for level in range(self.draft.tree.host + 1):
            assert fit.sums(self.draft, level).tolist() == (
                sums_anew(self.draft, level)
                if level < self.draft.tree.host
                else np.maximum(self.draft.free, 0).tolist()
            )


def history(seed: int, pods: list[PodShape], drawing: str = CLUSTER) -> History:
    return History(Random(seed), Draft.of(snapshot(drawing), "sketch"), pods)


def played(story: History, steps: int = STEPS, every: int = 4) -> Iterator[int]:
    for step in range(steps):
        story.step()
        if step % every == 0:
            story.audit()
        yield step
    story.audit()


@pytest.mark.parametrize("seed", range(6))
def test_counts_equal_a_rebuild_after_any_history(seed: int) -> None:  # K-056, KA-050
    for _ in played(history(seed, [asking(n) for n in AMOUNTS])):
        pass


@pytest.mark.parametrize("seed", range(4))
def test_counts_survive_a_log_that_was_cut(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_module, "LOG_KEEP", 4)
    story = history(seed, [asking(n) for n in AMOUNTS])
    for _ in played(story, every=7):
        pass
    assert story.draft.log_base > 0


@pytest.mark.parametrize("seed", range(6))
def test_counts_equal_a_rebuild_while_requests_ask_for_finer_and_finer_amounts(seed: int) -> None:
    story = history(seed, [asking(4)])
    for step in played(story):
        if step % 12 == 6:
            amount = FINER[step // 12]
            story.pods.append(PodShape(Resources.of({GPU: amount * story.chance.randint(1, 3), PODS: NANO})))


@pytest.mark.parametrize("seed", range(4))
def test_counts_equal_a_rebuild_when_few_shapes_are_remembered(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_module, "SHAPES_KEEP", 2)
    story = history(seed, [asking(4)])
    for step in played(story):
        if step % 12 == 6:
            amount = FINER[step // 12]
            story.pods.append(PodShape(Resources.of({GPU: amount * story.chance.randint(1, 3), PODS: NANO})))


@pytest.mark.parametrize("seed", range(6))
def test_counts_equal_a_rebuild_with_host_ports(seed: int) -> None:
    ports = [(HostPort(80),), (HostPort(81), HostPort(82)), (HostPort(80, "UDP"),), (HostPort(80), HostPort(82))]
    story = history(seed, [asking(1, ports=p) for p in ports])
    for _ in played(story):
        pass


def test_what_was_taken_before_units_became_unrelated_is_given_back_whole() -> None:
    """Two units that cannot be reconciled in 64 bits: the draft changes from one to the other."""
    draft = Draft.of(snapshot("b1: r1=2000000000,2000000000"), "sketch")
    fine, coarse = Resources.of({GPU: 3}), Resources.of({GPU: 10**6 * NANO + 7})
    assert draft.accommodate([fine], "test") is None
    before = draft.free_nano(GPU)
    draft.take(draft.shape(PodShape(fine), bound=True), np.array([0]), np.array([5]))
    taken = draft.free_nano(GPU)
    assert draft.accommodate([coarse], "test") is None
    assert draft.free_nano(GPU) == taken
    draft.undo(0)
    assert draft.free_nano(GPU) == before


# ---- pairs that share a node -------------------------------------------------------------------------------------


def pairs(count: int, gpus: int) -> Request:
    """Two groups whose equal ranks share a node."""
    first = Group("a", (PodSet("pa", count, count, asking(gpus)),))
    link = Ranks(with_same_rank_of="a", level=3)
    second = Group("b", (PodSet("pb", count, count, asking(gpus)),), ranks=link)
    return Request("Gang", "default", "pairs", Group("root", (first, second)), topology="sketch")


def single(gpus: int) -> Request:
    return Request("Gang", "default", "one", Group("root", (PodSet("p", 1, 1, asking(gpus)),)), topology="sketch")


def test_pairs_are_given_back_whole_after_a_finer_request_came() -> None:
    draft = Draft.of(snapshot("b1: r1=8,8"), "sketch")
    answer = solve.place(draft, pairs(2, 2))
    before = draft.free_nano(GPU)
    solve.commit(draft, answer)
    assert solve.place(draft, single(1)).status == "placed"
    draft.undo(0)
    assert draft.free_nano(GPU) == before


def test_pairs_are_counted_right_after_a_finer_request_came() -> None:
    world = snapshot("b1: r1=8,8")
    draft = Draft.of(world, "sketch")
    assert solve.place(draft, pairs(3, 4)).status == "impossible"
    other = solve.place(draft, single(1))
    solve.commit(draft, other)
    draft.undo(0)
    again = solve.place(draft, pairs(3, 4))
    assert again.status == "impossible", verify(world, pairs(3, 4), again.placement) if again.placement else ""


# ---- host ports of several addresses -----------------------------------------------------------------------------


def with_port(count: int, ip: str) -> Request:
    shape = asking(1, ports=(HostPort(80, ip=ip),))
    return Request("Gang", "default", ip, Group("root", (PodSet("p", count, count, shape),)), topology="sketch")


EVERYWHERE, HERE, THERE = "0.0.0.0", "10.0.0.1", "10.0.0.2"


@pytest.mark.parametrize(
    ("held", "asked", "fits"),
    [
        (EVERYWHERE, EVERYWHERE, False),
        (EVERYWHERE, HERE, False),
        (HERE, EVERYWHERE, False),
        (HERE, HERE, False),
        (HERE, THERE, True),
    ],
)
@pytest.mark.parametrize("known", [False, True], ids=["new", "asked-before"])
def test_a_port_that_was_committed_is_held_against_every_address_that_overlaps(
    held: str, asked: str, fits: bool, known: bool
) -> None:
    draft = Draft.of(snapshot("b1: r1=8,8"), "sketch")
    if known:
        assert solve.place(draft, with_port(2, asked)).status == "placed"
    solve.commit(draft, solve.place(draft, with_port(1, held)))
    assert solve.place(draft, with_port(2, asked)).status == ("placed" if fits else "impossible")
    draft.undo(0)
    assert solve.place(draft, with_port(2, asked)).status == "placed"


@pytest.mark.parametrize("seed", range(6))
def test_counts_equal_a_rebuild_with_host_ports_on_several_addresses(seed: int) -> None:
    ips = (EVERYWHERE, HERE, THERE)
    chance = Random(seed)
    story = history(seed, [asking(1, ports=(HostPort(80, ip=chance.choice(ips)),))])
    for step in played(story):
        if step % 10 == 5:
            story.pods.append(asking(1, ports=(HostPort(80, ip=chance.choice(ips)),)))
            story.audit()
            story.draft.keep()
            story.marks.clear()


# ---- whole decisions ----------------------------------------------------------------------------------------------


def mixed_request(chance: Random, number: int) -> Request:
    gpu = chance.choice((NANO, 2 * NANO, NANO // 2, NANO // 3, 3 * NANO))
    shape = PodShape(Resources.of({worlds.GPU: gpu, PODS: NANO}))
    count = chance.randint(1, 6)
    members = (PodSet("p", count, count, shape),)
    root = Group("root", members, required=chance.choice((None, 1, 2)), preferred=chance.choice((None, 3)))
    if chance.random() < 0.3:
        twin = Group("twin", (PodSet("q", count, count, shape),), ranks=Ranks(with_same_rank_of="first", level=3))
        root = Group("root", (Group("first", members), twin))
    return Request("Gang", "default", f"r{number}", root, topology=worlds.TOPOLOGY.name)


@pytest.mark.parametrize("seed", range(8))
def test_a_draft_with_a_past_answers_like_one_made_from_the_pods_of_that_moment(seed: int) -> None:
    """Decisions come and go on one draft; each is compared with a draft that never saw the others."""
    chance = Random(seed)
    place = worlds.world(chance)
    empty = place.snapshot()
    draft = Draft.of(empty, worlds.TOPOLOGY.name)
    standing: list[tuple[tuple[Taken, ...], list[tuple[str, Resources]]]] = []
    for number in range(40):
        request = mixed_request(chance, number)
        answer = solve.place(draft, request)
        fresh = solve.place(
            Draft.of(_with(empty, [p for _, pods in standing for p in pods]), request.topology), request
        )
        assert (answer.status, answer.placement) == (fresh.status, fresh.placement), f"decision {number}"
        if answer.placement is not None and chance.random() < 0.7:
            solve.commit(draft, answer)
            shapes = {s.name: s.shape.requests for s in request.root.pod_sets()}
            pods = [(n, shapes[s]) for s, at in answer.placement.pod_sets.items() for n, c in at for _ in range(c)]
            standing.append((draft.keep(), pods))
        elif standing and chance.random() < 0.5:
            draft.give(standing.pop(chance.randrange(len(standing)))[0])


def _with(empty: Snapshot, pods: list[tuple[str, Resources]]) -> Snapshot:
    running = [RunningPod(f"p{i}", "default", node, requests) for i, (node, requests) in enumerate(pods)]
    return replace(empty, pods=tuple(running))
