"""Access as kubectl has it: kubeconfig files, merged, one context of them chosen."""
# ruff: noqa: N815 - the names of the structs are those of the file

import base64
import binascii
import os
import re
import ssl
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import msgspec
import yaml

from phalanx.wire import certificates
from phalanx.wire.access import Access, BadConfig
from phalanx.wire.credentials import (
    AuthorityFile,
    CertificateFiles,
    Credential,
    Fixed,
    Nobody,
    Renewed,
    Together,
    TokenFile,
    basic,
    bearer,
)
from phalanx.wire.execplugin import ExecPlugin

EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
EXTENSION_FOR_EXEC = "client.authentication.k8s.io/exec"


class _Extension(msgspec.Struct, frozen=True):
    name: str
    extension: Any = None


class _Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    extensions: list[_Extension] | None = None


class _EnvVar(msgspec.Struct, frozen=True):
    name: str
    value: str


class _Exec(msgspec.Struct, frozen=True):
    command: str
    apiVersion: str
    args: list[str] | None = None
    env: list[_EnvVar] | None = None
    installHint: str = ""
    provideClusterInfo: bool = False
    interactiveMode: str = ""


class _User(msgspec.Struct, frozen=True, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(name="tokenFile", default="")
    username: str = ""
    password: str = ""
    impersonate: str = msgspec.field(name="as", default="")
    impersonate_uid: str = msgspec.field(name="as-uid", default="")
    impersonate_groups: list[str] | None = msgspec.field(name="as-groups", default=None)
    impersonate_extra: dict[str, list[str]] | None = msgspec.field(name="as-user-extra", default=None)
    exec: _Exec | None = None
    auth_provider: Any = None


class _Context(msgspec.Struct, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: _Cluster = _Cluster()


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: _User = _User()


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: _Context = _Context()


class _File(msgspec.Struct, frozen=True):
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None
    current_context: str = msgspec.field(name="current-context", default="")


T = TypeVar("T")


class _Place:
    """Where something stands: its file, for relative paths, and its field, for messages."""

    __slots__ = ("field", "file")

    def __init__(self, file: Path, field: str) -> None:
        self.file = file
        self.field = field

    def wrong(self, name: str, what: str) -> BadConfig:
        return BadConfig(f"{self.file}: {self.field}.{name}: {what}")

    def resolve(self, name: str, path: str) -> str:
        """A path as the file means it: relative to the file. It has to be there."""
        found = self.file.parent / Path(path).expanduser()
        if not found.is_file():
            raise self.wrong(name, f"{path!r} is no file (looked for {found})")
        return str(found)

    def decode(self, name: str, data: str) -> bytes:
        try:
            return base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raise self.wrong(name, "is not base64 (value hidden)") from None


class _Merged:
    """Several files as one: of entries with the same name, and of current-context, the first one counts."""

    def __init__(self, files: Iterable[tuple[Path, _File]]) -> None:
        self.clusters: dict[str, tuple[_Place, _Cluster]] = {}
        self.users: dict[str, tuple[_Place, _User]] = {}
        self.contexts: dict[str, tuple[_Place, _Context]] = {}
        self.current = ""
        self.names: list[str] = []
        for path, file in files:
            self._add(path, file)

    def _add(self, path: Path, file: _File) -> None:
        self.names.append(str(path))
        self.current = self.current or file.current_context
        for index, cluster in enumerate(file.clusters or ()):
            self.clusters.setdefault(cluster.name, (_Place(path, f"clusters[{index}].cluster"), cluster.cluster))
        for index, user in enumerate(file.users or ()):
            self.users.setdefault(user.name, (_Place(path, f"users[{index}].user"), user.user))
        for index, context in enumerate(file.contexts or ()):
            self.contexts.setdefault(context.name, (_Place(path, f"contexts[{index}].context"), context.context))

    @property
    def source(self) -> str:
        return os.pathsep.join(self.names)


def load(path: str = "", *, context: str = "", env: Mapping[str, str] = os.environ) -> Access:
    """Access to the cluster of one context (default: the current one).

    ``path`` empty: the files in $KUBECONFIG, else ~/.kube/config. Raises BadConfig.
    """
    merged = _Merged((file, _read(file)) for file in _files(path, env))
    name = context or merged.current
    if not name:
        raise BadConfig(f"{merged.source}: current-context: is empty; known contexts: {_known(merged.contexts)}")
    place, chosen = _pick(merged.contexts, name, f"{merged.source}: current-context", "contexts")
    cluster = _pick(merged.clusters, chosen.cluster, f"{place.file}: {place.field}.cluster", "clusters")
    user = _pick(merged.users, chosen.user, f"{place.file}: {place.field}.user", "users") if chosen.user else None
    return _access(*cluster, user, chosen.namespace or "default", f"{merged.source} context {name}")


def _files(path: str, env: Mapping[str, str]) -> list[Path]:
    if path:
        return _there([Path(path).expanduser()], "--kubeconfig")
    if env.get("KUBECONFIG"):
        return _there([Path(part) for part in env["KUBECONFIG"].split(os.pathsep) if part], "KUBECONFIG")
    return _there([Path(env.get("HOME", "~"), ".kube", "config").expanduser()], "default kubeconfig")


def _there(paths: list[Path], said_by: str) -> list[Path]:
    """Files that are not there are passed over, as kubectl does, unless none is left."""
    present = [path for path in paths if path.is_file()]
    if not present:
        raise BadConfig(f"{said_by}: no such file: {', '.join(map(str, paths))}")
    return present


def _pick(entries: Mapping[str, T], name: str, place: str, what: str) -> T:
    if name not in entries:
        raise BadConfig(f"{place}: {name!r} is not among the {what}: {_known(entries)}")
    return entries[name]


def _known(entries: Mapping[str, Any]) -> str:
    return ", ".join(sorted(entries)) or "none"


# ------------------------------------------------------------------------------------------------- reading


def _read(path: Path) -> _File:
    try:
        data = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: cannot be read: {error}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise BadConfig(f"{path}{where}: is not YAML: {getattr(error, 'problem', 'cannot be parsed')}") from None
    try:
        return msgspec.convert(data if data is not None else {}, _File)
    except msgspec.ValidationError as error:
        raise BadConfig(f"{path}: {_said(str(error), data)}") from None


def _said(error: str, data: Any) -> str:
    """``clusters[0].name: 7 is an int, allowed: str`` from what msgspec says. Nothing below users is ever shown."""
    what, _, where = error.partition(" - at `$.")
    field = where.rstrip("`")
    if not field:
        return what
    shown = "value hidden" if field.startswith("users") else f"value {_value_at(data, field)!r}"
    return f"{field}: {what} ({shown})"


def _value_at(data: Any, field: str) -> Any:
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", field):
        try:
            data = data[int(index)] if index else data[name]
        except (KeyError, IndexError, TypeError):
            return "?"
    return data


# ------------------------------------------------------------------------------------------------- access


def _access(place: _Place, cluster: _Cluster, user: tuple[_Place, _User] | None, namespace: str, source: str) -> Access:
    server = _server(place, cluster)
    tls = _tls(place, cluster) if server.startswith("https://") else None
    credential = _credential(*user, cluster, tls) if user else Nobody()
    return Access(server, tls, credential, namespace, cluster.tls_server_name, source)


def _server(place: _Place, cluster: _Cluster) -> str:
    if cluster.proxy_url:
        raise place.wrong(
            "proxy-url", f"{cluster.proxy_url!r} is not supported: remove it and reach the server directly"
        )
    parts = urlsplit(cluster.server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise place.wrong("server", f"{cluster.server!r} is no address; allowed: https://HOST[:PORT]")
    return cluster.server.rstrip("/")


def _tls(place: _Place, cluster: _Cluster) -> ssl.SSLContext:
    file, data = "", b""
    if cluster.certificate_authority_data:
        data = place.decode("certificate-authority-data", cluster.certificate_authority_data)
    elif cluster.certificate_authority:
        file = place.resolve("certificate-authority", cluster.certificate_authority)
    try:
        return certificates.context(ca_file=file, ca_data=data, insecure=cluster.insecure_skip_tls_verify)
    except (ssl.SSLError, UnicodeDecodeError) as error:
        field = "certificate-authority-data" if data else "certificate-authority"
        raise place.wrong(field, f"holds no certificate that can be read: {error}") from None


def _credential(place: _Place, user: _User, cluster: _Cluster, tls: ssl.SSLContext | None) -> Credential:
    if user.auth_provider is not None:
        raise place.wrong("auth-provider", "is not supported (Kubernetes removed it); use exec")
    parts = [*_certificate(place, user, tls), *_headers(place, user, cluster, tls), *_impersonation(user)]
    if tls is not None and cluster.certificate_authority and not cluster.certificate_authority_data:
        parts.append(AuthorityFile(tls, place.resolve("certificate-authority", cluster.certificate_authority)))
    return Together(*parts) if parts else Nobody()


def _certificate(place: _Place, user: _User, tls: ssl.SSLContext | None) -> list[Credential]:
    """The client certificate goes into the TLS context; only one in files has to be looked after."""
    if not (user.client_certificate or user.client_certificate_data) or tls is None:
        return []
    try:
        if user.client_certificate_data or user.client_key_data:
            certificates.load_pair(tls, _pem(place, user, "certificate"), _pem(place, user, "key"))
            return []
        files = (
            place.resolve("client-certificate", user.client_certificate),
            place.resolve("client-key", user.client_key),
        )
        tls.load_cert_chain(*files)
        return [CertificateFiles(tls, *files)]
    except ssl.SSLError as error:
        raise place.wrong("client-certificate", f"cannot be used with its key: {error.reason or error}") from None


def _pem(place: _Place, user: _User, part: str) -> bytes:
    """Certificate or key, from the file itself or from the one it names."""
    data = getattr(user, f"client_{part}_data")
    if data:
        return place.decode(f"client-{part}-data", data)
    return Path(place.resolve(f"client-{part}", getattr(user, f"client_{part}"))).read_bytes()


def _headers(place: _Place, user: _User, cluster: _Cluster, tls: ssl.SSLContext | None) -> list[Credential]:
    if user.exec is not None:
        return [Renewed(_plugin(place, user.exec, cluster, tls))]
    if user.token_file:  # kubectl too prefers the file, which is renewed, to the token written beside it
        return [TokenFile(place.resolve("tokenFile", user.token_file))]
    if user.token:
        return [Fixed(bearer(user.token))]
    if user.username:
        return [Fixed(basic(user.username, user.password))]
    return []


def _plugin(place: _Place, said: _Exec, cluster: _Cluster, tls: ssl.SSLContext | None) -> ExecPlugin:
    if said.apiVersion not in EXEC_VERSIONS:
        raise place.wrong("exec.apiVersion", f"{said.apiVersion!r} is not known; allowed: {', '.join(EXEC_VERSIONS)}")
    if said.interactiveMode not in ("", "Never", "IfAvailable"):
        raise place.wrong(
            "exec.interactiveMode", f"{said.interactiveMode!r} cannot work: nobody answers; allowed: Never, IfAvailable"
        )
    return ExecPlugin(
        command=_command(place, said.command),
        args=tuple(said.args or ()),
        env={variable.name: variable.value for variable in said.env or ()},
        api_version=said.apiVersion,
        tls=tls,
        cluster=_cluster_info(cluster) if said.provideClusterInfo else None,
        install_hint=said.installHint,
    )


def _command(place: _Place, command: str) -> str:
    """With a slash in it, it is relative to the file; a bare name is looked up in PATH."""
    return str(place.file.parent / command) if "/" in command else command


def _cluster_info(cluster: _Cluster) -> dict[str, object]:
    extension = [entry.extension for entry in cluster.extensions or () if entry.name == EXTENSION_FOR_EXEC]
    info: dict[str, object] = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": cluster.certificate_authority_data,
        "config": extension[0] if extension else None,
    }
    return {name: value for name, value in info.items() if value}


def _impersonation(user: _User) -> list[Credential]:
    headers = [("Impersonate-User", user.impersonate), ("Impersonate-Uid", user.impersonate_uid)]
    headers += [("Impersonate-Group", group) for group in user.impersonate_groups or ()]
    for name, values in sorted((user.impersonate_extra or {}).items()):
        headers += [(f"Impersonate-Extra-{quote(name, safe='')}", value) for value in values]
    sent = tuple((name, value) for name, value in headers if value)
    return [Fixed(sent)] if sent else []
