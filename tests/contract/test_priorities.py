"""Priority classes: a name on the pod, a number from the server."""

from collections.abc import Iterator

import pytest

from tests.contract.objects import pod, unique
from tests.contract.scope import Scope


@pytest.fixture
def urgent(cluster: Scope) -> Iterator[str]:
    name = unique("contract")
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
    cluster.made("priorityclasses", {**kind, "value": 700, "preemptionPolicy": "Never"})
    yield name
    cluster.delete("priorityclasses", name)


def test_a_pod_gets_the_number_of_its_class(space: Scope, urgent: str) -> None:
    spec = space.made("pods", pod("a", priorityClassName=urgent))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (700, "Never")


def test_an_unknown_class_is_refused(space: Scope) -> None:
    space.create("pods", pod("a", priorityClassName="contract-absent")).refused(403, "Forbidden")


def test_a_number_that_differs_from_the_class_is_refused(space: Scope, urgent: str) -> None:
    space.create("pods", pod("a", priorityClassName=urgent, priority=1)).refused(403, "Forbidden")


def test_the_value_of_a_class_never_changes(cluster: Scope, urgent: str) -> None:
    cluster.merge("priorityclasses", urgent, {"value": 800}).refused(422, "Invalid")
