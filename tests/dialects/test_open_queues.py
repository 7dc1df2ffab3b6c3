"""A Queue without a namespaceSelector is open to everybody, and that is said."""

from typing import Any

import pytest

from phalanx import Cluster
from tests.testing.live_objects import cluster

Doc = dict[str, Any]


def queue(name: str, **spec: Any) -> Doc:
    return {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def test_a_queue_without_a_selector_is_warned_of_with_what_to_write() -> None:
    (warning,) = Cluster.from_manifests([*cluster(), queue("research")]).warnings
    assert warning.path == "Queue/research: spec.namespaceSelector"
    assert "every namespace may use this queue" in warning.message and "{}" in warning.message


@pytest.mark.parametrize("selector", [{}, {"matchLabels": {"team": "research"}}])
def test_a_queue_that_says_whom_it_is_for_is_not_warned_of(selector: Doc) -> None:
    assert not Cluster.from_manifests([*cluster(), queue("research", namespaceSelector=selector)]).warnings


def test_the_queue_of_those_who_name_none_is_open_to_all_and_nobody_is_warned() -> None:
    assert not Cluster.from_manifests([*cluster(), queue("default")]).warnings
