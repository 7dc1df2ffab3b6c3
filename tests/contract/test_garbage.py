"""Garbage collection: what happens to the owned when the owner goes. The collector is a controller."""

import pytest

from tests.contract.door import Doc
from tests.contract.objects import configmap, owned_by, pod, unique
from tests.contract.scope import Scope

pytestmark = pytest.mark.usefixtures("controllers")


@pytest.fixture
def owner(space: Scope) -> Doc:
    return space.made("configmaps", configmap("owner"))


def test_the_owned_follow_their_owner(space: Scope, owner: Doc) -> None:
    space.made("pods", owned_by(pod("a"), owner))
    space.delete("configmaps", "owner", {"propagationPolicy": "Background"}).expect(200)
    space.gone("pods", "a")


def test_in_the_background_the_owner_goes_first(space: Scope, owner: Doc) -> None:
    held = owned_by(pod("a"), owner)
    held["metadata"]["finalizers"] = ["contract.example/hold"]
    space.made("pods", held)
    space.delete("configmaps", "owner", {"propagationPolicy": "Background"}).expect(200)
    space.get("configmaps", "owner").refused(404, "NotFound")
    space.reaches("pods", "a", lambda doc: "deletionTimestamp" in doc["metadata"])
    space.merge("pods", "a", {"metadata": {"finalizers": None}}).expect(200)


def test_in_the_foreground_the_owner_waits_for_what_blocks_it(space: Scope, owner: Doc) -> None:
    held = owned_by(pod("a"), owner, blocking=True)
    held["metadata"]["finalizers"] = ["contract.example/hold"]
    space.made("pods", held)
    space.delete("configmaps", "owner", {"propagationPolicy": "Foreground"}).expect(200)
    space.reaches("pods", "a", lambda doc: "deletionTimestamp" in doc["metadata"])
    assert space.read("configmaps", "owner")["metadata"]["finalizers"] == ["foregroundDeletion"]
    space.merge("pods", "a", {"metadata": {"finalizers": None}}).expect(200)
    space.gone("configmaps", "owner")


def test_orphans_stay_without_the_reference(space: Scope, owner: Doc) -> None:
    space.made("pods", owned_by(pod("a"), owner))
    space.delete("configmaps", "owner", {"propagationPolicy": "Orphan"}).expect(200)
    space.gone("configmaps", "owner")
    assert "ownerReferences" not in space.read("pods", "a")["metadata"]


def test_an_owner_of_another_uid_is_no_owner(space: Scope, owner: Doc) -> None:
    """The owner was deleted and made again under its name: what the first one owned is collected."""
    impostor = {**owner, "metadata": {**owner["metadata"], "uid": "0b0b0b0b-0000-4000-8000-000000000000"}}
    space.made("pods", owned_by(pod("a"), impostor))
    space.gone("pods", "a")


def test_custom_kinds_own_too(space: Scope, pennants: str, pennant: Doc) -> None:
    """The collector looks for new kinds every 30 s; what a brand-new kind owned stays until then."""
    made = space.made(pennants, pennant)
    space.made("pods", owned_by(pod("a"), made))
    space.delete(pennants, made["metadata"]["name"], {"propagationPolicy": "Background"}).expect(200)
    space.gone("pods", "a", seconds=120)


def test_a_deleted_namespace_takes_its_objects_along(cluster: Scope) -> None:
    name = unique("contract-short")
    cluster.made("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    space = Scope(cluster.door, name)
    space.made("configmaps", configmap("a"))
    cluster.delete("namespaces", name).expect(200)
    cluster.gone("namespaces", name, seconds=120)
    space.get("configmaps", "a").refused(404, "NotFound")


def test_nothing_is_created_in_a_namespace_on_its_way_out(cluster: Scope) -> None:
    name = unique("contract-short")
    cluster.made("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    space = Scope(cluster.door, name)
    held = configmap("held")
    held["metadata"]["finalizers"] = ["contract.example/hold"]
    space.made("configmaps", held)
    cluster.delete("namespaces", name).expect(200)
    answer = space.create("configmaps", configmap("late"))
    answer.refused(403, "Forbidden")
    assert [cause["reason"] for cause in answer.causes()] == ["NamespaceTerminating"]
    space.merge("configmaps", "held", {"metadata": {"finalizers": None}}).expect(200)
