"""Several pod sets that are to be even together are spread so from the start, on any number of nodes."""

import numpy as np
import pytest

from phalanx.model.nodes import LabelSelector, PodShape, SpreadRule
from phalanx.model.request import Group, PodSet, Request, Slice, Spread
from phalanx.model.resources import NANO, Resources
from phalanx.model.sketch import GPU, LABEL_PREFIX, snapshot
from phalanx.place import evenly, solve
from phalanx.place.draft import Draft
from phalanx.place.solve import Answer
from phalanx.place.verify import verify

RACK, HOST = 1, 2
RACKS = 128
LARGE = " ".join(f"r{i}=8*16" for i in range(RACKS))
COUNTED = 1


def ask(drawing: str, root: Group) -> Answer:
    world, request = snapshot(drawing), Request("Gang", "default", "x", root, topology="sketch")
    answer = solve.place(Draft.of(world, "sketch"), request)
    if answer.placement is not None:
        assert verify(world, request, answer.placement) == ()
    return answer


def pods(
    name: str, count: int, gpus: int = 1, slices: tuple[Slice, ...] = (), rule: SpreadRule | None = None
) -> PodSet:
    spread = () if rule is None else (rule,)
    shape = PodShape(Resources.of({GPU: gpus * NANO}), labels=(("app", "a"),), spread=spread)
    return PodSet(name, count, count, shape, slices)


@pytest.mark.parametrize("skew", [1, 4])
def test_two_sets_are_even_together_on_a_large_cluster(skew: int) -> None:
    root = Group("g", (pods("a", 3 * RACKS + 5, 2), pods("b", 2 * RACKS + 9)), spread=Spread(RACK, max_skew=skew))
    answer = ask(LARGE, root)
    assert (answer.status, answer.tier) == ("placed", COUNTED)


def test_one_of_them_may_be_even_by_itself_and_come_in_slices() -> None:
    inner = Group("h", (pods("a", 16 * RACKS),), spread=Spread(HOST, max_skew=1))
    root = Group("g", (inner, pods("b", 4 * RACKS, slices=(Slice(HOST, 2),))), spread=Spread(RACK, max_skew=2))
    answer = ask(LARGE, root)
    assert (answer.status, answer.tier) == ("placed", COUNTED)


def test_constraints_of_pods_are_kept_as_well() -> None:
    rule = SpreadRule(LABEL_PREFIX + "rack", 1, LabelSelector((("app", "a"),)))
    root = Group("g", (pods("a", RACKS + 7, rule=rule), pods("b", 2 * RACKS + 30, rule=rule)))
    answer = ask(LARGE, root)
    assert (answer.status, answer.tier) == ("placed", COUNTED)


def test_where_room_is_uneven_the_later_sets_level_out_what_the_first_could_not() -> None:
    """Racks with one large node: the large pods fill some of them up, the small ones go to the others."""
    drawing = " ".join(f"r{i}={8 if i % 2 else 6}*16" for i in range(RACKS))
    root = Group("g", (pods("a", 16 * RACKS // 2, 8), pods("b", 8 * RACKS)), spread=Spread(RACK, max_skew=16))
    assert ask(drawing, root).status == "placed"


def raised(heights: list[int], low: list[int], high: list[int], count: int, step: int = 1) -> list[int] | None:
    given = (np.array(one, dtype=np.int64) for one in (heights, low, high))
    found = evenly.raised(*given, count, step)
    return None if found is None else found.tolist()


def test_the_lowest_are_raised_first_within_their_bounds() -> None:
    assert raised([3, 1, 0], [0, 0, 0], [9, 9, 2], 5) == [1, 2, 2]
    assert raised([0, 0, 0], [0, 4, 0], [9, 9, 9], 4) == [0, 4, 0]
    assert raised([0, 0, 0], [0, 0, 0], [9, 9, 9], 0) == [0, 0, 0]
    assert raised([5], [0], [9], 9) == [9]


def test_they_are_raised_in_whole_slices() -> None:
    assert raised([1, 0, 0], [0, 0, 0], [8, 8, 8], 6, 2) == [2, 2, 2]
    assert raised([5, 0], [0, 0], [8, 8], 8, 4) == [0, 8]


def test_there_may_be_no_numbers_that_do() -> None:
    assert raised([0, 0], [0, 0], [2, 2], 5) is None
    assert raised([0, 0], [2, 2], [4, 4], 3) is None
    assert raised([0, 0], [3, 0], [2, 4], 4) is None
