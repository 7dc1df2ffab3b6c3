"""What of a request starts where there is quota for a part of it."""

from collections.abc import Mapping

from phalanx.model.request import Group, Request
from phalanx.model.resources import NANO
from phalanx.order.affordable import Fits, affordable, smallest
from tests.order.makers import GPU, gang, pods


def up_to(gpus: int) -> Fits:
    def fits(amounts: Mapping[str, int]) -> bool:
        return amounts.get(GPU, 0) <= gpus * NANO

    return fits


def part(request: Request, gpus: int, *out: str) -> dict[str, int] | None:
    """Pods of each set that start, if all but some have a place."""
    asked = smallest(request)
    placed = [one.name for one in asked.root.pod_sets() if one.name not in out]
    found = affordable(asked, placed, GPU, up_to(gpus))
    return None if found is None else {one.name: one.count for one in found.root.pod_sets()}


def test_the_smallest_that_must_start_do_and_the_others_in_their_order() -> None:
    request = gang("g", pods("a", 3), pods("b", 1), pods("c", 2), min_members=1)
    assert part(request, 0) is None
    assert part(request, 1) == {"b": 1}
    assert part(request, 3) == {"b": 1, "c": 2}
    assert part(request, 4) == {"a": 3, "b": 1}
    assert part(request, 6) == {"a": 3, "b": 1, "c": 2}


def test_one_that_has_no_place_is_not_counted_on() -> None:
    request = gang("g", pods("a", 3), pods("b", 1), min_members=1)
    assert part(request, 3, "b") == {"a": 3}
    assert part(request, 2, "b") is None


def test_a_set_that_need_not_have_pods_stays_out_first() -> None:
    request = gang("g", pods("a", 2), pods("b", 2, 0))
    assert part(request, 2) == {"a": 2}
    assert part(request, 3) == {"a": 2, "b": 1}


def test_groups_inside_groups_are_cut_as_well() -> None:
    inner = Group("inner", (pods("b", 1), pods("c", 1)), min_members=1)
    request = gang("g", pods("a", 2), inner)
    assert part(request, 2) is None
    assert part(request, 3) == {"a": 2, "b": 1}
    assert part(request, 4) == {"a": 2, "b": 1, "c": 1}


def test_a_group_is_in_with_its_minimum_or_not_at_all() -> None:
    pair = Group("pair", (pods("b", 2), pods("c", 1), pods("d", 1)), min_members=2)
    request = gang("g", pods("a", 2), pair, min_members=1)
    assert part(request, 3) == {"a": 2}
    assert part(request, 4) == {"a": 2, "c": 1, "d": 1}
    assert part(request, 6) == {"a": 2, "b": 2, "c": 1, "d": 1}


def test_what_is_left_has_to_start() -> None:
    request = smallest(gang("g", pods("a", 1), pods("b", 1), min_members=1))
    found = affordable(request, ["a", "b"], GPU, up_to(1))
    assert found is not None and found.root.min_members is None
