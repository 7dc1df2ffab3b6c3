"""What comes over the wire, trimmed: only what is used is kept, and nothing keeps a whole answer alive.

msgspec hands out ``Raw`` views into the buffer they were read from. A view that is stored would pin a page of 500 pods,
so everything kept is copied out. No value here can be part of a cycle: the garbage collector need not look (gc=False).
"""
# ruff: noqa: N815 - the names are those of the wire

from collections.abc import Iterable
from typing import Any, Protocol

import msgspec

from phalanx.wire.depth import shallow
from phalanx.wire.resources import Resource

Document = dict[str, Any]
Key = tuple[str, str]  # namespace ("" for kinds without), name
Bytes = bytes | msgspec.Raw
Amounts = dict[str, str | int | float]


class OwnerReference(msgspec.Struct, frozen=True, gc=False):
    apiVersion: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class Meta(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Object metadata without managedFields, finalizers and selfLink."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""
    generation: int = 0
    creationTimestamp: str | None = None  # null in templates and in some bookmarks
    deletionTimestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    ownerReferences: tuple[OwnerReference, ...] = ()

    @property
    def key(self) -> Key:
        return (self.namespace, self.name)

    @property
    def version(self) -> int:
        """The resourceVersion as a number: larger is later. -1 if it has none."""
        return as_number(self.resourceVersion)


class HasMeta(Protocol):
    """Whatever a mirror holds."""

    @property
    def metadata(self) -> Meta: ...


def as_number(resource_version: str) -> int:
    return int(resource_version) if resource_version.isdigit() else -1


# ---------------------------------------------------------------------------------------------- envelopes


class WatchEvent(msgspec.Struct, frozen=True):
    """One line of a watch. What ``object`` is depends on ``type``: with BOOKMARK and ERROR it is none of the kind."""

    type: str
    object: msgspec.Raw


class _ListMeta(msgspec.Struct, frozen=True):
    resourceVersion: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct, frozen=True):
    metadata: _ListMeta = _ListMeta()
    items: tuple[msgspec.Raw, ...] | None = None


class Page(msgspec.Struct, frozen=True):
    """A part of a list. ``next`` asks for the part after it; empty: this was the last."""

    items: tuple[msgspec.Raw, ...]
    resource_version: str
    next: str


class _Bare(msgspec.Struct, frozen=True):
    """Who an object is, when the rest of its metadata is not as it should be."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""


class _OnlyBare(msgspec.Struct, frozen=True):
    metadata: _Bare


class OnlyMeta(msgspec.Struct, frozen=True):
    """Who an object is, when the rest of it cannot be read or does not matter."""

    metadata: Meta = Meta()


_READ_EVENT = msgspec.json.Decoder(WatchEvent)
_READ_LIST = msgspec.json.Decoder(_List)
_READ_META = msgspec.json.Decoder(OnlyMeta)
_READ_BARE = msgspec.json.Decoder(_OnlyBare)


def decode_event(line: Bytes) -> WatchEvent:
    return _READ_EVENT.decode(line)


def decode_page(body: Bytes) -> Page:
    read = _READ_LIST.decode(body)
    return Page(read.items or (), read.metadata.resourceVersion, read.metadata.continue_)


def decode_meta(raw: Bytes) -> Meta:
    return _READ_META.decode(raw).metadata


def decode_bare(raw: Bytes) -> Meta:
    """Who an object is, whatever stands in it besides."""
    found = _READ_BARE.decode(shallow(raw)).metadata
    return Meta(found.name, found.namespace, found.uid, found.resourceVersion)


# ---------------------------------------------------------------------------------------------- whole objects

FieldPath = tuple[str, str]

_NOISE: tuple[FieldPath, ...] = (("metadata", "managedFields"),)
# A node lists up to 50 images with all their names, several times the size of everything else about it.
_NODE_NOISE: tuple[FieldPath, ...] = (*_NOISE, ("status", "images"))

_READ_PARTS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_READ_DOCUMENT = msgspec.json.Decoder(dict[str, Any])


def plain(raw: Bytes, resource: Resource) -> Document:
    """The object as a dict. Items of lists come without apiVersion and kind: here they have them."""
    return titled(untracked(_READ_DOCUMENT.decode(raw)), resource)


def titled(document: Document, resource: Resource) -> Document:
    document.setdefault("apiVersion", resource.api_version)
    document.setdefault("kind", resource.kind)
    return document


def untracked(document: Document) -> Document:
    """Without the record of who owns which field: it is larger than the rest, and only the server uses it."""
    document.get("metadata", {}).pop("managedFields", None)
    return document


class Whole(msgspec.Struct, frozen=True, gc=False):
    """An object of any kind: its metadata to hand, the rest packed until someone asks."""

    metadata: Meta
    body: bytes

    def document(self) -> Document:
        """All of it as a dict of its own, without managedFields."""
        return _READ_DOCUMENT.decode(self.body)


def decode_whole(raw: Bytes, resource: Resource) -> Whole:
    return _whole(raw, resource, _NOISE)


def decode_node(raw: Bytes, resource: Resource) -> Whole:
    return _whole(raw, resource, _NODE_NOISE)


def _whole(raw: Bytes, resource: Resource, noise: Iterable[FieldPath]) -> Whole:
    parts = _READ_PARTS.decode(raw)
    for outer, inner in noise:
        if outer in parts:
            parts[outer] = _without(parts[outer], inner)
    title = {"apiVersion": resource.api_version, "kind": resource.kind}
    return Whole(decode_meta(raw), msgspec.json.encode(title | parts))


def _without(part: msgspec.Raw, name: str) -> msgspec.Raw:
    fields = _READ_PARTS.decode(part)
    if fields.pop(name, None) is None:
        return part
    return msgspec.Raw(msgspec.json.encode(fields))


# ---------------------------------------------------------------------------------------------------- pods


class Condition(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class _Gate(msgspec.Struct, frozen=True, gc=False):
    name: str = ""


class _SpecHead(msgspec.Struct, frozen=True, gc=False):
    nodeName: str = ""
    schedulerName: str = ""
    schedulingGates: tuple[_Gate, ...] = ()


class _Granted(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    requests: Amounts | None = None


class _ContainerStatus(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Of a container: what it has on its node, and what it was promised there."""

    name: str = ""
    resources: _Granted | None = None
    allocatedResources: Amounts | None = None


class _Room(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What of a pod's status says which room it takes, and where."""

    nominatedNodeName: str = ""
    containerStatuses: tuple[_ContainerStatus, ...] | None = None
    initContainerStatuses: tuple[_ContainerStatus, ...] | None = None
    resources: _Granted | None = None
    allocatedResources: Amounts | None = None


class _PodStatus(_Room, frozen=True, gc=False, omit_defaults=True):
    phase: str = ""
    conditions: tuple[Condition, ...] | None = None


class _PodRead(msgspec.Struct, frozen=True, gc=False):
    metadata: Meta
    spec: msgspec.Raw
    status: _PodStatus = _PodStatus()


class WirePod(msgspec.Struct, frozen=True, gc=False):
    """A pod: what changes in its life to hand, its spec packed until someone asks."""

    metadata: Meta
    nodeName: str
    schedulerName: str
    schedulingGates: tuple[str, ...]
    phase: str
    conditions: tuple[Condition, ...]
    spec: bytes
    room: bytes = b""  # what its status says of the room it takes; empty: nothing

    def document(self) -> Document:
        """The pod as a dict of its own: metadata and status trimmed, spec whole."""
        parts = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": self.metadata,
            "spec": msgspec.Raw(self.spec),
            "status": {"phase": self.phase, "conditions": self.conditions, **self._room()},
        }
        return _READ_DOCUMENT.decode(msgspec.json.encode(parts))

    def _room(self) -> dict[str, msgspec.Raw]:
        return _READ_PARTS.decode(self.room) if self.room else {}


_READ_POD = msgspec.json.Decoder(_PodRead)
_READ_SPEC_HEAD = msgspec.json.Decoder(_SpecHead)


def decode_pod(raw: Bytes, resource: Resource) -> WirePod:
    read = _READ_POD.decode(raw)
    head = _READ_SPEC_HEAD.decode(read.spec)
    return WirePod(
        read.metadata,
        head.nodeName,
        head.schedulerName,
        tuple(gate.name for gate in head.schedulingGates),
        read.status.phase,
        read.status.conditions or (),
        bytes(read.spec),
        _packed_room(read.status),
    )


_NO_ROOM = b"{}"


def _packed_room(status: _PodStatus) -> bytes:
    found = msgspec.json.encode(msgspec.structs.replace(status, phase="", conditions=None))
    return b"" if found == _NO_ROOM else found
