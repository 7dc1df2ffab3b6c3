"""Groups that their own controllers restart, ten times: each time all of it is bound again, in one rack."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from testbed.bed import Bed
from tests.kube.clerk import Clerk
from tests.kube.lives import Life, Witness
from tests.kube.manifests import Object
from tests.kube.site import Site
from tests.kube.workloads import KINDS, PODS, Order

TIMES = 10
WINDOW = 20  # seconds that a gang may be half bound: its schedule time-out


def a_pod_fails(bed: Bed, pod: Object) -> None:
    bed.finish(pod["metadata"]["namespace"], pod["metadata"]["name"], phase="Failed")


def a_container_restarts(bed: Bed, pod: Object) -> None:
    """As its kubelet reports it."""
    containers = [{**one, "restartCount": 1} for one in pod["status"]["containerStatuses"]]
    change = json.dumps({"status": {"containerStatuses": containers}})
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    bed.kubectl("patch", "pod", name, "-n", namespace, "--subresource=status", "--type=merge", "-p", change)


def job_set(order: Order) -> Object:
    """It starts over when one of its Jobs fails."""
    (made,) = KINDS["jobset"](order).makers
    made["spec"] |= {"failurePolicy": {"maxRestarts": TIMES}}
    for one in made["spec"]["replicatedJobs"]:
        one["template"]["spec"] |= {"backoffLimit": 0}
    return made


def leader_worker_set(order: Order) -> Object:
    """Its group starts over when a container of it does."""
    (made,) = KINDS["leaderworkerset"](order).makers
    return made


@dataclass(slots=True)
class Restarted:
    """A workload of four pods. ``whole``: what it is made of in all its lives; ``life``: the present one."""

    site: Site
    witness: Witness
    whole: Life
    end: Callable[[Bed, Object], None]
    life: Life
    times: int = 0
    _before: set[str] = field(default_factory=set)

    def act(self) -> bool:
        """Ends the life that runs whole, so that another begins; whether the last one runs."""
        found = self.witness.lineage.pods_of(self.whole)
        fresh = [one for one in found if one["metadata"]["uid"] not in self._before]
        runs = [one for one in fresh if one.get("status", {}).get("phase") == "Running"]
        if not len(found) == len(runs) == PODS:
            return False
        self.life.uids = {one["metadata"]["uid"] for one in runs}
        if self.times == TIMES:
            return True
        self._before |= self.life.uids
        self.times += 1
        self.life.told = time.monotonic()
        self.end(self.site.bed, max(runs, key=lambda one: str(one["metadata"]["name"])))
        self.life = self.witness.life(f"{self.life.name}+", PODS, self.life.path)
        return False


def test_groups_that_restart_ten_times_are_whole_each_time(site: Site) -> None:
    """A JobSet and a LeaderWorkerSet, each with pods that are alike and with several shapes."""
    site.nodes("r1=2 r2=2 r3=2 r4=2 r5=2", cpu=4)
    site.topology()
    path = tuple(f"{site.namespace}/{level}" for level in ("block", "rack"))
    clerk = Clerk(site.bed.admin_kubeconfig, site.namespace)
    configuration = f"namespaces: [{site.namespace}]\ntimeouts: {{scheduleSeconds: {WINDOW}}}\n"
    with Witness(site.bed.admin_kubeconfig) as witness, site.phalanx(configuration):
        running = []
        for make, end in ((job_set, a_pod_fails), (leader_worker_set, a_container_restarts)):
            for name in ("alike", "several"):
                order = Order(site.namespace, f"{make.__name__.replace('_', '-')}-{name}", name == "several")
                made = clerk.try_to_create(make(order))
                assert made is not None
                whole = Life(order.name, PODS, uids={made["metadata"]["uid"]})
                running.append(Restarted(site, witness, whole, end, witness.life(order.name, PODS, path)))

        def have_run() -> bool:
            return {one.act() for one in running} == {True}

        site.until(have_run, "each has restarted ten times and runs", 180)
        clerk.close()
        assert not (wrong := witness.wrongs(WINDOW)), "\n".join(wrong)
