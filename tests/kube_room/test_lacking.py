"""What the log says at the start about a cluster that lacks what people expect to be there."""

import yaml

from phalanx import Cluster
from phalanx.kube import lacking
from tests.crds.test_rbac import FOLDER

NODE, GANG = ("", "Node"), ("phalanx.dev", "Gang")
TOPOLOGY, QUEUE = ("phalanx.dev", "Topology"), ("phalanx.dev", "Queue")
EVERYTHING = {NODE: 3, GANG: 0, TOPOLOGY: 1, QUEUE: 1}


def test_of_a_cluster_that_has_everything_nothing_is_said() -> None:
    assert not list(lacking.told(EVERYTHING))


def test_a_cluster_without_nodes_topologies_and_queues_is_told_so_line_by_line() -> None:
    found = list(lacking.told({NODE: 0, GANG: 0, TOPOLOGY: 0, QUEUE: 0}))
    assert [line.split(":")[0] for line in found] == [
        "there is no Node", "there is no Topology", "there is no Queue",
    ]  # fmt: skip


def test_a_topology_and_a_queue_of_kueue_will_do() -> None:
    kueue = {("kueue.x-k8s.io", "Topology"): 1, ("kueue.x-k8s.io", "ClusterQueue"): 1}
    assert not list(lacking.told({NODE: 3, GANG: 0, **kueue}))


def test_where_our_kinds_are_not_served_or_may_not_be_read_that_is_said() -> None:
    (line,) = lacking.told({kind: count for kind, count in EVERYTHING.items() if kind != GANG})
    assert line.startswith("Gangs are not followed: kubectl apply -f deploy/crds")


def test_the_samples_that_are_named_are_there_and_can_be_read() -> None:
    samples = FOLDER.parent / "samples"
    docs = [one for path in sorted(samples.glob("*.yaml")) for one in yaml.safe_load_all(path.read_text())]
    cluster = Cluster.from_manifests(docs)
    assert not cluster.problems and not cluster.warnings
    assert sorted(doc["kind"] for doc in docs) == ["Queue", "Topology"]
