"""Kubeconfig files and what is said about bad ones; TLS is tried for real, on loopback."""

import base64
import json
import ssl
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml
from aiohttp import web

from phalanx.wire import incluster, kubeconfig
from phalanx.wire.access import Access, BadConfig
from phalanx.wire.client import Client
from phalanx.wire.errors import Unreachable
from tests.wire.loopback import Script, answer_of, run, serving, status


def _config(user: dict[str, Any] | None = None, **cluster: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443", **cluster}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "team"}}],
    }


def _write(path: Path, config: Any) -> str:
    path.write_text(config if isinstance(config, str) else yaml.safe_dump(config))
    return str(path)


def _load(tmp_path: Path, config: Any) -> Access:
    return kubeconfig.load(_write(tmp_path / "config", config))


def _headers(access: Access) -> tuple[tuple[str, str], ...]:
    async def work() -> tuple[tuple[str, str], ...]:
        return await access.credential.headers()

    return run(work())


# ---------------------------------------------------------------------------------------------------- what is read


def test_the_current_context_names_server_user_and_namespace(tmp_path: Path) -> None:
    access = _load(tmp_path, _config({"token": "s3cret"}, **{"tls-server-name": "kube"}))
    assert (access.server, access.namespace, access.server_name) == ("https://127.0.0.1:6443", "team", "kube")
    assert _headers(access) == (("Authorization", "Bearer s3cret"),)
    assert access.tls is not None
    assert access.tls.verify_mode is ssl.CERT_REQUIRED
    assert access.tls.check_hostname


def test_nothing_secret_shows(tmp_path: Path) -> None:
    access = _load(tmp_path, _config({"token": "s3cret", "username": "u", "password": "pa55"}))
    assert "s3cret" not in repr(access) + repr(access.credential)
    assert "pa55" not in repr(access)


def test_several_files_are_one_and_the_first_word_counts(tmp_path: Path) -> None:
    first = {"current-context": "here", "users": [{"name": "u", "user": {"token": "first"}}]}
    files = [
        _write(tmp_path / "one", first),
        str(tmp_path / "absent"),
        _write(tmp_path / "two", _config({"token": "second"})),
    ]
    access = kubeconfig.load(env={"KUBECONFIG": ":".join(files)})
    assert _headers(access) == (("Authorization", "Bearer first"),)
    assert access.namespace == "team"


def test_another_context_can_be_chosen(tmp_path: Path) -> None:
    config = _config()
    config["contexts"].append({"name": "there", "context": {"cluster": "c"}})
    access = kubeconfig.load(_write(tmp_path / "config", config), context="there")
    assert access.namespace == "default"
    assert _headers(access) == ()


def test_username_and_password_are_sent_as_basic(tmp_path: Path) -> None:
    access = _load(tmp_path, _config({"username": "ann", "password": "pw"}))
    assert _headers(access) == (("Authorization", "Basic " + base64.b64encode(b"ann:pw").decode()),)


def test_whom_to_impersonate_is_sent_too(tmp_path: Path) -> None:
    user = {"token": "t", "as": "bob", "as-groups": ["g1", "g2"], "as-user-extra": {"scope/x": ["y"]}}
    assert _headers(_load(tmp_path, _config(user)))[1:] == (
        ("Impersonate-User", "bob"),
        ("Impersonate-Group", "g1"),
        ("Impersonate-Group", "g2"),
        ("Impersonate-Extra-scope%2Fx", "y"),
    )


def test_a_token_file_is_relative_to_the_config(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")
    assert _headers(_load(tmp_path, _config({"tokenFile": "token", "token": "beside"}))) == (
        ("Authorization", "Bearer from-file"),
    )


def test_verification_is_off_only_where_the_file_says_so(tmp_path: Path) -> None:
    access = _load(tmp_path, _config(**{"insecure-skip-tls-verify": True}))
    assert access.tls is not None
    assert access.tls.verify_mode is ssl.CERT_NONE


# ------------------------------------------------------------------------------------------------------- bad files


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (_config() | {"current-context": ""}, "current-context: is empty; known contexts: here"),
        (_config() | {"current-context": "gone"}, "current-context: 'gone' is not among the contexts: here"),
        (_config() | {"clusters": []}, "contexts[0].context.cluster: 'c' is not among the clusters: none"),
        (_config() | {"users": None}, "contexts[0].context.user: 'u' is not among the users: none"),
        (_config() | {"clusters": [{"name": 7}]}, "clusters[0].name: Expected `str`, got `int` (value 7)"),
        (
            _config(server="127.0.0.1:6443"),
            "clusters[0].cluster.server: '127.0.0.1:6443' is no address; allowed: https://",
        ),
        (_config(**{"proxy-url": "socks5://p"}), "clusters[0].cluster.proxy-url: 'socks5://p' is not supported"),
        (
            _config(**{"certificate-authority": "ca.pem"}),
            "clusters[0].cluster.certificate-authority: 'ca.pem' is no file",
        ),
        (_config(**{"certificate-authority-data": "%%%"}), "certificate-authority-data: is not base64"),
        (_config(**{"certificate-authority-data": "aGVsbG8="}), "certificate-authority-data: holds no certificate"),
        (_config({"auth-provider": {"name": "gcp"}}), "users[0].user.auth-provider: is not supported"),
        (_config({"tokenFile": "nope"}), "users[0].user.tokenFile: 'nope' is no file"),
        (_config({"token": ["s3cret"]}), "users[0].user.token: Expected `str`, got `array` (value hidden)"),
        (
            _config({"exec": {"command": "x", "apiVersion": "v0"}}),
            "users[0].user.exec.apiVersion: 'v0' is not known; allowed",
        ),
        (
            _config({"exec": {"command": "x", "apiVersion": kubeconfig.EXEC_VERSIONS[0], "interactiveMode": "Always"}}),
            "users[0].user.exec.interactiveMode: 'Always' cannot work",
        ),
        ("a: [", "is not YAML"),
        ("[1, 2]", "Expected `object`, got `array`"),
    ],
)
def test_a_bad_file_is_told_with_its_field_and_what_is_allowed(tmp_path: Path, config: Any, said: str) -> None:
    with pytest.raises(BadConfig) as bad:
        _load(tmp_path, config)
    assert str(bad.value).startswith(str(tmp_path / "config"))
    assert said in str(bad.value)
    assert "s3cret" not in str(bad.value)


def test_a_file_that_is_not_there_is_told_with_who_named_it(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="KUBECONFIG: no such file"):
        kubeconfig.load(env={"KUBECONFIG": str(tmp_path / "absent")})
    with pytest.raises(BadConfig, match="no such file"):
        kubeconfig.load(env={"HOME": str(tmp_path)})


# ------------------------------------------------------------------------------------------------------------- TLS


class Authority:
    """A certificate authority, a server of its own, and clients it knows."""

    def __init__(self, name: str = "127.0.0.1") -> None:
        self.ca = trustme.CA()
        self.server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.ca.issue_cert(name).configure_cert(self.server)

    def asks_for_certificates(self) -> None:
        self.server.verify_mode = ssl.CERT_REQUIRED
        self.ca.configure_trust(self.server)

    @property
    def data(self) -> str:
        return base64.b64encode(self.ca.cert_pem.bytes()).decode()

    def user(self) -> tuple[bytes, bytes]:
        issued = self.ca.issue_cert("someone@example.org")
        return b"".join(part.bytes() for part in issued.cert_chain_pems), issued.private_key_pem.bytes()


async def _version(authority: Authority, tmp_path: Path, user: dict[str, Any], **cluster: Any) -> str:
    async with serving(Script("hello"), authority.server) as server:
        access = _load(tmp_path, _config(user, server=server, **cluster))
        async with Client(access) as client:
            return await client.get_raw("/version")


def test_a_server_of_the_trusted_authority_is_believed(tmp_path: Path) -> None:
    authority = Authority()
    assert run(_version(authority, tmp_path, {}, **{"certificate-authority-data": authority.data})) == "hello"


def test_a_server_of_another_authority_is_not(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="certificate verify failed"):
        run(_version(Authority(), tmp_path, {}, **{"certificate-authority-data": Authority().data}))


def test_a_server_of_another_name_is_not_unless_the_file_names_it(tmp_path: Path) -> None:
    authority = Authority("kube.example.org")
    trust = {"certificate-authority-data": authority.data}
    with pytest.raises(Unreachable, match="certificate verify failed"):
        run(_version(authority, tmp_path, {}, **trust))
    assert run(_version(authority, tmp_path, {}, **trust, **{"tls-server-name": "kube.example.org"})) == "hello"


@pytest.mark.parametrize("inline", [True, False])
def test_a_client_certificate_is_shown(tmp_path: Path, inline: bool) -> None:
    authority = Authority()
    authority.asks_for_certificates()
    certificate, key = authority.user()
    (tmp_path / "cert.pem").write_bytes(certificate)
    (tmp_path / "key.pem").write_bytes(key)
    user = {"client-certificate": "cert.pem", "client-key": "key.pem"}
    if inline:
        pair = {"client-certificate-data": certificate, "client-key-data": key}
        user = {name: base64.b64encode(data).decode() for name, data in pair.items()}
    assert run(_version(authority, tmp_path, user, **{"certificate-authority-data": authority.data})) == "hello"


def test_a_certificate_without_its_key_is_told(tmp_path: Path) -> None:
    (certificate, _), (_, other) = Authority().user(), Authority().user()
    pair = {"client-certificate-data": certificate, "client-key-data": other}
    user = {name: base64.b64encode(data).decode() for name, data in pair.items()}
    with pytest.raises(BadConfig, match="client-certificate: cannot be used with its key"):
        _load(tmp_path, _config(user))


# ----------------------------------------------------------------------------------------------------- in a cluster


def test_a_pod_finds_its_server_and_reads_its_token_again(tmp_path: Path) -> None:
    authority = Authority()
    (tmp_path / "ca.crt").write_bytes(authority.ca.cert_pem.bytes())
    (tmp_path / "token").write_text("one")
    (tmp_path / "namespace").write_text("phalanx-system")
    seen: list[str] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        seen.append(request.headers["Authorization"])
        return answer_of("ok" if seen[-1] == "Bearer two" else status(401, "Unauthorized", "who?"))

    async def work() -> Access:
        async with serving(handler, authority.server) as server:
            port = server.rsplit(":", 1)[1]
            env = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port}
            access = incluster.load(env=env, root=str(tmp_path))
            async with Client(access) as client:
                await access.credential.headers()
                (tmp_path / "token").write_text("two")
                await client.get_raw("/version")
        return access

    assert run(work()).namespace == "phalanx-system"
    assert seen == ["Bearer one", "Bearer two"]


def test_a_pod_goes_on_when_the_authority_of_its_cluster_is_renewed(tmp_path: Path) -> None:
    before, now = Authority(), Authority()
    (tmp_path / "ca.crt").write_bytes(before.ca.cert_pem.bytes())
    (tmp_path / "token").write_text("one")

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        return answer_of("ok")

    async def work() -> None:
        async with serving(handler, now.server) as server:
            env = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": server.rsplit(":", 1)[1]}
            access = incluster.load(env=env, root=str(tmp_path))
            async with Client(access) as client:
                with pytest.raises(Unreachable, match=r"(?i)certificate"):
                    await client.get_raw("/version")
                (tmp_path / "ca.crt").write_bytes(now.ca.cert_pem.bytes())
                access.credential.doubt()  # a minute later
                await client.get_raw("/version")

    run(work())


def test_outside_a_cluster_that_is_told(tmp_path: Path) -> None:
    assert not incluster.present({})
    with pytest.raises(BadConfig, match=r"ca\.crt: is missing"):
        incluster.load(env={"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, root=str(tmp_path))


def test_an_address_of_the_long_kind_is_put_in_brackets(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(Authority().ca.cert_pem.bytes())
    (tmp_path / "token").write_text("t")
    access = incluster.load(env={"KUBERNETES_SERVICE_HOST": "fd00::1"}, root=str(tmp_path))
    assert access.server == "https://[fd00::1]:443"


# -------------------------------------------------------------------------------------------------------- plugins


def _plugin(tmp_path: Path, text: str) -> dict[str, Any]:
    """A credential program in the config's folder that counts its runs in a file."""
    program = tmp_path / "plugin"
    program.write_text(
        f"#!{sys.executable}\nimport os, json\nopen({str(tmp_path / 'runs')!r}, 'a').write('x')\n{text}\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return _config(
        {"exec": {"command": "./plugin", "apiVersion": kubeconfig.EXEC_VERSIONS[0], "provideClusterInfo": True}}
    )


def _answer(**fields: Any) -> str:
    return f"print({json.dumps(json.dumps({'apiVersion': kubeconfig.EXEC_VERSIONS[0], 'status': fields}))})"


@pytest.mark.parametrize(("until", "runs"), [("2999-01-01T00:00:00Z", 1), ("2001-01-01T00:00:00Z", 2)])
def test_a_plugin_is_asked_again_when_what_it_gave_has_expired(tmp_path: Path, until: str, runs: int) -> None:
    access = _load(tmp_path, _plugin(tmp_path, _answer(token="t0ken", expirationTimestamp=until)))

    async def work() -> None:
        for _ in range(2):
            assert await access.credential.headers() == (("Authorization", "Bearer t0ken"),)

    run(work())
    assert len((tmp_path / "runs").read_text()) == runs


def test_a_plugin_is_asked_again_when_the_server_doubts_it(tmp_path: Path) -> None:
    access = _load(tmp_path, _plugin(tmp_path, _answer(token="t0ken")))

    async def work() -> None:
        await access.credential.headers()
        access.credential.doubt()
        await access.credential.headers()

    run(work())
    assert len((tmp_path / "runs").read_text()) == 2


def test_a_plugin_is_told_about_the_cluster(tmp_path: Path) -> None:
    told = "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])['spec']['cluster']['server']\n"
    said = f"print(json.dumps({{'apiVersion': {kubeconfig.EXEC_VERSIONS[0]!r}, 'status': {{'token': info}}}}))"
    access = _load(tmp_path, _plugin(tmp_path, told + said))
    assert _headers(access) == (("Authorization", "Bearer https://127.0.0.1:6443"),)


def test_a_plugin_may_give_a_certificate(tmp_path: Path) -> None:
    authority = Authority()
    authority.asks_for_certificates()
    certificate, key = (part.decode() for part in authority.user())
    config = _plugin(tmp_path, _answer(clientCertificateData=certificate, clientKeyData=key))
    config["clusters"][0]["cluster"]["certificate-authority-data"] = authority.data

    async def work() -> str:
        async with serving(Script("hello"), authority.server) as server:
            config["clusters"][0]["cluster"]["server"] = server
            async with Client(_load(tmp_path, config)) as client:
                return await client.get_raw("/version")

    assert run(work()) == "hello"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise SystemExit(3)", "ended with exit code 3"),
        ("print('s3cret')", "printed no ExecCredential"),
        (_answer(), "gave neither a token nor a client certificate"),
        ("print(json.dumps({'apiVersion': 'v9', 'status': {'token': 's3cret'}}))", "answered in 'v9'"),
    ],
)
def test_a_plugin_that_fails_is_told_without_what_it_printed(tmp_path: Path, text: str, said: str) -> None:
    access = _load(tmp_path, _plugin(tmp_path, text))
    with pytest.raises(Unreachable, match=said) as failed:
        _headers(access)
    assert "s3cret" not in str(failed.value)


def test_a_plugin_that_is_not_installed_is_told_with_its_hint(tmp_path: Path) -> None:
    said = {
        "command": "no-such-plugin",
        "apiVersion": kubeconfig.EXEC_VERSIONS[0],
        "installHint": "Install it from here.",
    }
    with pytest.raises(Unreachable, match=r"'no-such-plugin' cannot be started: .* Install it from here\."):
        _headers(_load(tmp_path, _config({"exec": said})))
