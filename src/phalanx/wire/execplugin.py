"""Credentials from a program that the kubeconfig names (``users[].user.exec``), as cloud providers have it."""

import asyncio
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from phalanx.wire.certificates import load_pair
from phalanx.wire.credentials import CredentialFailed, Headers, bearer

PLUGIN_SECONDS = 60.0  # some plugins ask a cloud; one that waits for a person at a keyboard never ends

EARLY_SECONDS = 10.0  # renew before it ends: the request takes time too


class _Status(msgspec.Struct, frozen=True):
    expirationTimestamp: datetime | None = None  # noqa: N815
    token: str = ""
    clientCertificateData: str = ""  # noqa: N815
    clientKeyData: str = ""  # noqa: N815


class _ExecCredential(msgspec.Struct, frozen=True):
    apiVersion: str  # noqa: N815
    status: _Status


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """The program, and what it is told. A certificate it answers with goes into ``tls``."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    api_version: str
    tls: ssl.SSLContext | None = field(repr=False)
    cluster: Mapping[str, object] | None = field(default=None, repr=False)
    install_hint: str = ""

    async def fetch(self) -> tuple[Headers, float]:
        answer = self._read(await self._run())
        until = answer.expirationTimestamp
        self._use_certificate(answer)
        return bearer(answer.token) if answer.token else (), until.timestamp() - EARLY_SECONDS if until else float(
            "inf"
        )

    async def _run(self) -> bytes:
        try:
            process = await asyncio.create_subprocess_exec(
                self.command,
                *self.args,
                env={**os.environ, **self.env, "KUBERNETES_EXEC_INFO": self._info()},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise self._failed(f"cannot be started: {error.strerror}. {self.install_hint}".strip()) from error
        try:
            output, _ = await asyncio.wait_for(process.communicate(), PLUGIN_SECONDS)
        except TimeoutError as error:
            raise self._failed(f"did not end within {PLUGIN_SECONDS:.0f} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            raise self._failed(f"ended with exit code {process.returncode}")
        return output

    def _info(self) -> str:
        spec: dict[str, object] = {"interactive": False}
        if self.cluster is not None:
            spec["cluster"] = dict(self.cluster)
        return msgspec.json.encode({"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}).decode()

    def _read(self, output: bytes) -> _Status:
        """Its answer. What it printed is never shown: there are secrets in it."""
        try:
            answer = msgspec.json.decode(output, type=_ExecCredential)
        except msgspec.MsgspecError:
            raise self._failed("printed no ExecCredential with a status") from None
        if answer.apiVersion != self.api_version:
            raise self._failed(f"answered in {answer.apiVersion!r}, the kubeconfig says {self.api_version!r}")
        if not answer.status.token and not answer.status.clientCertificateData:
            raise self._failed("gave neither a token nor a client certificate")
        return answer.status

    def _use_certificate(self, status: _Status) -> None:
        if status.clientCertificateData and self.tls is not None:
            try:
                load_pair(self.tls, status.clientCertificateData.encode(), status.clientKeyData.encode())
            except ssl.SSLError as error:
                raise self._failed(f"gave a client certificate that cannot be used: {error.reason}") from None

    def _failed(self, what: str) -> CredentialFailed:
        return CredentialFailed(f"credential plugin {self.command!r} {what}")
