"""What rules where gangs go is deleted and made again under them: Topology, Queue and PriorityClass."""

from collections.abc import Iterator

import pytest

from tests.kube.clerk import Clerk
from tests.kube.lives import Life, Witness
from tests.kube.manifests import Object, job
from tests.kube.site import Site

TIMES = 5
PODS = 4
WINDOW = 20  # seconds that a gang may be half bound: its schedule time-out


def rules(site: Site) -> dict[str, Object]:
    ours = {"apiVersion": "phalanx.dev/v1alpha1"}
    levels = [{"nodeLabel": f"{site.namespace}/{level}", "name": level} for level in ("block", "rack")]
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 7}
    return {
        "Topology": {**ours, "kind": "Topology", "spec": {"levels": levels}},
        "Queue": {**ours, "kind": "Queue", "spec": {"namespaceSelector": {}}},
        "PriorityClass": priority,
    }


class Ruled:
    """A Job that runs and one that waits for room, in one queue, of one class, each in a rack."""

    def __init__(self, site: Site, witness: Witness) -> None:
        self.site, self.witness = site, witness
        self.clerk = Clerk(site.bed.admin_kubeconfig, site.namespace)
        self.rules = rules(site)
        for rule in self.rules.values():
            rule |= {"metadata": {"name": site.namespace}}
        site.apply(list(self.rules.values()))

    def job(self, name: str) -> Life:
        wish = {"phalanx.dev/topology-required": "rack", "phalanx.dev/topology-name": self.site.namespace}
        labels = {"phalanx.dev/queue": self.site.namespace}
        made = job(name, PODS, annotations=wish, job_labels=labels, priorityClassName=self.site.namespace)
        path = tuple(f"{self.site.namespace}/{level}" for level in ("block", "rack"))
        life = self.witness.life(name, PODS, path)
        done = self.clerk.try_to_create(made)
        assert done is not None
        life.uids.add(done["metadata"]["uid"])
        return life

    def running(self, life: Life) -> bool:
        found = self.witness.lineage.pods_of(life)
        return len(found) == PODS and all(one.get("status", {}).get("phase") == "Running" for one in found)

    def waits(self, name: str) -> bool:
        """Whether its pods say why they have no node."""
        found = self.site.pods(f"batch.kubernetes.io/job-name={name}")
        said = [one for pod in found for one in pod.get("status", {}).get("conditions", []) if one["status"] == "False"]
        return len([one for one in said if one["type"] == "PodScheduled"]) == PODS


@pytest.fixture
def ruled(site: Site) -> Iterator[Ruled]:
    site.nodes("r1=2", cpu=4)
    with Witness(site.bed.admin_kubeconfig) as witness:
        one = Ruled(site, witness)
        yield one
        one.clerk.close()


@pytest.mark.parametrize("kind", ["Topology", "Queue", "PriorityClass"])
def test_what_rules_gangs_is_deleted_and_made_again_under_them(ruled: Ruled, kind: str) -> None:
    """What runs stays; what waits goes on waiting, and starts in one rack once there is room."""
    site = ruled.site
    with site.phalanx(f"namespaces: [{site.namespace}]\ntimeouts: {{scheduleSeconds: {WINDOW}}}\n"):
        first, second = ruled.job("first"), ruled.job("second")
        site.until(lambda: ruled.running(first) or ruled.running(second), "one of them runs")
        waiting = second if ruled.running(first) else first
        site.until(lambda: ruled.waits(waiting.name), "the other says why it waits")
        for number in range(TIMES):
            ruled.clerk.delete(ruled.rules[kind])
            if number == TIMES - 1:  # seen to be away, and not merely another one
                ruled.job("third")
                site.until(lambda: site.events("third"), "a Job that came without it is told what is missing")
            ruled.clerk.create(ruled.rules[kind])
        site.nodes("r2=1 r3=1", cpu=4)  # room for one of them, in no rack
        site.nodes("r4=2 r5=2", cpu=4)
        for life in ruled.witness.lives:
            site.until(lambda life=life: ruled.running(life), f"{life.name} runs")
        assert not (wrong := ruled.witness.wrongs(WINDOW)), "\n".join(wrong)
