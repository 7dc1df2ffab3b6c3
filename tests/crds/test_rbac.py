"""The roles under deploy/rbac: no more than is needed, and a reason for each right."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from phalanx.dialects import kindtable
from phalanx.dialects.kindtable import Followed

FOLDER = Path(__file__).parents[2] / "deploy" / "rbac"
READ = ("get", "list", "watch")
NEEDED = Followed.NEEDED
WRITTEN = {row.group for row in kindtable.ROWS if row.suspend or row.status}
FOREIGN = {row.group for row in kindtable.ROWS if not row.home} - WRITTEN
FRAMEWORKS = {row.group for row in kindtable.ROWS if row.pods is not None} - {""}

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


PEOPLE = ["phalanx-cluster-reader", "phalanx-edit", "phalanx-view"]
ROLES = sorted(_roles().keys() - set(PEOPLE))  # of the scheduler
OURS = {row.plural for row in kindtable.ROWS if row.group == kindtable.OURS}


def test_there_is_a_full_a_minimal_and_a_gate_role() -> None:
    assert ROLES == ["phalanx-scheduler", "phalanx-scheduler-gate", "phalanx-scheduler-minimal"]


# -- people ------------------------------------------------------------------------------------------------------------


def _joins(role: str) -> set[str]:
    """The roles of Kubernetes that a role of ours adds to."""
    (found,) = (doc for doc in _documents() if doc["kind"] == "ClusterRole" and doc["metadata"]["name"] == role)
    prefix = "rbac.authorization.k8s.io/aggregate-to-"
    return {key.removeprefix(prefix) for key, value in found["metadata"].get("labels", {}).items() if value == "true"}


def test_people_with_the_role_view_see_our_kinds_and_write_none_of_them() -> None:
    assert _rights("phalanx-view") == {("phalanx.dev", plural, verb) for plural in OURS for verb in READ}
    assert _joins("phalanx-view") == {"view", "edit", "admin"}


def test_people_with_the_role_edit_write_gangs_and_not_what_is_for_the_whole_cluster() -> None:
    assert {(group, plural) for group, plural, _ in _rights("phalanx-edit")} == {("phalanx.dev", "gangs")}
    assert _joins("phalanx-edit") == {"edit", "admin"}


def test_the_reader_sees_what_commands_read_and_changes_nothing() -> None:
    followed = {(row.group, row.plural) for row in kindtable.FOLLOWED} | {("events.k8s.io", "events")}
    assert _rights("phalanx-cluster-reader") == {(*one, verb) for one in followed for verb in ("get", "list")}
    assert not _joins("phalanx-cluster-reader")


# -- the scheduler -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", [*ROLES, *PEOPLE])
def test_no_rule_says_everything(role: str) -> None:
    assert not [right for right in _rights(role) if "*" in right]


@pytest.mark.parametrize("role", [*ROLES, *PEOPLE])
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
    wanted = {(row.group, row.plural, verb) for row in kindtable.FOLLOWED for verb in READ}
    assert wanted <= _rights("phalanx-scheduler")


@pytest.mark.parametrize("role", ROLES)
def test_no_kind_may_be_read_that_the_scheduler_does_not_follow(role: str) -> None:
    followed = {(row.group, row.plural) for row in kindtable.FOLLOWED}
    followed |= {("apiextensions.k8s.io", "customresourcedefinitions")}
    assert {(group, plural) for group, plural, verb in _rights(role) if verb in READ} <= followed


@pytest.mark.parametrize("role", ROLES)
def test_kinds_without_which_nothing_is_scheduled_may_be_read_in_every_role(role: str) -> None:
    needed = {(row.group, row.plural, verb) for row in kindtable.FOLLOWED for verb in READ if row.followed is NEEDED}
    assert needed <= _rights(role)


def test_the_full_role_writes_what_the_table_of_kinds_says_and_nothing_else() -> None:
    """Pods that leave are deleted, past disruption budgets: a gang leaves whole. Events go to the API of today."""
    statuses = {(row.group, f"{row.plural}/status", "patch") for row in kindtable.ROWS if row.status}
    owners = {(row.group, row.plural, "patch") for row in kindtable.ROWS if row.suspend}
    pods = {("", "pods/binding", "create"), ("", "pods", "patch"), ("", "pods", "delete")}
    events = {("events.k8s.io", "events", "create"), ("events.k8s.io", "events", "patch")}
    written = {right for right in _rights("phalanx-scheduler") if right[2] not in READ}
    assert written == statuses | owners | pods | events


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
