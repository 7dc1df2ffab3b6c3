"""Manifests of others, fitted to programs that run beside the cluster."""

import base64
from pathlib import Path
from typing import Any

import pytest

from testbed import manifests


def webhook(path: str) -> dict[str, Any]:
    service = {"name": "webhook", "namespace": "system", "path": path}
    return {"kind": "MutatingWebhookConfiguration", "webhooks": [{"clientConfig": {"service": service}}]}


@pytest.fixture
def ca_file(tmp_path: Path) -> Path:
    file = tmp_path / "ca.crt"
    file.write_text("trust me")
    return file


def test_webhooks_point_to_loopback_with_our_authority(ca_file: Path) -> None:
    (left,) = manifests.beside_the_cluster([webhook("/mutate")], 20001, ca_file)
    bundle = base64.b64encode(b"trust me").decode()
    assert left["webhooks"][0]["clientConfig"] == {"url": "https://127.0.0.1:20001/mutate", "caBundle": bundle}


def test_what_would_run_in_the_cluster_is_left_out(ca_file: Path) -> None:
    documents = [{"kind": kind} for kind in ("Deployment", "ClusterRole", "Service", "Secret")]
    assert list(manifests.beside_the_cluster(documents, 20001, ca_file)) == [{"kind": "ClusterRole"}]


def test_nothing_is_converted(ca_file: Path) -> None:
    crd = {"kind": "CustomResourceDefinition", "spec": {"group": "example.test", "conversion": {"strategy": "Webhook"}}}
    (left,) = manifests.beside_the_cluster([crd], 20001, ca_file)
    assert left["spec"] == {"group": "example.test"}


def test_the_controller_runs_as_the_account_of_its_manifests() -> None:
    account = {"kind": "ServiceAccount", "metadata": {"name": "manager", "namespace": "jobset-system"}}
    assert manifests.service_account([account]) == "system:serviceaccount:jobset-system:manager"
