"""Manifests of others, rendered from the module cache and fitted to programs that run beside the cluster, not in it."""

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from testbed import build, folders
from testbed.access import Access

Document = dict[str, Any]

# What would run, expose or secure the program inside the cluster; here the bed does that.
LEFT_OUT = ("Deployment", "Service", "Secret", "ConfigMap")
WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def rendered(access: Access, name: str, module: str, folder: str) -> list[Document]:
    """The documents of the kustomization in ``folder`` of the module that ``name`` is built from.

    Kept in the cache under the pins they came from: rendering and reading a megabyte of CRDs takes seconds.
    """
    kept = folders.cache() / "rendered" / f"{name}-{build.stamp(name)[:16]}.json"
    if not kept.exists():
        text = access.kubectl("kustomize", str(build.sources(name, module) / folder))
        kept.parent.mkdir(parents=True, exist_ok=True)
        fresh = kept.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps([document for document in yaml.load_all(text, yaml.CSafeLoader) if document]))
        fresh.replace(kept)
    documents: list[Document] = json.loads(kept.read_text())
    return documents


def beside_the_cluster(documents: list[Document], webhook_port: int, ca_file: Path) -> Iterator[Document]:
    """What is left to apply: roles, CRDs, and webhooks that point to a port on loopback."""
    bundle = base64.b64encode(ca_file.read_bytes()).decode()
    for document in documents:
        if document["kind"] in LEFT_OUT:
            continue
        if document["kind"] in WEBHOOKS:
            for webhook in document["webhooks"]:
                path = webhook["clientConfig"]["service"]["path"]
                webhook["clientConfig"] = {"url": f"https://127.0.0.1:{webhook_port}{path}", "caBundle": bundle}
        # One version is served, so nothing is ever converted, and the service it names does not exist.
        document.get("spec", {}).pop("conversion", None)
        yield document


def definitions(documents: list[Document]) -> list[str]:
    """The names of the CRDs among ``documents``, as kubectl takes them."""
    return [f"crd/{document['metadata']['name']}" for document in documents if _is_definition(document)]


def service_account(documents: list[Document]) -> str:
    """The user name of the one ServiceAccount among ``documents``."""
    (account,) = (document["metadata"] for document in documents if document["kind"] == "ServiceAccount")
    return f"system:serviceaccount:{account['namespace']}:{account['name']}"


def apply(access: Access, documents: list[Document]) -> None:
    """All of ``documents`` on the server and their CRDs established.

    Namespaces and CRDs go first: the server would refuse what lives in them.
    """
    early = [document for document in documents if document["kind"] == "Namespace" or _is_definition(document)]
    late = [document for document in documents if document not in early]
    for batch in filter(None, (early, late)):
        # Validation would make the server describe all its kinds anew after every CRD: seconds of its time.
        command = ("apply", "--server-side", "--force-conflicts", "--validate=false", "-f", "-")
        access.kubectl(*command, input=json.dumps({"apiVersion": "v1", "kind": "List", "items": batch}))
    if names := definitions(early):
        access.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)


def _is_definition(document: Document) -> bool:
    return bool(document["kind"] == "CustomResourceDefinition")
