"""Nodes, topologies, running pods, volumes and priorities from documents."""

from typing import Any

import pytest

from phalanx.dialects.reading import ClusterReading, read_cluster
from phalanx.model.nodes import HostPort, LabelSelector, Node, PodTerm, Requirement, RunningPod, Taint, Term
from phalanx.model.resources import NANO
from phalanx.model.topology import HOSTNAME, Topology
from tests.dialects.manifests import Doc, node, pod_spec, topology


def clean(*docs: Doc) -> ClusterReading:
    """The reading of documents that give no reason to complain."""
    found = read_cluster(docs)
    assert not found.problems, [str(p) for p in found.problems]
    assert not found.warnings, [str(w) for w in found.warnings]
    return found


def problem_paths(*docs: Any) -> list[str]:
    return [problem.path for problem in read_cluster(docs).problems]


# ---------------------------------------------------------------------------------------------------------- nodes


def only_node(doc: Doc) -> Node:
    (one,) = clean(doc).snapshot.nodes
    return one


def test_a_node_has_a_name_labels_and_what_it_can_give() -> None:
    found = only_node(node(labels={"rack": "r1"}))
    assert (found.name, found.labels, found.taints) == ("n1", {"rack": "r1"}, ())
    assert dict(found.allocatable.items) == {"cpu": 8 * NANO, "memory": 16 * 2**30 * NANO, "pods": 110 * NANO}


def test_taints_are_kept_as_written() -> None:
    taints = [{"key": "gpu", "value": "h100", "effect": "NoSchedule"}, {"key": "slow", "effect": "PreferNoSchedule"}]
    assert only_node(node(spec={"taints": taints})).taints == (
        Taint("gpu", "h100", "NoSchedule"),
        Taint("slow", "", "PreferNoSchedule"),
    )


def condition(kind: str, status: str) -> Doc:
    return {"type": kind, "status": status}


@pytest.mark.parametrize(
    ("spec", "conditions", "keys"),
    [
        ({}, [], []),
        ({}, [condition("Ready", "True"), condition("MemoryPressure", "False")], []),
        ({"unschedulable": True}, [], ["unschedulable"]),
        ({}, [condition("Ready", "False")], ["not-ready"]),
        ({}, [condition("Ready", "Unknown")], ["unreachable"]),
        ({}, [condition("MemoryPressure", "True")], ["memory-pressure"]),
        ({}, [condition("DiskPressure", "True"), condition("PIDPressure", "True")], ["disk-pressure", "pid-pressure"]),
        ({}, [condition("NetworkUnavailable", "True")], ["network-unavailable"]),
        ({}, [condition("SomethingElse", "True")], []),
    ],
)  # fmt: skip
def test_the_state_of_a_node_becomes_taints(spec: Doc, conditions: list[Doc], keys: list[str]) -> None:
    found = only_node(node(spec=spec, conditions=conditions))
    assert found.taints == tuple(Taint(f"node.kubernetes.io/{key}", "", "NoSchedule") for key in keys)


def test_a_taint_that_is_written_and_implied_is_one_taint() -> None:
    written = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    assert len(only_node(node(spec={"unschedulable": True, "taints": [written]})).taints) == 1


def test_capacity_stands_in_for_allocatable_with_a_warning() -> None:
    found = read_cluster([node(allocatable=None, capacity={"cpu": "4", "pods": 5})])
    assert dict(found.snapshot.nodes[0].allocatable.items) == {"cpu": 4 * NANO, "pods": 5 * NANO}
    assert [w.path for w in found.warnings] == ["Node/n1: status.allocatable"]


def test_a_node_that_does_not_say_how_many_pods_it_takes_gets_the_usual_number_with_a_warning() -> None:
    found = read_cluster([node(allocatable={"cpu": "4"})])
    assert found.snapshot.nodes[0].allocatable.get("pods") == 110 * NANO
    assert [w.path for w in found.warnings] == ["Node/n1: status.allocatable.pods"]
    assert clean(node(allocatable={"pods": 0})).snapshot.nodes[0].allocatable.get("pods") == 0


@pytest.mark.parametrize(
    ("doc", "path"),
    [
        (node(allocatable={"cpu": "8 cores"}), "Node/n1: status.allocatable.cpu"),
        (node(labels={"rack": 7}), "Node/n1: metadata.labels.rack"),
        (node(spec={"taints": [{"effect": "NoSchedule"}]}), "Node/n1: spec.taints[0].key"),
        (node(spec={"taints": [{"key": "a"}]}), "Node/n1: spec.taints[0].effect"),
        (node(spec={"taints": [{"key": "a", "effect": "Never"}]}), "Node/n1: spec.taints[0].effect"),
        (node(spec={"unschedulable": "yes"}), "Node/n1: spec.unschedulable"),
        ({"apiVersion": "v1", "kind": "Node", "metadata": {}}, "Node/: metadata.name"),
        ({"apiVersion": "v2", "kind": "Node", "metadata": {"name": "n1"}}, "Node/n1: apiVersion"),
        ({"kind": "Node", "metadata": {"name": "n1"}}, "Node/n1: apiVersion"),
    ],
)
def test_a_wrong_node_is_left_out_and_the_others_stay(doc: Doc, path: str) -> None:
    found = read_cluster([node("n0"), doc, node("n2")])
    assert [p.path for p in found.problems] == [path]
    assert [n.name for n in found.snapshot.nodes] == ["n0", "n2"]


def test_a_node_given_twice_is_a_problem() -> None:
    assert problem_paths(node(), node()) == ["Node/n1: metadata.name"]


# ------------------------------------------------------------------------------------------------------ topologies


def only_topology(doc: Doc) -> Topology:
    (one,) = clean(doc).snapshot.topologies
    return one


def test_our_topology_has_levels_and_aliases() -> None:  # K-020, X-05
    found = only_topology(topology({"nodeLabel": "topology/zone", "name": "z"}, "topology/rack", HOSTNAME))
    assert found == Topology.of("t", ["topology/zone", "topology/rack", HOSTNAME], ["z", None, None])
    assert found.level_names() == ("z", "rack", "host")


@pytest.mark.parametrize(
    "api", ["kueue.x-k8s.io/v1alpha1", "kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2", "kai.scheduler/v1alpha1"]
)
def test_topologies_of_kueue_and_kai_are_read_the_same_way(api: str) -> None:  # KA-006, KA-018, KA-063
    doc = topology("cloud.provider.com/topology-block", "cloud.provider.com/topology-rack", api=api)
    doc["spec"]["somethingNew"] = 1  # not our kind: unknown fields are theirs
    assert only_topology(doc).level_names() == ("topology-block", "topology-rack", "host")


@pytest.mark.parametrize("count", [0, 9])
def test_a_topology_has_one_to_eight_levels(count: int) -> None:  # K-021, X-27, K-095
    found = read_cluster([topology(*[f"l{i}" for i in range(count)])])
    assert [p.path for p in found.problems] == ["Topology/t: spec.levels"]
    assert f"this one {count}" in found.problems[0].message
    assert len(clean(topology(*[f"l{i}" for i in range(8)])).snapshot.topologies[0].levels) == 9


@pytest.mark.parametrize(
    "label",
    ["", "x" * 317, "Rack/", "a b", "/rack", "a/b/c", "-a", "a-", "UPPER.example/rack", "x" * 64, "é", 5, None],
)
def test_a_level_needs_the_key_of_a_label(label: object) -> None:  # K-023
    found = read_cluster([topology({"nodeLabel": label})])
    assert [p.path for p in found.problems] == ["Topology/t: spec.levels[0].nodeLabel"]
    assert not found.snapshot.topologies


@pytest.mark.parametrize("label", ["rack", "cloud.provider.com/topology-rack", "Rack_1.x", "a" * 63, HOSTNAME])
def test_good_keys_of_labels_pass(label: str) -> None:  # K-023
    assert only_topology(topology(label)).levels[0].label == label


@pytest.mark.parametrize(
    ("levels", "path"),
    [
        (["a", "b", "a"], "spec.levels[2].nodeLabel"),
        ([HOSTNAME, "a"], "spec.levels[0].nodeLabel"),
        ([{"nodeLabel": "a", "name": "x"}, {"nodeLabel": "b", "name": "x"}], "spec.levels[1].name"),
        ([{"nodeLabel": "a", "name": "b"}, {"nodeLabel": "b"}], "spec.levels[0].name"),
        ([{"nodeLabel": "a", "name": "auto"}], "spec.levels[0].name"),
        ([{"nodeLabel": "a", "name": "host"}], "spec.levels[0].name"),
        ([{"nodeLabel": "a", "alias": "x"}], "spec.levels[0].alias"),
        ([{"nodeLabel": "a"}, "b", {}], "spec.levels[2].nodeLabel"),
    ],
)
def test_a_wrong_order_or_alias_is_a_problem(levels: list[Any], path: str) -> None:
    assert problem_paths(topology(*levels)) == [f"Topology/t: {path}"]


def test_one_topology_in_two_dialects_is_one_and_two_of_a_name_clash() -> None:
    same = [topology("rack"), topology("rack", api="kueue.x-k8s.io/v1beta1")]
    assert len(clean(*same).snapshot.topologies) == 1
    assert problem_paths(topology("rack"), topology("block")) == ["Topology/t: metadata.name"]


# ---------------------------------------------------------------------------------------------------- running pods


def pod(name: str = "p", phase: str = "Running", metadata: Doc | None = None, **spec: Any) -> Doc:
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **(metadata or {})},
        "spec": pod_spec(nodeName="n1", **spec), "status": {"phase": phase},
    }  # fmt: skip


def only_pod(doc: Doc) -> RunningPod:
    (one,) = clean(node(), doc).snapshot.pods
    return one


def test_a_bound_pod_holds_its_place() -> None:  # K-055
    found = only_pod(pod(metadata={"labels": {"app": "x"}, "namespace": "ns"}))
    assert (found.name, found.namespace, found.node, found.labels, found.gang) == ("p", "ns", "n1", {"app": "x"}, None)
    assert dict(found.requests.items) == {"cpu": NANO, "pods": NANO}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_is_over_holds_nothing(phase: str) -> None:
    assert clean(node(), pod(phase=phase)).snapshot.pods == ()


def test_a_pod_on_an_unknown_node_is_a_warning() -> None:
    found = read_cluster([pod("p"), pod("q")])
    assert found.snapshot.pods == ()
    assert [(w.path, w.message[:10]) for w in found.warnings] == [("Node/n1", "2 pods run")]


def owner(kind: str, controller: bool = True) -> Doc:
    return {"ownerReferences": [{"kind": kind, "name": "o", "controller": controller}]}


@pytest.mark.parametrize(
    ("metadata", "gang"),
    [
        ({"labels": {"phalanx.dev/gang": "llm", "job-name": "j"}}, "default/llm"),
        ({"annotations": {"phalanx.dev/gang": "a-long-name"}}, "default/a-long-name"),
        ({"labels": {"batch.kubernetes.io/job-name": "j"}, "namespace": "ns"}, "ns/j"),
        ({"labels": {"job-name": "j"}}, "default/j"),
        (owner("Job"), "default/o"),
        (owner("StatefulSet"), "default/o"),
        (owner("Job", controller=False), None),
        (owner("DaemonSet"), None),
        (owner("ReplicaSet"), None),
    ],
)
def test_a_pod_belongs_to_the_gang_its_keys_or_owner_name(metadata: Doc, gang: str | None) -> None:
    assert only_pod(pod(metadata=metadata)).gang == gang


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def test_ports_and_anti_affinity_of_running_pods_count() -> None:
    found = only_pod(
        pod(
            containers=[{"ports": [{"containerPort": 1, "hostPort": 99}]}],
            affinity={"podAntiAffinity": {REQUIRED: [{"topologyKey": "rack", "labelSelector": {}}]}},
        )
    )
    assert found.ports == (HostPort(99),)
    assert found.anti_affinity == (PodTerm("rack", LabelSelector(), ("default",)),)


def test_what_cannot_be_read_of_a_running_pods_rules_is_a_warning_and_its_place_still_counts() -> None:
    term = {"topologyKey": "rack", "labelSelector": {}, "matchLabelKeys": ["v"]}
    found = read_cluster(
        [node(), pod(affinity={"podAntiAffinity": {REQUIRED: [term]}}, resourceClaims=[{"name": "x"}])]
    )
    assert not found.problems
    assert [w.path for w in found.warnings] == [f"Pod/p: spec.affinity.podAntiAffinity.{REQUIRED}[0].matchLabelKeys"]
    assert len(found.snapshot.pods) == 1


def test_a_running_pod_whose_requests_cannot_be_read_is_a_problem() -> None:
    bad = pod(containers=[{"resources": {"requests": {"memory": "100GB"}}}])
    assert problem_paths(node(), bad) == ["Pod/p: spec.containers[0].resources.requests.memory"]


# --------------------------------------------------------------------------------------------- volumes, priorities


def claim(name: str, volume: str | None, **spec: Any) -> Doc:
    return {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "ns"},
        "spec": {"volumeName": volume, **spec},
    }  # fmt: skip


def volume(name: str, zone: str | None) -> Doc:
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}]
    affinity = {"required": {"nodeSelectorTerms": terms}} if zone else None
    return {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {"nodeAffinity": affinity},
    }  # fmt: skip


def test_claims_know_where_their_volumes_can_be_reached() -> None:
    docs = [
        claim("a", "v1"), claim("b", "v2"), claim("c", None), claim("d", "v3", accessModes=["ReadWriteOncePod"]),
        volume("v1", "z1"), volume("v2", None),
    ]  # fmt: skip
    claims = clean(*docs).surroundings.claims
    assert claims["ns", "a"].reachable == (Term((Requirement("zone", "In", ("z1",)),)),)
    assert (claims["ns", "b"].known, claims["ns", "b"].reachable) == (True, None)
    assert claims["ns", "c"].volume == ""
    assert (claims["ns", "d"].known, claims["ns", "d"].one_pod) == (False, True)


def priority_class(name: str, value: object, **more: Any) -> Doc:
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
    return {**head, "value": value, **more}


def test_priority_classes_are_read_with_the_default_one() -> None:
    found = clean(priority_class("high", 1000), priority_class("usual", 10, globalDefault=True)).surroundings
    assert (found.priorities, found.default_priority) == ({"high": 1000, "usual": 10}, 10)
    assert problem_paths(priority_class("none", None)) == ["PriorityClass/none: value"]
