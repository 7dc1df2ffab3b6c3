"""What is kept of what comes over the wire."""

import json
from typing import Any

import msgspec
import pytest

from phalanx.wire import shapes
from phalanx.wire.lines import Lines
from phalanx.wire.resources import JOBS, NODES, PODS, Resource

POD: dict[str, Any] = {
    "metadata": {
        "name": "a",
        "namespace": "default",
        "uid": "u",
        "resourceVersion": "12",
        "generation": 3,
        "creationTimestamp": "2026-11-01T00:00:00Z",
        "labels": {"app": "x"},
        "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "ju", "controller": True}],
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:x": {}}}],
        "finalizers": ["x/y"],
    },
    "spec": {
        "nodeName": "n1",
        "schedulerName": "phalanx",
        "schedulingGates": [{"name": "g1"}, {"name": "g2"}],
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
    },
    "status": {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastProbeTime": None}],
        "hostIP": "192.0.2.1",
    },
}


def test_a_pod_has_to_hand_what_changes_in_its_life() -> None:
    pod = shapes.decode_pod(msgspec.json.encode(POD), PODS)
    assert (pod.nodeName, pod.schedulerName, pod.schedulingGates) == ("n1", "phalanx", ("g1", "g2"))
    assert (pod.phase, pod.conditions[0].reason) == ("Pending", "Unschedulable")
    assert (pod.metadata.key, pod.metadata.version) == (("default", "a"), 12)


def test_a_pod_gives_back_its_document() -> None:
    document = shapes.decode_pod(msgspec.json.encode(POD), PODS).document()
    assert (document["apiVersion"], document["kind"]) == ("v1", "Pod")
    assert document["spec"] == POD["spec"]
    assert document["status"] == {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
    }
    left_out = ("managedFields", "finalizers")
    assert document["metadata"] == {key: value for key, value in POD["metadata"].items() if key not in left_out}


def test_a_pod_keeps_what_its_status_says_of_the_room_it_takes() -> None:
    container = {"name": "c", "resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "2"}}
    room = {
        "nominatedNodeName": "n2",
        "containerStatuses": [container],
        "initContainerStatuses": [{"name": "i", "allocatedResources": {"cpu": "1"}}],
        "resources": {"requests": {"cpu": "3"}},
        "allocatedResources": {"cpu": "3"},
    }
    beside = {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "4"}}, "image": "x", "ready": True}
    status = {**POD["status"], **room, "containerStatuses": [{**container, **beside}]}
    document = shapes.decode_pod(msgspec.json.encode({**POD, "status": status}), PODS).document()
    assert {key: value for key, value in document["status"].items() if key not in ("phase", "conditions")} == room


def test_what_is_kept_of_a_pod_does_not_hold_the_page_it_came_in() -> None:
    page = shapes.decode_page(msgspec.json.encode({"metadata": {}, "items": [POD] * 3}))
    pod = shapes.decode_pod(page.items[0], PODS)
    assert isinstance(pod.spec, bytes)
    assert not isinstance(pod.spec, msgspec.Raw)


@pytest.mark.parametrize("resource", [JOBS, NODES])
def test_other_kinds_are_whole_but_for_the_noise(resource: Resource) -> None:
    raw = {**POD, "status": {"images": [{"names": ["x"]}], "capacity": {"cpu": "1"}}, "data": {"a": "b"}}
    decode = shapes.decode_node if resource is NODES else shapes.decode_whole
    document = decode(msgspec.json.encode(raw), resource).document()
    assert (document["apiVersion"], document["kind"]) == (resource.api_version, resource.kind)
    assert ("images" in document["status"]) is (resource is not NODES)
    assert "managedFields" not in document["metadata"]
    assert document["metadata"]["finalizers"] == ["x/y"]
    assert document["data"] == {"a": "b"}


def test_a_kind_told_by_the_server_stays() -> None:
    raw = msgspec.json.encode({"apiVersion": "batch/v2", "kind": "Job", "metadata": {}})
    assert shapes.decode_whole(raw, JOBS).document()["apiVersion"] == "batch/v2"


def test_a_bookmark_and_an_error_are_read_for_their_type_first() -> None:
    line = {"type": "ERROR", "object": {"kind": "Status", "metadata": {}, "code": 410}}
    assert shapes.decode_event(json.dumps(line).encode()).type == "ERROR"
    bookmark = {
        "kind": "Pod",
        "metadata": {"resourceVersion": "9", "creationTimestamp": None},
        "spec": {"containers": None},
    }
    event = shapes.decode_event(json.dumps({"type": "BOOKMARK", "object": bookmark}).encode())
    assert shapes.decode_meta(event.object).version == 9


def test_an_empty_list_may_come_as_null() -> None:
    page = shapes.decode_page(b'{"metadata":{"resourceVersion":"5"},"items":null}')
    assert (page.items, page.resource_version, page.next) == ((), "5", "")


def test_lines_come_out_whole_however_they_went_in() -> None:
    lines = Lines()
    fed = [lines.feed(chunk) for chunk in (b"a", b"b\nc", b"\n\n", b"d\ne\nf")]
    assert fed == [[], [b"ab"], [b"c"], [b"d", b"e"]]


def test_paths_are_those_of_the_server() -> None:
    assert PODS.path("a", "ns", "binding") == "/api/v1/namespaces/ns/pods/a/binding"
    assert JOBS.collection() == "/apis/batch/v1/jobs"
    assert NODES.path("n") == "/api/v1/nodes/n"
    assert PODS.path("a/../b", "ns") == "/api/v1/namespaces/ns/pods/a%2F..%2Fb"
    assert (JOBS.api_version, JOBS.group_resource, PODS.group_resource) == ("batch/v1", "jobs.batch", "pods")
