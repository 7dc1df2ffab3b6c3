"""Ways out as changes of the manifest that was given: named by the field where the user wrote it."""

import pytest

from phalanx import Cluster
from tests.properties import asked_in_dialects as asking
from tests.properties.asked_in_dialects import Doc, Wish


def racks() -> list[Doc]:
    """Two racks of two nodes with 8 GPUs."""
    levels = [{"nodeLabel": asking.LABELS[level], "name": level} for level in asking.LEVELS[:3]]
    topology: Doc = {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Topology", "metadata": {"name": "top"}}
    topology["spec"] = {"levels": levels}
    return [topology, *(node(f"n{rack}{i}", f"r{rack}") for rack in (1, 2) for i in (1, 2))]


def node(name: str, rack: str) -> Doc:
    labels = {"t/zone": "z", "t/block": "b", "t/rack": rack, "kubernetes.io/hostname": name}
    allocatable = {"cpu": "64", "memory": "256Gi", "pods": "110", asking.GPU: "8"}
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": allocatable}}


def edits(docs: list[Doc]) -> dict[str, list[str]]:
    """What is written where, by the change that is offered."""
    (decision,) = Cluster.from_manifests(racks()).place(docs)
    return {way.change: [f"{one.object.kind}: {one}" for one in way.edits] for way in decision.ways_out}


def around(asked: bool) -> Wish:
    """Three pods, each a whole node: a rack is too small."""
    return Wish(3, 8, "rack", asked)


def with_leader(docs: list[Doc]) -> list[Doc]:
    """A LeaderWorkerSet whose leader has a template of its own."""
    template = docs[0]["spec"]["leaderWorkerTemplate"]
    template["leaderTemplate"] = template["workerTemplate"]
    return docs


POD_NOTES = "spec.template.metadata.annotations"
KUEUE, KAI = "kueue.x-k8s.io/podset-required-topology", "kai.scheduler/topology-required-placement"
RANKED = "spec.gangGroups[0].rankedGroups[0].topologyRequest"
NEAR = "spec.schedulingConstraints.topology[0]"
OURS = "phalanx.dev/topology-required"
KAI_LEVEL = "topologyConstraint.requiredTopologyLevel"


@pytest.mark.parametrize(
    ("docs", "change", "edit"),
    [
        (asking.gang(around(False)), "main.topology.required: block",
         "Gang: spec.podGroups[0].topology.required: block"),
        (asking.gang(around(True)), "spec.topology.required: block", "Gang: spec.topology.required: block"),
        (asking.podgroup_of_kai(around(False)), "s0.topology.required: block",
         f"PodGroup: spec.subGroups[0].{KAI_LEVEL}: t/block"),
        (asking.podgroup_of_kai(around(True)), f"spec.{KAI_LEVEL}: t/block", f"PodGroup: spec.{KAI_LEVEL}: t/block"),
        (asking.workload_of_designs(around(False)), f"{RANKED}.required: block", f"Workload: {RANKED}.required: block"),
        (asking.job_of_kueue(around(False)), f"{POD_NOTES}['{KUEUE}']: t/block",
         f"Job: {POD_NOTES}['{KUEUE}']: t/block"),
        (asking.job_of_kai(around(True)), f"metadata.annotations['{KAI}']: t/block",
         f"Job: metadata.annotations['{KAI}']: t/block"),
        (asking.jobset(around(False), {}, {OURS: "rack"}, {}), "j0.topology.required: block",
         f"JobSet: spec.replicatedJobs[0].template.metadata.annotations['{OURS}']: block"),
        (asking.podgroup(around(True)), f"{NEAR}.key: t/block", f"PodGroup: {NEAR}.key: t/block"),
    ],
)  # fmt: skip
def test_a_suggestion_names_the_field_where_the_level_was_written(docs: list[Doc], change: str, edit: str) -> None:
    assert edits(docs)[change] == [edit]


@pytest.mark.parametrize(
    ("docs", "change", "edit"),
    [
        (asking.gang_of_classes(Wish(2, 8, "rack", True)), "fewer pods: main/b 1",
         ["Gang: spec.podGroups[0].podClasses[1].count: 1", "Gang: spec.podGroups[0].minCount: 2"]),
        (asking.job_of_ours(around(True)), "fewer pods: main 2", ["Job: spec.parallelism: 2"]),
        (asking.leaderworkerset(around(True)), "fewer pods: main 2",
         ["LeaderWorkerSet: spec.leaderWorkerTemplate.size: 2"]),
        (with_leader(asking.leaderworkerset(around(True))), "fewer pods: main/worker 1",
         ["LeaderWorkerSet: spec.leaderWorkerTemplate.size: 2"]),
        (asking.podgroup(around(True)), "fewer pods: w 2", ["PodGroup: spec.schedulingPolicy.gang.minCount: 2"]),
    ],
)  # fmt: skip
def test_fewer_pods_are_written_where_their_number_is(docs: list[Doc], change: str, edit: list[str]) -> None:
    assert edits(docs)[change] == edit


def test_pod_sets_that_are_one_wish_of_kueue_are_changed_together() -> None:
    """Two Jobs of three pods in one rack, by an annotation on both templates."""
    found = edits(asking.jobset_of_kueue(Wish(2, 8, "rack", True)))
    notes = "template.spec.template.metadata.annotations"
    both = [f"JobSet: spec.replicatedJobs[{i}].{notes}['{KUEUE}']: t/block" for i in (0, 1)]
    assert found[both[0].removeprefix("JobSet: ")] == both


def test_text_and_json_say_what_to_write() -> None:
    (decision,) = Cluster.from_manifests(racks()).place(asking.gang(around(True)))
    assert "Gang w: spec.topology.required: block" in decision.explain()
    assert "without spec.topology.required" in decision.explain()
    way = decision.to_dict()["waysOut"][0]
    assert way["edits"] == [
        {
            "object": {"group": "phalanx.dev", "kind": "Gang", "namespace": "default", "name": "w"},
            "path": "spec.topology.required", "value": "block",
        }
    ]  # fmt: skip


def test_the_documents_are_as_they_were() -> None:
    docs = asking.gang(around(True))
    edits(docs)
    assert docs == asking.gang(around(True))


@pytest.mark.parametrize(
    ("docs", "field"),
    [
        (asking.gang(around(True)), "spec.topology.required"),
        (asking.gang(around(False)), None),
        (asking.podgroup_of_kai(around(True)), f"spec.{KAI_LEVEL}"),
        (asking.job_of_ours(around(True)), "metadata.annotations['phalanx.dev/topology-required']"),
        (asking.podgroup(around(True)), None),
    ],
)
def test_a_request_knows_where_the_level_around_it_is_written(docs: list[Doc], field: str | None) -> None:
    """On a cluster, where no manifests are read again, suggestions name it."""
    (decision,) = Cluster.from_manifests(racks()).place(docs)
    assert decision.request is not None and decision.request.around == field


def test_what_a_workload_looks_up_is_read_with_it_again() -> None:
    """The runtime of a TrainJob says how many nodes it has, where the TrainJob does not."""
    template = {"spec": {"containers": [{"name": "node", "image": "i"}]}}
    ancestor = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    node = {"name": "node", "template": {"metadata": {"labels": ancestor}, "spec": {"template": template}}}
    api = "trainer.kubeflow.org/v1alpha1"
    spec = {"mlPolicy": {"numNodes": 3}, "template": {"spec": {"replicatedJobs": [node]}}}
    runtime = {"apiVersion": api, "kind": "ClusterTrainingRuntime", "metadata": {"name": "rt"}, "spec": spec}
    amounts = {"requests": {asking.GPU: "8"}, "limits": {asking.GPU: "8"}}
    level = {"phalanx.dev/topology-required": "rack"}
    trainjob = {
        "apiVersion": api, "kind": "TrainJob", "metadata": {"name": "w", "annotations": level},
        "spec": {"runtimeRef": {"name": "rt"}, "trainer": {"resourcesPerNode": amounts}},
    }  # fmt: skip
    found = edits([runtime, trainjob])
    assert found[f"metadata.annotations['{OURS}']: block"] == [f"TrainJob: metadata.annotations['{OURS}']: block"]
    assert found["metadata.annotations: {phalanx.dev/topology-preferred: rack}"]
    assert found["fewer pods: node 2"] == ["ClusterTrainingRuntime: spec.mlPolicy.numNodes: 2"]


def test_jobs_of_one_group_are_fewer_where_their_number_is_written() -> None:
    """Three Jobs of two pods, where the block has four nodes."""
    docs = asking.jobset(Wish(2, 8, "rack", True), {OURS: "block", "phalanx.dev/gang-mode": "Gang"}, {}, {})
    docs[0]["spec"]["replicatedJobs"][0]["replicas"] = 3
    found = edits(docs)
    assert found["fewer pods: j0 4"] == ["JobSet: spec.replicatedJobs[0].replicas: 2"]
