"""What a server serves: which kinds, in which versions, and which version it prefers.

Asked in the aggregated form (two requests, 304 when nothing changed since); servers that do not know it answer in the
older form, which takes one request per group and version.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from phalanx.wire.client import JSON, Client, Fetched
from phalanx.wire.errors import Garbled, Refused
from phalanx.wire.resources import Resource

AGGREGATED = f"{JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,{JSON}"
ROOTS = ("/api", "/apis")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Served:
    """All resources of a server, per group the preferred version first, with the verbs each allows."""

    resources: tuple[Resource, ...] = ()
    allowed: dict[Resource, frozenset[str]] = field(default_factory=dict, repr=False)
    failed: tuple[str, ...] = ()  # groups whose own server does not answer: what they hold is not known

    def find(self, group: str, name: str, version: str = "") -> Resource | None:
        """The resource of that kind or plural, in the version asked for, else in the preferred one."""
        for resource in self.resources:
            if (
                resource.group == group
                and name in (resource.kind, resource.plural)
                and version in ("", resource.version)
            ):
                return resource
        return None

    def has(self, resource: Resource) -> bool:
        return resource in self.allowed

    def verbs(self, resource: Resource) -> frozenset[str]:
        return self.allowed.get(resource, frozenset())


class Discovery:
    """Asks a server what it serves; again is cheap."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, tuple[str, _Part]] = {}  # root -> tag of the answer, what it said

    async def ask(self) -> Served:
        return _joined([await self._root(root) for root in ROOTS])

    async def _root(self, root: str) -> "_Part":
        tag, known = self._known.get(root, ("", _Part()))
        fetched = await self._client.fetch(root, accept=AGGREGATED, etag=tag)
        if fetched is None:
            return known
        part = await self._read(root, fetched)
        self._known[root] = (fetched.etag, part)
        return part

    async def _read(self, root: str, fetched: Fetched) -> "_Part":
        title = _decode(fetched.body, _Title)
        if title.kind == "APIGroupDiscoveryList":
            return _aggregated(_decode(fetched.body, _GroupDiscoveryList))
        if title.kind == "APIVersions":
            versions = _decode(fetched.body, _CoreVersions).versions
            return await self._each([("", version) for version in versions], root)
        return await self._each(_group_versions(_decode(fetched.body, _GroupList)), root)

    async def _each(self, versions: Iterable[tuple[str, str]], root: str) -> "_Part":
        """The older form. A group whose own server is down answers 503: the rest is served all the same."""
        entries: list[Entry] = []
        failed: list[str] = []
        for group, version in versions:
            path = "/".join(filter(None, (root, group, version)))
            try:
                fetched = await self._client.fetch(path)
            except Refused:
                failed.append(f"{group}/{version}")
                continue
            if fetched is not None:
                entries += _listed(group, version, _decode(fetched.body, _ResourceList))
        return _Part(tuple(entries), tuple(failed))


# ------------------------------------------------------------------------------------------------------ shapes

Entry = tuple[Resource, frozenset[str]]


@dataclass(frozen=True, slots=True)
class _Part:
    entries: tuple[Entry, ...] = ()
    failed: tuple[str, ...] = ()


class _Title(msgspec.Struct, frozen=True):
    kind: str = ""


class _Name(msgspec.Struct, frozen=True):
    name: str = ""


class _Kind(msgspec.Struct, frozen=True):
    kind: str = ""


class _ResourceDiscovery(msgspec.Struct, frozen=True, rename="camel"):
    resource: str
    scope: str = "Namespaced"
    verbs: list[str] = []
    response_kind: _Kind | None = None


class _VersionDiscovery(msgspec.Struct, frozen=True):
    version: str
    resources: list[_ResourceDiscovery] = []
    freshness: str = "Current"


class _GroupDiscovery(msgspec.Struct, frozen=True):
    metadata: _Name = _Name()
    versions: list[_VersionDiscovery] = []


class _GroupDiscoveryList(msgspec.Struct, frozen=True):
    items: list[_GroupDiscovery] = []


class _CoreVersions(msgspec.Struct, frozen=True):
    versions: list[str] = []


class _Version(msgspec.Struct, frozen=True):
    version: str


class _Group(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    versions: list[_Version] = []
    preferred_version: _Version | None = None


class _GroupList(msgspec.Struct, frozen=True):
    groups: list[_Group] = []


class _APIResource(msgspec.Struct, frozen=True):
    name: str
    kind: str
    namespaced: bool = False
    verbs: list[str] = []


class _ResourceList(msgspec.Struct, frozen=True):
    resources: list[_APIResource] = []


def _decode(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Garbled(f"discovery: {error}") from error


def _aggregated(said: _GroupDiscoveryList) -> _Part:
    """Versions come in the server's order of preference."""
    versions = [(group.metadata.name, version) for group in said.items for version in group.versions]
    entries = [_entry(group, version.version, found) for group, version in versions for found in version.resources]
    stale = [f"{group}/{version.version}" for group, version in versions if version.freshness == "Stale"]
    return _Part(tuple(entries), tuple(stale))


def _entry(group: str, version: str, found: _ResourceDiscovery) -> Entry:
    kind = found.response_kind.kind if found.response_kind else ""
    return Resource(group, version, found.resource, kind, found.scope == "Namespaced"), frozenset(found.verbs)


def _group_versions(said: _GroupList) -> list[tuple[str, str]]:
    return [(group.name, version.version) for group in said.groups for version in _preferred_first(group)]


def _preferred_first(group: _Group) -> list[_Version]:
    return sorted(group.versions, key=lambda version: version != group.preferred_version)


def _listed(group: str, version: str, said: _ResourceList) -> list[Entry]:
    """Without sides of objects (``pods/status``)."""
    return [
        (Resource(group, version, found.name, found.kind, found.namespaced), frozenset(found.verbs))
        for found in said.resources
        if "/" not in found.name
    ]


def _joined(parts: Sequence[_Part]) -> Served:
    entries = [entry for part in parts for entry in part.entries]
    failed = tuple(name for part in parts for name in part.failed)
    return Served(tuple(resource for resource, _ in entries), dict(entries), failed)
