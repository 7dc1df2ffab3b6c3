"""Holding an owner back and letting it go: suspend, resume, our note of it, and our gate in the templates of its pods.

A Job's template may only change while it is suspended (K-061), so the gate goes in first and the owner is let go
after it; both are separate writes, and each is safe to repeat.
"""

from collections.abc import Mapping
from typing import Any

from phalanx.dialects.fields import Field
from phalanx.dialects.following import ours
from phalanx.dialects.following.ties import is_template

Document = Mapping[str, Any]
Change = dict[str, Any]


SUSPEND = ("spec", "suspend")  # where most kinds say it


def is_held(owner: Document, path: tuple[str, ...] = SUSPEND) -> bool:
    return Field.of(owner).at(*path).value is True


def gated(owner: Document) -> Change | None:
    """The merge patch that puts our gate into every pod template; None when it is there."""
    return _changed(owner, _with_gate)


def ungated(owner: Document) -> Change | None:
    """The merge patch that takes it out again (K-068); None when it is not there."""
    return _changed(owner, _without_gate)


def suspended(owner: Document, yes: bool, why: str = "", path: tuple[str, ...] = SUSPEND) -> Change | None:
    """The merge patch that suspends or resumes; None when it is so already.

    ``why``: the note by which we know, also after a restart, that it was us. What its user suspended gets none. With
    the suspension the note goes as well.
    """
    if is_held(owner, path) == yes:
        return None
    return {"metadata": {**_as_read(owner), **_noted(owner, why if yes else "")}, **_nested(path, yes)}


def let_go(owner: Document, path: tuple[str, ...] = SUSPEND) -> Change | None:
    """The merge patch that resumes what we suspended; only the note goes where somebody else resumed it. None for what
    carries no note of ours."""
    if not ours.is_suspended_by_us(Field.of(owner)):
        return None
    return suspended(owner, False, path=path) or {"metadata": {**_as_read(owner), **_noted(owner, "")}}


def _noted(owner: Document, why: str) -> Change:
    if not why and not ours.is_suspended_by_us(Field.of(owner)):
        return {}
    return {"annotations": {ours.SUSPENDED: why or None}}


def _nested(path: tuple[str, ...], value: object) -> Change:
    """The value at the end of a path."""
    for name in reversed(path):
        value = {name: value}
    return value if isinstance(value, dict) else {}


def _changed(owner: Document, change: Any) -> Change | None:
    spec = {key: _walked(value, change) for key, value in owner["spec"].items()}
    different = {key: value for key, value in spec.items() if value != owner["spec"][key]}
    if not different:
        return None
    return {"metadata": _as_read(owner), "spec": different}


def _as_read(owner: Document) -> Change:
    """What makes the server refuse a change to anything but the very object that was read."""
    return {"resourceVersion": owner["metadata"]["resourceVersion"]}


def _walked(value: Any, change: Any) -> Any:
    if is_template(value):
        return {**value, "spec": change(value["spec"])}
    if isinstance(value, dict):
        return {key: _walked(one, change) for key, one in value.items()}
    if isinstance(value, list):
        return [_walked(one, change) for one in value]
    return value


def _with_gate(spec: Change) -> Change:
    gates = spec.get("schedulingGates") or []
    if any(gate.get("name") == ours.GATE for gate in gates):
        return spec
    return {**spec, "schedulingGates": [*gates, {"name": ours.GATE}]}


def _without_gate(spec: Change) -> Change:
    gates = spec.get("schedulingGates") or []
    left = [gate for gate in gates if gate.get("name") != ours.GATE]
    if len(left) == len(gates):
        return spec
    return {**spec, "schedulingGates": left or None}
