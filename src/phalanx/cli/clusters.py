"""Where objects come from: files, or a cluster that is only ever read.

One look has all objects, the moment they are of, and the namespace that people mean when they name none. From a cluster
every kind that the scheduler follows is listed once; what the role does not allow is passed over, and said.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from phalanx.cli import files, placing, screen
from phalanx.cli.errors import Exit, Failed
from phalanx.dialects import documents
from phalanx.dialects.following import times

if TYPE_CHECKING:  # the client is slow to import, and most commands speak to nobody
    from phalanx.kube.configuration import Configuration
    from phalanx.wire.access import Access

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
    """``now``: the moment of these objects. ``namespace``: whose workloads are meant; None: those of all."""

    objects: list[Document]
    now: float
    namespace: str | None = None

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
    return Look(opened(docs), max(moments, default=time.time()), shown)


def opened(docs: Sequence[Any]) -> list[Document]:
    """The objects in some documents, lists opened; what is none is said on standard error."""
    found, problems = documents.sort(docs)
    for problem in problems:
        screen.say_error(str(problem))
    return [dict(one.value) for one in found]  # type: ignore[arg-type]


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
        found = asyncio.run(_read(reach))
    except WireError as error:
        raise _failed(reach, error) from None
    return Look(found, time.time(), None if source.everywhere else source.namespace or reach.namespace)


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


async def _read(access: "Access") -> list[Document]:
    from phalanx.kube import kinds
    from phalanx.wire.client import Client
    from phalanx.wire.discovery import Discovery
    from phalanx.wire.resources import CUSTOM_RESOURCE_DEFINITIONS

    async with Client(access) as client:
        served = await Discovery(client).ask()
        wanted = [one for one in kinds.followed(served) if one != CUSTOM_RESOURCE_DEFINITIONS]
        asked = (client.list(one) for one in wanted)
        found = await asyncio.gather(*asked, return_exceptions=True)  # all are waited for: no connection is left behind
    listed: list[Document] = []
    passed_over: list[str] = []
    for resource, answer in zip(wanted, found, strict=True):
        if not isinstance(answer, BaseException):
            listed += answer.items
        elif resource in kinds.NEEDED or not _is_out_of_reach(answer):
            raise answer  # without nodes and pods nothing can be said
        else:
            passed_over.append(resource.group_resource)
    if passed_over:  # one line, and only where there is something else to say
        screen.say_warning(f"passed over, for they may not be listed or are gone: {', '.join(passed_over)}")
    return sorted(listed, key=order)


def _is_out_of_reach(answer: BaseException) -> bool:
    from phalanx.wire.errors import Refused

    return isinstance(answer, Refused) and (answer.forbidden or answer.missing)


def order(doc: Document) -> tuple[str, str, str, str]:
    """The same order whatever came first: API group and version, kind, namespace, name."""
    metadata = doc.get("metadata") or {}
    named = (doc.get("apiVersion"), doc.get("kind"), metadata.get("namespace"), metadata.get("name"))
    first, kind, namespace, name = (str(one or "") for one in named)
    return first, kind, namespace, name
