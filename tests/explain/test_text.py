"""Sentences and pages about decisions."""

from dataclasses import replace

import pytest

from phalanx.engine import whatif
from phalanx.engine.board import Board
from phalanx.engine.decide import decide
from phalanx.explain import document, text, words
from phalanx.model.decision import Decision, Invalid, Placed, Waiting
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem
from phalanx.model.reasons import Closed, ClosedQueue, Edit, FullQuota, Reason, WayOut, Why
from phalanx.model.request import Request
from phalanx.model.resources import NANO
from tests.engine.asking import BLOCK, RACK, board, gang, group, pods, workers
from tests.properties.instances import FAMILIES, instance


def decided(drawing: str, request: Request) -> tuple[Decision, tuple[WayOut, ...]]:
    on = board(drawing)
    decision = decide(on, request)
    return decision, whatif.ways_out(on, decision) if isinstance(decision, Waiting) else ()


def test_a_line_says_who_needs_what_what_is_there_what_is_missing_and_what_would_help() -> None:
    on = board("b1: r1=4 r2=2,1,0 | b2: r1=4,2,1,0,0,0 r2=10")
    other = decide(on, gang(workers(1, gpu=5), "other"))
    assert isinstance(other, Placed) and other.placement.pod_sets["workers"] == (("b2-r2-1", 1),)
    on.commit(other)
    waiting = decide(on, gang(workers(10, RACK)))
    assert isinstance(waiting, Waiting)
    assert text.line(waiting, whatif.ways_out(on, waiting)) == (
        'waiting: group "workers" needs 10 pods in one rack; best is b2/r1 with 7 (gpu short on 3 nodes). '
        "Block b2 would hold 12: requiring the block instead of the rack starts it now."
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("w.topology.required: block", "Requiring the block instead of the rack starts it now."),
        ("w.topology: {preferred: rack}", "Preferring instead of requiring the rack starts it now."),
        ("fewer pods: w 3", 'With 3 pods in group "w" it starts now.'),
        ("wait for team-b/eval-9", "It starts when team-b/eval-9 ends."),
        ("add 1 nodes like n7", "1 more node like n7 would hold it."),
        ("add 2 nodes like n7", "2 more nodes like n7 would hold it."),
        ("w.something: else", "It starts now with w.something: else."),
    ],
)
def test_every_kind_of_way_out_is_a_sentence(change: str, sentence: str) -> None:
    waiting, _ = decided("b1: r1=1", gang(workers(2, RACK)))
    assert text.line(waiting, (WayOut(change),)).endswith(f". {sentence}")


@pytest.mark.parametrize(
    ("change", "written"),
    [
        ("add 1 nodes like n7", "add 1 node like n7"),
        ("add 11 nodes like n7", "add 11 nodes like n7"),
        ("add 2 nodes like n7", "add 2 nodes like n7"),
        ("wait for x/add 1 nodes like n7", "wait for x/add 1 nodes like n7"),
    ],
)
def test_one_node_is_written_as_one_for_people_and_in_the_one_form_for_programs(change: str, written: str) -> None:
    waiting, _ = decided("b1: r1=1", gang(workers(2, RACK)))
    ways = (WayOut(change),)
    assert f" {written}\n" in text.full(waiting, ways)
    assert document.decision(waiting, ways)["waysOut"][0]["change"] == change


def test_parts_that_do_not_fit_together_are_named() -> None:
    root = group("pair", group("a", pods("a", 3), required=RACK), group("b", pods("b", 3), required=RACK))
    waiting, _ = decided("b1: r1=3 r2=2", gang(root))
    assert 'for "a", "b" together; each part fits alone, together the cluster holds 5 at best' in text.line(waiting)
    assert "a: 3 pods in one rack, alone b1/r1 holds 3" in text.full(waiting)


def test_a_placed_gang_is_told_where_each_group_went_and_which_wish_was_missed() -> None:
    wish = replace(workers(6), preferred=RACK)
    placed, _ = decided("b1: r1=4 r2=4", gang(group("all", wish, group("api", pods("api", 1)))))
    assert text.line(placed) == 'placed: 7 pods on 2 nodes in block b1; the preferred level was missed by "workers"'
    page = text.full(placed).splitlines()
    assert page[0] == "Gang default/train: Placed, 7 pods wanted"
    assert page[1] == "WHERE     all: 7 pods in block b1"
    assert page[2] == "            workers: 6 pods in block b1, preferred level missed"


def test_a_group_that_started_with_fewer_pods_says_so() -> None:
    placed, _ = decided("b1: r1=4", gang(group("w", pods("w", 9, least=2))))
    assert "w: 4 of 9 pods in" in text.full(placed)


def test_a_wrong_manifest_is_told_by_its_first_problem_and_the_page_has_them_all() -> None:
    one = Problem("spec.x", "rak", ("rack", "host"), "'rak' is not a level")
    invalid = Invalid("Job", "default", "typo", (one, replace(one, field="spec.y")))
    assert text.line(invalid) == "invalid: spec.x: 'rak' is not a level (and 1 more)"
    assert "allowed: rack, host" in text.full(invalid) and "spec.y" in text.full(invalid)


def test_warnings_stand_at_the_end() -> None:
    placed, _ = decided("r1=1", gang(workers(1)))
    warned = replace(placed, warnings=(Problem("spec.z", None, (), "was not understood"),))
    assert text.full(warned).splitlines()[-1] == "NOTE      spec.z: was not understood"


@pytest.mark.parametrize("family", FAMILIES)
def test_no_page_is_wider_than_80_columns_and_no_line_is_broken(family: str) -> None:
    for seed in range(4):
        picture, request = instance(seed, family, tight=False)
        decision = decide(Board.of(picture), request)
        assert max(map(len, text.full(decision).splitlines())) <= 80
        assert "\n" not in text.line(decision)


def test_long_names_do_not_break_a_page() -> None:
    name = "x" * 200
    waiting, _ = decided("b1: r1=1", gang(group(name, pods(name, 5), required=BLOCK)))
    assert max(map(len, text.full(waiting).splitlines())) <= 80


@pytest.mark.parametrize(
    ("why", "queue", "sentence"),
    [
        (Why.OVER_QUOTA, ClosedQueue("x", Closed.MISSING, ("a", "b")), 'queue "x" is not there; there are: a, b'),
        (Why.SUSPENDED, ClosedQueue("x", Closed.HELD), 'queue "x" is on hold'),
        (
            Why.OVER_QUOTA,
            ClosedQueue("x", Closed.NO_TOPOLOGY),
            'a level is asked for, and no flavor of queue "x" has a topology',
        ),
        (
            Why.OVER_QUOTA,
            ClosedQueue("x", Closed.NO_FLAVOR, ("a", "b")),
            'no flavor of queue "x" is there; it names: a, b',
        ),
    ],
)
def test_a_queue_that_is_closed_is_named(why: Why, queue: ClosedQueue, sentence: str) -> None:  # K-017, K-035
    waiting = Waiting(gang(workers(4)), Reason(why, "workers", "cluster", 4, queue=queue), proved=None)
    assert text.line(waiting) == f'waiting: group "workers" needs 4 pods; {sentence}.'
    assert f"{why}: group" in text.full(waiting)


def test_of_many_queues_a_few_are_named_in_a_sentence() -> None:
    names = tuple(f"q{i}" for i in range(20))
    reason = Reason(Why.OVER_QUOTA, "w", "cluster", 4, queue=ClosedQueue("x", Closed.MISSING, names))
    assert text.cause(reason).endswith("there are: q0, q1, q2, q3, q4, q5, q6, q7 and 12 more")


def quota(asked: int, used: int, *held_by: str, flavor: str | None = "h100", limit: int = 64) -> FullQuota:
    return FullQuota("research", flavor, "nvidia.com/gpu", asked * NANO, used * NANO, limit * NANO, held_by)


@pytest.mark.parametrize(
    ("full", "sentence"),
    [
        (
            quota(8, 60, "team/a", "team/b"),
            'queue "research" may not take more nvidia.com/gpu (flavor h100): 8 asked for, 60 of 64 in use, '
            "the most by team/a, team/b",
        ),
        (
            quota(8, 60, flavor=None),
            'queue "research" may not take more nvidia.com/gpu: 8 asked for, 60 of 64 in use',
        ),
        (
            quota(80, 60, "team/a"),
            'queue "research" never takes so much nvidia.com/gpu (flavor h100): 80 asked for, 64 is all it has',
        ),
        (
            FullQuota("all", None, "memory", 2**36 * NANO, 2**34 * NANO, 2**36 * NANO),
            'queue "all" may not take more memory: 64Gi asked for, 16Gi of 64Gi in use',
        ),
    ],
)
def test_a_quota_that_is_full_is_told_with_its_figures(full: FullQuota, sentence: str) -> None:
    reason = Reason(Why.OVER_QUOTA, "workers", "cluster", 4, quotas=(full,))
    assert text.waiting(reason) == f'waiting: group "workers" needs 4 pods; {sentence}.'


def test_of_several_quotas_that_are_full_the_page_has_the_others_too() -> None:
    both = (quota(8, 60), quota(8, 250, flavor=None, limit=256))
    waiting = Waiting(gang(workers(4)), Reason(Why.OVER_QUOTA, "workers", "cluster", 4, quotas=both), proved=None)
    page = text.full(waiting)
    assert "60 of 64 in use" in page and 'ALSO      queue "research" may not take more nvidia.com/gpu: 8' in page
    assert max(map(len, page.splitlines())) <= 80


def test_who_is_ahead_is_named() -> None:
    reason = Reason(Why.BEHIND_OTHERS, "workers", "cluster", 4, ahead="team/a")
    assert text.cause(reason).endswith("needs 4 pods; when it was last looked at, team/a was ahead of it in its queue")


def test_of_many_changes_of_a_manifest_the_first_few_are_told() -> None:
    job_set = ObjectKey("jobset.x-k8s.io", "JobSet", "default", "big")
    edits = tuple(Edit(job_set, ("spec", i), f"spec[{i}]", None if i else "block") for i in range(6))
    told = list(words.edits(WayOut("x", edits=edits)))
    assert told[:2] == ["JobSet big: spec[0]: block", "JobSet big: without spec[1]"]
    assert told[4:] == ["... and 2 more like these"]
