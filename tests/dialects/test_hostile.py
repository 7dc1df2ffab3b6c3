"""Untrusted documents: whatever is in them, reading ends in values or Problems, never in an exception."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phalanx.dialects.reading import Reading, read
from phalanx.model.decision import Invalid
from phalanx.model.problems import Problem
from phalanx.model.request import Request
from tests.dialects.manifests import Doc, gang, job, node, pod_spec, template, topology

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
EXPRESSION = {"key": "gpu", "operator": "In", "values": ["h100"]}

RICH_SPEC = {
    "nodeName": "n1",
    "nodeSelector": {"a": "b"},
    "hostNetwork": True,
    "overhead": {"cpu": "1"},
    "resources": {"requests": {"cpu": "9"}, "limits": {"memory": "1Gi"}},
    "containers": [
        {"name": "a", "ports": [{"containerPort": 80, "hostPort": 80, "protocol": "TCP", "hostIP": "1.1.1.1"}],
         "resources": {"requests": {"cpu": "100m", "nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": "1"}}},
    ],
    "initContainers": [{"name": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": 1}}}],
    "tolerations": [{"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}],
    "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}, "minDomains": 2},
    ],
    "affinity": {
        "nodeAffinity": {
            REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [EXPRESSION], "matchFields": []}]},
            PREFERRED: [{"weight": 1, "preference": {"matchExpressions": [EXPRESSION]}}],
        },
        "podAffinity": {REQUIRED: [{"topologyKey": "z", "labelSelector": {"matchLabels": {"a": "b"}}}]},
        "podAntiAffinity": {REQUIRED: [
            {"topologyKey": "z", "labelSelector": {"matchExpressions": [EXPRESSION]}, "namespaces": ["a"]}]},
    },
    "priorityClassName": "high",
}  # fmt: skip

DOCUMENTS: list[Doc] = [
    topology({"nodeLabel": "topology/block", "name": "b"}, "topology/rack"),
    topology("topology/rack", api="kueue.x-k8s.io/v1beta1", name="k"),
    node(
        labels={"topology/rack": "r"},
        spec={"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}], "unschedulable": False},
        conditions=[{"type": "Ready", "status": "True"}],
    ),
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "runs", "labels": {"a": "b"}, "ownerReferences": [
        {"kind": "Job", "name": "j", "controller": True}]}, "spec": RICH_SPEC, "status": {"phase": "Running"}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "waits"}, "spec": {**RICH_SPEC, "nodeName": None}},
    {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"},
     "spec": {"volumeName": "v", "accessModes": ["ReadWriteOnce"]}},
    {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {"nodeAffinity": {
        "required": {"nodeSelectorTerms": [{"matchExpressions": [EXPRESSION]}]}}}},
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7,
     "globalDefault": False},
    gang(
        {"name": "a", "count": 4, "minCount": 4, "maxCount": 8, "template": {"metadata": {"labels": {"x": "y"}},
         "spec": RICH_SPEC}, "topology": {"required": "block", "preferred": "rack"},
         "rank": {"fieldPath": "metadata.labels['x']", "order": "Stripe", "across": "rack"}},
        {"name": "b", "count": 4, "template": template(), "rank": {"withSameRankOf": "a", "level": "host"}},
        {"name": "p", "policy": "Basic", "replicas": 2},
        {"name": "c", "parent": "p", "slices": [{"level": "rack", "size": 2}], "count": 4, "replicas": 2,
         "replicaKey": "metadata.labels['x']", "topology": {"spread": {"level": "host", "maxSkew": 1}}},
        {"name": "d", "parent": "p", "podClasses": [{"name": "x", "count": 1, "template": template()}]},
        topologyName="t", topology={"required": "block"}, policy="Gang", minGroups=2, queue="q",
        controllerRef={"kind": "Job"}, scheduleTimeoutSeconds=5, enforcement="Bind",
    ),
    job(
        {"phalanx.dev/topology-required": "b", "phalanx.dev/topology-name": "t", "phalanx.dev/gang-mode": "Gang"},
        {"kueue.x-k8s.io/podset-preferred-topology": "topology/rack",
         "kueue.x-k8s.io/podset-slice-required-topology": "topology/rack", "kueue.x-k8s.io/podset-slice-size": "2"},
        completionMode="Indexed", suspend=False,
    ),
    {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}]},
]  # fmt: skip

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["", "Always", "True", "1Gi", "100GB", "rack", "a", "phalanx.dev/gang", "\ud800", "x" * 300])
    | st.sampled_from([10**70, -1, 0, 2**31, 10**18, float("nan"), b"x", ()])
)  # fmt: skip
KEYS = st.text(max_size=5) | st.integers() | st.sampled_from(["phalanx.dev/\ud800", "labels", "annotations", "name"])
GARBAGE = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document, itself excluded."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, inner in below for found in ((*path, key), *places(inner, (*path, key)))]


def changed(doc: Doc, path: tuple[Any, ...], value: object) -> Doc:
    fresh = copy.deepcopy(doc)
    here: Any = fresh
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = value
    return fresh


PLACES = [(i, path) for i, doc in enumerate(DOCUMENTS) for path in places(doc)]


def check(found: Reading) -> None:
    """What must hold of every reading: it can be shown, and what counts as a Request hangs together."""
    notes = [*found.problems, *found.warnings, *(n for notes in found.notes.values() for n in notes)]
    for item in found.items:
        assert isinstance(item, (Request, Invalid))
        notes += (*item.problems, *item.warnings) if isinstance(item, Invalid) else ()
        assert not isinstance(item, Invalid) or item.problems
        f"{item.kind} {item.namespace}/{item.name}".encode()
    for note in notes:
        assert isinstance(note, Problem)
        str(note).encode("utf-8")
        hash(note)
    for request in found.requests:
        groups = [group.name for group in request.root.groups()]
        pods = [pods.name for pods in request.root.pod_sets()]
        assert len(set(groups)) == len(groups)
        assert len(set(pods)) == len(pods) > 0
        assert all(0 <= one.min_count <= one.count >= 1 for one in request.root.pod_sets())
        assert request.topology in (None, *(t.name for t in found.snapshot.topologies))
        assert len({r.id for r in found.requests}) == len(found.requests)


def test_the_documents_of_this_file_are_good() -> None:
    found = read(DOCUMENTS)
    check(found)
    assert not found.problems, [str(p) for p in found.problems]
    assert not found.invalid, [str(p) for i in found.invalid for p in i.problems]
    assert len(found.requests) == 3


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(place=st.sampled_from(PLACES), value=GARBAGE)
def test_one_wrong_value_anywhere_never_raises(place: tuple[int, tuple[Any, ...]], value: object) -> None:
    number, path = place
    docs = [changed(doc, path, value) if i == number else doc for i, doc in enumerate(DOCUMENTS)]
    check(read(docs))


@pytest.mark.parametrize(
    "value",
    [
        None, "", "x", 0, -1, True, [], {}, [None], [[]], [{}], {"x": {}}, {1: 2}, 2**63, 1e300, float("nan"),
        pytest.param(10**5000, id="huge"), pytest.param("\ud800", id="half a character"),
    ],
)  # fmt: skip
def test_every_field_holds_every_simple_wrong_value_without_raising(value: object) -> None:
    for number, path in PLACES:
        check(read([changed(DOCUMENTS[number], path, value)]))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(docs=st.lists(GARBAGE, max_size=4))
def test_any_garbage_at_all_never_raises(docs: list[object]) -> None:
    check(read(docs))


KINDS = st.sampled_from([(doc["apiVersion"], doc["kind"]) for doc in DOCUMENTS])


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kind=KINDS, metadata=GARBAGE, spec=GARBAGE, status=GARBAGE)
def test_a_known_kind_full_of_garbage_never_raises(
    kind: tuple[str, str], metadata: object, spec: object, status: object
) -> None:
    api, name = kind
    check(read([{"apiVersion": api, "kind": name, "metadata": metadata, "spec": spec, "status": status}]))


def deep(wrap: Callable[[object], object], levels: int = 50_000) -> object:
    value: object = 0
    for _ in range(levels):
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: {"spec": v}, lambda v: {"kind": "List", "items": [v]}])
def test_endless_nesting_never_raises(wrap: Callable[[object], object]) -> None:
    bottomless = deep(wrap)
    read(bottomless)
    for number, path in PLACES[:: max(1, len(PLACES) // 40)]:
        check(read([changed(DOCUMENTS[number], path, None) | {"spec": bottomless}]))


def test_a_small_file_of_aliases_that_looks_endless_is_read_within_bounds() -> None:
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    spec = pod_spec(containers=[container] * 5000)
    groups = [{"name": f"g{i}", "count": 1, "template": {"spec": spec}} for i in range(5000)]
    (found,) = read([gang(*groups)]).invalid
    assert any("too large" in problem.message for problem in found.problems)
