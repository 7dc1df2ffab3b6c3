"""What names the gang of pods, and stands on what makes them: it is said to be in the wrong place."""

from typing import Any

import pytest

from phalanx.dialects import reading

LABEL = "phalanx.dev/gang"
POD = {"containers": [{"name": "c"}]}
JOB = {"template": {"spec": POD}}

KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "Job": ({"apiVersion": "batch/v1", "spec": JOB}, "spec.template"),
    "CronJob": (
        {"apiVersion": "batch/v1", "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}}},
        "spec.jobTemplate.spec.template",
    ),
    "Deployment": ({"apiVersion": "apps/v1", "spec": {"template": {"spec": POD}}}, "spec.template"),
    "StatefulSet": ({"apiVersion": "apps/v1", "spec": {"template": {"spec": POD}}}, "spec.template"),
    "JobSet": (
        {"apiVersion": "jobset.x-k8s.io/v1alpha2",
         "spec": {"replicatedJobs": [{"name": "w", "template": {"spec": JOB}}]}},
        "spec.replicatedJobs[0].template.spec.template",
    ),
    "LeaderWorkerSet": (
        {"apiVersion": "leaderworkerset.x-k8s.io/v1",
         "spec": {"leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": POD}}}},
        "spec.leaderWorkerTemplate.workerTemplate",
    ),
    "PyTorchJob": (
        {"apiVersion": "kubeflow.org/v1",
         "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": {"spec": POD}}}}},
        "spec.pytorchReplicaSpecs.Worker.template",
    ),
    "RayCluster": (
        {"apiVersion": "ray.io/v1", "spec": {"headGroupSpec": {"template": {"spec": POD}}}},
        "spec.headGroupSpec.template",
    ),
}  # fmt: skip


def warnings(doc: dict[str, Any]) -> list[tuple[str, str]]:
    found = reading.read([doc])
    return [(one.path, one.message) for notes in found.notes.values() for one in notes]


def said(place: str) -> str:
    return f"counts on pods only, and is not read here; it belongs in {place}"


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_label_on_what_makes_the_pods_is_misplaced(kind: str) -> None:
    doc, template = KINDS[kind]
    labelled = {**doc, "kind": kind, "metadata": {"name": "train", "labels": {LABEL: "both"}}}
    assert (f"metadata.labels['{LABEL}']", said(f"{template}.metadata.labels")) in warnings(labelled)


def test_one_on_a_template_for_jobs_is_misplaced_too() -> None:
    job = {"metadata": {"labels": {LABEL: "both"}}, "spec": JOB}
    spec = {"replicatedJobs": [{"name": "w", "template": job}]}
    doc = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "train"}, "spec": spec}
    path = f"spec.replicatedJobs[0].template.metadata.labels['{LABEL}']"
    assert (path, said("spec.replicatedJobs[0].template.spec.template.metadata.labels")) in warnings(doc)


@pytest.mark.parametrize(
    ("part", "key"),
    [("labels", "phalanx.dev/group"), ("annotations", "pod-group-name"), ("labels", "kai.scheduler/subgroup-name"),
     ("labels", "kueue.x-k8s.io/pod-group-name"), ("annotations", LABEL)],
)  # fmt: skip
def test_so_are_the_other_keys_by_which_pods_name_a_group(part: str, key: str) -> None:
    doc = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", part: {key: "both"}}, "spec": JOB}
    assert [message for _, message in warnings(doc)] == [said(f"spec.template.metadata.{part}")]


def test_what_stands_on_the_pod_template_too_is_no_mistake() -> None:
    job = {"template": {"metadata": {"labels": {"phalanx.dev/group": "g", LABEL: "both"}}, "spec": POD}}
    metadata = {"name": "train", "labels": {LABEL: "both"}}
    doc = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": job}
    assert not any("counts on pods only" in message for _, message in warnings(doc))


def test_on_a_pod_it_is_where_it_belongs() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {LABEL: "both"}}, "spec": POD}
    assert warnings(pod) == []
