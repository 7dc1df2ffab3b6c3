"""One namespace, or the whole cluster, of the server under test: the same few verbs for every resource."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.contract.door import (
    APPLY,
    JSON,
    JSON_PATCH,
    MERGE,
    PATIENCE_SECONDS,
    STRATEGIC,
    Answer,
    Doc,
    Door,
    Watch,
    until,
)

# Where each resource lives. Custom resources are added by the fixture that defines them.
ROOTS = {
    "bindings": "/api/v1",
    "configmaps": "/api/v1",
    "namespaces": "/api/v1",
    "nodes": "/api/v1",
    "pods": "/api/v1",
    "serviceaccounts": "/api/v1",
    "jobs": "/apis/batch/v1",
    "leases": "/apis/coordination.k8s.io/v1",
    "events": "/apis/events.k8s.io/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
    "priorityclasses": "/apis/scheduling.k8s.io/v1",
    "podgroups": "/apis/scheduling.k8s.io/v1beta1",
    "workloads": "/apis/scheduling.k8s.io/v1beta1",
    "compositepodgroups": "/apis/scheduling.k8s.io/v1alpha3",
    "customresourcedefinitions": "/apis/apiextensions.k8s.io/v1",
    "selfsubjectaccessreviews": "/apis/authorization.k8s.io/v1",
}


@dataclass(frozen=True, slots=True)
class Scope:
    """Requests within `namespace`, or across all of them when it is empty."""

    door: Door
    namespace: str = ""

    def path(self, resource: str, name: str = "", sub: str = "") -> str:
        within = ("namespaces", self.namespace) if self.namespace else ()
        return "/".join(part for part in (ROOTS[resource], *within, resource, name, sub) if part)

    def everywhere(self) -> "Scope":
        return replace(self, namespace="")

    def create(self, resource: str, doc: Doc, **query: Any) -> Answer:
        return self.door.call("POST", self.path(resource), doc, query)

    def made(self, resource: str, doc: Doc) -> Doc:
        """The object as stored, for cases that are about what follows."""
        return self.create(resource, doc).expect(201)

    def get(self, resource: str, name: str, sub: str = "", *, accept: str = JSON, **query: Any) -> Answer:
        return self.door.get(self.path(resource, name, sub), accept=accept, **query)

    def read(self, resource: str, name: str) -> Doc:
        return self.get(resource, name).expect(200)

    def listed(self, resource: str, *, accept: str = JSON, **query: Any) -> Answer:
        return self.door.get(self.path(resource), accept=accept, **query)

    def names(self, resource: str, **query: Any) -> list[str]:
        return [item["metadata"]["name"] for item in self.listed(resource, **query).expect(200)["items"]]

    def version(self, resource: str) -> str:
        """The resourceVersion of the collection now: where a watch may start."""
        version: str = self.listed(resource).expect(200)["metadata"]["resourceVersion"]
        return version

    def watch(self, resource: str, *, accept: str = JSON, **query: Any) -> Watch:
        return self.door.watch(self.path(resource), accept=accept, **query)

    def replace(self, resource: str, doc: Doc, sub: str = "") -> Answer:
        return self.door.call("PUT", self.path(resource, doc["metadata"]["name"], sub), doc)

    def merge(self, resource: str, name: str, patch: Doc, sub: str = "") -> Answer:
        return self.door.call("PATCH", self.path(resource, name, sub), patch, content=MERGE)

    def json_patch(self, resource: str, name: str, *operations: Doc, sub: str = "") -> Answer:
        return self.door.call("PATCH", self.path(resource, name, sub), operations, content=JSON_PATCH)

    def strategic(self, resource: str, name: str, patch: Doc, sub: str = "") -> Answer:
        return self.door.call("PATCH", self.path(resource, name, sub), patch, content=STRATEGIC)

    def apply(self, resource: str, doc: Doc, manager: str, sub: str = "", **query: Any) -> Answer:
        path = self.path(resource, doc["metadata"]["name"], sub)
        return self.door.call("PATCH", path, doc, {"fieldManager": manager, **query}, content=APPLY)

    def delete(self, resource: str, name: str, options: Doc | None = None, **query: Any) -> Answer:
        return self.door.call("DELETE", self.path(resource, name), options, query)

    def bind(self, pod: str, node: str, **metadata: object) -> Answer:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod, **metadata},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        return self.door.call("POST", self.path("pods", pod, "binding"), binding)

    def gone(self, resource: str, name: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Comes back once the object is no more."""
        for _ in until(f"{resource}/{name} to be gone", seconds):
            if self.get(resource, name).code == 404:
                return

    def reaches(self, resource: str, name: str, state: Callable[[Doc], bool]) -> Doc:
        """The object, once it is in the state."""
        for _ in until(f"{resource}/{name} to change"):
            if state(doc := self.read(resource, name)):
                return doc
        raise AssertionError("until never ends without leaving or raising")
