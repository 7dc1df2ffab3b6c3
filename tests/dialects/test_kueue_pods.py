"""Kueue's groups of plain pods."""

from typing import Any

from phalanx.dialects.reading import read
from phalanx.model.request import Missing
from tests.dialects.manifests import Doc, pod_spec, topology

REQUIRED = "kueue.x-k8s.io/podset-required-topology"


def pod(name: str, total: str | None = "3", cpu: str = "1", **annotations: Any) -> Doc:
    counted = {"kueue.x-k8s.io/pod-group-total-count": total} if total else {}
    labels = {"kueue.x-k8s.io/pod-group-name": "team", "kueue.x-k8s.io/queue-name": "research"}
    containers = [{"name": "a", "resources": {"requests": {"cpu": cpu}}}]
    metadata = {"name": name, "labels": labels, "annotations": {**counted, **annotations}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**pod_spec(), "containers": containers}}


def test_pods_of_a_group_are_one_gang() -> None:  # K-094
    (found,) = read([pod(f"p{i}") for i in range(3)]).requests
    assert (found.kind, found.id, found.queue) == ("PodGroup", "default/team", "research")
    assert [(s.name, s.min_count, s.count) for s in found.root.pod_sets()] == [("main", 3, 3)]


def test_their_wish_is_that_of_the_pod_set() -> None:
    docs = [topology("topology/rack"), *(pod(f"p{i}", **{REQUIRED: "topology/rack"}) for i in range(3))]
    (found,) = read(docs).requests
    assert found.root.required == 1


def test_pods_of_two_sizes_are_two_pod_sets() -> None:
    (found,) = read([pod("lead", cpu="4"), pod("p1"), pod("p2")]).requests
    assert [(s.name, s.count) for s in found.root.pod_sets()] == [("lead", 1), ("p1", 2)]


def test_a_group_that_is_not_complete_waits_for_its_pods() -> None:
    (found,) = read([pod("p0"), pod("p1")]).requests
    assert found.missing == (Missing("main", 3, 2),)


def test_pods_that_disagree_on_how_many_they_are_are_told() -> None:
    (found,) = read([pod("p0"), pod("p1", "4")]).invalid
    assert "Pod/p1 says 4 pods and Pod/p0 says 3" in found.problems[0].message


def test_pods_that_do_not_say_how_many_they_are_are_told() -> None:
    (found,) = read([pod("p0", None)]).invalid
    assert "pod-group-total-count" in found.problems[0].message


def test_a_part_of_a_gpu_is_refused_by_name() -> None:
    doc = pod("p0", **{"gpu-fraction": "0.5"})
    doc["metadata"]["labels"] = {}
    (found,) = read([doc]).invalid
    assert [p.path for p in found.problems] == ["metadata.annotations.gpu-fraction"]
