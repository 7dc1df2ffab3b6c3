"""Queues on a real server: who may use them, and who is told that he may not."""

from tests.kube.manifests import gang, members
from tests.kube.site import Object, Site


def only_here(site: Site) -> str:
    return f"namespaces: [{site.namespace}]\n"


def reason(site: Site, name: str) -> Object:
    return site.condition("gang", name, "Scheduled") or {}


def test_a_queue_is_for_the_namespaces_it_selects(site: Site) -> None:
    site.nodes("r1=1")
    site.topology()
    queue = {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Queue", "metadata": {"name": site.namespace}}
    site.apply([{**queue, "spec": {"namespaceSelector": {"matchLabels": {"team": site.namespace}}}}])
    made = gang("crew", workers={"count": 2})
    made["spec"]["queue"] = site.namespace
    with site.phalanx(only_here(site)):
        site.apply([made, *members("crew", "workers", 2)])
        site.until(lambda: reason(site, "crew").get("reason") == "OverQuota", "it is told that it may not")
        assert "is for other namespaces; open to this one: default" in reason(site, "crew")["message"]
        assert not site.where()
        site.bed.kubectl("label", "namespace", site.namespace, f"team={site.namespace}")
        site.until(lambda: len(site.where()) == 2, "it starts once its namespace is let in")
