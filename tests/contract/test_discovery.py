"""Discovery: how a client learns what a server serves."""

import pytest

from tests.contract.door import Doc, Door, until
from tests.contract.scope import ROOTS, Scope

AGGREGATED = "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList"

RELIED_ON = [
    (
        "/api/v1",
        "pods",
        "Pod",
        True,
        {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
    ),
    ("/api/v1", "pods/binding", "Binding", True, {"create"}),
    ("/api/v1", "pods/eviction", "Eviction", True, {"create"}),
    ("/api/v1", "pods/status", "Pod", True, {"get", "patch", "update"}),
    ("/api/v1", "nodes", "Node", False, {"get", "list", "watch", "patch"}),
    ("/api/v1", "namespaces", "Namespace", False, {"get", "list", "watch"}),
    ("/apis/batch/v1", "jobs", "Job", True, {"get", "list", "watch", "patch"}),
    ("/api/v1", "persistentvolumeclaims", "PersistentVolumeClaim", True, {"get", "list", "watch"}),
    ("/apis/apps/v1", "deployments", "Deployment", True, {"get", "list", "watch"}),
    ("/apis/apps/v1", "replicasets", "ReplicaSet", True, {"get", "list", "watch"}),
    ("/apis/apps/v1", "statefulsets", "StatefulSet", True, {"get", "list", "watch"}),
    ("/apis/storage.k8s.io/v1", "storageclasses", "StorageClass", False, {"get", "list", "watch"}),
    ("/apis/batch/v1", "cronjobs", "CronJob", True, {"get", "list", "watch"}),
    ("/apis/batch/v1", "jobs/status", "Job", True, {"get", "patch", "update"}),
    ("/apis/coordination.k8s.io/v1", "leases", "Lease", True, {"get", "create", "update"}),
    ("/apis/events.k8s.io/v1", "events", "Event", True, {"create", "patch"}),
    ("/apis/policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", True, {"get", "list", "watch"}),
    ("/apis/scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", False, {"get", "list", "watch"}),
    (
        "/apis/apiextensions.k8s.io/v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        False,
        {"list", "watch"},
    ),
]


@pytest.mark.parametrize(("root", "name", "kind", "namespaced", "verbs"), RELIED_ON, ids=[row[1] for row in RELIED_ON])
def test_what_we_rely_on_is_listed(
    door: Door, root: str, name: str, kind: str, namespaced: bool, verbs: set[str]
) -> None:
    listed = door.get(root).expect(200)
    assert listed["kind"] == "APIResourceList"
    found = next(resource for resource in listed["resources"] if resource["name"] == name)
    assert (found["kind"], found["namespaced"]) == (kind, namespaced)
    assert verbs <= set(found["verbs"])


def test_the_server_tells_its_version(door: Door) -> None:
    version = door.get("/version").expect(200)
    assert version["major"] == "1" and version["gitVersion"].startswith("v1.")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_a_healthy_server_says_ok(door: Door, path: str) -> None:
    assert door.get(path).expect(200) == {"text": "ok"}


def test_the_core_group_names_its_versions(door: Door) -> None:
    assert door.get("/api").expect(200)["versions"] == ["v1"]


def test_the_groups_are_listed_with_their_preferred_version(door: Door) -> None:
    listed = door.get("/apis").expect(200)
    assert listed["kind"] == "APIGroupList"
    preferred = {group["name"]: group["preferredVersion"]["groupVersion"] for group in listed["groups"]}
    assert (preferred["batch"], preferred["policy"]) == ("batch/v1", "policy/v1")


def test_one_group_can_be_asked_alone(door: Door) -> None:
    group = door.get("/apis/batch").expect(200)
    assert (group["kind"], group["name"]) == ("APIGroup", "batch")


def test_a_group_nobody_serves_is_not_found(door: Door) -> None:
    """No Status object here: the real server answers in plain text."""
    assert door.get("/apis/absent.contract.example/v1").code == 404


def test_a_resource_nobody_serves_is_not_found(space: Scope) -> None:
    assert space.door.get(f"/api/v1/namespaces/{space.namespace}/phalanges").code == 404


def test_a_custom_kind_is_discovered(door: Door, pennants: str) -> None:
    for _ in until("the custom kind to be listed"):
        listed = door.get(ROOTS[pennants]).body.get("resources", [])
        found = {resource["name"]: resource for resource in listed}
        if pennants in found:
            break
    assert found[pennants]["shortNames"] == ["pnt"] and f"{pennants}/status" in found


def test_one_question_gives_all_groups_at_once(door: Door) -> None:
    listed = door.get("/apis", accept=AGGREGATED).expect(200)
    assert listed["kind"] == "APIGroupDiscoveryList"
    assert "batch" in {group["metadata"]["name"] for group in listed["items"]}


def test_openapi_lists_a_document_for_each_group(door: Door) -> None:
    paths = door.get("/openapi/v3").expect(200)["paths"]
    assert {"api/v1", "apis/batch/v1"} <= paths.keys()


def test_the_openapi_document_of_a_group_describes_its_kinds(door: Door) -> None:
    address = door.get("/openapi/v3").expect(200)["paths"]["apis/batch/v1"]["serverRelativeURL"]
    document = door.get(address).expect(200)
    kinds: list[Doc] = [
        kind
        for schema in document["components"]["schemas"].values()
        for kind in schema.get("x-kubernetes-group-version-kind", [])
    ]
    assert {"group": "batch", "version": "v1", "kind": "Job"} in kinds


def test_a_custom_kind_has_an_openapi_document(door: Door, pennants: str) -> None:
    path = ROOTS[pennants].removeprefix("/")
    for _ in until(f"{path} in the index of OpenAPI documents"):
        if path in door.get("/openapi/v3").expect(200)["paths"]:
            break
