"""JobSets, and what is seen of them, for their tests."""

from typing import Any

from hypothesis import strategies as st

from phalanx import Cluster
from phalanx.dialects import documents, workloads
from phalanx.dialects.outline import plain
from phalanx.model.problems import Problem
from phalanx.model.request import Group, Request
from tests.dialects.manifests import AROUND, Doc, node, pod_spec, requests, topology

REQUIRED, PREFERRED, MODE = (
    "phalanx.dev/topology-required", "phalanx.dev/topology-preferred", "phalanx.dev/gang-mode",
)  # fmt: skip
KUEUE_REQUIRED, KUEUE_PREFERRED = "kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology"
KUEUE_NONE, KUEUE_GROUP = "kueue.x-k8s.io/podset-unconstrained-topology", "kueue.x-k8s.io/podset-group-name"
KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
MODE_PATH = "metadata.annotations['phalanx.dev/gang-mode']"
JOBS = "spec.replicatedJobs"


def rj(
    name: str = "workers",
    replicas: int | None = 2,
    pods: int = 4,
    mode: str | None = None,
    each: Doc | None = None,
    all_pods: Doc | None = None,
    job: Doc | None = None,
    pod: Doc | None = None,
    **more: Any,
) -> Doc:
    """A replicated job. ``each``: annotations of the Job template, ``all_pods``: of the pod template."""
    template = {"metadata": {"annotations": all_pods or {}}, "spec": pod_spec(**(pod or {}))}
    spec = {"parallelism": pods, "completions": pods, **(job or {}), "template": template}
    config = {} if mode is None else {"gangConfig": {"gangMode": mode}}
    return {
        "name": name, "replicas": replicas, **config, **more,
        "template": {"metadata": {"annotations": each or {}}, "spec": spec},
    }  # fmt: skip


def jobset(
    *jobs: Doc, mode: str | None = None, annotations: Doc | None = None, labels: Doc | None = None, **spec: Any
) -> Doc:
    config = {} if mode is None else {"gangConfig": {"gangMode": mode}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "metadata": {"name": "sample", "annotations": annotations or {}, "labels": labels or {}},
        "spec": {**config, **spec, "replicatedJobs": list(jobs)},
    }  # fmt: skip


def notes(doc: Doc) -> list[Problem]:
    """Warnings about a manifest that must be good."""
    found = workloads.read(documents.sort([doc])[0], AROUND, None)
    assert not found.invalid, [str(p) for p in found.invalid[0].problems]
    return list(next(iter(found.notes.values()), ()))


def normal(doc: Doc) -> Doc:
    """The normal form of a manifest that must be good, without templates."""
    found = workloads.read(documents.sort([doc])[0], AROUND, None)
    assert not found.invalid, [str(p) for p in found.invalid[0].problems]
    spec: Any = plain(found.outlines[0].spec)
    groups = [{key: value for key, value in entry.items() if key != "template"} for entry in spec["podGroups"]]
    return {**spec, "podGroups": groups}


def groups(doc: Doc) -> list[Doc]:
    listed: list[Doc] = normal(doc)["podGroups"]
    return listed


def units(doc: Doc) -> dict[str | None, tuple[int, int]]:
    """Pods wanted and pods that must start together, by unit."""
    return {one.unit: pods(one) for one in requests(doc)}


def pods(one: Request) -> tuple[int, int]:
    sets = list(one.root.pod_sets())
    return sum(pods.count for pods in sets), sum(pods.min_count for pods in sets)


def group(doc: Doc, name: str) -> Group:
    return next(g for one in requests(doc) for g in one.root.groups() if g.name == name)


def racks(*cpus: int, **more: Any) -> list[Doc]:
    """A cluster of one node per rack, two racks to a block; a pod takes one CPU."""
    tree = topology("topology/block", "topology/rack")
    return [
        tree,
        *(
            node(f"n{i}", {"topology/block": f"b{i // 2}", "topology/rack": f"r{i}"}, allocatable=_room(cpu))
            for i, cpu in enumerate(cpus)
        ),
    ]


def _room(cpu: int) -> Doc:
    return {"cpu": str(cpu), "memory": "16Gi", "pods": "110"}


def place(doc: Doc, *cpus: int) -> dict[str | None, tuple[str, int]]:
    """Status and pods placed by unit."""
    cluster = Cluster.from_manifests(racks(*cpus))
    placed = cluster.place([doc])
    return {one.unit: (one.status, sum(n for pods in one.pod_sets.values() for n in pods.values())) for one in placed}


def linked(name: str) -> Doc:
    """Fields of a pod's spec that name a Workload."""
    return {"workload": {"name": name, "podGroup": "pg"}}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 12) | st.text(max_size=5) | st.sampled_from(["Gang", "Off", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([
        "name", "replicas", "template", "spec", "metadata", "annotations", "labels", MODE, REQUIRED, KUEUE_GROUP,
        KUEUE_REQUIRED, EXCLUSIVE, "gangConfig", "gangMode", "replicatedJobs", "dependsOn", "startupPolicy",
        "startupPolicyOrder", "parallelism", "completions", "completionMode", "containers", "workload", "suspend",
    ]), inner, max_size=4),
    max_leaves=30,
)  # fmt: skip
