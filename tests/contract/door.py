"""A small HTTP door to an API server, with nothing of Phalanx in it: our client is not to be judged by itself."""

import base64
import http.client
import json
import os
import ssl
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import yaml

Doc = dict[str, Any]

JSON = "application/json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

# How long any one answer or event may take. The real server answers in milliseconds; a loaded machine may need seconds.
PATIENCE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said to one request."""

    code: int
    body: Doc
    headers: Mapping[str, str]

    def expect(self, code: int) -> Doc:
        """The body, once the code is what it should be."""
        assert self.code == code, f"answered {self.code} instead of {code}: {json.dumps(self.body)[:2000]}"
        return self.body

    def refused(self, code: int, reason: str) -> Doc:
        """The Status of a refusal, whole: kind, the code again, a reason for machines and a sentence for people."""
        status = self.expect(code)
        said = {key: status.get(key) for key in ("kind", "apiVersion", "status", "reason", "code")}
        assert said == {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}, (
            status
        )
        assert status["message"]
        return status

    def causes(self) -> list[Doc]:
        """Which fields were refused, and why."""
        causes: list[Doc] = self.body.get("details", {}).get("causes", [])
        return causes


@dataclass(frozen=True, slots=True)
class Credentials:
    """Where the server is and how one proves who one is."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    headers: Mapping[str, str] = field(default_factory=dict)

    def connect(self, patience: float = PATIENCE_SECONDS) -> http.client.HTTPConnection:
        if self.tls is None:
            return http.client.HTTPConnection(self.host, self.port, timeout=patience)
        return http.client.HTTPSConnection(self.host, self.port, timeout=patience, context=self.tls)


class Watch:
    """One watch stream: events one by one, each within the patience, closed on leaving."""

    def __init__(self, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._answer = answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # A plain close would wait for the rest of an endless body.
        if (sock := self._connection.sock) is not None:
            sock.close()
        self._answer.close()
        self._connection.close()

    def next(self) -> Doc:
        """The next event; a stream that ends or falls silent instead is a failure."""
        event = self._read()
        assert event is not None, "the watch ended while an event was still expected"
        return event

    def take(self, count: int) -> list[Doc]:
        return [self.next() for _ in range(count)]

    def rest(self) -> list[Doc]:
        """Every event until the server ends the stream."""
        return list(iter(self._read, None))

    def _read(self) -> Doc | None:
        line = self._answer.readline()
        return json.loads(line) if line else None


class Door:
    """Requests to one server, over one connection that is kept; every watch has a connection of its own."""

    def __init__(self, credentials: Credentials) -> None:
        self.credentials = credentials
        self._connection = credentials.connect()

    def close(self) -> None:
        self._connection.close()

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        query: Mapping[str, Any] | None = None,
        *,
        content: str = JSON,
        accept: str = JSON,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request and its answer. Bytes go out as they are, anything else as JSON."""
        payload = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Content-Type": content, "Accept": accept, **self.credentials.headers, **(headers or {})}
        try:
            self._connection.request(method, _with_query(path, query), payload, sent)
            answer = self._connection.getresponse()
            text = answer.read()
        except BaseException:
            self._connection.close()  # half an answer may still be in it; the next case starts on a new one
            raise
        return Answer(answer.status, _parsed(text), {key.lower(): value for key, value in answer.getheaders()})

    def get(self, path: str, *, accept: str = JSON, **query: Any) -> Answer:
        return self.call("GET", path, query=query, accept=accept)

    def watch(self, path: str, *, accept: str = JSON, **query: Any) -> Watch:
        """An open watch; a server that refuses it at once fails the case."""
        connection = self.credentials.connect()
        sent = {"Accept": accept, **self.credentials.headers}
        connection.request("GET", _with_query(path, {"watch": "true", **query}), headers=sent)
        answer = connection.getresponse()
        if answer.status != 200:
            said = answer.read()
            connection.close()
            raise AssertionError(f"the watch was answered with {answer.status}: {said[:2000]!r}")
        return Watch(connection, answer)


def until(what: str, seconds: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Turns of a loop that asks again until it leaves by itself; out of patience it fails and says what never came."""
    deadline = time.monotonic() + seconds
    pause = 0.01
    while time.monotonic() < deadline:
        yield
        time.sleep(pause)  # between two questions, not instead of one
        pause = min(pause * 1.5, 0.25)
    raise AssertionError(f"waited {seconds:.0f} s in vain: {what}")


def from_kubeconfig(path: Path) -> Door:
    """The door that the current context of a kubeconfig describes: certificates or a token, from files or inline."""
    config = yaml.safe_load(path.read_text())
    context = _named(config["contexts"], config["current-context"])["context"]
    cluster = _named(config["clusters"], context["cluster"])["cluster"]
    user = _named(config["users"], context["user"])["user"]
    address = urlsplit(cluster["server"])
    tls = _tls(cluster, user, path.parent) if address.scheme == "https" else None
    headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
    port = address.port or (443 if tls else 80)
    return Door(Credentials(address.hostname or "", port, tls, headers))


def _named(entries: list[Doc], name: str) -> Doc:
    return next(entry for entry in entries if entry["name"] == name)


def _tls(cluster: Doc, user: Doc, base: Path) -> ssl.SSLContext:
    with tempfile.TemporaryDirectory() as scratch:
        authority = _file(cluster, "certificate-authority", base, scratch)
        context = ssl.create_default_context(cafile=authority)
        if cluster.get("insecure-skip-tls-verify"):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if certificate := _file(user, "client-certificate", base, scratch):
            context.load_cert_chain(certificate, _file(user, "client-key", base, scratch))
        return context


def _file(entry: Doc, key: str, base: Path, scratch: str) -> str | None:
    """A kubeconfig names a file, relative to itself, or carries the bytes; the ssl module reads only files."""
    if inline := entry.get(f"{key}-data"):
        target = Path(scratch, key)
        target.touch(mode=0o600)
        target.write_bytes(base64.b64decode(inline))
        return str(target)
    return os.path.join(base, entry[key]) if key in entry else None


def _with_query(path: str, query: Mapping[str, Any] | None) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _parsed(text: bytes) -> Doc:
    """Every API answer is a JSON object; health checks answer in plain text, kept under one key."""
    try:
        parsed = json.loads(text)
    except ValueError:
        return {"text": text.decode(errors="replace")}
    return parsed if isinstance(parsed, dict) else {"text": parsed}
