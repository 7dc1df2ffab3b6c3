"""CSI drivers attach so many volumes to a node and no more; pods on it, whoever placed them, have theirs already."""

from itertools import permutations

import pytest

from phalanx import Cluster
from tests.live.test_claims import DRIVER, claim, gated, of_pod, storage_class, volume, with_claim, with_ephemeral
from tests.live.test_room_taken import neighbour
from tests.testing import live_objects as objects
from tests.testing.live_objects import Doc
from tests.testing.live_stage import LiveStage


def csi_node(name: str, count: int | None = None, driver: str = DRIVER) -> Doc:
    own = {"name": driver, "nodeID": name, **({} if count is None else {"allocatable": {"count": count}})}
    meta = {"name": name, "uid": f"csi-{name}"}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": meta, "spec": {"drivers": [own]}}


def claimed(*names: str) -> list[Doc]:
    """Claims with their volumes."""
    return [one for name in names for one in (claim(name, f"pv-{name}"), volume(f"pv-{name}"))]


def small(gpus: int = 8) -> list[Doc]:
    """Two nodes of one rack: n0 and n1."""
    return objects.cluster(racks=1, nodes=2, gpus=gpus)


def test_a_gang_counts_its_volumes_on_every_node() -> None:
    own = objects.job("g", 4, 1, required=None)
    pods = [with_claim(objects.pod(f"g-{i}", 1, owner=own), f"c{i}") for i in range(4)]
    docs = [own, *pods, *claimed("c0", "c1", "c2", "c3")]
    stage = LiveStage(*small(), csi_node("n0", 1), csi_node("n1", 2), *docs)
    assert stage.where("g-0", "g-1", "g-2", "g-3") == [""] * 4
    (told,) = stage.scheduler.gangs()
    assert told["reason"] in ("NoRoom", "TooLarge", "Fragmented")
    assert f"attachable-volumes-csi-{DRIVER}" in told["message"]
    stage.see(csi_node("n1", 3))
    assert sorted(stage.where("g-0", "g-1", "g-2", "g-3")) == ["n0", "n1", "n1", "n1"]
    assert stage.at_rest() == []


def test_volumes_count_in_whatever_order_it_all_comes() -> None:
    pod = with_claim(objects.pod("p", 1))
    docs = [pod, claim(volume="pv"), volume(), csi_node("n0", 0), csi_node("n1", 1)]
    for order in permutations(docs):
        stage = LiveStage(*small())
        stage.see(objects.node("n1", "b0", "r0", unschedulable=True))  # until all is told
        stage.see(objects.node("n0", "b0", "r0", unschedulable=True))
        stage.one_by_one(*order)
        stage.see(*small()[1:])
        assert stage.where("p") == ["n1"]


@pytest.mark.parametrize("ours", [True, False])
def test_volumes_of_pods_that_run_are_counted_whoever_placed_them(ours: bool) -> None:
    there = with_claim(objects.on(objects.pod("there", 1), "n0") if ours else neighbour("there"), "mine")
    for docs in permutations([there, *claimed("mine"), csi_node("n0", 1)]):
        stage = LiveStage(*objects.cluster(racks=1, nodes=1), *claimed("data"))
        stage.one_by_one(*docs, with_claim(objects.pod("p", 1)))
        assert stage.where("p") == [""]
        stage.see(gone=[there])
        assert stage.where("p") == ["n0"]


def test_a_volume_of_another_driver_a_node_without_a_limit_and_a_pod_without_volumes_are_free_of_it() -> None:
    pods = [with_claim(objects.pod(f"p{i}", 1), f"c{i}") for i in range(3)]
    free = objects.pod("free", 1)
    full = [csi_node("n0", 0), csi_node("n1")]
    stage = LiveStage(*small(), *full, *claimed("c0", "c1", "c2"), *pods, free)
    assert stage.where("p0", "p1", "p2") == ["n1"] * 3 and stage.where("free") != [""]
    stage = LiveStage(
        *objects.cluster(racks=1, nodes=1), csi_node("n0", 0, "other.example.com"), *claimed("c0"), pods[0]
    )
    assert stage.where("p0") == ["n0"]


def test_claims_of_ephemeral_volumes_count_for_pods_that_a_template_makes() -> None:
    own = objects.job("g", 2, 1, required=None)
    pods = [with_ephemeral(objects.pod(f"g-{i}", 1, owner=own)) for i in range(2)]
    made = [one for i, pod in enumerate(pods) for one in (of_pod(pod, volume=f"pv{i}"), volume(f"pv{i}"))]
    stage = LiveStage(*small(), csi_node("n0", 1), csi_node("n1", 1), storage_class())
    stage.one_by_one(own, *pods, *made)
    assert sorted(stage.where("g-0", "g-1")) == ["n0", "n1"]
    assert stage.at_rest() == []


def test_a_gated_pod_counts_a_claim_that_has_no_volume_by_its_class() -> None:
    first = storage_class(mode="WaitForFirstConsumer")
    stage = LiveStage(*small(), csi_node("n0", 0), csi_node("n1", 1), first, claim())
    stage.see(gated(with_claim(objects.pod("p", 1))))
    assert [one.node for one in stage.effects if one.kind == "Ungate"] == ["n1"]


@pytest.mark.parametrize("change", ["limit comes", "limit goes", "limit shrinks", "class made again"])
def test_a_gang_that_runs_stays_when_limits_come_and_go(change: str) -> None:
    own = objects.job("g", 2, 1)
    pods = [with_claim(objects.pod(f"g-{i}", 1, owner=own), f"c{i}") for i in range(2)]
    limits = [] if change == "limit comes" else [csi_node("n0", 5), csi_node("n1", 5)]
    stage = LiveStage(*small(), *limits, storage_class(), *claimed("c0", "c1"), own, *pods)
    assert stage.state("default/g") == "Running"
    stage.effects.clear()
    if change == "limit goes":
        stage.see(gone=limits)
    elif change == "class made again":
        stage.see(gone=[storage_class()])
        stage.see(storage_class(mode="WaitForFirstConsumer"))
    else:
        stage.see(csi_node("n0", 1), csi_node("n1", 1))
    stage.after(3600)
    assert stage.state("default/g") == "Running" and stage.at_rest() == []
    assert {one.kind for one in stage.effects} <= {"Report"}


def test_limits_count_without_a_cluster_too() -> None:
    own = objects.job("g", 2, 1, required=None)
    own["spec"]["template"]["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    cluster = Cluster.from_manifests([*small(), csi_node("n0", 1), csi_node("n1", 1), *claimed("data")])
    (decision,) = cluster.place([own])
    assert decision.pod_sets == {"main": {"n0": 1, "n1": 1}}
