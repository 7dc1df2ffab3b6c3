"""How many pods were asked for, have a place, and are left out."""

import pytest

from phalanx.engine.board import Board
from phalanx.engine.decide import decide
from phalanx.explain import document, tally, text
from phalanx.explain.tally import Tally
from phalanx.model.decision import Invalid, Placed
from phalanx.model.problems import Problem
from phalanx.model.request import Group, PodSet
from tests.engine.asking import RACK, board, gang, group, pods, workers
from tests.properties.instances import FAMILIES, instance


def of(drawing: str, *members: Group | PodSet, least: int | None = None) -> Tally:
    return tally.of(decide(board(drawing), gang(group("llm", *members, min_members=least))))


def test_a_gang_that_is_placed_whole_leaves_nobody_out() -> None:
    assert of("b1: r1=4", pods("a", 4)) == Tally(4, 4, {})


def test_pods_beyond_the_minimum_for_which_there_is_no_room_are_left_out() -> None:  # M-025
    assert of("b1: r1=4", pods("a", 6, least=1)) == Tally(6, 4, {"a": 2})


def test_a_group_that_was_not_needed_is_left_out_by_its_own_name() -> None:
    inner = group("b", pods("b/leader", 1), pods("b/worker", 5))
    found = of("b1: r1=4", group("a", pods("a", 3)), inner, least=1)
    assert found == Tally(9, 3, {"b": 6})
    assert found.is_partial


def test_a_gang_that_waits_is_left_out_as_a_whole_and_not_in_part() -> None:
    found = of("b1: r1=4", group("a", pods("a", 3)), group("b", pods("b", 3)))
    assert found == Tally(6, 0, {"llm": 6})
    assert not found.is_partial


def test_of_a_wrong_manifest_nobody_knows_how_many_pods_it_wants() -> None:
    wrong = Invalid("Job", "default", "typo", (Problem("spec", None, (), "no"),))
    assert tally.of(wrong) == Tally(None, 0, {})


def test_pods_whose_work_is_done_had_their_place() -> None:
    placed = decide(board("b1: r1=2"), gang(workers(4, RACK, least=1)))
    assert isinstance(placed, Placed)
    assert tally.of(placed).left_out == {"workers": 2}
    assert tally.of(Placed(placed.request, placed.placement, done={"workers": 2})) == Tally(4, 4, {})


def test_a_gang_that_is_placed_in_part_says_so_in_a_line_on_its_page_and_for_programs() -> None:
    parts = (group("a", pods("a", 5, least=1)), group("b", pods("b", 7)))
    placed = decide(board("b1: r1=4"), gang(group("llm", *parts, min_members=1)))
    assert text.line(placed).startswith("placed: 4 of 12 pods on 1 node in ")
    assert text.line(placed).endswith('; left out: 1 of "a" and 7 of "b"')
    head, *page = text.full(placed).split("\n")
    assert head == "Gang default/train: Placed in part, 4 of 12 pods"
    assert page[-2:] == ["LEFT OUT  a: 1 pod", "          b: 7 pods"]
    found = document.decision(placed)
    assert (found["status"], found["wanted"], found["placed"]) == ("Placed", 12, 4)
    assert found["leftOut"] == {"a": 1, "b": 7}


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_who_is_placed_and_who_is_left_out_make_up_all_that_are_wanted(family: str) -> None:
    for seed in range(10):
        snapshot, request = instance(seed, family, tight=seed % 2 == 0)
        found = tally.of(decide(Board.of(snapshot), request))
        assert found.wanted == sum(one.count for one in request.root.pod_sets())
        assert found.placed + sum(found.left_out.values()) == found.wanted
        assert set(found.left_out) <= {
            *(one.name for one in request.root.groups()), *(one.name for one in request.root.pod_sets())
        }  # fmt: skip
