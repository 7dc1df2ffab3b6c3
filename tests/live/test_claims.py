"""Pods with volumes: they wait for their claims, whichever comes first, and go where their volumes can be reached."""

from itertools import permutations
from typing import Any

import pytest

from phalanx.dialects.following import family
from phalanx.kube.configuration import Configuration
from phalanx.testing import LiveScheduler
from tests.testing import live_objects as objects
from tests.testing.live_objects import Doc
from tests.testing.live_stage import LiveStage

FIRST_CONSUMER = "WaitForFirstConsumer"
DRIVER = "disk.example.com"


def storage_class(name: str = "disks", mode: str = "Immediate") -> Doc:
    meta = {"name": name, "uid": f"class-{name}"}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": meta, "provisioner": DRIVER,
            "volumeBindingMode": mode}  # fmt: skip


def claim(name: str = "data", volume: str = "", uid: str = "", kind: str = "disks", **metadata: Any) -> Doc:
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": kind, **({"volumeName": volume} if volume else {})}
    meta = {"name": name, "namespace": "default", "uid": uid or f"claim-{name}", **metadata}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


def volume(name: str = "pv", node: str = "", uid: str = "") -> Doc:
    """A volume, which can be reached from one node alone where that is named."""
    there = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [there]}}} if node else {}
    spec = {"csi": {"driver": DRIVER, "volumeHandle": name}, **affinity}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "uid": uid or f"pv-{name}"},
            "spec": spec}  # fmt: skip


def with_claim(pod: Doc, name: str = "data") -> Doc:
    return {**pod, "spec": {**pod["spec"], "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]}}


def with_ephemeral(pod: Doc, name: str = "scratch") -> Doc:
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "disks"}
    made = {"name": name, "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
    return {**pod, "spec": {**pod["spec"], "volumes": [made]}}


def of_pod(pod: Doc, **spec: Any) -> Doc:
    """The claim that the ephemeral controller makes for a pod."""
    name = pod["metadata"]["name"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod["metadata"]["uid"], "controller": True}
    return claim(f"{name}-scratch", ownerReferences=[owner], **spec)


def gated(pod: Doc) -> Doc:
    """A pod that another scheduler binds once our gate is off."""
    spec = {key: value for key, value in pod["spec"].items() if key != "schedulerName"}
    return {**pod, "spec": {**spec, "schedulingGates": [{"name": "phalanx.dev/topology"}]}}


def told(stage: LiveStage) -> str:
    """All that is told of anybody who waits: reasons, refusals and remarks."""
    return " | ".join([str(one["message"]) for one in stage.scheduler.gangs()])


def acts(stage: LiveStage) -> list[str]:
    return [one.name for one in stage.effects if one.kind in ("Bind", "Ungate")]


# -- claims that come after their pods -------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [lambda pod: pod, gated], ids=["bound by us", "gated"])
def test_a_pod_whose_claim_was_not_seen_yet_waits_for_it_and_says_so(mode: Any) -> None:
    stage = LiveStage(*objects.cluster(), mode(with_claim(objects.pod("p", 1))))
    assert acts(stage) == []
    assert "pod p waits for claim data, which does not exist" in told(stage)
    stage.see(claim(volume="pv"))
    assert acts(stage) == [] and "volume pv" in told(stage)
    stage.see(volume())
    assert acts(stage) == ["p"]


@pytest.mark.parametrize("mode", [lambda pod: pod, gated], ids=["bound by us", "gated"])
def test_a_pod_waits_for_the_claim_of_its_ephemeral_volume(mode: Any) -> None:
    pod = mode(with_ephemeral(objects.pod("p", 1)))
    stage = LiveStage(*objects.cluster(), storage_class(), pod)
    assert acts(stage) == []
    assert "pod p waits for claim p-scratch, which does not exist" in told(stage)
    stage.see(of_pod(pod))
    assert acts(stage) == []
    stage.see(of_pod(pod, volume="pv"), volume(node="n2"))
    assert acts(stage) == ["p"]
    assert [one.node for one in stage.effects if one.kind in ("Bind", "Ungate")] == ["n2"]


def test_a_claim_of_another_pod_with_the_name_of_an_ephemeral_volume_is_not_taken_for_it() -> None:
    pod = with_ephemeral(objects.pod("p", 1))
    stage = LiveStage(*objects.cluster(), volume(), claim("p-scratch", "pv"), pod)
    assert acts(stage) == [] and "was not made for it" in told(stage)
    stage.see(of_pod({**pod, "metadata": {**pod["metadata"], "uid": "before"}}, volume="pv"))
    assert acts(stage) == [], "of a pod of that name that is gone"
    stage.see(of_pod(pod, volume="pv", uid="new"))
    assert acts(stage) == ["p"]


def test_a_gang_starts_when_the_last_of_its_claims_has_its_volume() -> None:
    own = objects.job("g", 2, 1)
    pods = [with_ephemeral(objects.pod(f"g-{i}", 1, owner=own)) for i in range(2)]
    stage = LiveStage(*objects.cluster(), storage_class(), own, *pods)
    stage.see(volume("pv0"), of_pod(pods[0], volume="pv0"))
    assert acts(stage) == [] and "pod g-1 waits for claim g-1-scratch" in told(stage)
    stage.see(volume("pv1"), of_pod(pods[1], volume="pv1"))
    assert sorted(acts(stage)) == ["g-0", "g-1"]


# -- claims without a volume -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [with_claim, with_ephemeral])
def test_a_claim_that_waits_for_its_first_pod_is_refused_with_a_way_out(made: Any) -> None:
    pod = made(objects.pod("p", 1))
    wanted = claim() if made is with_claim else of_pod(pod)
    for docs in permutations([pod, wanted, storage_class(mode=FIRST_CONSUMER)]):
        stage = LiveStage(*objects.cluster())
        stage.one_by_one(*docs)
        assert acts(stage) == []
        (problem,) = refusals(*objects.cluster(), *docs)
        assert "has no volume yet" in problem and "class disks (WaitForFirstConsumer)" in problem
        assert "phalanx.dev/topology" in problem and "volumeBindingMode: Immediate" in problem


def refusals(*docs: Doc) -> list[str]:
    scheduler = LiveScheduler()
    follower = scheduler._decider.follower
    for one in docs:
        follower.seen(one)
    return [problem.message for _, invalid in follower.tell().refused for problem in invalid.problems]


def test_a_claim_that_waits_for_its_first_pod_is_for_kube_scheduler_where_the_pod_is_gated() -> None:
    for kind in (FIRST_CONSUMER, "Immediate"):
        stage = LiveStage(*objects.cluster(), storage_class(mode=kind), claim(), gated(with_claim(objects.pod("p", 1))))
        assert acts(stage) == (["p"] if kind == FIRST_CONSUMER else [])
    assert "it has no volume yet" in told(stage)
    stage.see(claim(volume="pv"), volume(node="n3"))
    assert [(one.name, one.node) for one in stage.effects if one.kind == "Ungate"] == [("p", "n3")]


def test_a_replacement_waits_for_its_claim_while_the_rest_of_its_gang_runs() -> None:
    own = objects.job("g", 2, 1)
    pods = [with_ephemeral(objects.pod(f"g-{i}", 1, owner=own)) for i in range(3)]
    ready = [volume("pv0"), volume("pv1"), of_pod(pods[0], volume="pv0"), of_pod(pods[1], volume="pv1")]
    stage = LiveStage(*objects.cluster(), storage_class(mode=FIRST_CONSUMER), *ready, own, *pods[:2])
    assert sorted(acts(stage)) == ["g-0", "g-1"]
    stage.see(pods[2], of_pod(pods[2]), gone=[stage.told["", "Pod", "default", "g-1"]])
    assert stage.where("g-0", "g-2") != ["", ""] and stage.where("g-2") == [""]
    stage.see(of_pod(pods[2], volume="pv2"))
    assert stage.where("g-2") == [""]
    stage.see(volume("pv2"))
    assert stage.where("g-2") != [""]
    assert stage.at_rest() == []


# -- what changes ----------------------------------------------------------------------------------------------------


def waiting_for_room() -> tuple[LiveStage, Doc]:
    """A pod with a good claim, and no room for it yet."""
    large = with_claim(objects.pod("p", 8))
    stage = LiveStage(*objects.cluster(racks=1, nodes=1), objects.pod("other", 4), volume(), claim(volume="pv"), large)
    assert stage.where("other", "p") == ["n0", ""]
    return stage, stage.told["", "Pod", "default", "other"]


@pytest.mark.parametrize("how", ["claim deleted", "claim leaving", "claim made again", "volume deleted"])
def test_a_claim_or_volume_that_goes_while_its_pod_waits_is_waited_for_again(how: str) -> None:
    stage, other = waiting_for_room()
    if how == "claim deleted":
        stage.see(gone=[claim()])
    elif how == "claim leaving":
        stage.see(claim(volume="pv", deletionTimestamp="2026-11-18T10:00:00Z"))
    elif how == "claim made again":
        stage.see(claim(uid="another"))
    else:
        stage.see(gone=[volume()])
    stage.see(gone=[other])
    assert stage.where("p") == [""] and stage.at_rest() == []
    stage.see(claim(volume="pv2", uid="third"), volume("pv2"))
    assert stage.where("p") == ["n0"]


def test_what_a_claim_says_counts_in_whatever_order_it_all_comes() -> None:
    """A pod goes to the one node that reaches its volume, and nowhere before that is known."""
    pod = with_claim(objects.pod("p", 1))
    docs = [pod, claim(volume="pv"), volume(node="n3"), storage_class()]
    for order in permutations(docs):
        stage = LiveStage(*objects.cluster())
        stage.one_by_one(*order)
        assert stage.where("p") == ["n3"]


def test_a_claim_whose_volume_changes_before_the_start_leads_to_the_new_one() -> None:
    stage, other = waiting_for_room()
    stage.see(objects.node("n9", "b0", "r0"), volume("pv9", "n9"), claim(volume="pv9", uid="again"))
    assert stage.where("p") == ["n9"]
    assert other["spec"]["nodeName"] == "n0"


def test_pods_that_differ_in_where_their_volumes_are_go_each_to_its_own() -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default", "uid": "uid-g"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }  # fmt: skip
    pods = [with_claim(objects.pod(f"p{i}", 1), f"data-{i}") for i in range(2)]
    for pod in pods:
        pod["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    claims = [claim(f"data-{i}", f"pv{i}") for i in range(2)]
    volumes = [volume("pv0", "n0"), volume("pv1", "n3")]
    others = [*claims, *volumes]
    for docs in ([group, *pods, *others], [*volumes, *pods, *claims, group], [*others, *pods, group]):
        stage = LiveStage(*objects.cluster())
        stage.one_by_one(*docs)
        assert stage.where("p0", "p1") == ["n0", "n3"]


def test_claims_in_namespaces_that_we_do_not_place_are_nobodys_business() -> None:
    pod = with_claim(objects.pod("p", 1))
    stage = LiveStage(*objects.cluster(), pod, configuration=Configuration(namespaces=("team",)))
    assert stage.scheduler.gangs() == []


def test_what_means_nothing_of_a_claim_has_no_workload_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = LiveStage(*objects.cluster(), volume(), claim(volume="pv"), with_claim(objects.pod("p", 1)))
    read: list[Any] = []
    was = family.read
    monkeypatch.setattr(family, "read", lambda *given: read.append(given) or was(*given))
    stage.see({**claim(volume="pv"), "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}})
    assert not read
    stage.see(claim())
    assert read
