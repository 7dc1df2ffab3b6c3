"""Who we say we are, in headers or by certificate, renewed when it changes. No secret shows in a repr.

A credential is asked before every request, so it answers from memory and looks at files only now and then.
"""

import asyncio
import base64
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from phalanx.wire.errors import Unreachable

Clock = Callable[[], float]
Headers = tuple[tuple[str, str], ...]  # pairs: one name may come several times

REREAD_SECONDS = 10.0  # the kubelet renews a token at 80 % of its life, and the old one stays valid: minutes to spare


class CredentialFailed(Unreachable):
    """We could not find out who we are: a token file is gone, a plugin failed. The request was not sent."""


class Credential(Protocol):
    async def headers(self) -> Headers:
        """What to send with a request."""
        ...

    def doubt(self) -> None:
        """The server did not believe it: ask the source again next time."""
        ...


class Nobody:
    """No header. A client certificate, if any, says it all."""

    async def headers(self) -> Headers:
        return ()

    def doubt(self) -> None:
        """Nothing to renew."""


class Fixed:
    """Headers that never change: a token or a password written in the file itself."""

    def __init__(self, headers: Headers) -> None:
        self._headers = headers

    async def headers(self) -> Headers:
        return self._headers

    def doubt(self) -> None:
        """Nothing to renew."""


def bearer(token: str) -> Headers:
    return (("Authorization", f"Bearer {token}"),)


def basic(username: str, password: str) -> Headers:
    return (("Authorization", "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()),)


class TokenFile:
    """A token in a file that someone else renews."""

    def __init__(
        self, path: str | Path, *, clock: Clock = time.monotonic, reread_seconds: float = REREAD_SECONDS
    ) -> None:
        self._path = Path(path)
        self._clock = clock
        self._reread_seconds = reread_seconds
        self._headers: Headers = ()
        self._due = float("-inf")

    async def headers(self) -> Headers:
        if self._clock() >= self._due:
            self._read()
        return self._headers

    def doubt(self) -> None:
        self._due = float("-inf")

    def _read(self) -> None:
        try:
            token = self._path.read_text().strip()
        except OSError as error:
            raise CredentialFailed(f"{self._path}: the token cannot be read: {error.strerror}") from error
        if not token:
            raise CredentialFailed(f"{self._path}: the token file is empty")
        self._headers = bearer(token)
        self._due = self._clock() + self._reread_seconds


class CertificateFiles:
    """A client certificate in files that someone else renews. Connections made after a change use the new one."""

    def __init__(
        self,
        tls: ssl.SSLContext,
        certificate: str,
        key: str,
        *,
        clock: Clock = time.monotonic,
        reread_seconds: float = 60,
    ) -> None:
        self._tls = tls
        self._files = (certificate, key)
        self._clock = clock
        self._reread_seconds = reread_seconds
        self._seen = self._stamps()
        self._due = clock() + reread_seconds

    async def headers(self) -> Headers:
        if self._clock() >= self._due:
            self._look()
        return ()

    def doubt(self) -> None:
        self._due = float("-inf")

    def _look(self) -> None:
        self._due = self._clock() + self._reread_seconds
        stamps = self._stamps()
        if stamps != self._seen:
            self._load()
            self._seen = stamps

    def _stamps(self) -> tuple[int, ...]:
        return tuple(Path(file).stat().st_mtime_ns if Path(file).exists() else 0 for file in self._files)

    def _load(self) -> None:
        try:
            self._tls.load_cert_chain(*self._files)
        except (OSError, ssl.SSLError) as error:
            raise CredentialFailed(f"{self._files[0]}: the client certificate cannot be used: {error}") from error


class AuthorityFile:
    """The authority that the server's certificate is of, in a file that someone else renews. Says nothing of us, and is
    looked at as often as a credential. Connections made after a change trust the new one; the one before it is trusted
    until the process ends, for no context gives one back."""

    def __init__(
        self, tls: ssl.SSLContext, file: str | Path, *, clock: Clock = time.monotonic, reread_seconds: float = 60
    ) -> None:
        self._tls, self._file = tls, Path(file)
        self._clock, self._reread_seconds = clock, reread_seconds
        self._seen = self._text()
        self._due = clock() + reread_seconds

    async def headers(self) -> Headers:
        if self._clock() >= self._due:
            self._due = self._clock() + self._reread_seconds
            self._look()
        return ()

    def doubt(self) -> None:
        self._due = float("-inf")

    def _look(self) -> None:
        """One that is being written, or is gone, is looked at again later: what was trusted so far may still do."""
        text = self._text()
        if text and text != self._seen:
            with suppress(ssl.SSLError):
                self._tls.load_verify_locations(cadata=text)
                self._seen = text

    def _text(self) -> str:
        try:
            return self._file.read_text()
        except (OSError, UnicodeDecodeError):
            return ""


class Together:
    """Several credentials at once: a certificate and a token, or whom to impersonate on top of who we are."""

    def __init__(self, *parts: Credential) -> None:
        self._parts = parts

    async def headers(self) -> Headers:
        gathered: Headers = ()
        for part in self._parts:
            gathered += await part.headers()
        return gathered

    def doubt(self) -> None:
        for part in self._parts:
            part.doubt()


class Renewed:
    """A credential that a slow source hands out for a while. Many requests ask, the source is asked once."""

    def __init__(self, source: "Source", *, wall_clock: Clock = time.time) -> None:
        self._source = source
        self._wall_clock = wall_clock
        self._lock = asyncio.Lock()
        self._headers: Headers | None = None
        self._until = float("inf")

    async def headers(self) -> Headers:
        async with self._lock:
            if self._headers is None or self._wall_clock() >= self._until:
                self._headers, self._until = await self._source.fetch()
            return self._headers

    def doubt(self) -> None:
        self._headers = None


class Source(Protocol):
    async def fetch(self) -> tuple[Headers, float]:
        """Headers, and until when (seconds since 1970) they are good; infinity if it does not say."""
        ...
