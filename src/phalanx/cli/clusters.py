"""Where objects come from: files, or a cluster that is only ever read.

One look has all objects, the moment they are of, and the namespace that people mean when they name none. From a cluster
every kind that the scheduler follows is listed once, and the events that a scheduler told; what the role does not allow
is passed over, and said. Who may list one namespace and no other sees that one.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from phalanx.cli import files, placing, screen
from phalanx.cli.errors import Exit, Failed
from phalanx.cli.places import Places
from phalanx.dialects import documents
from phalanx.dialects.following import times

if TYPE_CHECKING:  # the client is slow to import, and most commands speak to nobody
    from phalanx.kube.configuration import Configuration
    from phalanx.wire.access import Access
    from phalanx.wire.client import Client
    from phalanx.wire.resources import Resource

Document = dict[str, Any]
SAVED_AT = "phalanx.dev/saved-at"  # of a list of objects: when it was read from its cluster


@dataclass(frozen=True, slots=True)
class Source:
    """``files``: these and no cluster. ``namespace`` None: as the kubeconfig says. ``config``: of the scheduler."""

    files: tuple[str, ...] = ()
    kubeconfig: str = ""
    context: str = ""
    namespace: str | None = None
    everywhere: bool = False
    config: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """``now``: the moment of these objects. ``namespace``: whose workloads are meant; None: those of all. ``events``:
    what a scheduler told of them. ``unseen``: what may not be looked at, without which nothing can be decided anew.
    ``places``: where in files they are written. ``twice``: manifests of a name that one before them has."""

    objects: list[Document]
    now: float
    namespace: str | None = None
    events: Sequence[Document] = ()
    unseen: str = ""
    places: Places = field(default_factory=Places)
    twice: Sequence[Document] = ()

    def shows(self, namespace: str) -> bool:
        """Whether workloads of a namespace are meant."""
        return self.namespace in (None, namespace)


def look(source: Source) -> Look:
    """All objects of a source and when they were so. Failed when they cannot be had."""
    if not source.files:
        return _from_cluster(source)
    if source.kubeconfig or source.context:
        raise Failed("objects come from files (-f) or from a cluster (--kubeconfig, --context)", code=Exit.USAGE)
    docs = placing.in_namespace(files.load(source.files), source.namespace)
    moments = [at for at in map(saved_at, docs) if at is not None]
    shown = None if source.everywhere else source.namespace
    places = Places(docs)
    found = opened(docs, places)
    events = [one for one in found if _is_event(one)]
    objects, twice = _told_apart([one for one in found if not _is_event(one)])
    return Look(objects, max(moments, default=time.time()), shown, events, places=places, twice=twice)


def _told_apart(objects: Sequence[Document]) -> tuple[list[Document], list[Document]]:
    """The objects, and those manifests whose name one before them has: the first counts, as for ``place``."""
    kept: list[Document] = []
    twice: list[Document] = []
    seen: set[tuple[str, ...]] = set()
    for one in objects:
        key = order(one)
        is_manifest = one.get("kind") in documents.WORKLOAD_KINDS and not (one.get("metadata") or {}).get("uid")
        again = is_manifest and one.get("kind") != "Pod" and key in seen
        (twice if again else kept).append(one)
        seen |= {key} if is_manifest else set()
    return kept, twice


def _is_event(doc: Document) -> bool:
    return doc.get("kind") == "Event" and str(doc.get("apiVersion")).startswith("events.k8s.io/")


def whole(look: Look) -> Look:
    """The look, where all of the cluster may be seen; Failed where not, for what asks for it makes no sense then."""
    if look.unseen:
        raise Failed(f"not allowed: {look.unseen} may not be listed with this account")
    return look


def opened(docs: Sequence[Any], places: Places) -> list[Document]:
    """The objects in some documents, lists opened; what is none is said on standard error."""
    found, problems = documents.sort(docs)
    for problem in problems:
        screen.say_error(str(places.problem(problem)))
    return [dict(one.value) for one in found]


def saved_at(doc: Any) -> float | None:
    """When a list of objects was read from its cluster; None where it does not say."""
    at = doc
    for key in ("metadata", "annotations", SAVED_AT):
        at = at.get(key) if isinstance(at, dict) else None
    return times.seconds(at)


def configuration(file: str) -> "Configuration":
    """How the scheduler of a cluster is set up: as the file says; without one as usual."""
    from phalanx.kube.configuration import BadConfiguration, Configuration, load

    if not file:
        return Configuration()
    try:
        return load(files.text(file), file)
    except BadConfiguration as error:
        raise Failed(f"{file}: not a configuration", "\n".join(error.lines()), Exit.USAGE) from None


# -- a cluster ---------------------------------------------------------------------------------------------------


def _from_cluster(source: Source) -> Look:
    from phalanx.wire.errors import WireError

    reach = access(source.kubeconfig, source.context, ", or files with -f")
    try:
        return asyncio.run(_read(reach, None if source.everywhere else source.namespace or reach.namespace))
    except WireError as error:
        raise _failed(reach, error) from None


def access(path: str, context: str, instead: str = "") -> "Access":
    """As kubectl chooses: a kubeconfig, and inside a pod without one the pod's own account. ``instead``: what else the
    command could do."""
    from phalanx.wire import incluster, kubeconfig
    from phalanx.wire.access import BadConfig

    try:
        return kubeconfig.load(path, context=context)
    except BadConfig as error:
        if not path and not context and incluster.present():
            return incluster.load()
        raise Failed(str(error), f"Name a cluster with --kubeconfig and --context{instead}.") from None


def _failed(access: "Access", error: Exception) -> Failed:
    from phalanx.wire.errors import Refused, Unanswered, Unreachable

    if isinstance(error, Refused) and error.unauthorized:
        return Failed(f"{access.server} does not know who asks: {error.message}", f"Credentials: {access.source}")
    if isinstance(error, Refused) and error.forbidden:
        return Failed(f"not allowed: {error.message}", f"Credentials: {access.source}")
    if isinstance(error, (Unreachable, Unanswered)):
        return Failed(f"cannot reach {access.server}: {error}", f"Told to go there by {access.source}")
    return Failed(f"{access.server}: {error}")


async def _read(access: "Access", namespace: str | None) -> Look:
    """``namespace`` None: of all. Where not all may be listed, that one alone is looked at."""
    from phalanx.kube import kinds
    from phalanx.wire.client import Client
    from phalanx.wire.discovery import Discovery
    from phalanx.wire.resources import CUSTOM_RESOURCE_DEFINITIONS, EVENTS, PODS

    async with Client(access) as client:
        served = await Discovery(client).ask()
        wanted = [one for one in kinds.followed(served) if one != CUSTOM_RESOURCE_DEFINITIONS] + [EVENTS]
        asked = (_listed(client, one, namespace) for one in wanted)
        found = await asyncio.gather(*asked, return_exceptions=True)  # all are waited for: no connection is left behind
    listed: dict[Resource, Listed] = {}
    for resource, answer in zip(wanted, found, strict=True):
        if isinstance(answer, BaseException):
            raise answer
        listed[resource] = answer
    passed_over = [one.group_resource for one, answer in listed.items() if answer.objects is None]
    if listed[PODS].objects is None:  # without pods nothing can be said
        raise listed[PODS].refused or Failed("pods may not be listed")
    if passed_over:  # one line, and only where there is something else to say
        screen.say_warning(f"passed over, for they may not be listed or are gone: {', '.join(passed_over)}")
    unseen = _unseen(listed)
    events = listed.pop(EVENTS).objects or []
    objects = [one for answer in listed.values() for one in answer.objects or ()]
    return Look(sorted(objects, key=order), time.time(), namespace, events, unseen)


@dataclass(frozen=True, slots=True)
class Listed:
    """``objects`` None: none may be seen. ``refused``: why not all of them may."""

    objects: Sequence[Document] | None
    refused: Exception | None = None


async def _listed(client: "Client", resource: "Resource", namespace: str | None) -> Listed:
    """All objects of a kind; those of a namespace, where no others may be seen."""
    from phalanx.kube.notices import CONTROLLER
    from phalanx.wire.errors import WireError
    from phalanx.wire.resources import EVENTS

    by_us = f"reportingController={CONTROLLER}" if resource == EVENTS else ""
    try:
        return Listed((await client.list(resource, field_selector=by_us)).items)
    except WireError as error:
        if not _is_out_of_reach(error):
            raise
        refused = error
    if not resource.namespaced or namespace is None:
        return Listed(None, refused)
    try:
        return Listed((await client.list(resource, namespace, field_selector=by_us)).items, refused)
    except WireError as error:
        if not _is_out_of_reach(error):
            raise
        return Listed(None, refused)


def _unseen(listed: "Mapping[Resource, Listed]") -> str:
    """What may not be looked at of all that must be known to decide anything: nodes, everybody's pods, our own kinds
    that are for all. Empty: everything may."""
    from phalanx.kube import kinds

    needed = [one for one in listed if one in kinds.NEEDED or (one.group == "phalanx.dev" and not one.namespaced)]
    found = [one.group_resource for one in needed if listed[one].objects is None]
    others = [
        f"{one.plural} of other namespaces" for one in needed if listed[one].objects is not None and listed[one].refused
    ]
    return ", ".join([*found, *others])


def _is_out_of_reach(answer: BaseException) -> bool:
    from phalanx.wire.errors import Refused

    return isinstance(answer, Refused) and (answer.forbidden or answer.missing)


def order(doc: Document) -> tuple[str, str, str, str]:
    """The same order whatever came first: API group and version, kind, namespace, name."""
    metadata = doc.get("metadata") or {}
    named = (doc.get("apiVersion"), doc.get("kind"), metadata.get("namespace"), metadata.get("name"))
    first, kind, namespace, name = (str(one or "") for one in named)
    return first, kind, namespace, name
