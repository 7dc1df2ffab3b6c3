"""A kubeconfig file for one user of one server, with a client certificate."""

from pathlib import Path

import yaml

from testbed.certificates import Pair


def write(file: Path, server: str, ca_file: Path, user: str, pair: Pair) -> Path:
    """The file written; it refers to certificate and key by their paths."""
    credentials = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "testbed",
        "clusters": [{"name": "testbed", "cluster": {"server": server, "certificate-authority": str(ca_file)}}],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": user}}],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    return file


def service_account_groups(user: str) -> tuple[str, ...]:
    """The groups that a token would carry, if ``user`` is ``system:serviceaccount:NAMESPACE:NAME``; else none."""
    match user.split(":"):
        case ["system", "serviceaccount", namespace, _]:
            return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return ()
