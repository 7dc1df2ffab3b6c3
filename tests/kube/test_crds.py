"""Our definitions on a real API server: they are taken, they explain themselves, and they refuse what is wrong."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from phalanx.kube.crds.models.gangstatus import CONDITION_TYPES
from testbed import build
from testbed.access import KubectlFailed
from testbed.bed import Bed

ROOT = Path(__file__).parents[2]
CRDS = ROOT / "deploy" / "crds"
RBAC = ROOT / "deploy" / "rbac"
EXAMPLES = ROOT / "examples"
PLURALS = ("flavors", "gangs", "queues", "topologies")
ACCOUNT = "system:serviceaccount:phalanx-system:phalanx-scheduler"
TEMPLATE = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "4", "nvidia.com/gpu": 8}}}]}}

Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def server(bare_bed: Bed) -> Bed:
    """The server with our kinds, ready for use."""
    for path in sorted(CRDS.glob("*.yaml")):
        bare_bed.apply(path.read_text())
    names = [f"crd/{plural}.phalanx.dev" for plural in PLURALS]
    bare_bed.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)
    return bare_bed


def _object(kind: str, name: str, spec: Manifest) -> Manifest:
    place = {"namespace": "default"} if kind == "Gang" else {}
    return {"apiVersion": "phalanx.dev/v1alpha1", "kind": kind, "metadata": {"name": name, **place}, "spec": spec}


def _gang(name: str, *groups: Manifest, **spec: Any) -> Manifest:
    return _object("Gang", name, {**spec, "podGroups": list(groups)})


def _try(bed: Bed, manifest: Manifest) -> Manifest:
    """The object as the server would keep it; nothing is kept."""
    found = bed.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", input=json.dumps(manifest))
    return dict(json.loads(found))


def _make(bed: Bed, manifest: Manifest) -> str:
    """Makes the object; its kind and name as kubectl wants them."""
    return bed.kubectl("create", "-o", "name", "-f", "-", input=json.dumps(manifest)).strip()


def _change(bed: Bed, name: str, patch: Manifest, *arguments: str) -> None:
    bed.kubectl("patch", name, "--type=merge", "-p", json.dumps(patch), *arguments)


def _refused(bed: Bed, manifest: Manifest) -> str:
    with pytest.raises(KubectlFailed) as refusal:
        _try(bed, manifest)
    return str(refusal.value)


def _unchangeable(bed: Bed, name: str, patch: Manifest) -> str:
    with pytest.raises(KubectlFailed) as refusal:
        _change(bed, name, patch)
    return str(refusal.value)


# -- the definitions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plural", PLURALS)
def test_the_server_takes_a_definition_without_complaint(server: Bed, plural: str) -> None:
    found = json.loads(server.kubectl("get", f"crd/{plural}.phalanx.dev", "-o", "json"))
    state = {condition["type"]: condition["status"] for condition in found["status"]["conditions"]}
    assert state.get("Established") == state.get("NamesAccepted") == "True"
    assert "NonStructuralSchema" not in state


def _explained(server: Bed, field: str) -> str:
    """What kubectl explains. The server describes its kinds a moment after it serves them."""
    end = time.monotonic() + 30.0
    while True:
        try:
            return server.kubectl("explain", field)
        except KubectlFailed:
            if time.monotonic() > end:
                raise


def test_kubectl_explains_the_fields_of_a_gang(server: Bed) -> None:
    told = _explained(server, "gang.spec")
    assert "podGroups" in told
    assert "The queue it waits in" in told
    deeper = server.kubectl("explain", "gang.spec.podGroups.rank.withSameRankOf")
    assert "rank i of both share a domain" in " ".join(deeper.split())


def test_kubectl_finds_our_kinds_by_short_name_and_category(server: Bed) -> None:
    _make(server, _object("Topology", "by-short-name", {"levels": [{"nodeLabel": "rack", "name": "rack"}]}))
    assert "by-short-name" in server.kubectl("get", "ptopo")
    assert "by-short-name" in server.kubectl("get", "phalanx")
    for short in ("pq", "pfl"):
        server.kubectl("get", short)


def test_kubectl_get_shows_where_a_gang_is_and_why(server: Bed) -> None:
    name = _make(server, _gang("shown", {"name": "workers", "count": 16}, queue="research"))
    waits = {
        "type": "Scheduled", "status": "False", "reason": "Fragmented", "message": "no rack holds 16",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    status = {"state": "Queued", "pods": "0/16", "domain": "zone-1/block-2", "conditions": [waits]}
    _change(server, name, {"status": status}, "--subresource=status")
    head, row = server.kubectl("get", name).splitlines()
    assert head.split() == ["NAME", "QUEUE", "STATE", "REASON", "PODS", "DOMAIN", "AGE"]
    assert row.split()[:6] == ["shown", "research", "Queued", "Fragmented", "0/16", "zone-1/block-2"]
    assert "no rack holds 16" not in row
    assert "no rack holds 16" in server.kubectl("get", name, "-o", "wide")


def test_kubectl_get_shows_the_ends_of_a_topology(server: Bed) -> None:
    levels = [{"nodeLabel": "zone"}, {"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
    row = server.kubectl("get", _make(server, _object("Topology", "ends", {"levels": levels})), "--no-headers")
    assert row.split()[:3] == ["ends", "zone", "kubernetes.io/hostname"]


def test_status_is_not_written_with_the_rest(server: Bed) -> None:
    name = _make(server, {**_gang("no-status", {"name": "workers"}), "status": {"state": "Running"}})
    assert "status" not in json.loads(server.kubectl("get", name, "-o", "json"))


# -- what is accepted ----------------------------------------------------------------------------------------------


def test_queue_and_policy_are_filled_in(server: Bed) -> None:
    spec = _try(server, _gang("plain", {"name": "workers", "count": 4}))["spec"]
    assert (spec["queue"], spec["policy"]) == ("default", "Gang")
    assert "policy" not in spec["podGroups"][0]  # the reader refuses it on groups without children


def test_a_template_is_kept_as_it_is_written(server: Bed) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {**TEMPLATE["spec"], "somethingNew": {"deep": [1, 2.5]}}}
    found = _try(server, _gang("kept", {"name": "workers", "count": 4, "template": template}))
    assert found["spec"]["podGroups"][0]["template"] == template


def test_the_gang_with_every_field_is_accepted(server: Bed) -> None:
    rank = {
        "fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']", "order": "Stripe",
        "across": "rack", "withSameRankOf": "prefill", "level": "host",
    }  # fmt: skip
    groups = (
        {"name": "api-server", "minCount": 1, "template": TEMPLATE},
        {"name": "workers", "topology": {"required": "block"}, "policy": "Gang", "minGroups": 2},
        {"name": "prefill", "parent": "workers", "count": 4, "minCount": 3, "maxCount": 8, "template": TEMPLATE},
        {
            "name": "decode", "parent": "workers", "replicas": 2, "rank": rank,
            "replicaKey": "metadata.labels['jobset.sigs.k8s.io/job-index']",
            "topology": {"required": "rack", "preferred": "host", "spread": {"level": "host", "maxPerDomain": 1}},
            "slices": [{"level": "rack", "size": 8}, {"level": "host", "size": 4}],
            "podClasses": [{"name": "leader", "count": 1, "template": TEMPLATE}, {"name": "worker", "count": 15}],
        },
    )  # fmt: skip
    _try(
        server,
        _gang(
            "llm", *groups, controllerRef={"apiGroup": "apps", "kind": "Deployment", "name": "llm"}, queue="serving",
            priorityClassName="inference", preemptible=True, suspend=False, enforcement="Bind",
            topologyName="cluster-topology", topology={"required": "zone", "preferred": "block"}, policy="Gang",
            minGroups=2, scheduleTimeoutSeconds=60, readyTimeoutSeconds=600, recoveryTimeoutSeconds=300,
            onFailure="ReplacePod", disruption="Gang", expectedDurationSeconds=7200,
        ),
    )  # fmt: skip


def test_a_gang_of_as_many_groups_as_are_allowed_is_accepted(server: Bed) -> None:
    """The rules are granted a cost at run time too."""
    top = {"name": "top"}
    _try(server, _gang("wide", top, *({"name": f"g{i}", "parent": "top", "count": 8} for i in range(255))))


def test_a_queue_as_the_page_shows_it_is_accepted(server: Bed) -> None:
    resources = [{"name": "nvidia.com/gpu", "nominal": 64, "borrow": "32", "lend": 64}]
    quota = [{"flavor": "h100", "resources": resources}, {"resources": [{"name": "cpu", "nominal": "500m"}]}]
    spec = {
        "parent": "company", "namespaceSelector": {"matchLabels": {"team": "research"}}, "order": "Priority",
        "whenBlocked": "BestEffort", "weight": 2, "quota": quota,
        "preemption": {"within": "LowerPriority", "reclaim": "Any"},
    }  # fmt: skip
    _try(server, _object("Queue", "research", spec))
    tolerations = [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]
    flavor = {"nodeLabels": {"gpu": "h100"}, "tolerations": tolerations, "topologyName": "cluster-topology"}
    _try(server, _object("Flavor", "h100", flavor))


def _examples() -> Iterator[Any]:
    for path in sorted(EXAMPLES.glob("*/*.yaml")):
        for number, doc in enumerate(yaml.safe_load_all(path.read_text())):
            if doc and str(doc.get("apiVersion", "")).startswith("phalanx.dev/"):
                yield pytest.param(doc, id=f"{path.parent.name}-{doc['kind']}-{number}")


@pytest.mark.parametrize("manifest", list(_examples()))
def test_the_server_accepts_every_example_of_our_kinds(server: Bed, manifest: Manifest) -> None:
    metadata = manifest["metadata"]
    place = {"namespace": "default"} if manifest["kind"] == "Gang" else {}
    _try(server, {**manifest, "metadata": {**metadata, **place}})


# -- what is refused -----------------------------------------------------------------------------------------------

_A, _B = {"name": "a", "count": 4}, {"name": "b", "count": 4}
_INNER = {"name": "in"}

WRONG_GANGS: dict[str, tuple[Manifest, str, str]] = {
    "no groups": (_gang("w"), "spec.podGroups", "at least 1"),
    "no groups of so many": (_gang("w", minGroups=2), "spec.podGroups", "at least 1"),
    "unknown field": (_gang("w", _A, queu="x"), "spec.queu", "unknown field"),
    "unknown field of a template": (
        _gang("w", {**_A, "template": {"spek": {}}}), "spec.podGroups[0].template.spek", "unknown field",
    ),
    "wrong word": (_gang("w", _A, enforcement="bind"), "spec.enforcement", 'supported values: "Bind", "Gate"'),
    "too small": (_gang("w", {"name": "a", "count": 0}), "spec.podGroups[0].count", "greater than or equal to 1"),
    "same name": (_gang("w", _A, _A), "spec.podGroups[1]", "Duplicate value"),
    "bad name": (_gang("w", {"name": "a/b"}), "spec.podGroups[0].name", "should match"),
    "minCount above count": (
        _gang("w", {"name": "a", "count": 2, "minCount": 3}), "spec.podGroups[0].minCount", "minCount is at most count",
    ),
    "minCount above count and maxCount": (
        _gang("w", {"name": "a", "count": 2, "minCount": 4, "maxCount": 3}), "spec.podGroups[0].minCount",
        "minCount is at most count",
    ),
    "minCount above maxCount": (
        _gang("w", {"name": "a", "minCount": 4, "maxCount": 3}), "spec.podGroups[0].maxCount",
        "minCount is at most maxCount",
    ),
    "count above maxCount": (
        _gang("w", {**_A, "maxCount": 3}), "spec.podGroups[0].maxCount", "count is at most maxCount",
    ),
    "count and classes": (
        _gang("w", {**_A, "podClasses": [{"name": "l"}, {"name": "w", "count": 2}]}),
        "spec.podGroups[0].count", "leave it out",
    ),
    "slices of count": (
        _gang("w", {**_A, "slices": [{"level": "rack", "size": 3}]}), "spec.podGroups[0].count", "multiple of the size",
    ),
    "slices that do not divide": (
        _gang("w", {"name": "a", "count": 12, "slices": [{"level": "rack", "size": 6}, {"level": "host", "size": 4}]}),
        "spec.podGroups[0].slices", "each size divides",
    ),
    "slices fine to coarse": (
        _gang("w", {**_A, "slices": [{"level": "rack", "size": 2}, {"level": "host", "size": 4}]}),
        "spec.podGroups[0].slices", "coarse to fine",
    ),
    "own parent": (_gang("w", _B, {**_A, "parent": "a"}), "spec.podGroups[1].parent", "not its own parent"),
    "unknown parent": (_gang("w", {**_B, "parent": "c"}, _A), "spec.podGroups", 'not a group of this gang: ["b"]'),
    "own parent and nobody else": (
        _gang("w", {**_A, "parent": "a"}), "spec.podGroups[0].parent", "not its own parent",
    ),
    "unknown parent of all": (
        _gang("w", {**_A, "parent": "c", "replicaKey": "metadata.labels['k']"}, minGroups=1), "spec.podGroups",
        'not a group of this gang: ["a"]',
    ),
    "circle of all": (
        _gang("w", {"name": "x", "parent": "y"}, {"name": "y", "parent": "x"}), "spec.podGroups",
        'run in a circle: ["x", "y"]',
    ),
    "circle": (
        _gang("w", _B, {"name": "x", "parent": "y"}, {"name": "y", "parent": "x"}), "spec.podGroups",
        'run in a circle: ["x", "y"]',
    ),
    "circle without a way in": (
        _gang("w", *({"name": f"g{i}", "parent": f"g{(i + 1) % 3}"} for i in range(3))), "spec.podGroups",
        "no group is without one",
    ),
    "pods and children": (
        _gang("w", {**_A, "template": TEMPLATE}, {**_B, "parent": "a"}), "spec.podGroups", 'mean nothing here: ["a"]',
    ),
    "policy over nobody": (_gang("w", {**_A, "policy": "Basic"}), "spec.podGroups", 'could mean: ["a"]'),
    "minGroups over nobody": (_gang("w", {**_A, "minGroups": 1}), "spec.podGroups", 'could mean: ["a"]'),
    "minGroups with Basic": (_gang("w", _A, policy="Basic", minGroups=1), "spec.minGroups", "policy Basic"),
    "minGroups above": (_gang("w", _A, _B, minGroups=3), "spec.minGroups", "more than the top groups"),
    "inner minGroups above": (
        _gang("w", {**_INNER, "minGroups": 4}, {**_A, "parent": "in", "replicas": 3}), "spec.podGroups",
        'counted: ["in"]',
    ),
    "key without replicas under Gang": (
        _gang("w", {**_A, "replicaKey": "metadata.labels['k']"}), "spec.podGroups", "needs policy Basic",
    ),
    "field path": (
        _gang("w", {**_A, "replicas": 2, "replicaKey": "spec.nodeName"}),
        "spec.podGroups[0].replicaKey", "should match",
    ),
    "rank without level": (
        _gang("w", _A, {**_B, "rank": {"withSameRankOf": "a"}}), "spec.podGroups[1].rank.level", "given together",
    ),
    "rank over no level": (
        _gang("w", {**_A, "rank": {"order": "Stripe"}}), "spec.podGroups[0].rank.across", "need the level",
    ),
    "rank of a stranger": (
        _gang("w", _INNER, {**_A, "parent": "in"}, {**_B, "rank": {"withSameRankOf": "a", "level": "host"}}),
        "spec.podGroups", 'same parent: ["b"]',
    ),
    "spread without a limit": (
        _gang("w", _A, topology={"spread": {"level": "host"}}), "spec.topology.spread", "exactly one of",
    ),
    "spread with two limits": (
        _gang("w", _A, topology={"spread": {"level": "host", "maxSkew": 1, "minDomains": 2}}), "spec.topology.spread",
        "exactly one of",
    ),
}  # fmt: skip


@pytest.mark.parametrize("wrong", sorted(WRONG_GANGS))
def test_a_wrong_gang_is_refused_with_the_field_to_blame(server: Bed, wrong: str) -> None:
    """One mistake, one message: kubectl writes several as a list, and the server's word about rules it left out."""
    manifest, path, message = WRONG_GANGS[wrong]
    told = _refused(server, manifest)
    assert path in told
    assert message in told
    assert told.replace("\n* <nil>", "").count("\n* ") <= 1


def _levels(*labels: str, **names: str) -> Manifest:
    levels = [{"nodeLabel": one, **({"name": names[one]} if one in names else {})} for one in labels]
    return _object("Topology", "wrong", {"levels": levels})


WRONG_OTHERS: dict[str, tuple[Manifest, str, str]] = {
    "no levels": (_levels(), "spec.levels", "at least 1"),
    "nine levels": (_levels(*"abcdefghi"), "spec.levels", "at most 8"),
    "host first": (_levels("kubernetes.io/hostname", "rack"), "spec.levels", "only be the last level"),
    "label twice": (_levels("rack", "rack"), "spec.levels", "listed twice"),
    "name twice": (_levels("a", "b", a="x", b="x"), "spec.levels", "names of levels are unique"),
    "name of another label": (_levels("a", "b", a="b"), "spec.levels", "names of levels are unique"),
    "reserved name": (_levels("a", a="auto"), "spec.levels", "fixed meaning"),
    "host by another label": (_levels("a", a="host"), "spec.levels", "host names only kubernetes.io/hostname"),
    "no label key": (_levels("/rack"), "spec.levels[0].nodeLabel", "should match"),
    "own parent": (_object("Queue", "q", {"parent": "q"}), "spec.parent", "not its own parent"),
    "preemption": (
        _object("Queue", "q", {"preemption": {"within": "All"}}), "spec.preemption.within",
        '"Any", "LowerPriority", "Never"',
    ),
    "flavor twice": (
        _object("Queue", "q", {"quota": [{"flavor": "f", "resources": [{"name": n, "nominal": 1}]} for n in "ab"]}),
        "spec.quota", "listed twice",
    ),
    "lends more": (
        _object("Queue", "q", {"quota": [{"resources": [{"name": "cpu", "nominal": "500m", "lend": 1}]}]}),
        "spec.quota[0].resources[0].lend", "lends its own only",
    ),
    "no amount": (
        _object("Queue", "q", {"quota": [{"resources": [{"name": "cpu", "nominal": "four"}]}]}),
        "spec.quota[0].resources[0].nominal", "should match",
    ),
    "negative amount": (
        _object("Queue", "q", {"quota": [{"resources": [{"name": "cpu", "nominal": -1}]}]}),
        "spec.quota[0].resources[0].nominal", "greater than or equal to 0",
    ),
    "no weight": (_object("Queue", "q", {"weight": 0}), "spec.weight", "greater than 0"),
    "topology without labels": (
        _object("Flavor", "f", {"topologyName": "t"}), "spec.nodeLabels", "at least one node label",
    ),
    "toleration of nothing": (
        _object("Flavor", "f", {"tolerations": [{"value": "x"}]}), "spec.tolerations[0].key", "operator Exists",
    ),
}  # fmt: skip


@pytest.mark.parametrize("wrong", sorted(WRONG_OTHERS))
def test_a_wrong_topology_queue_or_flavor_is_refused_with_the_field_to_blame(server: Bed, wrong: str) -> None:
    manifest, path, message = WRONG_OTHERS[wrong]
    told = _refused(server, manifest)
    assert path in told
    assert message in told


# -- what may change -----------------------------------------------------------------------------------------------


def test_levels_do_not_change(server: Bed) -> None:
    name = _make(server, _object("Topology", "firm", {"levels": [{"nodeLabel": "rack"}]}))
    told = _unchangeable(server, name, {"spec": {"levels": [{"nodeLabel": "block"}]}})
    assert "spec.levels: Forbidden: levels cannot change" in told


def _applied(bed: Bed, manifest: Manifest, manager: str) -> None:
    words = ("apply", "--server-side", f"--field-manager={manager}", "-f", "-")
    bed.kubectl(*words, input=json.dumps(manifest))


def test_two_managers_of_the_levels_meet_in_a_conflict_and_not_in_a_mixture(server: Bed) -> None:  # K-022
    first, second = ([{"nodeLabel": one}, {"nodeLabel": "kubernetes.io/hostname"}] for one in ("rack", "block"))
    _applied(server, _object("Topology", "shared", {"levels": first}), "one")
    with pytest.raises(KubectlFailed) as conflict:
        _applied(server, _object("Topology", "shared", {"levels": second}), "another")
    assert 'conflict with "one": .spec.levels' in str(conflict.value)
    kept = json.loads(server.kubectl("get", "topologies.phalanx.dev/shared", "-o", "json"))
    assert [level["nodeLabel"] for level in kept["spec"]["levels"]] == ["rack", "kubernetes.io/hostname"]
    _applied(server, _object("Topology", "shared", {"levels": first}), "another")  # agreeing is no conflict


FIRM = {
    "policy": "Basic", "enforcement": "Gate", "topology": {"required": "rack"}, "topologyName": "other",
    "onFailure": "None", "disruption": "Pod", "preemptible": False, "minGroups": 1, "expectedDurationSeconds": 60,
}  # fmt: skip


@pytest.mark.parametrize("field", sorted(FIRM))
def test_what_decides_the_place_of_a_gang_does_not_change(server: Bed, field: str) -> None:
    name = _make(server, _gang(f"firm-{field.lower()}", _A))
    told = _unchangeable(server, name, {"spec": {field: FIRM[field]}})
    assert f"spec.{field}: Forbidden: {field} cannot change after the object is made" in told


FIRM_OF_GROUPS: dict[str, Any] = {
    "minCount": 2, "template": {"spec": {"nodeSelector": {"x": "y"}}}, "slices": [{"level": "rack", "size": 2}],
    "rank": {"order": "None"}, "topology": {"preferred": "rack"}, "replicas": 2,
}  # fmt: skip


@pytest.mark.parametrize("field", sorted(FIRM_OF_GROUPS))
def test_what_decides_the_place_of_a_group_does_not_change(server: Bed, field: str) -> None:
    name = _make(server, _gang(f"firm-group-{field.lower()}", {**_A, "template": TEMPLATE}))
    changed = {**_A, "template": TEMPLATE, field: FIRM_OF_GROUPS[field]}
    told = _unchangeable(server, name, {"spec": {"podGroups": [changed]}})
    assert f"spec.podGroups[0].{field}: Forbidden: {field} cannot change" in told


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [{"name": "main", "resources": {"requests": {"cpu": "4", "nvidia.com/gpu": 4}}}]},
        {"nodeSelector": {"x": "y"}},  # as many fields as before, and another one
        {**TEMPLATE["spec"], "nodeSelector": {"x": "y"}},
        {},
    ],
    ids=["changed inside", "another field", "one more", "nothing"],
)
def test_a_template_does_not_change_in_any_part(server: Bed, spec: Manifest, request: pytest.FixtureRequest) -> None:
    title = request.node.callspec.id.replace(" ", "-")
    classes = [{"name": "leader", "template": TEMPLATE}]
    name = _make(server, _gang(f"firm-{title}", {**_A, "template": TEMPLATE}, {"name": "c", "podClasses": classes}))
    changed = [{"name": "leader", "template": {"spec": spec}}]
    for groups, path in (
        ([{**_A, "template": {"spec": spec}}, {"name": "c", "podClasses": classes}], "[0].template"),
        ([{**_A, "template": TEMPLATE}, {"name": "c", "podClasses": changed}], "[1].podClasses[0].template"),
    ):
        told = _unchangeable(server, name, {"spec": {"podGroups": groups}})
        assert f"spec.podGroups{path}: Forbidden: template cannot change" in told


def test_the_same_template_is_no_change(server: Bed) -> None:
    name = _make(server, _gang("firm-same", {**_A, "template": TEMPLATE}))
    _change(server, name, {"spec": {"podGroups": [{**_A, "template": TEMPLATE}], "suspend": True}})


def test_a_field_cannot_be_taken_away_either(server: Bed) -> None:
    name = _make(server, _gang("firm-taken", _A, topology={"required": "rack"}))
    assert "topology cannot change" in _unchangeable(server, name, {"spec": {"topology": None}})


def test_groups_do_not_come_or_go(server: Bed) -> None:
    name = _make(server, _gang("firm-groups", _A, _B))
    for groups in ([_A], [_A, _B, {"name": "c"}], [_A, {"name": "c", "count": 4}]):
        told = _unchangeable(server, name, {"spec": {"podGroups": groups}})
        assert "spec.podGroups: Forbidden: groups cannot be added or taken away" in told


def test_counts_time_outs_priority_and_suspension_change(server: Bed) -> None:
    classes = [{"name": "leader"}, {"name": "worker", "count": 3}]
    name = _make(server, _gang("loose", {**_A, "template": TEMPLATE}, {"name": "c", "podClasses": classes}))
    more = [{"name": "leader"}, {"name": "worker", "count": 7}]
    groups = [{"name": "c", "podClasses": more}, {**_A, "template": TEMPLATE, "count": 6, "maxCount": 8}]
    times = {f"{which}TimeoutSeconds": 5 for which in ("schedule", "ready", "recovery")}
    spec = {"podGroups": groups, "suspend": True, "priorityClassName": "high", **times}
    _change(server, name, {"spec": spec})


def test_a_change_of_two_groups_is_seen_as_one(server: Bed) -> None:  # W-037
    name = _make(server, _gang("watched", _A, _B))
    before = json.loads(server.kubectl("get", name, "-o", "json"))["metadata"]["resourceVersion"]
    _change(server, name, {"spec": {"podGroups": [{**_A, "count": 5}, {**_B, "count": 7}]}})
    path = "/apis/phalanx.dev/v1alpha1/namespaces/default/gangs"
    asked = f"watch=true&resourceVersion={before}&fieldSelector=metadata.name%3Dwatched&timeoutSeconds=1"
    told = [json.loads(line) for line in server.kubectl("get", "--raw", f"{path}?{asked}").splitlines()]
    counts = [[group["count"] for group in one["object"]["spec"]["podGroups"]] for one in told]
    assert [one["type"] for one in told] == ["MODIFIED"]
    assert counts == [[5, 7]]


def _condition(kind: str, status: str) -> Manifest:
    time = "2026-01-01T00:00:00Z"
    return {"type": kind, "status": status, "reason": "Because", "message": "", "lastTransitionTime": time}


def test_the_queue_changes_only_while_the_gang_waits(server: Bed) -> None:
    name = _make(server, _gang("moving", _A))
    _change(server, name, {"spec": {"queue": "one"}})
    _change(server, name, {"status": {"conditions": [_condition("QuotaReserved", "False")]}}, "--subresource=status")
    _change(server, name, {"spec": {"queue": "two"}})
    _change(server, name, {"status": {"conditions": [_condition("QuotaReserved", "True")]}}, "--subresource=status")
    told = _unchangeable(server, name, {"spec": {"queue": "three"}})
    assert "spec.queue: Forbidden: queue can change only while the gang waits" in told


def test_a_full_status_is_accepted(server: Bed) -> None:
    counts = {"wanted": 4, "seen": 4, "reserved": 0, "bound": 4, "ready": 3}
    placement = {"level": "rack", "groups": [{"name": "a", "domains": [{"domain": ["z", "r"], "pods": 4}], "more": 0}]}
    status = {
        "observedGeneration": 1, "state": "Starting", "pods": "4/4", "domain": "z/r", "placement": placement,
        "conditions": [_condition(kind, "True") for kind in CONDITION_TYPES],
        "groups": [{"name": "a[0]", "domain": ["z", "r"], **counts}],
    }  # fmt: skip
    name = _make(server, _gang("full-status", _A))
    _change(server, name, {"status": status}, "--subresource=status")
    assert json.loads(server.kubectl("get", name, "-o", "json"))["status"] == status


# -- rights --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def roles(server: Bed) -> Bed:
    for name in ("account.yaml", "scheduler.yaml", "minimal.yaml"):
        server.apply((RBAC / name).read_text())
    return server


def _may(bed: Bed, verb: str, resource: str, *arguments: str) -> bool:
    """Whether the scheduler's account may do it; kubectl ends with an error when not."""
    try:
        answer = bed.kubectl("auth", "can-i", verb, resource, f"--as={ACCOUNT}", "--all-namespaces", *arguments)
    except KubectlFailed as refusal:
        assert str(refusal).endswith("no"), refusal
        return False
    return answer.strip() == "yes"


@pytest.mark.parametrize(
    ("verb", "resource", "part"),
    [
        ("watch", "pods", ""), ("list", "nodes", ""), ("create", "pods", "binding"), ("delete", "pods", ""),
        ("patch", "pods", "status"), ("patch", "gangs.phalanx.dev", "status"), ("watch", "gangs.phalanx.dev", ""),
        ("patch", "jobs.batch", ""), ("create", "events.events.k8s.io", ""),
    ],
)  # fmt: skip
def test_the_scheduler_may_do_its_work(roles: Bed, verb: str, resource: str, part: str) -> None:
    assert _may(roles, verb, resource, *([f"--subresource={part}"] if part else []))


@pytest.mark.parametrize(
    ("verb", "resource"),
    [
        ("get", "secrets"), ("list", "configmaps"), ("create", "pods"), ("delete", "nodes"), ("patch", "nodes"),
        ("patch", "gangs.phalanx.dev"), ("delete", "gangs.phalanx.dev"), ("delete", "jobs.batch"),
        ("create", "clusterrolebindings.rbac.authorization.k8s.io"),
    ],
)  # fmt: skip
def test_the_scheduler_may_do_no_more(roles: Bed, verb: str, resource: str) -> None:
    assert not _may(roles, verb, resource)


def test_the_kubeconfig_that_the_docs_make_speaks_for_the_account_of_the_scheduler(roles: Bed, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "cluster.md").read_text()
    (script,) = [block for block in page.split("```\n")[1::2] if "phalanx.kubeconfig" in block]
    path = f"{Path(build.path('kubectl')).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "KUBECONFIG": str(roles.admin_kubeconfig)}
    subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, env=environment, check=True, timeout=60)
    who = ["kubectl", "--kubeconfig=phalanx.kubeconfig", "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"]
    found = subprocess.run(who, cwd=tmp_path, env=environment, check=True, timeout=60, capture_output=True, text=True)
    assert found.stdout == ACCOUNT
