"""The roles under deploy/rbac: no more than is needed, and a reason for each right."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from phalanx.kube import kinds

FOLDER = Path(__file__).parents[2] / "deploy" / "rbac"
FOREIGN = {
    "apps", "kai.scheduler", "kubeflow.org", "kueue.x-k8s.io", "leaderworkerset.x-k8s.io", "ray.io",
    "scheduling.run.ai", "trainer.kubeflow.org",
}  # fmt: skip
FRAMEWORKS = FOREIGN | {"batch", "jobset.x-k8s.io"}

Right = tuple[str, str, str]


def _documents() -> list[dict[str, Any]]:
    return [doc for path in sorted(FOLDER.glob("*.yaml")) for doc in yaml.safe_load_all(path.read_text())]


def _roles() -> dict[str, list[dict[str, list[str]]]]:
    return {doc["metadata"]["name"]: doc["rules"] for doc in _documents() if doc["kind"] == "ClusterRole"}


def _rights(role: str) -> set[Right]:
    return {
        (group, resource, verb)
        for rule in _roles()[role]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


ROLES = sorted(_roles())


def test_there_is_a_full_a_minimal_and_a_gate_role() -> None:
    assert ROLES == ["phalanx-scheduler", "phalanx-scheduler-gate", "phalanx-scheduler-minimal"]


@pytest.mark.parametrize("role", ROLES)
def test_no_rule_says_everything(role: str) -> None:
    assert not [right for right in _rights(role) if "*" in right]


@pytest.mark.parametrize("role", ROLES)
def test_no_rule_names_secrets_or_configuration(role: str) -> None:
    named = {resource.partition("/")[0] for _, resource, _ in _rights(role)}
    assert named.isdisjoint({"secrets", "configmaps", "serviceaccounts", "roles", "clusterroles"})


@pytest.mark.parametrize("role", ROLES)
def test_no_rule_can_impersonate_or_escalate(role: str) -> None:
    verbs = {verb for _, _, verb in _rights(role)}
    assert verbs <= {"get", "list", "watch", "create", "patch", "delete"}


def test_every_rule_has_a_comment_that_says_why() -> None:
    for path in sorted(FOLDER.glob("*.yaml")):
        lines = path.read_text().splitlines()
        starts = [i for i, line in enumerate(lines) if line.startswith("- apiGroups:")]
        unexplained = [i + 1 for i in starts if not re.match(r"# \w.{9,}", lines[i - 1])]
        assert not unexplained, f"{path.name}: rules without a why at lines {unexplained}"


def test_every_rule_is_one_that_the_comments_were_counted_for() -> None:
    """The check of comments looks at the text; here the text is held against what YAML reads."""
    written = sum(path.read_text().count("\n- apiGroups:") for path in FOLDER.glob("*.yaml"))
    assert written == sum(len(rules) for rules in _roles().values())


def test_the_minimal_role_knows_no_kind_of_a_framework() -> None:  # W-016, W-051
    groups = {group for group, _, _ in _rights("phalanx-scheduler-minimal")}
    assert groups == {"", "phalanx.dev", "scheduling.k8s.io", "events.k8s.io", "apiextensions.k8s.io"}
    assert groups.isdisjoint(FRAMEWORKS)


def test_smaller_roles_are_part_of_larger_ones() -> None:
    gate, minimal, full = (
        _rights(name) for name in ("phalanx-scheduler-gate", "phalanx-scheduler-minimal", "phalanx-scheduler")
    )
    assert gate < minimal < full
    assert minimal - gate == {("", "pods/binding", "create")}


def test_every_kind_that_the_scheduler_follows_may_be_read() -> None:
    allowed = _rights("phalanx-scheduler")
    plurals = [(group, _plural(kind)) for group, kind in kinds.FOLLOWED]
    assert plurals
    assert not [one for one in plurals if not {(*one, "list"), (*one, "watch")} <= allowed]


@pytest.mark.parametrize("role", ROLES)
def test_no_kind_may_be_read_that_the_scheduler_does_not_follow(role: str) -> None:
    followed = {(group, _plural(kind)) for group, kind in kinds.FOLLOWED}
    followed |= {("", "nodes"), ("", "pods"), ("apiextensions.k8s.io", "customresourcedefinitions")}
    assert {(group, plural) for group, plural, verb in _rights(role) if verb in ("get", "list", "watch")} <= followed


@pytest.mark.parametrize("role", ROLES)
def test_nothing_may_be_written_that_the_scheduler_does_not_write(role: str) -> None:
    """Pods that leave are deleted, past disruption budgets: a gang leaves whole. Events go to the API of today."""
    written = {right for right in _rights(role) if right[2] not in ("get", "list", "watch")}
    ours = {("phalanx.dev", f"{plural}/status", "patch") for plural in ("gangs", "queues", "flavors", "topologies")}
    theirs = {("scheduling.k8s.io", f"{plural}/status", "patch") for plural in ("podgroups", "compositepodgroups")}
    owners = {("batch", "jobs", "patch"), ("jobset.x-k8s.io", "jobsets", "patch")}
    pods = {("", "pods/binding", "create"), ("", "pods", "patch"), ("", "pods/status", "patch"), ("", "pods", "delete")}
    events = {("events.k8s.io", "events", "create"), ("events.k8s.io", "events", "patch")}
    assert written <= ours | theirs | owners | pods | events


def _plural(kind: str) -> str:
    one = kind.lower()
    return f"{one}es" if one.endswith("s") else f"{one[:-1]}ies" if one.endswith("y") else f"{one}s"


def test_foreign_kinds_are_read_and_not_written() -> None:
    written = {right for right in _rights("phalanx-scheduler") if right[0] in FOREIGN}
    assert {verb for _, _, verb in written} == {"get", "list", "watch"}


def test_the_account_is_bound_to_the_full_role() -> None:
    bindings = [doc for doc in _documents() if doc["kind"] == "ClusterRoleBinding"]
    accounts = [doc["metadata"] for doc in _documents() if doc["kind"] == "ServiceAccount"]
    assert [binding["roleRef"]["name"] for binding in bindings] == ["phalanx-scheduler"]
    assert [(one["name"], one["namespace"]) for one in bindings[0]["subjects"]] == [
        (one["name"], one["namespace"]) for one in accounts
    ]
