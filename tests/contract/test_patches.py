"""Patches: merge, JSON and strategic, and what ties them to a version."""

import pytest

from tests.contract.door import Doc
from tests.contract.objects import changed, node, pod
from tests.contract.scope import Scope

ELSEWHERE = "0b0b0b0b-0000-4000-8000-000000000000"


def annotated(**annotations: str) -> Doc:
    return changed(pod("a"), annotations=annotations)


# ---------------------------------------------------------------------------------------------------- merge


def test_a_merge_patch_sets_what_it_names_and_leaves_the_rest(space: Scope) -> None:
    space.made("pods", annotated(keep="1", change="1"))
    after = space.merge("pods", "a", {"metadata": {"annotations": {"change": "2", "add": "3"}}}).expect(200)
    assert after["metadata"]["annotations"] == {"keep": "1", "change": "2", "add": "3"}


def test_null_in_a_merge_patch_removes(space: Scope) -> None:
    space.made("pods", annotated(keep="1", drop="1"))
    after = space.merge("pods", "a", {"metadata": {"annotations": {"drop": None, "absent": None}}}).expect(200)
    assert after["metadata"]["annotations"] == {"keep": "1"}


def test_a_merge_patch_replaces_lists_whole(space: Scope) -> None:
    space.made("pods", changed(pod("a"), finalizers=["contract.example/one"]))
    after = space.merge("pods", "a", {"metadata": {"finalizers": ["contract.example/two"]}}).expect(200)
    assert after["metadata"]["finalizers"] == ["contract.example/two"]
    space.merge("pods", "a", {"metadata": {"finalizers": None}}).expect(200)


def test_a_merge_patch_with_the_current_version_passes(space: Scope) -> None:
    version = space.made("pods", pod("a"))["metadata"]["resourceVersion"]
    space.merge("pods", "a", {"metadata": {"resourceVersion": version, "labels": {"rank": "1"}}}).expect(200)


def test_a_merge_patch_with_a_stale_version_is_a_conflict(space: Scope) -> None:
    version = space.made("pods", pod("a"))["metadata"]["resourceVersion"]
    space.merge("pods", "a", {"metadata": {"labels": {"rank": "1"}}}).expect(200)
    stale = {"metadata": {"resourceVersion": version, "labels": {"rank": "2"}}}
    space.merge("pods", "a", stale).refused(409, "Conflict")


def test_a_merge_patch_without_a_version_never_conflicts(space: Scope) -> None:
    space.made("pods", pod("a"))
    for rank in "123":
        space.merge("pods", "a", {"metadata": {"labels": {"rank": rank}}}).expect(200)


def test_a_merge_patch_can_be_tied_to_the_uid(space: Scope) -> None:
    """A foreign uid is invalid here, and a conflict in a replacement: the same fact, two codes."""
    made = space.made("pods", pod("a"))
    answer = space.merge("pods", "a", {"metadata": {"uid": ELSEWHERE, "labels": {"rank": "1"}}})
    answer.refused(422, "Invalid")
    assert [cause["field"] for cause in answer.causes()] == ["metadata.uid"]
    space.merge("pods", "a", {"metadata": {"uid": made["metadata"]["uid"], "labels": {"rank": "1"}}}).expect(200)


def test_a_patch_that_changes_nothing_keeps_the_version(space: Scope) -> None:
    made = space.made("pods", annotated(keep="1"))
    assert space.merge("pods", "a", {"metadata": {"annotations": {"keep": "1"}}}).expect(200) == made


def test_patching_an_absent_object_is_not_found(space: Scope) -> None:
    space.merge("pods", "absent", {"metadata": {"labels": {"rank": "1"}}}).refused(404, "NotFound")


def test_an_unknown_kind_of_patch_is_refused(space: Scope) -> None:
    space.made("pods", pod("a"))
    answer = space.door.call("PATCH", space.path("pods", "a"), {}, content="application/json")
    answer.refused(415, "UnsupportedMediaType")


# ----------------------------------------------------------------------------------------------------- JSON


def test_a_json_patch_carries_out_its_operations_in_order(space: Scope) -> None:
    space.made("pods", annotated(drop="1"))
    after = space.json_patch(
        "pods",
        "a",
        {"op": "add", "path": "/metadata/annotations/contract.example~1rank", "value": "1"},
        {"op": "replace", "path": "/metadata/annotations/contract.example~1rank", "value": "2"},
        {"op": "remove", "path": "/metadata/annotations/drop"},
    ).expect(200)
    assert after["metadata"]["annotations"] == {"contract.example/rank": "2"}


def test_a_failed_test_stops_the_whole_json_patch(space: Scope) -> None:
    made = space.made("pods", annotated(state="waiting"))
    answer = space.json_patch(
        "pods",
        "a",
        {"op": "add", "path": "/metadata/annotations/added", "value": "1"},
        {"op": "test", "path": "/metadata/annotations/state", "value": "placed"},
    )
    answer.refused(422, "Invalid")
    assert space.read("pods", "a") == made


def test_removing_what_is_not_there_is_invalid(space: Scope) -> None:
    space.made("pods", annotated(keep="1"))
    space.json_patch("pods", "a", {"op": "remove", "path": "/metadata/annotations/absent"}).refused(422, "Invalid")


def test_a_json_patch_can_test_the_version(space: Scope) -> None:
    version = space.made("pods", annotated(keep="1"))["metadata"]["resourceVersion"]
    same = {"op": "test", "path": "/metadata/resourceVersion", "value": version}
    space.json_patch("pods", "a", same, {"op": "remove", "path": "/metadata/annotations/keep"}).expect(200)
    again = {"op": "add", "path": "/metadata/labels", "value": {"late": "yes"}}
    space.json_patch("pods", "a", same, again).refused(422, "Invalid")


def test_a_malformed_json_patch_is_a_bad_request(space: Scope) -> None:
    space.made("pods", pod("a"))
    path = space.path("pods", "a")
    space.door.call("PATCH", path, b'{"op": "add"', content="application/json-patch+json").refused(400, "BadRequest")


# ------------------------------------------------------------------------------------------------ strategic


def test_a_strategic_patch_merges_containers_by_name(space: Scope) -> None:
    two = [{"name": "main", "image": "one"}, {"name": "side", "image": "one"}]
    space.made("pods", pod("a", containers=two))
    after = space.strategic("pods", "a", {"spec": {"containers": [{"name": "side", "image": "two"}]}}).expect(200)
    images = {each["name"]: each["image"] for each in after["spec"]["containers"]}
    assert images == {"main": "one", "side": "two"}


def test_a_strategic_patch_merges_conditions_by_type(space: Scope) -> None:
    space.made("pods", pod("a"))
    for kind in ("PodScheduled", "contract.example/Placed"):
        patch = {"status": {"conditions": [{"type": kind, "status": "False", "reason": "Waiting"}]}}
        space.strategic("pods", "a", patch, "status").expect(200)
    again = {"status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}}
    after = space.strategic("pods", "a", again, "status").expect(200)["status"]["conditions"]
    reasons = {each["type"]: each["reason"] for each in after}
    assert reasons == {"PodScheduled": "Unschedulable", "contract.example/Placed": "Waiting"}


def test_a_strategic_patch_deletes_a_list_entry_by_its_key(space: Scope) -> None:
    space.made("pods", pod("a"))
    for kind in ("one", "two"):
        patch = {"status": {"conditions": [{"type": f"contract.example/{kind}", "status": "True"}]}}
        space.strategic("pods", "a", patch, "status").expect(200)
    gone = {"status": {"conditions": [{"type": "contract.example/one", "$patch": "delete"}]}}
    after = space.strategic("pods", "a", gone, "status").expect(200)["status"]["conditions"]
    assert [each["type"] for each in after] == ["contract.example/two"]


def test_a_strategic_patch_replaces_the_taints_of_a_node_whole(cluster: Scope, node_name: str) -> None:
    """So cordoning tools read the taints first and send all of them back, with the version."""
    first = {"key": "contract.example/one", "effect": "NoSchedule"}
    second = {"key": "contract.example/two", "effect": "NoSchedule"}
    cluster.strategic("nodes", node_name, {"spec": {"taints": [first]}}).expect(200)
    after = cluster.strategic("nodes", node_name, {"spec": {"taints": [second]}}).expect(200)
    assert [taint["key"] for taint in after["spec"]["taints"]] == ["contract.example/two"]


def test_a_strategic_patch_cordons_a_node(cluster: Scope, node_name: str) -> None:
    after = cluster.strategic("nodes", node_name, {"spec": {"unschedulable": True}}).expect(200)
    assert after["spec"]["unschedulable"] is True
    assert after["metadata"]["labels"] == node(node_name)["metadata"]["labels"]


def test_a_strategic_patch_removes_one_finalizer_of_several(space: Scope) -> None:
    space.made("pods", changed(pod("a"), finalizers=["contract.example/one", "contract.example/two"]))
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["contract.example/one"]}}
    assert space.strategic("pods", "a", patch).expect(200)["metadata"]["finalizers"] == ["contract.example/two"]
    space.merge("pods", "a", {"metadata": {"finalizers": None}}).expect(200)


def test_a_strategic_patch_with_a_stale_version_is_a_conflict(space: Scope) -> None:
    version = space.made("pods", pod("a"))["metadata"]["resourceVersion"]
    space.merge("pods", "a", {"metadata": {"labels": {"rank": "1"}}}).expect(200)
    stale = {"metadata": {"resourceVersion": version, "labels": {"rank": "2"}}}
    space.strategic("pods", "a", stale).refused(409, "Conflict")


def test_custom_resources_take_no_strategic_patch(space: Scope, pennants: str, pennant: Doc) -> None:
    name = space.made(pennants, pennant)["metadata"]["name"]
    space.strategic(pennants, name, {"spec": {"minCount": 3}}).refused(415, "UnsupportedMediaType")


@pytest.mark.parametrize("verb", ["merge", "strategic"])
def test_a_patched_pod_is_validated_like_a_new_one(space: Scope, verb: str) -> None:
    space.made("pods", pod("a"))
    getattr(space, verb)("pods", "a", {"metadata": {"labels": {"rack": "no spaces"}}}).refused(422, "Invalid")
