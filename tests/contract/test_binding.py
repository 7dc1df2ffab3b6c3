"""Binding: one write that gives a pod its node, once."""

import pytest

from tests.contract.door import Doc
from tests.contract.objects import changed, condition, gated, pod
from tests.contract.scope import Scope

NODE = "contract-nowhere"
ELSEWHERE = "0b0b0b0b-0000-4000-8000-000000000000"


@pytest.fixture
def waiting(space: Scope) -> Doc:
    """A pod `a` that waits for a node."""
    return space.made("pods", pod("a", labels={"gang": "x", "rank": "0"}))


def test_a_bind_is_answered_with_a_bare_success(space: Scope, waiting: Doc) -> None:
    """A Status, not the pod and not a Binding: typed clients stumble here after the pod is bound."""
    status = space.bind("a", NODE).expect(201)
    assert (status["kind"], status["status"]) == ("Status", "Success")


def test_a_bound_pod_has_its_node_and_says_it_is_scheduled(space: Scope, waiting: Doc) -> None:
    space.bind("a", NODE).expect(201)
    bound = space.read("pods", "a")
    assert bound["spec"]["nodeName"] == NODE
    assert condition(bound, "PodScheduled")["status"] == "True"


def test_a_bind_is_one_event(space: Scope, waiting: Doc) -> None:
    with space.watch("pods", resourceVersion=waiting["metadata"]["resourceVersion"]) as watch:
        space.bind("a", NODE, annotations={"rack": "r1"}).expect(201)
        space.made("pods", pod("marker"))
        bound, marker = watch.take(2)
    assert (bound["type"], bound["object"]["spec"]["nodeName"]) == ("MODIFIED", NODE)
    assert condition(bound["object"], "PodScheduled")["status"] == "True"
    assert bound["object"]["metadata"]["annotations"] == {"rack": "r1"}
    assert marker["object"]["metadata"]["name"] == "marker"


def test_annotations_of_the_binding_are_merged_into_the_pod(space: Scope) -> None:
    space.made("pods", changed(pod("a"), annotations={"keep": "1", "change": "1"}))
    space.bind("a", NODE, annotations={"change": "2", "add": "3"}).expect(201)
    after = space.read("pods", "a")["metadata"]["annotations"]
    assert after == {"keep": "1", "change": "2", "add": "3"}


def test_labels_of_the_binding_are_merged_into_the_pod(space: Scope, waiting: Doc) -> None:
    space.bind("a", NODE, labels={"rank": "7", "rack": "r1"}).expect(201)
    assert space.read("pods", "a")["metadata"]["labels"] == {"gang": "x", "rank": "7", "rack": "r1"}


def test_a_bad_label_in_a_binding_is_refused_or_closes_the_pod(space: Scope, waiting: Doc) -> None:
    """The real server checks none of the Binding's metadata and afterwards refuses every write to the pod, that of its
    kubelet too, until the label is gone. So we check before we bind.
    """
    if space.bind("a", NODE, labels={"rack": "no spaces allowed"}).code == 201:
        space.merge("pods", "a", {"status": {"phase": "Running"}}, "status").refused(422, "Invalid")
        space.merge("pods", "a", {"metadata": {"labels": {"rack": None}}}).expect(200)
        space.merge("pods", "a", {"status": {"phase": "Running"}}, "status").expect(200)


def test_a_bind_writes_zone_and_region_of_the_node_on_the_pod(space: Scope, cluster: Scope, node_name: str) -> None:
    place = {"topology.kubernetes.io/zone": "z1", "topology.kubernetes.io/region": "r1"}
    cluster.merge("nodes", node_name, {"metadata": {"labels": {**place, "rack": "r7"}}}).expect(200)
    space.made("pods", pod("a"))
    space.bind("a", node_name).expect(201)
    assert space.read("pods", "a")["metadata"]["labels"] == place


def test_a_bind_is_no_new_generation(space: Scope, waiting: Doc) -> None:
    """Though it changes the spec: whoever waits for a generation never sees a bind."""
    space.bind("a", NODE).expect(201)
    assert space.read("pods", "a")["metadata"]["generation"] == waiting["metadata"]["generation"]


def test_the_node_does_not_have_to_exist(space: Scope, waiting: Doc) -> None:
    """Nobody checks: a bind that crosses the deletion of its node succeeds, and the scheduler has to notice."""
    Scope(space.door).get("nodes", NODE).refused(404, "NotFound")
    space.bind("a", NODE).expect(201)


@pytest.mark.parametrize("node", [NODE, "contract-elsewhere"])
def test_a_second_bind_is_a_conflict_whatever_the_node(space: Scope, waiting: Doc, node: str) -> None:
    """The message tells the node; only reading the pod tells whether it was us."""
    space.bind("a", NODE).expect(201)
    status = space.bind("a", node).refused(409, "Conflict")
    assert f'already assigned to node "{NODE}"' in status["message"]
    assert space.read("pods", "a")["spec"]["nodeName"] == NODE


def test_a_refused_bind_merges_nothing(space: Scope, waiting: Doc) -> None:
    space.bind("a", NODE).expect(201)
    before = space.read("pods", "a")
    space.bind("a", "contract-elsewhere", annotations={"rack": "r2"}).refused(409, "Conflict")
    assert space.read("pods", "a") == before


def test_a_bind_tied_to_another_uid_is_a_conflict(space: Scope, waiting: Doc) -> None:
    space.bind("a", NODE, uid=ELSEWHERE).refused(409, "Conflict")
    assert "nodeName" not in space.read("pods", "a")["spec"]


def test_a_bind_tied_to_the_right_uid_passes(space: Scope, waiting: Doc) -> None:
    space.bind("a", NODE, uid=waiting["metadata"]["uid"]).expect(201)


def test_a_bind_tied_to_a_stale_version_is_a_conflict(space: Scope, waiting: Doc) -> None:
    space.merge("pods", "a", {"metadata": {"labels": {"rank": "1"}}}).expect(200)
    space.bind("a", NODE, resourceVersion=waiting["metadata"]["resourceVersion"]).refused(409, "Conflict")


def test_a_gated_pod_is_not_bound(space: Scope) -> None:
    space.made("pods", gated("a", "contract.example/gate"))
    assert "schedulingGates" in space.bind("a", NODE).refused(409, "Conflict")["message"]


def test_a_pod_on_its_way_out_is_not_bound(space: Scope) -> None:
    space.made("pods", changed(pod("a"), finalizers=["contract.example/hold"]))
    space.delete("pods", "a").expect(200)
    assert "being deleted" in space.bind("a", NODE).refused(409, "Conflict")["message"]
    space.merge("pods", "a", {"metadata": {"finalizers": None}}).expect(200)


def test_an_absent_pod_is_not_found(space: Scope) -> None:
    status = space.bind("absent", NODE).refused(404, "NotFound")
    assert status["details"]["name"] == "absent"


def test_a_binding_under_another_name_is_a_bad_request(space: Scope, waiting: Doc) -> None:
    space.bind("a", NODE, name="b").refused(400, "BadRequest")


def test_a_binding_without_a_node_is_refused(space: Scope, waiting: Doc) -> None:
    """The real server answers 500 here, so the code is not part of the contract; that nothing is bound is."""
    assert space.bind("a", "").code >= 400
    assert "nodeName" not in space.read("pods", "a")["spec"]


def test_a_binding_can_be_posted_to_the_collection(space: Scope, waiting: Doc) -> None:
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a"},
        "target": {"kind": "Node", "name": NODE},
    }
    space.create("bindings", binding).expect(201)
    assert space.read("pods", "a")["spec"]["nodeName"] == NODE


def test_a_dry_run_binds_nothing(space: Scope, waiting: Doc) -> None:
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a"},
        "target": {"kind": "Node", "name": NODE},
    }
    space.door.call("POST", space.path("pods", "a", "binding"), binding, {"dryRun": "All"}).expect(201)
    assert space.read("pods", "a") == waiting


def test_binding_clears_the_nomination(space: Scope, waiting: Doc) -> None:
    nominated = space.merge("pods", "a", {"status": {"nominatedNodeName": NODE}}, "status").expect(200)
    assert nominated["status"]["nominatedNodeName"] == NODE
    space.bind("a", NODE).expect(201)
    assert not space.read("pods", "a")["status"].get("nominatedNodeName")


def test_a_pod_may_be_born_on_a_node(space: Scope) -> None:
    """Daemon and static pods skip every scheduler."""
    assert space.made("pods", pod("a", nodeName=NODE))["spec"]["nodeName"] == NODE


def test_nothing_of_a_bound_pod_is_taken_back_by_a_patch(space: Scope, waiting: Doc) -> None:
    space.bind("a", NODE).expect(201)
    space.merge("pods", "a", {"spec": {"nodeName": None}}).refused(422, "Invalid")
