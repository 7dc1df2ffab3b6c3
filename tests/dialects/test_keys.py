"""Misspelt keys of labels and annotations are told of, with the key that was meant."""

import re
from pathlib import Path
from typing import Any

import pytest

import phalanx.dialects
from phalanx.dialects import keys, reading

SOURCES = Path(phalanx.dialects.__file__).parent
POD = {"containers": [{"name": "c"}]}


@pytest.mark.parametrize(
    ("key", "close"),
    [
        ("phalanx.dev/topology-requird", "phalanx.dev/topology-required"),
        ("phalanx.dev/topolgy-preferred", "phalanx.dev/topology-preferred"),
        ("phalanx.dev/queu", "phalanx.dev/queue"),
        ("phalanx.io/queue", "phalanx.dev/queue"),
        ("phalanx.io/gang", "phalanx.dev/gang"),
        ("phalanks.dev/topology-required", "phalanx.dev/topology-required"),
        ("phalanks.dev/topology-requird", "phalanx.dev/topology-required"),
        ("scheduling.phalanx.dev/gang-mode", "phalanx.dev/gang-mode"),
        ("kueue.x-k8s.io/podset-required-topolgy", "kueue.x-k8s.io/podset-required-topology"),
        ("kueue.x-k8s.io/queue-nam", "kueue.x-k8s.io/queue-name"),
        ("kueue.k8s.io/queue-name", "kueue.x-k8s.io/queue-name"),
        ("kai.scheduler/topology-required-placment", "kai.scheduler/topology-required-placement"),
        ("kai.io/queue", "kai.scheduler/queue"),
        ("alpha.jobset.sigs.k8s.io/exclusive-topolgy", "alpha.jobset.sigs.k8s.io/exclusive-topology"),
        ("jobset.sigs.k8s.io/exclusive-topology", "alpha.jobset.sigs.k8s.io/exclusive-topology"),
        ("leaderworkerset.x-k8s.io/exclusive-topology", "leaderworkerset.sigs.k8s.io/exclusive-topology"),
    ],
)
def test_a_misspelt_key_has_one_that_was_meant(key: str, close: str) -> None:
    assert keys.meant(key) == close


@pytest.mark.parametrize(
    "key",
    [
        "phalanx.dev/queue", "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/managed", "kueue.x-k8s.io/pod-group-serving",
        "kueue.x-k8s.io/pod-group-pod-index", "kai.scheduler/my-own", "app.kubernetes.io/name", "example.com/queue",
        "team.io/group", "queue", "gang", "app", "", "/", "a/b/c", "jobset.sigs.k8s.io/job-index", "ray.io/group",
        "leaderworkerset.sigs.k8s.io/group-key", "batch.kubernetes.io/job-name", "networking.k8s.io/queue-name",
        "scheduler.alpha.kubernetes.io/critical-pod", "volcano.sh/queue-name", "nvidia.com/gpu.product",
    ],
)  # fmt: skip
def test_a_key_that_is_right_or_somebody_elses_is_passed_over(key: str) -> None:
    assert keys.meant(key) is None


def test_every_key_that_a_reader_reads_is_in_the_table() -> None:
    prefixes = "|".join(re.escape(prefix) for prefix in keys.READ)
    written = re.compile(rf'"({prefixes})/(?!v[0-9])([a-z0-9-]+[a-z0-9])"')
    texts = [path.read_text() for path in SOURCES.rglob("*.py") if path.name != "keys.py"]
    assigned = {"phalanx.dev": {"domain", "rank", "pinned", "node", "tolerated", "least", "suspended", "topology"}}
    found = {one for text in texts for one in written.findall(text)}
    others = {(prefix, name) for prefix, names in keys._OF_OTHERS.items() for name in names}
    ours = {(prefix, name) for prefix, names in assigned.items() for name in names}  # written by us, on pods
    guards = {("kueue.x-k8s.io", name) for name in ("provisioning-request", "multikueue", "workloadpriorityclass")}
    known = {(prefix, name) for prefix, names in keys.READ.items() for name in names}
    assert found - known - others - ours - guards == set()


def job(labels: dict[str, str], annotations: dict[str, str]) -> dict[str, Any]:
    metadata = {"name": "train", "labels": labels, "annotations": annotations}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": {"spec": POD}}}


def test_a_misspelt_key_is_a_warning_where_it_stands() -> None:
    found = reading.read([job({"phalanx.io/queue": "a"}, {"kai.scheduler/topolgy": "t"})])
    told = {(one.path, one.message) for one in found.notes["default/train"]}
    assert told == {
        ("metadata.labels['phalanx.io/queue']", "is not read; did you mean phalanx.dev/queue?"),
        ("metadata.annotations['kai.scheduler/topolgy']", "is not read; did you mean kai.scheduler/topology?"),
    }


@pytest.mark.parametrize(
    "doc",
    [
        {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Gang",
         "spec": {"podGroups": [{"name": "a", "count": 1, "template": {"spec": POD}}]}},
        {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "spec": {"minMember": 1}},
        {"apiVersion": "v1", "kind": "Pod", "spec": POD},
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {"template": {"spec": POD}}},
    ],
    ids=lambda doc: doc["kind"],
)  # fmt: skip
def test_every_kind_is_looked_at(doc: dict[str, Any]) -> None:
    found = reading.read([{**doc, "metadata": {"name": "train", "labels": {"phalanks.dev/queue": "a"}}}])
    told = [str(one) for notes in found.notes.values() for one in notes]
    assert "metadata.labels['phalanks.dev/queue']: is not read; did you mean phalanx.dev/queue?" in told


def test_a_misspelt_key_of_ours_is_a_problem_that_asks() -> None:
    (invalid,) = reading.read([job({}, {"phalanx.dev/topology-requird": "rack"})]).invalid
    (problem,) = invalid.problems
    assert problem.message == (
        "there is no key 'phalanx.dev/topology-requird'; did you mean phalanx.dev/topology-required?"
    )


@pytest.mark.parametrize(
    ("part", "key", "right"),
    [
        ("annotations", "kueue.x-k8s.io/queue-name", "labels"), ("annotations", "kai.scheduler/queue", "labels"),
        ("labels", "kai.scheduler/topology-required-placement", "annotations"),
        ("labels", "kueue.x-k8s.io/podset-required-topology", "annotations"),
        ("labels", "leaderworkerset.sigs.k8s.io/exclusive-topology", "annotations"),
    ],
)  # fmt: skip
def test_a_label_that_is_an_annotation_is_said_to_be_one_and_the_other_way_round(
    part: str, key: str, right: str
) -> None:
    doc = job({}, {})
    doc["metadata"] = {"name": "train", part: {key: "a"}}
    (note,) = reading.read([doc]).notes["default/train"]
    assert note.path == f"metadata.{part}['{key}']"
    assert note.message == f"is not read as one of the {part}; it belongs in metadata.{right}"


def test_what_stands_in_both_is_read_from_the_right_one() -> None:
    key = "kueue.x-k8s.io/queue-name"
    assert not reading.read([job({key: "a"}, {key: "a"})]).notes.get("default/train")


def test_the_mark_of_a_topology_is_looked_at_too() -> None:
    metadata = {"name": "t", "annotations": {"phalanx.dev/default-topolgy": "true"}}
    levels = {"levels": [{"nodeLabel": "rack"}]}
    doc = {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Topology", "metadata": metadata, "spec": levels}
    (warning,) = reading.read([doc]).warnings
    assert warning.message == "is not read; did you mean phalanx.dev/default-topology?"
