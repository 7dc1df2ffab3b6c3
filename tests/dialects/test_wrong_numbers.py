"""A wrong number is told once, as what it is."""

from typing import Any

import pytest

from phalanx.dialects import reading

GPU = "nvidia.com/gpu"


def job(resources: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    pod = {"containers": [{"name": "c", "resources": resources or {}}]}
    body = {"template": {"spec": pod}, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}, "spec": body}


def gang(**entry: Any) -> dict[str, Any]:
    groups = [{"name": "w", "template": {"spec": {"containers": [{"name": "c"}]}}, **entry}]
    return {
        "apiVersion": "phalanx.dev/v1alpha1",
        "kind": "Gang",
        "metadata": {"name": "g"},
        "spec": {"podGroups": groups},
    }


def replicas(kind: str, specs: str, role: str) -> dict[str, Any]:
    workers = {role: {"replicas": -2, "template": {"spec": {"containers": [{"name": "c"}]}}}}
    version = "kubeflow.org/v2beta1" if kind == "MPIJob" else "kubeflow.org/v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "t"}, "spec": {specs: workers}}


def told(doc: dict[str, Any]) -> list[str]:
    found = reading.read([doc])
    (invalid,) = found.invalid
    return [
        one.message
        for one in (*invalid.problems, *invalid.warnings, *(n for those in found.notes.values() for n in those))
    ]


@pytest.mark.parametrize("asked", [1, 3])
@pytest.mark.parametrize("name", [GPU, "hugepages-2Mi"])
def test_a_device_is_asked_for_as_it_is_limited(asked: int, name: str) -> None:
    (message,) = told(job({"requests": {name: asked}, "limits": {name: 2}}))
    assert message == f"{asked} is not the limit 2; requests and limits of {name} must be equal"


def test_what_can_be_shared_may_be_asked_for_below_its_limit() -> None:
    assert not reading.read([job({"requests": {"cpu": "1"}, "limits": {"cpu": "2"}})]).invalid
    assert told(job({"requests": {"cpu": "3"}, "limits": {"cpu": "2"}})) == ["'3' is more than the limit 2"]
    assert not reading.read([job({"requests": {GPU: 2}})]).invalid, "a limit is not wanted"


@pytest.mark.parametrize(
    ("doc", "message"),
    [
        (job(parallelism=-4), "-4 is less than 0"),
        (gang(count=-2), "-2 is less than 1"),
        (gang(count=-2, minCount=1), "-2 is less than 1"),
        (gang(count=-4, slices=[{"level": "host", "size": 2}]), "-4 is less than 1"),
        (replicas("MPIJob", "mpiReplicaSpecs", "Worker"), "-2 is less than 0"),
        (replicas("PyTorchJob", "pytorchReplicaSpecs", "Worker"), "-2 is less than 0"),
    ],
)
def test_a_negative_count_is_told_once_and_nothing_follows_from_it(doc: dict[str, Any], message: str) -> None:
    assert told(doc) == [message]
