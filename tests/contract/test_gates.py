"""Scheduling gates: they only ever go away, and while they stand the pod may be narrowed."""

from typing import Any

import pytest

from tests.contract.door import Answer, Doc
from tests.contract.objects import condition, gated, pod
from tests.contract.scope import Scope

OURS = "contract.example/ours"
THEIRS = "contract.example/theirs"
ZONE = "topology.kubernetes.io/zone"


def gates(doc: Doc) -> list[str]:
    return [gate["name"] for gate in doc["spec"].get("schedulingGates", [])]


def set_spec(space: Scope, path: str, value: Any, op: str = "add") -> Answer:
    return space.json_patch("pods", "a", {"op": op, "path": f"/spec/{path}", "value": value})


def required(*terms: Doc) -> Doc:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def zone_in(*zones: str) -> Doc:
    return {"matchExpressions": [{"key": ZONE, "operator": "In", "values": list(zones)}]}


# ---------------------------------------------------------------------------------------------------- gates


def test_a_gated_pod_says_so_from_the_start(space: Scope) -> None:
    said = condition(space.made("pods", gated("a", OURS)), "PodScheduled")
    assert (said["status"], said["reason"]) == ("False", "SchedulingGated")


def test_our_gate_is_removed_and_theirs_stays(space: Scope) -> None:
    space.made("pods", gated("a", THEIRS, OURS))
    test = {"op": "test", "path": "/spec/schedulingGates/1/name", "value": OURS}
    after = space.json_patch("pods", "a", test, {"op": "remove", "path": "/spec/schedulingGates/1"}).expect(200)
    assert gates(after) == [THEIRS]


def test_a_gate_that_moved_is_not_removed_by_mistake(space: Scope) -> None:
    space.made("pods", gated("a", OURS, THEIRS))
    test = {"op": "test", "path": "/spec/schedulingGates/1/name", "value": OURS}
    answer = space.json_patch("pods", "a", test, {"op": "remove", "path": "/spec/schedulingGates/1"})
    answer.refused(422, "Invalid")
    assert gates(space.read("pods", "a")) == [OURS, THEIRS]


def test_the_last_gate_goes_and_the_pod_is_bound(space: Scope) -> None:
    space.made("pods", gated("a", OURS))
    assert gates(space.json_patch("pods", "a", {"op": "remove", "path": "/spec/schedulingGates/0"}).expect(200)) == []
    space.bind("a", "contract-nowhere").expect(201)


def test_the_condition_outlives_the_gate(space: Scope) -> None:
    """The server writes SchedulingGated at birth and never again; who lifts the gate writes what comes next."""
    space.made("pods", gated("a", OURS))
    after = space.json_patch("pods", "a", {"op": "remove", "path": "/spec/schedulingGates/0"}).expect(200)
    assert condition(after, "PodScheduled")["reason"] == "SchedulingGated"


def test_lifting_a_gate_is_a_new_generation(space: Scope) -> None:
    before = space.made("pods", gated("a", OURS))["metadata"]["generation"]
    after = space.json_patch("pods", "a", {"op": "remove", "path": "/spec/schedulingGates/0"}).expect(200)
    assert after["metadata"]["generation"] == before + 1


def test_a_merge_patch_may_remove_gates_too(space: Scope) -> None:
    space.made("pods", gated("a", OURS, THEIRS))
    after = space.merge("pods", "a", {"spec": {"schedulingGates": [{"name": THEIRS}]}}).expect(200)
    assert gates(after) == [THEIRS]


@pytest.mark.parametrize("born_with", [(), (THEIRS,)])
def test_no_gate_is_added_after_birth(space: Scope, born_with: tuple[str, ...]) -> None:
    space.made("pods", gated("a", *born_with))
    wanted = [{"name": gate} for gate in (*born_with, OURS)]
    answer = space.merge("pods", "a", {"spec": {"schedulingGates": wanted}})
    answer.refused(422, "Invalid")
    assert "spec.schedulingGates" in str(answer.causes())


def test_a_pod_with_a_node_has_no_gates(space: Scope) -> None:
    space.create("pods", gated("a", OURS, nodeName="contract-nowhere")).refused(422, "Invalid")


def test_the_same_gate_twice_is_refused(space: Scope) -> None:
    answer = space.create("pods", gated("a", OURS, OURS))
    answer.refused(422, "Invalid")
    assert [cause["reason"] for cause in answer.causes()] == ["FieldValueDuplicate"]


# ------------------------------------------------------------------------------------------------ narrowing


def test_a_node_selector_is_added_while_gated(space: Scope) -> None:
    space.made("pods", gated("a", OURS))
    after = set_spec(space, "nodeSelector", {"kubernetes.io/hostname": "n1"}).expect(200)
    assert after["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "n1"}


def test_a_node_selector_grows_while_gated(space: Scope) -> None:
    space.made("pods", gated("a", OURS, nodeSelector={ZONE: "z1"}))
    set_spec(space, "nodeSelector/disk", "ssd").expect(200)


def test_one_patch_narrows_and_lifts_the_gate(space: Scope) -> None:
    space.made("pods", gated("a", OURS))
    after = space.json_patch(
        "pods",
        "a",
        {"op": "test", "path": "/spec/schedulingGates/0/name", "value": OURS},
        {"op": "remove", "path": "/spec/schedulingGates/0"},
        {"op": "add", "path": "/spec/nodeSelector", "value": {"kubernetes.io/hostname": "n1"}},
    ).expect(200)
    assert gates(after) == [] and after["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "n1"}


@pytest.mark.parametrize("selector", [{ZONE: "z2"}, {}])
def test_a_node_selector_is_never_widened(space: Scope, selector: Doc) -> None:
    space.made("pods", gated("a", OURS, nodeSelector={ZONE: "z1"}))
    set_spec(space, "nodeSelector", selector, "replace").refused(422, "Invalid")


def test_an_ungated_pod_is_not_narrowed(space: Scope) -> None:
    space.made("pods", pod("a"))
    set_spec(space, "nodeSelector", {ZONE: "z1"}).refused(422, "Invalid")


def test_a_node_affinity_is_set_while_gated(space: Scope) -> None:
    space.made("pods", gated("a", OURS))
    set_spec(space, "affinity", required(zone_in("z1"))).expect(200)


def test_a_term_of_a_node_affinity_is_narrowed_while_gated(space: Scope) -> None:
    space.made("pods", gated("a", OURS, affinity=required(zone_in("z1", "z2"))))
    tighter = zone_in("z1", "z2")
    tighter["matchExpressions"].append({"key": "rack", "operator": "In", "values": ["r1"]})
    set_spec(space, "affinity", required(tighter), "replace").expect(200)


def test_a_further_term_would_widen_and_is_refused(space: Scope) -> None:
    space.made("pods", gated("a", OURS, affinity=required(zone_in("z1"))))
    set_spec(space, "affinity", required(zone_in("z1"), zone_in("z2")), "replace").refused(422, "Invalid")


def test_an_ungated_pod_takes_no_affinity(space: Scope) -> None:
    space.made("pods", pod("a"))
    set_spec(space, "affinity", required(zone_in("z1"))).refused(422, "Invalid")


def test_tolerations_are_added_at_any_time(space: Scope) -> None:
    before = space.made("pods", pod("a"))["spec"].get("tolerations", [])
    more = [*before, {"key": "contract.example/spot", "operator": "Exists"}]
    after = set_spec(space, "tolerations", more).expect(200)
    assert len(after["spec"]["tolerations"]) == len(before) + 1


def test_tolerations_are_never_taken_away(space: Scope) -> None:
    space.made("pods", pod("a", tolerations=[{"key": "contract.example/spot", "operator": "Exists"}]))
    set_spec(space, "tolerations", [], "replace").refused(422, "Invalid")


def test_labels_and_annotations_change_at_any_time(space: Scope) -> None:
    space.made("pods", pod("a"))
    patch = {"metadata": {"labels": {"rack": "r1"}, "annotations": {"rank": "3"}}}
    after = space.merge("pods", "a", patch).expect(200)["metadata"]
    assert (after["labels"], after["annotations"]) == ({"rack": "r1"}, {"rank": "3"})
