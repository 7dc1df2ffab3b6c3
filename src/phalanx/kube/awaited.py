"""Which kinds that restrict what may start are not seen yet, and why they have to be waited for."""

from collections.abc import Mapping
from typing import Any, Protocol

from phalanx.kube import kinds
from phalanx.wire.discovery import Served
from phalanx.wire.resources import Resource


class Definition(Protocol):
    """A definition of a kind, as its mirror holds it."""

    def document(self) -> Mapping[str, Any]: ...


def kinds_awaited(late: Mapping[Resource, str], served: Served, defined: Mapping[str, Definition]) -> dict[str, str]:
    """Kinds that are served, or may be as far as is known, and of which not all objects are in: why.

    ``late``: those that are served and not in, with what went wrong; "" where nothing did. ``defined``: by name, as
    ``queues.phalanx.dev``.
    """
    coming = {
        one.group_resource: f"have not come in yet{f' ({why})' if why else ''}"
        for one, why in late.items()
        if kinds.restricts(one)
    }
    missing = {name: one for name, one in defined.items() if name in kinds.RESTRICTING.values()}
    for resource in served.resources:
        missing.pop(resource.group_resource, None)
    later = [name for name, one in missing.items() if _will_be_served(one.document())]
    return coming | _silent(served) | dict.fromkeys(later, "are defined, and not served yet")


def _will_be_served(definition: Mapping[str, Any]) -> bool:
    """Whether a kind that is defined is going to be served."""
    spec, status, metadata = (definition.get(key) or {} for key in ("spec", "status", "metadata"))
    accepted = {one.get("type"): one.get("status") for one in status.get("conditions") or ()}
    if "deletionTimestamp" in metadata or accepted.get("NamesAccepted") == "False":
        return False
    return any(one.get("served") for one in spec.get("versions") or ())


def _silent(served: Served) -> dict[str, str]:
    """Kinds of API groups that did not answer what they serve."""
    groups = {name.partition("/")[0] for name in served.failed}
    lost = [name for kind, name in kinds.RESTRICTING.items() if kind[0] in groups and not served.find(*kind)]
    return dict.fromkeys(lost, "are not known to be served, as their API group does not answer")
