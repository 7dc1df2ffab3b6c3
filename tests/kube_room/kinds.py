"""What the tests of the kube room share: gangs that wait or run, their objects, a clock, a server in memory."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from phalanx.dialects.following import Subject
from phalanx.engine import views
from phalanx.engine.views import View
from phalanx.model.effects import Report
from phalanx.model.objects import ObjectKey
from phalanx.model.pods import PodKey
from phalanx.wire.client import Patch
from phalanx.wire.discovery import Served
from phalanx.wire.errors import Refused, WireError
from phalanx.wire.resources import JOBS, PODS, Resource
from tests.engine.stage import Stage

Doc = dict[str, Any]
GANGS = Resource("phalanx.dev", "v1alpha1", "gangs", "Gang")
TOPOLOGIES = Resource("phalanx.dev", "v1alpha1", "topologies", "Topology", namespaced=False)
POD_GROUPS = Resource("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup")
COMPOSITES = Resource("scheduling.k8s.io", "v1alpha3", "compositepodgroups", "CompositePodGroup")
SERVED = Served((GANGS, TOPOLOGIES, POD_GROUPS, COMPOSITES, JOBS, PODS))


def subject(resource: Resource, name: str, uid: str = "u1", generation: int = 1, namespace: str = "default") -> Subject:
    home = namespace if resource.namespaced else ""
    return Subject(ObjectKey(resource.group, resource.kind, home, name), resource.api_version, uid, generation)


def view_of(stage: Stage, name: str = "g") -> View:
    """The gang as it may be seen now."""
    return views.of_all(stage.engine.book, [f"default/{name}"])[f"default/{name}"]


def report_of(stage: Stage, name: str = "g") -> Report:
    """The last thing that was reported of the gang."""
    return [one for one in stage.effects if isinstance(one, Report) and one.gang == f"default/{name}"][-1]


def condition(status: Doc, kind: str) -> Doc:
    return next(one for one in status["conditions"] if one["type"] == kind)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Server:
    """Objects in memory. ``asked``: every request as (verb, kind, name). ``fail``: what the next write answers."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], Doc] = {}
        self.events: list[Doc] = []
        self.asked: list[tuple[str, str, str]] = []
        self.fail: list[WireError] = []
        self.together = self.most_together = 0
        self._version = 0

    def put(self, resource: Resource, name: str, uid: str = "u1", **more: Any) -> Doc:
        self._version += 1
        namespace = "default" if resource.namespaced else ""
        metadata = {"name": name, "namespace": namespace, "uid": uid, "generation": 1}
        made = {"kind": resource.kind, "metadata": {**metadata, "resourceVersion": str(self._version)}, **more}
        self.objects[resource.kind, namespace, name] = made
        return made

    def status(self, kind: str, name: str) -> Doc:
        found = next(one for key, one in self.objects.items() if (key[0], key[2]) == (kind, name))
        return found.get("status") or {}

    def writes(self, kind: str) -> int:
        return sum(verb != "get" and what == kind for verb, what, _ in self.asked)

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Doc:
        self.asked.append(("get", resource.kind, name))
        return dict(self._find(resource, name, namespace))

    async def create(self, resource: Resource, document: Doc, namespace: str = "") -> Doc:
        await self._begin("create", resource, document["metadata"]["name"])
        if any(one["metadata"]["name"] == document["metadata"]["name"] for one in self.events):
            raise Refused(409, "AlreadyExists")
        self.events.append(document)
        return document

    async def patch(self, resource: Resource, name: str, change: Doc, namespace: str = "") -> Doc:
        await self._begin("patch", resource, name)
        found = next(one for one in self.events if one["metadata"]["name"] == name)
        found.update(change)
        return found

    async def patch_status(
        self, resource: Resource, name: str, change: Doc, namespace: str = "", *, kind: Patch = Patch.MERGE
    ) -> Doc:
        await self._begin("status", resource, name)
        found = self._find(resource, name, namespace)
        if (
            change["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"]
        ):  # and nothing else is looked at
            raise Refused(409, "Conflict", "the object has been modified")
        found["status"] = _merged(found.get("status") or {}, change["status"], kind)
        self._version += 1
        found["metadata"]["resourceVersion"] = str(self._version)
        return found

    def _find(self, resource: Resource, name: str, namespace: str) -> Doc:
        found = self.objects.get((resource.kind, namespace, name))
        if found is None:
            raise Refused(404, "NotFound", name)
        return found

    async def _begin(self, verb: str, resource: Resource, name: str) -> None:
        self.asked.append((verb, resource.kind, name))
        self.together += 1
        self.most_together = max(self.together, self.most_together)
        await asyncio.sleep(0)
        self.together -= 1
        if self.fail:
            raise self.fail.pop(0)


def _merged(before: Doc, change: Doc, kind: Patch) -> Doc:
    after = {key: value for key, value in {**before, **change}.items() if value is not None}
    if kind is Patch.STRATEGIC:
        new = {one["type"]: one for one in change["conditions"]}
        kept = [one for one in before.get("conditions", ()) if one["type"] not in new]
        after["conditions"] = [*kept, *new.values()]
    return after


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def pod_key(name: str, uid: str = "") -> PodKey:
    return PodKey("default", name, uid or f"{name}.0")
