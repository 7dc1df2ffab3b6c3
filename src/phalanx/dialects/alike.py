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
