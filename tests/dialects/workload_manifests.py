"""Workloads with their true workloads and pods, for the tests of the workload dialect."""

from typing import Any

from phalanx.dialects import outline
from phalanx.dialects.reading import WorkloadReading, read_workloads
from tests.dialects.manifests import AROUND, Doc


def workload(*groups: Doc, name: str = "w", **spec: Any) -> Doc:
    listed = {"gangGroups": list(groups)} if groups else {}
    return {
        "apiVersion": "scheduling/v1alpha1", "kind": "Workload", "metadata": {"name": name, "namespace": "serving"},
        "spec": {**spec, **listed},
    }  # fmt: skip


def linked(group: str | None = None, replica: object = None, carrier: str = "workload", cpu: str = "1") -> Doc:
    link = {"name": "w", "podGroup": group, "podGroupReplicaIndex": replica}
    containers = [{"name": "a", "resources": {"requests": {"cpu": cpu}}}]
    return {carrier: {key: one for key, one in link.items() if one is not None}, "containers": containers}


def job(pods: int, pod: Doc, completions: int | None = None, name: str = "train", **spec: Any) -> Doc:
    return {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "serving"},
        "spec": {"parallelism": pods, "completions": completions or pods, **spec, "template": {"spec": pod}},
    }  # fmt: skip


def statefulset(replicas: int, pod: Doc, policy: str = "Parallel") -> Doc:
    return {
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "ss", "namespace": "serving"},
        "spec": {"replicas": replicas, "podManagementPolicy": policy, "template": {"spec": pod}},
    }  # fmt: skip


def jobset(**jobs: tuple[int, int, Doc]) -> Doc:
    listed = [
        {"name": name, "replicas": copies, "template": {"spec": {
            "parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": {"spec": pod}}}}
        for name, (copies, pods, pod) in jobs.items()
    ]  # fmt: skip
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "js", "namespace": "serving"},
        "spec": {"replicatedJobs": listed},
    }  # fmt: skip


def lws(replicas: int, size: int, pod: Doc) -> Doc:
    template = {"size": size, "leaderTemplate": {"spec": pod}, "workerTemplate": {"spec": pod}}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
        "metadata": {"name": "lws", "namespace": "serving"},
        "spec": {"replicas": replicas, "leaderWorkerTemplate": template},
    }  # fmt: skip


def pod(name: str, spec: Doc, labels: Doc | None = None) -> Doc:
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "serving", "labels": labels or {}},
        "spec": spec,
    }  # fmt: skip


def found(*docs: Doc) -> WorkloadReading:
    """The reading of documents that must be good."""
    reading = read_workloads(list(docs), AROUND)
    assert not reading.invalid, [str(one) for one in reading.invalid[0].problems]
    return reading


def placed(*docs: Doc) -> list[tuple[str | None, dict[str, tuple[int, int]]]]:
    """Unit and pod sets (count, minimum) of each Request."""
    made = found(*docs).requests
    return [(one.unit, {s.name: (s.count, s.min_count) for s in one.root.pod_sets()}) for one in made]


def said(*docs: Doc) -> str:
    """All warnings about documents that must be good, as one text."""
    return " | ".join(str(note) for notes in found(*docs).notes.values() for note in notes)


def wrong(*docs: Doc) -> list[str]:
    """Problems of the Workload among the documents, as texts."""
    (one,) = [item for item in read_workloads(list(docs), AROUND).invalid if item.kind == "Workload"]
    return [str(each) for each in one.problems]


def normal(*docs: Doc) -> Any:
    """The normal form of the only workload, without templates."""
    (one,) = found(*docs).outlines
    made: Any = outline.plain(one.spec)
    return [{key: value for key, value in entry.items() if key != "template"} for entry in made["podGroups"]]
