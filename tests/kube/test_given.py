"""What a real server lets us give to pods with their place: tolerations, labels that lead to it, one of their gang."""

import pytest

from phalanx.dialects.generation.linking import label
from tests.kube.manifests import GATE, gang, job, pod
from tests.kube.site import Object, Site

TAINT = {"key": "gpu", "value": "h100", "effect": "NoSchedule"}
DEFAULT = "default-scheduler"


def only_here(site: Site) -> str:
    return f"namespaces: [{site.namespace}]\n"


def flavored(site: Site) -> str:
    """A queue with quota on tainted nodes alone; its name."""
    (node,) = site.nodes("r1=1")
    site.topology()
    site.bed.kubectl("taint", "node", node, f"{TAINT['key']}={TAINT['value']}:{TAINT['effect']}")
    head = {"apiVersion": "phalanx.dev/v1alpha1", "metadata": {"name": site.namespace}}
    labels = {"site": site.namespace}
    quota = {"flavor": site.namespace, "resources": [{"name": "cpu", "nominal": 8}]}
    site.apply(
        [
            {**head, "kind": "Flavor", "spec": {"nodeLabels": labels, "tolerations": [{**TAINT, "operator": "Equal"}]}},
            {**head, "kind": "Queue", "spec": {"quota": [quota]}},
        ]
    )
    return site.namespace


@pytest.mark.parametrize("scheduler", ["phalanx", DEFAULT])
def test_pods_get_the_tolerations_of_their_flavor(site: Site, scheduler: str) -> None:
    queue = {"phalanx.dev/queue": flavored(site)}
    with site.phalanx(only_here(site)):
        site.apply([job("train", 2, scheduler=scheduler, suspend=scheduler == DEFAULT, job_labels=queue)])
        site.until(lambda: len(site.where()) == 2, "both are on the tainted node")
        for one in site.pods():
            assert {**TAINT, "operator": "Equal"} in one["spec"]["tolerations"]
            assert one["metadata"]["annotations"]["phalanx.dev/domain"] == "b1/r1"


def test_a_node_with_another_hostname_than_its_name_and_outside_the_topology_is_reached_from_behind_a_gate(
    site: Site,
) -> None:
    (node,) = site.nodes("r1=1", **{"kubernetes.io/hostname": f"{site.namespace}-host"})
    site.bed.kubectl("label", "node", node, f"{site.namespace}/rack-", f"{site.namespace}/block-")
    site.topology()
    gated: Object = {"scheduler": DEFAULT, "schedulingGates": [{"name": GATE}]}
    with site.phalanx(only_here(site)):
        site.apply([pod("alone", nodeSelector={"site": site.namespace}, **gated)])
        site.until(lambda: site.where() == {"alone": node}, "it is where it belongs")


@pytest.mark.parametrize("scheduler", ["phalanx", DEFAULT])
def test_the_pods_of_a_gang_with_a_long_name_can_be_selected(site: Site, scheduler: str) -> None:
    site.nodes("r1=1")
    name = "long-" * 15 + "name"
    said: Object = {"annotations": {"phalanx.dev/gang": name}, "labels": {"phalanx.dev/group": "workers"}}
    gates: Object = {"schedulingGates": [{"name": GATE}]} if scheduler == DEFAULT else {}
    with site.phalanx(only_here(site)):
        site.apply(
            [gang(name, workers={"count": 2}), *(pod(f"p{i}", scheduler=scheduler, **said, **gates) for i in "01")]
        )
        site.until(lambda: len(site.where(f"phalanx.dev/gang={label(name)}")) == 2, "both are found by their label")
