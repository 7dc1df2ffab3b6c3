"""Kinds that are installed and uninstalled while the scheduler runs."""

import json
from urllib.request import urlopen

from tests.kube.site import Object, Site

NAME = "jaxjobs.kubeflow.org"


def definition() -> Object:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": "jaxjobs", "singular": "jaxjob", "kind": "JAXJob", "listKind": "JAXJobList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "kubeflow.org", "names": names, "scope": "Namespaced", "versions": [version]}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": NAME}}
    return {**head, "spec": spec}


def figures(log: str) -> str:
    """The metrics of the process that wrote the log."""
    started = next(line for line in map(json.loads, log.splitlines()) if line["event"] == "started")
    with urlopen(f"http://127.0.0.1:{started['port']}/metrics", timeout=10) as answer:
        return str(answer.read().decode())


def test_a_kind_is_followed_from_when_it_is_installed_until_it_is_uninstalled(site: Site) -> None:
    log = site.folder / "phalanx-1.log"
    with site.phalanx(f"namespaces: [{site.namespace}]\n"):
        assert NAME not in figures(log.read_text())
        site.bed.apply(json.dumps(definition()))
        site.until(lambda: NAME in figures(log.read_text()), "the new kind is followed")
        site.bed.kubectl("delete", "crd", NAME)
        site.until(lambda: NAME not in figures(log.read_text()), "it is not followed any more", 120)
    assert f"{NAME} are served no more, and not followed" in log.read_text()
