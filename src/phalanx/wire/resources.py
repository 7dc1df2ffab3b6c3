"""Where a kind lives on an API server: group, version, plural, and the paths made of them."""

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind in one version as a server serves it."""

    group: str  # empty: the core group
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> str:
        """``jobs.batch``, as permissions and messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def root(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def collection(self, namespace: str = "") -> str:
        """Path of all objects, in one namespace or (empty) everywhere."""
        if namespace and self.namespaced:
            return f"{self.root}/namespaces/{quote(namespace, safe='')}/{self.plural}"
        return f"{self.root}/{self.plural}"

    def path(self, name: str, namespace: str = "", subresource: str = "") -> str:
        """Path of one object, or of one side of it (``status``, ``binding``)."""
        self._check(name, namespace)
        path = f"{self.collection(namespace)}/{quote(name, safe='')}"
        return f"{path}/{subresource}" if subresource else path

    def _check(self, name: str, namespace: str) -> None:
        if not name:
            raise ValueError(f"a {self.kind} without a name has no path")
        if self.namespaced and not namespace:
            raise ValueError(f"{self.kind} {name!r}: namespace is empty; a {self.kind} lives in a namespace")


PODS = Resource("", "v1", "pods", "Pod")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
JOBS = Resource("batch", "v1", "jobs", "Job")
CUSTOM_RESOURCE_DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
