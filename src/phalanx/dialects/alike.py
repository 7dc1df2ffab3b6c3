"""Pods that are read alike: the pods of one gang differ in names and mounted tokens, and in nothing that is read.

``fingerprint`` is equal for two pod specs only if reading them gives the same. What was read once without a remark
need not be read again: of ten thousand pods a cluster has a few dozen kinds.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import msgspec

from phalanx.dialects.fields import Field, Notes

Value = TypeVar("Value")

KEPT_MAX = 4096
CONTAINERS_MAX = 64  # of a spec that is looked at: with more it is read, and reading is bounded
_WHOLE = (
    "affinity", "hostNetwork", "nodeName", "nodeSelector", "overhead", "resourceClaims", "resources",
    "runtimeClassName", "schedulingGates", "tolerations", "topologySpreadConstraints",
)  # fmt: skip
_OF_CONTAINERS = ("resources", "ports", "restartPolicy")
_GRANTING = ("containerStatuses", "initContainerStatuses", "resources", "allocatedResources")  # of a status
_LOOKED_UP = ("persistentVolumeClaim", "ephemeral")  # volumes whose claims are looked up: they may change


def fingerprint(spec: object, namespace: str) -> Hashable | None:
    """What tells two pod specs apart for a reader; None where only reading can tell."""
    value = _own(spec)
    if not isinstance(value, dict):
        return None
    try:
        whole = [value.get(part) for part in _WHOLE]
        containers = [_containers(value.get(part)) for part in ("containers", "initContainers")]
        volumes = _volumes(value.get("volumes"))
        return msgspec.json.encode([namespace, sorted(value), whole, containers, volumes], enc_hook=_borrowed)
    except (TypeError, ValueError, RecursionError, _Asked):
        return None


def on_its_node(spec: object, status: object, namespace: str) -> Hashable | None:
    """``fingerprint`` of a pod that has a node: with what the kubelet says that its containers have."""
    key = fingerprint(spec, namespace)
    if key is None or not isinstance(status, dict) or not any(status.get(part) for part in _GRANTING):
        return key
    said = [_parts(one, ("name", "resources", "allocatedResources")) for one in _listed(status, _GRANTING[:2])]
    pending = [one for one in _listed(status, ("conditions",)) if one.get("type") == "PodResizePending"]
    reasons = [one.get("reason") for one in pending]
    names = [one.get("name") for one in _listed(spec, ("containers", "initContainers"))]
    try:
        return key, msgspec.json.encode([names, said, reasons, _parts(status, _GRANTING[2:])])
    except (TypeError, ValueError, RecursionError):
        return None


def _listed(value: object, parts: tuple[str, ...]) -> list[dict[object, object]]:
    listed = [value.get(part) for part in parts] if isinstance(value, dict) else []
    return [one for each in listed if isinstance(each, list) for one in each if isinstance(one, dict)]


def _parts(value: dict[object, object], names: tuple[str, ...]) -> list[object]:
    return [value.get(name) for name in names]


class _Asked(Exception):
    """Only reading can tell: a volume has to be looked up, or there are too many containers."""


def _own(value: object) -> object:
    """A value itself, where a made document borrows a field of another one."""
    return value.value if isinstance(value, Field) else value


def _containers(value: object) -> object:
    listed = _own(value)
    if not isinstance(listed, list):
        return listed
    if len(listed) > CONTAINERS_MAX:
        raise _Asked
    return [_container(_own(one)) for one in listed]


def _container(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return [sorted(value), [value.get(part) for part in _OF_CONTAINERS]]


def _volumes(value: object) -> object:
    """That they are as they should be, and that none of them needs looking up."""
    listed = _own(value)
    for one in listed if isinstance(listed, list) else ():
        if not isinstance(one, dict) or any(part in one for part in _LOOKED_UP):
            raise _Asked
    return isinstance(listed, list)


def _borrowed(value: object) -> object:
    if isinstance(value, Field):
        return value.value
    raise TypeError


class Readings(Generic[Value]):
    """What was read without a remark, by fingerprint."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Value] = {}

    def get(self, key: Hashable | None, notes: Notes, read: Callable[[], Value]) -> Value:
        """The reading of that fingerprint; read now where it is not known or has no fingerprint."""
        if key is not None and key in self._known:
            return self._known[key]
        before = len(notes.problems) + len(notes.warnings)
        found = read()
        if key is not None and len(notes.problems) + len(notes.warnings) == before:
            if len(self._known) >= KEPT_MAX:
                self._known.clear()
            self._known[key] = found
        return found
