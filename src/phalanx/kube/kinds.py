"""Which kinds of object the scheduler follows: those it cannot do without, and those it reads where they are served."""

from dataclasses import replace

from phalanx.dialects import kindtable
from phalanx.dialects.kindtable import Followed
from phalanx.wire.discovery import Served
from phalanx.wire.resources import CUSTOM_RESOURCE_DEFINITIONS, NODES, PODS, Resource

NEEDED = (NODES, PODS)
POD = ("", "Pod")

FOLLOWED = tuple(row.key for row in kindtable.FOLLOWED if row.followed is not Followed.NEEDED)
RESTRICTING = {  # with the names that definitions have for them: queues.phalanx.dev
    row.key: f"{row.plural}.{row.group}" if row.group else row.plural
    for row in kindtable.FOLLOWED
    if row.followed is Followed.RESTRICTS
}
_VERSIONS = {(row.group, row.kind): row.versions for row in kindtable.FOLLOWED}


def followed(served: Served) -> list[Resource]:
    """The resources to follow on a server that serves these, the needed ones first."""
    readable = readable_first(served)
    found = [readable.find(group, kind) for group, kind in FOLLOWED]
    return [*NEEDED, CUSTOM_RESOURCE_DEFINITIONS, *(one for one in found if one is not None)]


def restricts(resource: Resource) -> bool:
    """Whether more would be started, or otherwise, than is right, if objects of that kind were not seen. Definitions
    tell of such kinds."""
    always = (*NEEDED, CUSTOM_RESOURCE_DEFINITIONS)
    return resource in always or (resource.group, resource.kind) in RESTRICTING


def readable_first(served: Served) -> Served:
    """The same, so that a kind is found in a version that we read wherever one is served: a server may come to prefer a
    newer one. In a version that nobody reads it is told on every object."""
    return replace(served, resources=tuple(sorted(served.resources, key=_is_unreadable)))


def _is_unreadable(resource: Resource) -> bool:
    versions = _VERSIONS.get((resource.group, resource.kind))
    return versions is not None and resource.version not in versions
