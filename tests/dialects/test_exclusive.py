"""Domains of one's own: most pods are made only when the first have nodes, and others are kept out."""

from typing import Any

import pytest

from phalanx import Cluster
from phalanx.dialects.following import Told
from phalanx.model.events import GangSeen
from phalanx.model.matching import selects
from phalanx.model.request import PodSet
from tests.dialects.following.living import Object, follower, job, spec, tell
from tests.dialects.jobset_manifests import EXCLUSIVE, jobset, rj

LWS = "leaderworkerset.sigs.k8s.io"
TOPOLOGY = {
    "apiVersion": "phalanx.dev/v1alpha1",
    "kind": "Topology",
    "metadata": {"name": "cluster"},
    "spec": {"levels": [{"nodeLabel": "topology/rack", "name": "rack"}]},
}


def sets(told: Told) -> dict[str, PodSet]:
    seen = [one.request for one in told.events if isinstance(one, GangSeen)]
    return {pods.name: pods for request in seen for pods in request.root.pod_sets()}


def firsts(told: Told) -> dict[str, int | None]:
    """How many pods of each set must exist, by its name."""
    return {name: pods.first for name, pods in sets(told).items()}


def living(doc: Object) -> Object:
    made = {**doc, "metadata": {"namespace": "default", "uid": "u", **doc["metadata"]}}
    for one in made["spec"]["replicatedJobs"]:
        one["template"]["spec"]["template"]["spec"]["schedulerName"] = "phalanx"
    return made


def replicas(template: Object, **annotations: str) -> Object:
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "serve", "namespace": "default", "uid": "l", "annotations": annotations},
        "spec": {"replicas": 2, "leaderWorkerTemplate": {"size": 3, "workerTemplate": {"spec": spec()}, **template}},
    }


@pytest.mark.parametrize(
    ("annotations", "each", "found"),
    [
        ({EXCLUSIVE: "topology/rack"}, {}, {"a[0]": 1, "a[1]": 1, "b[0]": 1}),
        ({"phalanx.dev/gang-mode": "Gang"}, {EXCLUSIVE: "topology/rack"}, {"a[0]": 1, "a[1]": 1, "b": None}),
        ({"phalanx.dev/gang-mode": "Gang"}, {}, {"a": None, "b": None}),
    ],
)
def test_of_a_jobset_with_a_domain_per_job_the_first_pod_of_each_job_is_waited_for(
    annotations: dict[str, str], each: dict[str, str], found: dict[str, int | None]
) -> None:
    doc = living(jobset(rj("a", 2, 4, each=each), rj("b", 1, 3), annotations=annotations))
    assert firsts(tell(follower(), TOPOLOGY, doc)) == found


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ({}, {"main[0]": 1, "main[1]": 1}),
        (
            {"leaderTemplate": {"spec": spec("2")}},
            {"main[0]/leader": 1, "main[0]/worker": 0, "main[1]/leader": 1, "main[1]/worker": 0},
        ),
    ],
)
@pytest.mark.parametrize("mode", ["Gang", "ReplicatedGang"])
def test_of_a_leader_worker_set_with_a_domain_per_replica_the_leaders_are_waited_for(
    template: dict[str, Any], found: dict[str, int], mode: str
) -> None:
    doc = replicas(template, **{f"{LWS}/exclusive-topology": "topology/rack", "phalanx.dev/gang-mode": mode})
    assert firsts(tell(follower(), TOPOLOGY, doc)) == found
    assert set(firsts(tell(follower(), TOPOLOGY, replicas(template))).values()) == {None}


def meets(one: PodSet, other: PodSet) -> bool:
    """Whether the rules of one let pods of the other into its domain."""
    return not any(selects(term.selector, dict(other.shape.labels)) for term in one.shape.anti_affinity)


def test_jobs_with_a_domain_of_their_own_keep_those_of_all_job_sets_out() -> None:
    annotations = {EXCLUSIVE: "topology/rack"}
    found = sets(tell(follower(), TOPOLOGY, living(jobset(rj("a", 2, 4), rj("b", 1, 3), annotations=annotations))))
    other = living(jobset(rj("a", 1, 2), annotations={"phalanx.dev/gang-mode": "Gang"}))
    other["metadata"]["name"] = "other"
    stranger = sets(tell(follower(), TOPOLOGY, other))["a"]
    train = sets(tell(follower(), TOPOLOGY, job("train", 2)))["main"]
    for name, one in found.items():
        assert {mate for mate, pods in found.items() if meets(one, pods)} == {name}
        assert not meets(one, stranger) and meets(one, train)


def test_replicas_with_a_domain_of_their_own_keep_other_replicas_out() -> None:
    doc = replicas({"leaderTemplate": {"spec": spec("2")}}, **{f"{LWS}/exclusive-topology": "topology/rack"})
    found = sets(tell(follower(), TOPOLOGY, doc))
    mates = {"main[0]/leader", "main[0]/worker"}
    for name, one in found.items():
        met = {mate for mate, pods in found.items() if meets(one, pods)}
        assert met == (mates if name in mates else found.keys() - mates)


# ---- decisions -------------------------------------------------------------------------------------------------


def racks(*values: str) -> list[Object]:
    """A block with one rack, of one node, for each value."""
    levels = [{"nodeLabel": "topology/block", "name": "block"}, {"nodeLabel": "topology/rack", "name": "rack"}]
    found: list[Object] = [{**TOPOLOGY, "spec": {"levels": levels}}]
    for i, rack in enumerate(values):
        labels = {"topology/block": f"b{i}", "topology/rack": rack, "kubernetes.io/hostname": f"n{i}"}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}", "labels": labels}}
        found.append({**node, "status": {"allocatable": {"cpu": "64", "pods": "110"}}})
    return found


def of_its_own(name: str, level: str, jobs: int = 1) -> Object:
    doc = jobset(rj("a", jobs, 2), annotations={EXCLUSIVE: level})
    return {**doc, "metadata": {**doc["metadata"], "name": name}}


@pytest.mark.parametrize("level", ["topology/rack", "rack"])
def test_job_sets_keep_each_other_out_by_whatever_name_the_level_is_called(level: str) -> None:
    asked = [of_its_own(name, level) for name in ("a", "b", "c")]
    found = Cluster.from_manifests(racks("r0", "r1")).place(asked)
    assert [one.status for one in found] == ["Placed", "Placed", "Waiting"]
    assert found[0].domains["a[0]"] != found[1].domains["a[0]"]


def test_racks_of_one_name_in_two_blocks_are_one_domain_of_their_own() -> None:
    asked = [of_its_own("train", "topology/rack", jobs=2)]
    assert Cluster.from_manifests(racks("r0", "r1")).place(asked)[0].status == "Placed"
    assert Cluster.from_manifests(racks("r0", "r0")).place(asked)[0].status == "Waiting"


@pytest.mark.parametrize(
    ("asked", "running"),
    [(of_its_own("train", "rack", jobs=2), []), (of_its_own("train", "rack"), [of_its_own("other", "rack")])],
)
def test_a_refusal_names_the_annotation_and_the_label(asked: Object, running: list[Object]) -> None:
    cluster = Cluster.from_manifests(racks("r0"))
    cluster.commit(cluster.place(running))
    (found,) = cluster.place([asked])
    assert f"{EXCLUSIVE}: topology/rack not kept" in found.message
    assert {one["kind"] for one in found.to_dict()["reason"]["causes"]} == {"exclusive"}


def test_a_replica_that_finds_its_domain_taken_is_told_by_the_annotation() -> None:
    doc = replicas({}, **{f"{LWS}/exclusive-topology": "rack", "phalanx.dev/gang-mode": "Gang"})
    (found,) = Cluster.from_manifests(racks("r0")).place([doc])
    assert f"{LWS}/exclusive-topology: topology/rack not kept" in found.message
