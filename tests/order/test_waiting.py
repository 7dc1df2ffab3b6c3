"""Who is looked at again: everybody who could start, and few others."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.model.nodes import LabelSelector, PodShape, PodTerm, Toleration
from phalanx.model.queues import Flavor
from phalanx.model.reasons import Why
from phalanx.model.request import Group, PodSet, Request, Slice
from phalanx.order.conditions import Condition, Kind, conditions
from phalanx.order.flavors import applied
from phalanx.order.waiting import WAKES, Hints, Most, Waiting
from phalanx.place import fit, solve
from phalanx.place.draft import Draft
from tests.order.makers import gang, pods, shape
from tests.properties.instances import FAMILIES, instance

BLOCK, RACK = 1, 2
FREED = Hints(freed=True)


def most_of(table: Mapping[tuple[PodShape, int], int]) -> Most:
    return lambda shape, topology, level: table.get((shape, level), 0)


def everywhere(number: int) -> Most:
    return lambda shape, topology, level: number


# -- conditions --------------------------------------------------------------------------------------------------


def at(level: int, needed: int, of: PodShape | None = None) -> Condition:
    return Condition(Kind(of or shape(), "sketch", level), needed)


def test_pods_of_one_shape_are_counted_together_in_the_level_around_them() -> None:
    rack = Group("in", (pods("a", 4, 3), pods("b", 2)), required=RACK)
    asked = gang("g", rack, pods("c", 7), required=BLOCK)
    assert set(conditions(asked)) == {at(RACK, 5), at(BLOCK, 12)}


def test_a_slice_needs_one_domain_of_its_level() -> None:
    sliced = replace(pods("a", 8), slices=(Slice(BLOCK, 4), Slice(RACK, 2)))
    assert set(conditions(gang("g", sliced))) == {at(0, 8), at(BLOCK, 4), at(RACK, 2)}
    assert conditions(gang("g", replace(sliced, min_count=0))) == ()


def test_what_may_stay_out_is_not_necessary() -> None:
    racks = (Group("x", (pods("a", 4),), required=RACK), Group("y", (pods("b", 6),), required=RACK))
    assert conditions(gang("g", *racks, min_members=1)) == (at(0, 4),)
    assert set(conditions(gang("g", *racks))) == {at(0, 10), at(RACK, 6)}


def test_devices_on_narrow_levels_are_asked_for_first() -> None:
    wide, scarce = shape(0, cpu=64), shape(8)
    asked = gang("g", pods("a", 90, of=wide), Group("in", (pods("b", 2, of=scarce),), required=RACK))
    assert [one.kind.level for one in conditions(asked)] == [RACK, 0, 0]


def real_most(draft: Draft) -> Most:
    """As the engine would count it."""

    def most(shape: PodShape, topology: str | None, level: int) -> int:
        assert draft.accommodate([shape.requests], "test") is None
        held = fit.capacity(draft, draft.shape(shape, bound=level > 0)).levels[level]
        return int(held.max()) if len(held) else 0

    return most


@pytest.mark.parametrize("family", FAMILIES)
def test_whatever_can_be_placed_meets_its_conditions(family: str) -> None:
    placed = 0
    for seed in range(40):
        snapshot, request = instance(seed, family, tight=True)
        if solve.place(Draft.of(snapshot, request.topology), request).placement is None:
            continue
        placed += 1
        most = real_most(Draft.of(snapshot, request.topology))
        for one in conditions(request):
            assert most(one.kind.shape, one.kind.topology, one.kind.level) >= one.needed, (seed, family, one)
    assert placed


# -- waking ------------------------------------------------------------------------------------------------------


def test_only_those_are_looked_at_whom_what_is_free_could_hold() -> None:
    waiting = Waiting()
    for needed in range(1, 5001):
        waiting.add(f"g{needed:04}", gang("g", pods("a", needed)), Why.NO_ROOM)
    assert waiting.awake(FREED, everywhere(3)) == ("g0001", "g0002", "g0003")
    assert waiting.looked == 3


def test_without_a_hint_nobody_is_looked_at() -> None:
    waiting = Waiting()
    waiting.add("a", gang("a", pods("x", 1)), Why.NO_ROOM)
    assert waiting.awake(Hints(), everywhere(9)) == ()
    assert waiting.looked == 0


def test_one_that_is_new_is_handed_out_until_it_is_answered() -> None:
    waiting = Waiting()
    waiting.add("a", gang("a", pods("x", 1)))
    assert waiting.awake(Hints(), everywhere(0)) == ("a",)
    assert waiting.awake(Hints(), everywhere(0)) == ("a",)
    waiting.add("a", gang("a", pods("x", 1)), Why.NO_ROOM)
    assert waiting.awake(Hints(), everywhere(0)) == ()
    waiting.remove("a")
    assert waiting.awake(Hints(everything=True), everywhere(9)) == ()


def test_a_gang_of_two_shapes_waits_for_the_one_that_does_not_fit() -> None:
    big, small = shape(8), shape(1)
    waiting = Waiting()
    waiting.add("a", gang("a", pods("x", 2, of=big), pods("y", 4, of=small)), Why.NO_ROOM)
    assert waiting.awake(FREED, most_of({(big, 0): 2})) == ()
    looked = waiting.looked
    assert waiting.awake(FREED, most_of({(big, 0): 9})) == ()
    assert waiting.looked == looked, "it lies under the small shape now, and is not touched"
    assert waiting.awake(FREED, most_of({(big, 0): 2, (small, 0): 4})) == ("a",)


def test_a_flavor_that_brings_tolerations_is_asked_about_by_itself() -> None:
    tainted = Flavor("h100", (("gpu", "h100"),), (Toleration("gpu", "Exists", "", ""),))
    asked = gang("a", pods("x", 2))
    (only,) = applied(asked, tainted).root.pod_sets()
    waiting = Waiting()
    waiting.add("a", asked, Why.NO_ROOM, flavors=(None, tainted))
    assert waiting.awake(FREED, most_of({(only.shape, 0): 2})) == ("a",)


def test_pods_that_came_wake_those_who_want_to_be_near_them() -> None:
    near = replace(shape(), affinity=(PodTerm("zone", LabelSelector(), None),))
    waiting = Waiting()
    waiting.add("near", gang("near", pods("x", 1, of=near)), Why.NO_MATCHING_NODES)
    waiting.add("plain", gang("plain", pods("x", 1)), Why.NO_ROOM)
    assert waiting.awake(Hints(taken=True), everywhere(1)) == ("near",)


def test_each_sleeps_until_its_own_event() -> None:
    asked = gang("g", pods("x", 1), queue="q")
    waiting = Waiting()
    waiting.add("quota", asked, Why.OVER_QUOTA, line=("q", "top"))
    waiting.add("pods", asked, Why.PODS_MISSING)
    waiting.add("held", asked, Why.SUSPENDED)
    waiting.add("later", asked, Why.BACKING_OFF, at=50.0)
    waiting.add("behind", asked, Why.BEHIND_OTHERS)
    room = everywhere(9)
    assert waiting.next_at == 50.0
    assert waiting.awake(Hints(now=49.9, freed=True, taken=True, eased=("p",), turns={"p": None}), room) == ()
    assert waiting.looked == 0
    for hints, woken in (
        (Hints(eased=("top",)), "quota"),
        (Hints(gangs=("pods",)), "pods"),
        (Hints(gangs=("held",)), "held"),
        (Hints(now=50.0), "later"),
        (Hints(turns={"q": "behind"}), "behind"),
    ):
        assert waiting.awake(hints, room) == (woken,)
        waiting.remove(woken)
    assert waiting.next_at is None


def test_whose_turn_it_is_wakes_alone() -> None:
    waiting = Waiting()
    for name in ("a", "b"):
        waiting.add(name, gang(name, pods("x", 1), queue="q"), Why.BEHIND_OTHERS)
    assert waiting.awake(Hints(turns={"q": "b"}), everywhere(9)) == ("b",)
    assert waiting.awake(Hints(turns={"q": None}), everywhere(9)) == ("a", "b")


def test_quota_without_room_leaves_one_waiting_for_room() -> None:
    waiting = Waiting()
    waiting.add("a", gang("a", pods("x", 4), queue="q"), Why.OVER_QUOTA)
    assert waiting.awake(Hints(eased=("q",)), everywhere(3)) == ()
    assert waiting.now_for_room == ("a",)
    assert waiting.awake(FREED, everywhere(4)) == ("a",)


def test_one_that_lacks_quota_on_one_flavor_and_room_on_another_waits_for_both() -> None:
    asked = gang("a", pods("x", 4), queue="q")
    for hints in (FREED, Hints(eased=("q",))):
        waiting = Waiting()
        waiting.add("a", asked, Why.OVER_QUOTA, Why.NO_ROOM)
        assert waiting.awake(hints, everywhere(4)) == ("a",)


def test_room_on_one_flavor_is_enough_when_quota_comes() -> None:
    other = Flavor("h100", (("gpu", "h100"),))
    waiting = Waiting()
    waiting.add("a", gang("a", pods("x", 4), queue="q"), Why.OVER_QUOTA, flavors=(other, None))
    assert waiting.awake(Hints(eased=("q",)), most_of({(shape(), 0): 4})) == ("a",)


def test_every_reason_says_what_it_waits_for() -> None:
    assert set(WAKES) == set(Why)


# -- nobody who could start is asleep ----------------------------------------------------------------------------

SHAPES = tuple(shape(number) for number in (1, 2, 4))
FLAVORS: tuple[Flavor | None, ...] = (None, Flavor("f", (("f", "1"),)))
FLAVORED = tuple(shape(number, (("f", "1"),)) for number in (1, 2, 4))


@st.composite
def request(draw: st.DrawFn) -> Request:
    sets = [
        pods(f"s{number}", size, draw(st.integers(0, size)), draw(st.sampled_from(SHAPES)))
        for number, size in enumerate(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    ]
    levels = st.sampled_from((None, BLOCK, RACK))
    inner = tuple(Group(f"in-{one.name}", (one,), required=draw(levels)) for one in sets)
    members: tuple[Group | PodSet, ...] = inner if draw(st.booleans()) else tuple(sets)
    least = draw(st.none() | st.integers(0, len(members)))
    queue = draw(st.sampled_from(("p", "q")))
    return gang("g", *members, required=draw(levels), min_members=least, queue=queue)


def holds(request: Request, flavors: tuple[Flavor | None, ...], most: Most) -> bool:
    """Looking at one, with nothing remembered."""
    ways = [conditions(applied(request, flavor)) for flavor in flavors]
    return any(all(most(c.kind.shape, c.kind.topology, c.kind.level) >= c.needed for c in way) for way in ways)


def random_most(seed: int) -> Most:
    return lambda shape, topology, level: Random(f"{seed}{shape}{level}").randint(0, 12)


@given(st.lists(st.tuples(request(), st.booleans()), max_size=12), st.lists(st.integers(), min_size=1, max_size=4))
def test_the_index_finds_whom_looking_at_everybody_finds(crowd: list[tuple[Request, bool]], seeds: list[int]) -> None:
    waiting = Waiting()
    ways = {f"g{number:02}": FLAVORS if both else FLAVORS[:1] for number, (_, both) in enumerate(crowd)}
    asked = {name: one for name, (one, _) in zip(ways, crowd, strict=True)}
    for name, one in asked.items():
        waiting.add(name, one, Why.FRAGMENTED, flavors=ways[name])
    for seed in seeds:
        most = random_most(seed)
        found = waiting.awake(FREED, most)
        assert found == tuple(name for name, one in asked.items() if holds(one, ways[name], most))
        for name in found:
            waiting.add(name, asked[name], Why.FRAGMENTED, flavors=ways[name])


@dataclass
class World:
    """Everything that may stand in a gang's way, and an engine of a few lines that says so."""

    waiting: Waiting = field(default_factory=Waiting)
    gangs: dict[str, Request] = field(default_factory=dict)
    table: dict[tuple[PodShape, int], int] = field(default_factory=dict)
    quota: dict[str, bool] = field(default_factory=lambda: {"p": True, "q": True, "top": True})
    alone: dict[str, str | None] = field(default_factory=lambda: {"p": None, "q": None})
    held: set[str] = field(default_factory=set)
    later: dict[str, float] = field(default_factory=dict)
    now: float = 0.0

    @property
    def most(self) -> Most:
        return most_of(self.table)

    def why_not(self, name: str) -> Why | None:
        """The first thing in its way; None: it could start."""
        queue = self.gangs[name].queue
        if name in self.held:
            return Why.SUSPENDED
        if self.later.get(name, 0.0) > self.now:
            return Why.BACKING_OFF
        if self.alone[queue] not in (None, name):
            return Why.BEHIND_OTHERS
        if not (self.quota[queue] and self.quota["top"]):
            return Why.OVER_QUOTA
        return None if holds(self.gangs[name], self.ways(name), self.most) else Why.NO_ROOM

    def ways(self, name: str) -> tuple[Flavor | None, ...]:
        return FLAVORS if name in ("g00", "g02", "g04", "g06") else FLAVORS[:1]

    def step(self, hints: Hints) -> None:
        for name in self.waiting.awake(replace(hints, now=self.now), self.most):
            why = self.why_not(name)
            if why is None:
                self.waiting.remove(name)
                del self.gangs[name]
            else:
                line, at = (self.gangs[name].queue, "top"), self.later.get(name, 0.0)
                self.waiting.add(name, self.gangs[name], why, flavors=self.ways(name), line=line, at=at)

    def asleep_though_able(self) -> list[str]:
        return [name for name in self.gangs if self.why_not(name) is None]


def drawn(chance: Random) -> Request:
    sets = [
        pods(f"s{number}", 6, chance.randint(0, 6), chance.choice(SHAPES)) for number in range(chance.randint(1, 2))
    ]
    return gang("g", *sets, required=chance.choice((None, BLOCK, RACK)), queue=chance.choice(("p", "q")))


def change(world: World, chance: Random) -> Hints:
    """One thing happens in the world; returns the hint that is owed."""
    name = chance.choice(sorted(world.gangs)) if world.gangs else ""
    kind = chance.choice(KINDS) if name else "come"
    if kind == "come":
        name = f"g{chance.randint(0, 9):02}"
        world.gangs[name] = drawn(chance)
        world.waiting.add(name, world.gangs[name], flavors=world.ways(name))
        return Hints()
    if kind == "room":
        before, place = world.table, (chance.choice(SHAPES + FLAVORED), chance.randint(0, RACK))
        world.table = {**before, place: chance.randint(0, 12)}
        return Hints(freed=world.table[place] > before.get(place, 0))
    if kind == "quota":
        queue = chance.choice(sorted(world.quota))
        world.quota[queue] = not world.quota[queue]
        return Hints(eased=(queue,) if world.quota[queue] else ())
    if kind == "turn":
        queue = world.gangs[name].queue
        world.alone[queue] = chance.choice((None, name))
        return Hints(turns={queue: world.alone[queue]})
    if kind == "hold":
        world.held ^= {name}
        return Hints(gangs=(name,) if name not in world.held else ())
    if kind == "delay":
        world.later[name] = max(world.later.get(name, 0.0), world.now + chance.randint(1, 3))  # never sooner than told
        return Hints()
    world.now += 1.0
    return Hints()


KINDS = ("come", "come", "room", "room", "quota", "turn", "hold", "delay", "wait")


@settings(max_examples=200)
@given(st.integers(0, 2**32))
def test_nobody_who_could_start_stays_asleep(seed: int) -> None:
    chance, world = Random(seed), World()
    world.table = {(one, level): chance.randint(0, 8) for one in SHAPES + FLAVORED for level in range(RACK + 1)}
    for _ in range(60):
        world.step(change(world, chance))
        assert world.asleep_though_able() == []
        assert len(world.waiting) == len(world.gangs)
