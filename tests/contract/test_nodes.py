"""Nodes: what kubelets write and schedulers read."""

from tests.contract.door import Doc
from tests.contract.objects import pod
from tests.contract.scope import Scope


def with_room(cluster: Scope, name: str, **amounts: str) -> Doc:
    status = {"status": {"capacity": amounts, "allocatable": amounts}}
    return cluster.strategic("nodes", name, status, "status").expect(200)


def test_room_is_written_through_the_status(cluster: Scope, node_name: str) -> None:
    after = with_room(cluster, node_name, cpu="8", memory="32Gi", pods="110", **{"nvidia.com/gpu": "8"})
    assert after["status"]["allocatable"] == {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "8"}


def test_labels_of_a_node_are_merged(cluster: Scope, node_name: str) -> None:
    after = cluster.merge("nodes", node_name, {"metadata": {"labels": {"rack": "r1"}}}).expect(200)
    assert after["metadata"]["labels"] == {"contract": node_name, "rack": "r1"}


def test_a_change_of_one_resource_is_one_event(cluster: Scope, node_name: str) -> None:
    before = with_room(cluster, node_name, cpu="8")
    start = before["metadata"]["resourceVersion"]
    with cluster.watch("nodes", resourceVersion=start, fieldSelector=f"metadata.name={node_name}") as watch:
        with_room(cluster, node_name, cpu="4")
        event = watch.next()
        while event["object"]["status"].get("allocatable") == before["status"]["allocatable"]:
            event = watch.next()  # controllers may write conditions and taints meanwhile
    assert event["type"] == "MODIFIED" and event["object"]["status"]["allocatable"]["cpu"] == "4"


def test_a_cordoned_node_is_selected_by_its_field(cluster: Scope, node_name: str) -> None:
    cluster.strategic("nodes", node_name, {"spec": {"unschedulable": True}}).expect(200)
    query = {"fieldSelector": "spec.unschedulable=true", "labelSelector": f"contract={node_name}"}
    assert cluster.names("nodes", **query) == [node_name]


def test_pods_outlive_their_node(space: Scope, cluster: Scope, node_name: str) -> None:
    space.made("pods", pod("a"))
    space.bind("a", node_name).expect(201)
    cluster.delete("nodes", node_name).expect(200)
    assert space.read("pods", "a")["spec"]["nodeName"] == node_name
