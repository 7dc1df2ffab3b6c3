"""Access as a pod has it: the service account's token and authority, mounted by the kubelet."""

import os
from collections.abc import Mapping
from pathlib import Path

from phalanx.wire.access import Access, BadConfig
from phalanx.wire.certificates import context
from phalanx.wire.credentials import AuthorityFile, Together, TokenFile

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def present(env: Mapping[str, str] = os.environ) -> bool:
    """Whether this process runs in a pod."""
    return bool(env.get("KUBERNETES_SERVICE_HOST"))


def load(*, env: Mapping[str, str] = os.environ, root: str = SERVICE_ACCOUNT) -> Access:
    """What the environment and the mounted files say. Token and authority are read again as they are renewed."""
    folder = Path(root)
    authority, token = folder / "ca.crt", folder / "token"
    for file in (authority, token):
        if not file.is_file():
            raise BadConfig(f"{file}: is missing; a pod has it unless automountServiceAccountToken is false")
    tls = context(ca_file=str(authority))
    return Access(
        server=_server(env),
        tls=tls,
        credential=Together(TokenFile(token), AuthorityFile(tls, authority)),
        namespace=_namespace(folder / "namespace"),
        source=str(folder),
    )


def _server(env: Mapping[str, str]) -> str:
    host, port = env.get("KUBERNETES_SERVICE_HOST", ""), env.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise BadConfig("KUBERNETES_SERVICE_HOST: is empty; inside a cluster the kubelet sets it")
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def _namespace(file: Path) -> str:
    return (file.read_text().strip() if file.is_file() else "") or "default"
