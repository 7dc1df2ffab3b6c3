"""Requests to one API server. The only module that knows which HTTP library it is.

Nothing is repeated behind the caller's back, with two exceptions in which the server did nothing for certain: 429 with
a time to wait (a few times), and 401 (once, with the credential asked anew). What timed out after it was sent raises
Unanswered.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import urlencode

import aiohttp
import msgspec
from yarl import URL

from phalanx.model.mistakes import Mistake
from phalanx.wire.access import Access
from phalanx.wire.depth import shallow
from phalanx.wire.errors import Garbled, Refused, Silent, Unanswered, Unreachable, WireError, refusal
from phalanx.wire.lines import Lines
from phalanx.wire.resources import PODS, Resource
from phalanx.wire.shapes import Document, Page, WatchEvent, decode_event, decode_page, plain, titled, untracked

JSON = "application/json"
TABLE = f"{JSON};as=Table;v=v1;g=meta.k8s.io,{JSON}"
APPLY = "application/apply-patch+yaml"  # every JSON text is YAML too

READ_BUFFER_BYTES = (
    1 << 20
)  # of a stream: a sync of 50,000 pods is 200 MB, in chunks of 64 KiB the loop turns 3,000 times
LIST_ATTEMPTS = 3  # a list whose pages expire that often is longer than the server's memory


class Patch(Enum):
    """How a change is written. Server-side apply is a method of its own."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Nothing waits for ever. A request's time starts when it has a connection's turn, not while it queues for one."""

    connect_seconds: float = 10.0
    request_seconds: float = 30.0
    page_seconds: float = 60.0
    busy_attempts: int = 4  # how often a request is sent in all when the server says 429 and when to come again
    busy_seconds: float = 5.0  # the longest such wait


@dataclass(frozen=True, slots=True)
class Listing:
    """All objects at one moment."""

    items: tuple[Document, ...]
    resource_version: str


@dataclass(frozen=True, slots=True)
class Fetched:
    body: bytes
    content_type: str
    etag: str


T = TypeVar("T")
Pause = Callable[[float], Awaitable[None]]
Query = Mapping[str, str]
Body = Mapping[str, Any] | Sequence[Any]
Pairs = Sequence[tuple[str, str]]


class Client:
    """One API server. Use it as an async context manager, in one event loop.

    ``connections``: requests under way at once; further ones wait their turn. Watches do not count.
    """

    def __init__(
        self,
        access: Access,
        *,
        connections: int = 32,
        timeouts: Timeouts = Timeouts(),
        user_agent: str = "phalanx",
        pause: Pause = asyncio.sleep,
    ) -> None:
        self.access = access
        self._timeouts = timeouts
        self._turns = asyncio.Semaphore(connections)
        self._user_agent = user_agent
        self._pause = pause
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self.access.tls or True),
            cookie_jar=aiohttp.DummyCookieJar(),
            # Compressing a list costs the server more than a cluster's network does.
            headers={"User-Agent": self._user_agent, "Accept-Encoding": "identity"},
            read_bufsize=READ_BUFFER_BYTES,
            auto_decompress=False,
        )
        # Else it sends PUT and DELETE again when a kept connection turns out closed, and tells the second answer.
        self._session._retry_connection = False
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    # ------------------------------------------------------------------------------------------------ reading

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Document:
        return _document(await self._send("GET", resource.path(name, namespace)), resource)

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = 500,
    ) -> Listing:
        """All of them, in pages of one moment. Pages that expire half way are asked again from the start."""
        for attempt in range(1, LIST_ATTEMPTS + 1):
            pages = self.pages(
                resource, namespace, label_selector=label_selector, field_selector=field_selector, page_size=page_size
            )
            try:
                return await _listing(pages, resource)
            except Refused as refused:
                if not refused.expired or attempt == LIST_ATTEMPTS:
                    raise
        raise Mistake("unreachable")

    async def pages(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = 500,
    ) -> AsyncGenerator[Page, None]:
        """The raw parts of a list. Raises Refused with ``expired`` if the server forgets the list half way."""
        query = _selectors(label_selector, field_selector) | {"limit": str(page_size)}
        token = ""
        while True:
            asked = query | ({"continue": token} if token else {})
            body = await self._send("GET", resource.collection(namespace), asked, seconds=self._timeouts.page_seconds)
            page = _page(body, resource)
            yield page
            token = page.next
            if not token:
                return

    async def table(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        name: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> Document:
        """Columns and rows as the server prints them."""
        path = resource.path(name, namespace) if name else resource.collection(namespace)
        body = await self._send("GET", path, _selectors(label_selector, field_selector), accept=TABLE)
        return _any_document(body)

    async def get_raw(self, path: str, *, accept: str = JSON) -> str:
        """Any path as text: ``/version``, ``/readyz``, ``/openapi/v3``."""
        return (await self._send("GET", path, accept=accept)).decode(errors="replace")

    async def fetch(self, path: str, *, accept: str = JSON, etag: str = "") -> Fetched | None:
        """Any path with its type and tag, or None if it still is what ``etag`` stands for."""
        answer = await self._answer("GET", path, accept=accept, etag=etag)
        return None if answer.status == 304 else Fetched(answer.body, answer.content_type, answer.etag)

    # ------------------------------------------------------------------------------------------------ writing

    async def create(
        self,
        resource: Resource,
        document: Document,
        namespace: str = "",
        *,
        name: str = "",
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
        seconds: float | None = None,
    ) -> Document:
        """Post an object; with a subresource, to that side of the object called ``name``.

        ``seconds``: how long this request may take, if not as long as any other.
        """
        namespace = namespace or _namespace(document)
        if resource.namespaced and not namespace:
            raise ValueError(f"{resource.kind}: metadata.namespace is empty; a {resource.kind} lives in a namespace")
        path = resource.path(name, namespace, subresource) if subresource else resource.collection(namespace)
        body = await self._send("POST", path, _options(field_manager, dry_run), document, seconds=seconds)
        return _any_document(body) if subresource else _document(body, resource)

    async def replace(
        self,
        resource: Resource,
        document: Document,
        namespace: str = "",
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> Document:
        """Put the whole object. With metadata.resourceVersion in it, only over that version (else 409)."""
        path = resource.path(_name(document), namespace or _namespace(document), subresource)
        return _document(await self._send("PUT", path, _options(field_manager, dry_run), document), resource)

    async def patch(
        self,
        resource: Resource,
        name: str,
        change: Body,
        namespace: str = "",
        *,
        kind: Patch = Patch.MERGE,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> Document:
        path = resource.path(name, namespace, subresource)
        options = _options(field_manager, dry_run)
        return _document(await self._send("PATCH", path, options, change, content_type=kind.value), resource)

    async def patch_status(
        self,
        resource: Resource,
        name: str,
        change: Body,
        namespace: str = "",
        *,
        kind: Patch = Patch.MERGE,
        field_manager: str = "",
    ) -> Document:
        return await self.patch(
            resource, name, change, namespace, kind=kind, subresource="status", field_manager=field_manager
        )

    async def apply(
        self,
        resource: Resource,
        document: Document,
        namespace: str = "",
        *,
        field_manager: str,
        force: bool = False,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Document:
        """Server-side apply: the fields in the document become ours. ``force`` takes those that others own."""
        path = resource.path(_name(document), namespace or _namespace(document), subresource)
        options = _options(field_manager, dry_run) | {"force": "true" if force else "false"}
        return _document(await self._send("PATCH", path, options, document, content_type=APPLY), resource)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        resource_version: str = "",
        grace_seconds: int | None = None,
        propagation: str = "",
    ) -> Document:
        """Ask for its deletion. With ``uid`` only that very object: one of the same name made anew gives 409."""
        options = _delete_options(uid, resource_version, grace_seconds, propagation)
        return _any_document(await self._send("DELETE", resource.path(name, namespace), body=options))

    async def evict(self, name: str, namespace: str, *, uid: str = "", grace_seconds: int | None = None) -> None:
        """Ask for a pod's deletion as far as disruption budgets allow. Refused with ``budget``: not now."""
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": _delete_options(uid, "", grace_seconds, ""),
        }
        await self._send("POST", PODS.path(name, namespace, "eviction"), body=eviction)

    # ----------------------------------------------------------------------------------------------- watching

    async def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        streaming: bool = False,
        idle_seconds: float = 150.0,
        timeout_seconds: int = 300,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Events as they come, until the server ends the stream. Close it (``aclosing``) when done.

        ``streaming``: first everything there is, as ADDED, ended by a bookmark with an annotation that says so.
        Raises Refused, Unreachable when the stream breaks or is silent for ``idle_seconds``, Garbled.
        """
        query = _selectors(label_selector, field_selector) | _watching(resource_version, streaming, timeout_seconds)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._timeouts.connect_seconds, sock_read=idle_seconds)
        try:
            async with await self._request("GET", resource.collection(namespace), query, [], None, timeout) as response:
                if response.status != 200:
                    raise self._refusal(response, await response.read())
                lines = Lines()
                async for chunk in response.content.iter_any():
                    for line in lines.feed(chunk):
                        yield _event(line, resource)
        except aiohttp.SocketTimeoutError as error:
            raise Silent(f"watch of {resource.group_resource}: silent for {idle_seconds:g} s") from error
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise Unreachable(f"watch of {resource.group_resource}: {_said(error)}") from error

    # ------------------------------------------------------------------------------------------------ sending

    async def _send(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: Body | None = None,
        *,
        accept: str = JSON,
        content_type: str = JSON,
        seconds: float | None = None,
    ) -> bytes:
        return (await self._answer(method, path, query, body, accept, content_type, seconds)).body

    async def _answer(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: Body | None = None,
        accept: str = JSON,
        content_type: str = JSON,
        seconds: float | None = None,
        etag: str = "",
    ) -> "_Answer":
        """One request and its answer. Repeated only where the server did nothing for certain."""
        data = None if body is None else msgspec.json.encode(body)
        headers = [("Accept", accept)]
        if data is not None:
            headers.append(("Content-Type", content_type))
        if etag:
            headers.append(("If-None-Match", etag))
        for attempt in range(1, self._timeouts.busy_attempts + 1):
            try:
                return await self._once(
                    method, path, query or {}, headers, data, seconds or self._timeouts.request_seconds
                )
            except Refused as refused:
                if attempt == self._timeouts.busy_attempts or not await self._worth_repeating(refused, attempt):
                    raise
        raise Mistake("the last attempt returns or raises")

    async def _worth_repeating(self, refused: Refused, attempt: int) -> bool:
        """Whether the server did nothing and may do it now: after a wait it asked for, or with a new credential."""
        if refused.busy and refused.retry_after is not None:
            await self._pause(min(refused.retry_after, self._timeouts.busy_seconds))
            return True
        return refused.unauthorized and attempt == 1

    async def _once(
        self, method: str, path: str, query: Query, headers: Pairs, data: bytes | None, seconds: float
    ) -> "_Answer":
        async with self._turns:
            timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=self._timeouts.connect_seconds)
            try:
                async with await self._request(method, path, query, headers, data, timeout) as response:
                    body = await response.read()
                    if response.status >= 300 and response.status != 304:
                        raise self._refusal(response, body)
                    return _Answer(response.status, body, response.content_type, response.headers.get("ETag", ""))
            except (TimeoutError, aiohttp.ClientError, OSError) as error:
                raise _failure(error, method, path) from error

    async def _request(
        self, method: str, path: str, query: Query, headers: Pairs, data: bytes | None, timeout: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            raise RuntimeError("a Client is used inside `async with`")
        who = await self.access.credential.headers()
        return await self._session.request(
            method,
            self._url(path, query),
            data=data,
            headers=[*headers, *who],
            timeout=timeout,
            allow_redirects=False,  # our credential is for this server only
            server_hostname=self.access.server_name or None,
        )

    def _refusal(self, response: aiohttp.ClientResponse, body: bytes) -> Refused:
        if response.status == 401:
            self.access.credential.doubt()
        return refusal(response.status, body, response.headers.get("Retry-After", ""))

    def _url(self, path: str, query: Query) -> URL:
        text = self.access.server + path
        return URL(f"{text}?{urlencode(query)}" if query else text, encoded=True)


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: bytes
    content_type: str
    etag: str


def _failure(error: Exception, method: str, path: str) -> WireError:
    """Whether it was sent. Only a connection that never came to be is sure not to have carried it."""
    what = f"{method} {path}: {_said(error)}"
    if isinstance(error, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)):
        return Unreachable(what)
    return Unanswered(what)


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


# ---------------------------------------------------------------------------------------------------- queries


def _selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    chosen = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {name: value for name, value in chosen.items() if value}


def _options(field_manager: str, dry_run: bool) -> dict[str, str]:
    chosen = {"fieldManager": field_manager, "dryRun": "All" if dry_run else ""}
    return {name: value for name, value in chosen.items() if value}


def _watching(resource_version: str, streaming: bool, timeout_seconds: int) -> dict[str, str]:
    query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(timeout_seconds)}
    if streaming:
        query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    if resource_version:
        query["resourceVersion"] = resource_version
    return query


def _delete_options(uid: str, resource_version: str, grace_seconds: int | None, propagation: str) -> Document:
    options: Document = {"apiVersion": "v1", "kind": "DeleteOptions"}
    preconditions = {"uid": uid, "resourceVersion": resource_version}
    if any(preconditions.values()):
        options["preconditions"] = {name: value for name, value in preconditions.items() if value}
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    if propagation:
        options["propagationPolicy"] = propagation
    return options


# ---------------------------------------------------------------------------------------------------- answers


def _document(body: bytes, resource: Resource) -> Document:
    return titled(_any_document(body), resource)


def _decode_document(body: bytes) -> Document:
    return msgspec.json.decode(body, type=Document)


def _any_document(body: bytes) -> Document:
    """A write whose answer cannot be read may well have been done: that is Unanswered too."""
    try:
        return untracked(_read(_decode_document, body))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Unanswered(f"the answer is no JSON object: {error}") from error


def _read(decode: Callable[[bytes], T], text: bytes) -> T:
    """Decoded; once more without what is nested too deeply, where it is."""
    try:
        return decode(text)
    except RecursionError:
        return decode(shallow(text))


def _page(body: bytes, resource: Resource) -> Page:
    try:
        return _read(decode_page, body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Garbled(f"list of {resource.group_resource}: {error}") from error


def _event(line: bytes, resource: Resource) -> WatchEvent:
    try:
        return _read(decode_event, line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Garbled(f"watch of {resource.group_resource}: {error}") from error


async def _listing(pages: AsyncGenerator[Page, None], resource: Resource) -> Listing:
    items: list[Document] = []
    version = ""
    async with aclosing(pages):
        async for page in pages:
            items += [plain(raw, resource) for raw in page.items]
            version = page.resource_version
    return Listing(tuple(items), version)


def _name(document: Document) -> str:
    return str(document.get("metadata", {}).get("name", ""))


def _namespace(document: Document) -> str:
    return str(document.get("metadata", {}).get("namespace", ""))
