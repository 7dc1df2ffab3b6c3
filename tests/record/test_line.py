"""A decision is written as one line and read back as it was; what is no such line is refused with a reason."""

import copy
import json
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from phalanx.engine.board import Board
from phalanx.engine.decide import decide
from phalanx.model import sketch
from phalanx.model.decision import Decided, Invalid, Placed, Waiting
from phalanx.model.mistakes import Mistake
from phalanx.model.nodes import HostPort, LabelSelector, PodTerm, RunningPod
from phalanx.model.placement import Placement
from phalanx.model.policy import Policy
from phalanx.model.reasons import Closed, ClosedQueue, Reason, Why
from phalanx.model.request import Ranks, Request
from phalanx.model.resources import Resources
from phalanx.model.rules import Rules
from phalanx.model.snapshot import Snapshot
from phalanx.record import form
from phalanx.record.form import BadRecord
from phalanx.record.line import SCHEMA, Record, read, written
from phalanx.record.outcome import differences
from tests.engine.asking import RACK, board, gang, workers
from tests.properties.instances import FAMILIES, instance
from tests.record.anything import anything

BRIEF = Policy(budget=500_000)  # giving up is recorded like every other answer
ALIKE = settings(derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))

DRAWING = "b1: r1=4,4 r2=4"
ASKED = gang(workers(6, required=RACK))


@cache
def lined() -> str:
    return written(sketch.snapshot(DRAWING), ASKED, Policy(), decide(board(DRAWING), ASKED), version="0.0.1")


def parsed(line: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(line)
    return found


def reason(document: object) -> str:
    with pytest.raises(BadRecord) as caught:
        read(json.dumps(document))
    return str(caught.value)


# -- there and back ----------------------------------------------------------------------------------------------


@settings(ALIKE, max_examples=80)
@given(st.sampled_from(FAMILIES), st.integers(0, 10**6), st.booleans())
def test_a_decision_comes_back_as_it_was_and_is_decided_the_same_again(family: str, seed: int, tight: bool) -> None:
    snapshot, request = instance(seed, family, tight)
    decision = decide(Board.of(snapshot), request, BRIEF)
    record = read(written(snapshot, request, BRIEF, decision, version="0.0.1"))
    assert record == Record(snapshot, request, BRIEF, decision, "0.0.1")
    assert differences(decision, decide(Board.of(record.snapshot), record.request, record.policy)) == ()


@settings(ALIKE, max_examples=150)
@given(anything(Snapshot), anything(Request), anything(Policy), anything(Decided), anything(str))
def test_whatever_the_model_can_say_comes_back_as_it_was(
    snapshot: Snapshot, request: Request, policy: Policy, decision: Decided, version: str
) -> None:
    if not isinstance(decision, Invalid):
        decision = replace(decision, request=request)
    line = written(snapshot, request, policy, decision, version=version)
    record = read(line)
    assert record == Record(snapshot, request, policy, decision, version)
    assert written(*(record.snapshot, record.request, record.policy, record.decision), version=version) == line


def test_a_record_is_one_line_of_ascii_with_sorted_keys() -> None:
    line = lined()
    assert line.isascii() and "\n" not in line
    assert line == json.dumps(parsed(line), sort_keys=True, separators=(",", ":"))
    assert parsed(line)["schema"] == SCHEMA == "phalanx.dev/record/v1"
    assert parsed(line)["version"] == "0.0.1"


def test_the_order_of_labels_does_not_show() -> None:
    snapshot = sketch.snapshot(DRAWING)
    turned = [replace(node, labels=dict(reversed(node.labels.items()))) for node in snapshot.nodes]
    answer = decide(board(DRAWING), ASKED)
    line = written(snapshot, ASKED, Policy(), answer)
    assert written(replace(snapshot, nodes=tuple(turned)), ASKED, Policy(), answer) == line


def test_an_answer_to_another_question_is_not_recorded() -> None:
    with pytest.raises(Mistake):
        written(sketch.snapshot(DRAWING), replace(ASKED, name="other"), Policy(), decide(board(DRAWING), ASKED))


# -- short -------------------------------------------------------------------------------------------------------


def test_equal_pods_are_counted() -> None:
    of_gang = [RunningPod(f"ml/train/w/{i}", "ml", f"n{i // 4}", Resources()) for i in range(8)]
    other = RunningPod("web-07", "web", "n1", Resources(), {"app": "web"})
    snapshot = Snapshot((), (), (*of_gang, other, replace(other, name="web-08"), replace(other, name="web-10")))
    line = written(snapshot, ASKED, Policy(), Invalid("", "", "", ()))
    assert parsed(line)["snapshot"]["pods"]["rows"] == [
        [0, "n0", "ml/train/w/", 0, 4],
        [0, "n1", "ml/train/w/", 4, 4],
        [1, "n1", "web-0", 7, 2],
        [1, "n1", "web-10"],
    ]
    assert len(parsed(line)["snapshot"]["pods"]["kinds"]) == 2
    assert read(line).snapshot == snapshot


@pytest.mark.parametrize(
    "other",
    [
        {"name": "w/2"}, {"name": "w/01"}, {"node": "n1"}, {"namespace": "b"}, {"gang": "a/g"},
        {"ports": (HostPort(80),)}, {"labels": {"app": "x"}}, {"requests": Resources.of({"cpu": 1})},
        {"anti_affinity": (PodTerm("rack", LabelSelector(), None),)},
    ],
    ids=lambda other: next(iter(other)),
)  # fmt: skip
def test_pods_that_differ_in_anything_are_not_counted_as_one(other: dict[str, Any]) -> None:
    pod = RunningPod("w/0", "a", "n0", Resources())
    snapshot = Snapshot((), (), (pod, replace(pod, **{"name": "w/1", **other})))
    line = written(snapshot, ASKED, Policy(), Invalid("", "", "", ()))
    assert len(parsed(line)["snapshot"]["pods"]["rows"]) == 2
    assert read(line).snapshot == snapshot


def test_ranks_are_written_as_runs() -> None:
    request = replace(ASKED, root=replace(workers(8, required=RACK), ranks=Ranks()))
    decision = Placed(request, Placement({"workers": (("a", 4), ("b", 4))}, ranks={"workers": ("a",) * 4 + ("b",) * 4}))
    line = written(sketch.snapshot(DRAWING), request, Policy(), decision)
    assert parsed(line)["decision"]["placement"]["ranks"] == {"workers": [["a", 4], ["b", 4]]}


def test_amounts_are_written_as_people_write_them() -> None:
    allocatable = parsed(lined())["snapshot"]["nodes"][0]["allocatable"]
    assert allocatable == {"cpu": "10000", "memory": "1Pi", "nvidia.com/gpu": "4", "pods": "10000"}


# -- over the years ----------------------------------------------------------------------------------------------


def classes(kind: Any, seen: set[type]) -> set[type]:
    """All dataclasses that a type is made of."""
    if is_dataclass(kind) and isinstance(kind, type) and kind not in seen:
        seen.add(kind)
        for hint in get_type_hints(kind).values():
            classes(hint, seen)
    for inner in get_args(kind):
        classes(inner, seen)
    return seen


RECORDED = sorted(classes(Snapshot | Policy | Placed | Waiting | Invalid, set()), key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", RECORDED, ids=lambda kind: kind.__name__)
def test_what_is_left_out_means_the_same_as_the_default(kind: type) -> None:
    """Else a field that is new and absent from an older record would be read as empty against its default."""
    hints = get_type_hints(kind)
    for one in fields(kind):
        absent = form.omitted(hints[one.name])
        default = one.default if one.default_factory is MISSING else one.default_factory()
        assert MISSING in (absent, default) or absent == default, one.name


def test_defaults_are_written_out_because_they_may_change() -> None:
    found = parsed(lined())
    assert found["policy"] == {"budget": Policy().budget, "candidates": "pack", "nodes": "compact"}
    assert found["request"]["rules"]["ready"] == Rules().ready


def test_a_record_older_than_a_field_takes_its_default() -> None:
    found = parsed(lined())
    del found["request"]["rules"]
    assert read(json.dumps(found)).request.rules == Rules()


def test_a_field_that_is_not_known_is_named_and_not_passed_over() -> None:
    found = parsed(lined())
    found["request"]["root"]["members"][0]["shape"]["colour"] = "red"
    assert reason(found) == "request.root.members[0].shape: the field 'colour' is not known to this version"


# -- what is no record -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": "phalanx.dev/record/v2"}, "schema: expected phalanx.dev/record/v1, found 'phalanx.dev/record/v2'"),
        ({"more": 1}, "missing or not known: more"),
        ({"policy": {"budget": True}}, "policy.budget: expected a whole number, found True"),
        ({"policy": None}, "policy: expected an object, found None"),
        ({"version": 1}, "version: expected text, found 1"),
        ({"decision": {"status": "Perhaps"}}, "decision.status: expected one of Placed, Waiting, Invalid"),
        ({"decision": {"status": []}}, "decision.status: expected one of Placed, Waiting, Invalid"),
        ({"decision": {"status": "Placed", "work": 1}}, "decision: the field 'placement' is missing"),
        (
            {"decision": {"status": "Waiting", "reason": {"type": "Bored"}}},
            "decision.reason.type: expected one of Pods",
        ),
        ({"snapshot": []}, "snapshot: expected an object, found 'a list'"),
        ({"snapshot": {}}, "snapshot.pods: expected an object, found None"),
        ({"snapshot": {"pods": {"kinds": [], "rows": [[0, "n", "p"]]}}}, "snapshot.pods.rows[0]: there is no kind 0"),
    ],
)
def test_the_reason_says_where_and_what(change: dict[str, Any], said: str) -> None:
    assert reason({**parsed(lined()), **change}).startswith(said)


@pytest.mark.parametrize(
    "text",
    ["", " ", "{", "null", "[]", "7", "NaN", "\0", "\ud800", "1" * 5000, "[" * 10**6, '{"a":' * 10**6, "{}{}"],
    ids=lambda text: repr(text[:8]),
)
def test_text_that_is_no_record_is_refused(text: str) -> None:
    with pytest.raises(BadRecord):
        read(text)


@pytest.mark.parametrize("seconds", [10**400, True, "60", None])
def test_seconds_that_are_no_number_are_refused(seconds: Any) -> None:
    found = parsed(lined())
    found["request"]["rules"]["ready"] = seconds
    assert reason(found).startswith("request.rules.ready: expected a number")


def test_groups_nested_without_end_are_refused() -> None:
    found = parsed(lined())
    for _ in range(300):
        found["request"]["root"] = {"name": "g", "members": [found["request"]["root"]]}
    assert reason(found) == "nested too deep"


@pytest.mark.parametrize("row", [[0, "n", "p", 0, 10**12], [0, "n", "p", 10**4000, 2], [0, "n", "p", 0, 0], [0, "n"]])
def test_a_short_line_cannot_stand_for_endless_pods(row: list[Any]) -> None:
    found = parsed(lined())
    found["snapshot"]["pods"] = {"kinds": [{"namespace": "a"}], "rows": [row]}
    assert reason(found).startswith("snapshot.pods")


@pytest.mark.parametrize("count", [10**12, 0, -1])
def test_a_short_line_cannot_stand_for_endless_ranks(count: int) -> None:
    found = parsed(lined())
    found["decision"]["placement"]["ranks"] = {"workers": [["n", count]]}
    assert reason(found).startswith("decision.placement.ranks")


@settings(ALIKE, max_examples=200)
@given(st.text() | st.text(st.characters(codec="ascii")).map(lambda text: lined()[: len(text) * 40] + text))
def test_arbitrary_text_raises_nothing_else(text: str) -> None:
    assume(text != lined())
    with pytest.raises(BadRecord):
        read(text)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**19), 10**19) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def paths(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*above, key)
        yield from paths(inner, (*above, key))


GOOD = [
    json.loads(written(snapshot, request, BRIEF, decide(Board.of(snapshot), request, BRIEF)))
    for snapshot, request in (instance(seed, family, False) for seed in (0, 1) for family in ("mixture", "ranks"))
]


@settings(ALIKE, max_examples=600)
@given(st.sampled_from(GOOD), st.data(), JUNK, st.booleans())
def test_a_spoiled_record_is_read_or_refused(good: dict[str, Any], data: st.DataObject, junk: Any, drop: bool) -> None:
    found = copy.deepcopy(good)
    *above, key = data.draw(st.sampled_from(list(paths(found))))
    at = found
    for step in above:
        at = at[step]
    if drop:
        del at[key]
    else:
        at[key] = junk
    try:
        assert isinstance(read(json.dumps(found)), Record)
    except BadRecord as error:
        assert str(error)


# -- what differs ------------------------------------------------------------------------------------------------


def test_the_same_answer_found_with_less_work_is_the_same() -> None:
    answer = decide(board(DRAWING), ASKED)
    assert isinstance(answer, Placed)
    assert differences(answer, replace(answer, work=answer.work + 1)) == ()


def test_another_placement_is_told_by_what_moved() -> None:
    answer = decide(board(DRAWING), ASKED)
    assert isinstance(answer, Placed)
    moved = replace(answer, placement=replace(answer.placement, pod_sets={"workers": (("n", 6),)}))
    assert differences(answer, moved) == ('placement.podSets.workers: [["b1-r1-1",4],["b1-r1-2",2]] -> [["n",6]]',)


def test_another_status_is_told_first_of_all_by_what_was_decided() -> None:
    placed, waiting = decide(board(DRAWING), ASKED), decide(board("b1: r1=4 r2=4"), ASKED)
    assert 'status: "Placed" -> "Waiting"' in differences(placed, waiting)
    assert isinstance(waiting, Waiting)
    assert differences(waiting, replace(waiting, proved=False)) == ("proved: true -> false",)
    nearer = replace(waiting, reason=replace(waiting.reason, needed=5))
    assert differences(waiting, nearer) == ("reason.needed: 6 -> 5",)


def test_a_queue_that_was_closed_comes_back_in_the_reason() -> None:  # K-017
    reason = Reason(Why.OVER_QUOTA, "w", "cluster", 4, queue=ClosedQueue("x", Closed.MISSING, ("a", "b")))
    found = form.written(reason)
    assert found["queue"] == {"name": "x", "why": "missing", "known": ["a", "b"]}
    assert form.built(Reason, found, "reason") == reason
    assert form.built(Reason, {key: value for key, value in found.items() if key != "queue"}, "reason").queue is None
