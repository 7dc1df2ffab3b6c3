"""A clerk: creates, applies and deletes objects as they are written, over one connection that is kept.

kubectl does the same in a process of its own each time, which is most of the time a short test takes.
"""

from http.client import HTTPException
from pathlib import Path
from typing import Any

from tests.contract.door import APPLY, JSON, MERGE, Answer, Door, from_kubeconfig

Object = dict[str, Any]


class Clerk:
    """``namespace``: where objects go that live in one."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self._kubeconfig, self._namespace = kubeconfig, namespace
        self._door: Door | None = None
        self._served: dict[str, dict[str, Object]] = {}  # by apiVersion and kind

    def close(self) -> None:
        if self._door is not None:
            self._door.close()
            self._door = None

    def apply(self, doc: Object) -> None:
        query = {"fieldManager": "site", "force": "true", "fieldValidation": "Strict"}
        answer = self._call("PATCH", self._path(doc, doc["metadata"]["name"]), doc, query, APPLY)
        assert answer.code in (200, 201), _complaint(doc, answer)

    def create(self, doc: Object) -> None:
        assert self.try_to_create(doc) is not None, f"{doc['kind']} {doc['metadata']['name']}: is there already"

    def try_to_create(self, doc: Object) -> Object | None:
        """The object as the server made it; None where another one still has its name."""
        answer = self._call("POST", self._path(doc), doc, {"fieldValidation": "Strict"})
        if answer.code == 409:
            return None
        assert answer.code == 201, _complaint(doc, answer)
        return dict(answer.body)

    def delete(self, doc: Object, policy: str = "Background") -> None:
        """At once, with everything it owns; one that is not there is fine."""
        query = {"gracePeriodSeconds": "0", "propagationPolicy": policy}
        answer = self._call("DELETE", self._path(doc, doc["metadata"]["name"]), None, query)
        assert answer.code in (200, 202, 404), _complaint(doc, answer)

    def patch(self, doc: Object, change: Object, content: str = MERGE, part: str = "") -> bool:
        """Whether the object took the change: it may be gone, or another one than the change names by its uid.
        ``part``: ``status``, where that is what changes."""
        path = self._path(doc, doc["metadata"]["name"]) + (f"/{part}" if part else "")
        answer = self._call("PATCH", path, change, None, content)
        is_another = answer.code == 422 and "uid" in change.get("metadata", {})
        assert answer.code in (200, 404, 409) or is_another, _complaint(doc, answer)
        return answer.code == 200

    def delete_pods(self) -> None:
        path = f"/api/v1/namespaces/{self._namespace}/pods"
        self._call("DELETE", path, None, {"gracePeriodSeconds": "0"}).expect(200)

    def listed(self, path: str, **query: str) -> list[Object]:
        return list(self._call("GET", f"/{path}", None, query).expect(200)["items"])

    def _path(self, doc: Object, name: str = "") -> str:
        version, kind = doc["apiVersion"], doc["kind"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        known = self._kinds(version, root)
        if kind not in known:
            self._served.pop(version)  # it may have come since
            known = self._kinds(version, root)
        assert kind in known, f"the server has no {kind} of {version}"
        inside = f"/namespaces/{self._namespace}" if known[kind]["namespaced"] else ""
        return f"{root}{inside}/{known[kind]['name']}" + (f"/{name}" if name else "")

    def _kinds(self, version: str, root: str) -> dict[str, Object]:
        if version not in self._served:
            found = self._call("GET", root).body.get("resources", [])
            self._served[version] = {one["kind"]: one for one in found if "/" not in one["name"]}
        return self._served[version]

    def _call(self, method: str, path: str, body: object = None, query: Any = None, content: str = JSON) -> Answer:
        """One answer; a connection that was cut meanwhile, as by a server that restarted, is made anew once."""
        for last in (False, True):
            self._door = self._door or from_kubeconfig(self._kubeconfig)
            try:
                return self._door.call(method, path, body, query, content=content)
            except (OSError, HTTPException):
                self.close()
                if last:
                    raise
        raise AssertionError("not reached")


def _complaint(doc: Object, answer: Answer) -> str:
    return f"{doc['kind']} {doc['metadata']['name']}: {answer.code} {answer.body.get('message', answer.body)}"
