"""What goes wrong in gate mode, on purpose; each time the watch history of the server is judged afterwards.

We take the gates off, and the real kube-scheduler binds: between both there is a time in which a pod has a place and no
node. Changes of pods are held in the proxy, or kube-scheduler is kept away, so that a fault comes in just that time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from testbed.bed import Bed, Part
from testbed.fixtures import skip_unless_built
from tests.kube.history import History, Promise
from tests.kube.manifests import GATE, job, pod, template
from tests.kube.proxy import Proxy, is_resumed, is_ungate, is_watch, puts_a_gate
from tests.kube.site import Object, Site, with_us
from tests.kube.test_faults import QUICK, Scene

PARTS: frozenset[Part] = frozenset({"apiserver", "controllers", "scheduler", "kwok"})
HOSTNAME = "kubernetes.io/hostname"
THEIRS = "default-scheduler"
RANK = "phalanx.dev/rank"
PINNED = "phalanx.dev/pinned"
JOB = "batch.kubernetes.io/job-name"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """A bed of its own, with our kinds and our role: its server and its scheduler are ended and started again."""
    skip_unless_built(PARTS)
    with Bed.start(PARTS, tmp_path_factory.mktemp("faulty-gates")) as bed:
        with_us(bed)
        yield bed


@dataclass(frozen=True, slots=True)
class Gated(Scene):
    """A scene whose pods wait behind our gate and are bound by kube-scheduler."""

    def gated(self, name: str, count: int, cpu: int = 2, level: str = "rack", **rules: Any) -> Promise:
        """A Gang, and a set that keeps its pods; what is promised of it."""
        promise = self.gang(name, count, level=level, enforcement="Gate", **rules)
        labels = {"phalanx.dev/gang": name}
        made = template(cpu, THEIRS, labels=labels, schedulingGates=[{"name": GATE}])
        spec = {"replicas": count, "selector": {"matchLabels": labels}, "template": made}
        self.site.apply([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name}, "spec": spec}])
        return promise

    def pinned(self, gang: str) -> dict[str, str]:
        """The node that each of its pods was told to take, while its gate is off and it stays."""
        free = self.free(f"phalanx.dev/gang={gang}")
        return {one["metadata"]["name"]: one["spec"]["nodeSelector"][HOSTNAME] for one in free}

    def free(self, selector: str) -> list[Object]:
        """Pods without a gate that stay."""
        staying = [one for one in self.site.pods(selector) if "deletionTimestamp" not in one["metadata"]]
        return [one for one in staying if not one["spec"].get("schedulingGates")]

    def state(self, gang: str) -> str:
        found = self.site.read(f"apis/phalanx.dev/v1alpha1/namespaces/{self.site.namespace}/gangs")
        return next(str(one.get("status", {}).get("state", "")) for one in found if one["metadata"]["name"] == gang)

    def waits_for(self, gang: str) -> str:
        found = self.site.condition("gang", gang, "Scheduled") or {"status": "True"}
        return str(found["reason"]) if found["status"] == "False" else ""

    def suspended(self, name: str, count: int) -> Promise:
        """A Job that waits for its turn, all of it in one rack; what is promised of it."""
        wish = {"phalanx.dev/topology-required": "rack", "phalanx.dev/topology-name": self.site.namespace}
        queue = {"phalanx.dev/queue": "default"}
        self.site.apply([job(name, count, suspend=True, scheduler=THEIRS, annotations=wish, job_labels=queue)])
        path = tuple(f"{self.site.namespace}/{one}" for one in ("block", "rack"))
        return Promise(name, count, path, namespace=self.site.namespace, label=JOB)

    def until_pinned(self, gang: str, count: int) -> dict[str, str]:
        self.site.until(lambda: len(self.pinned(gang)) == count, f"{count} pods of {gang} have no gate any more")
        return self.pinned(gang)

    @contextmanager
    def nobody_binds(self) -> Iterator[None]:
        """kube-scheduler is away until the block ends."""
        scheduler = self.site.bed.part("scheduler")
        scheduler.process.kill()
        try:
            yield
        finally:
            scheduler.start()


@pytest.fixture
def scene(site: Site, prepared: Bed, tmp_path: Path) -> Iterator[Gated]:
    site.topology()
    with Proxy(prepared.kubeconfig(site.account), tmp_path) as proxy, History(prepared.admin_kubeconfig) as history:
        yield Gated(site, proxy, history)


# -- the scheduler dies ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("late", [False, True], ids=["cut", "late"])
def test_a_scheduler_killed_while_gates_come_off_ends_it_when_it_is_back(scene: Gated, late: bool) -> None:
    """``late``: what was on the wire when it died reaches the server after the next one has begun."""
    scene.site.nodes("r1=4 r2=4", cpu=16)
    with scene.phalanx() as running:
        held = scene.proxy.hold(is_ungate, after=8)
        promise = scene.gated("train", 24)
        scene.until_caught(held, 1)
        scene.until_bound("train", 8)
        running.kill()
        if late:
            scene.proxy.forget(held)
        else:
            held.drop()
        running.start()
        if late:
            held.let_go()
        scene.until_bound("train", 24)
        assert scene.well(promise)
        assert 24 in scene.history.counts(promise)


def test_a_scheduler_told_to_end_while_gates_come_off_ends_the_gang_first(scene: Gated) -> None:
    scene.site.nodes("r1=4", cpu=8)
    with scene.phalanx(configuration="") as running:
        held = scene.proxy.hold(is_ungate, after=4)
        promise = scene.gated("train", 16)
        scene.until_caught(held, 1)
        scene.until_bound("train", 4)
        assert running.process is not None
        running.process.terminate()
        held.let_go()
        assert running.process.wait(timeout=30) == 0
        assert len(scene.pinned("train")) == 16
        scene.until_bound("train", 16)
    assert scene.well(promise)


# -- the server is away, or cannot be heard --------------------------------------------------------------------------


def test_a_server_that_is_killed_while_gates_come_off(scene: Gated, prepared: Bed) -> None:
    scene.site.nodes("r1=4", cpu=8)
    with scene.phalanx():
        held = scene.proxy.hold(is_ungate, after=4)
        promise = scene.gated("train", 16)
        scene.until_caught(held, 1)
        scene.until_bound("train", 4)
        prepared.kill_apiserver()
        held.let_go()
        prepared.restart_apiserver()
        scene.until_bound("train", 16)
        assert scene.well(promise)


def test_watches_that_are_cut_while_gates_come_off_go_on_where_they_were(scene: Gated) -> None:
    scene.site.nodes("r1=4", cpu=8)
    with scene.phalanx():
        held = scene.proxy.hold(is_ungate, after=4)
        promise = scene.gated("train", 16)
        scene.until_caught(held, 1)
        assert scene.proxy.cut_watches() > 0
        held.let_go()
        scene.until_bound("train", 16)
        assert scene.well(promise)


def test_what_was_bound_while_nobody_could_watch_is_known_after_a_410(scene: Gated) -> None:
    scene.site.nodes("r1=4", cpu=8)
    with scene.phalanx():
        held = scene.proxy.hold(is_ungate, after=4)
        promise = scene.gated("train", 16)
        scene.until_caught(held, 1)
        deaf = scene.proxy.answer(is_watch, 503, "ServiceUnavailable")
        assert scene.proxy.cut_watches() > 0
        held.let_go()
        scene.until_bound("train", 16)
        expired = scene.proxy.answer(is_resumed, 410, "Expired", as_event=True)
        deaf.stop()
        scene.site.until(lambda: "/api/v1/pods" in {one.path for one in expired.caught}, "the watch lost its place")
        expired.stop()
        scene.site.until(lambda: "Running" in scene.state("train"), "the gang is known to run")
        assert scene.well(promise)
        assert scene.history.counts(promise)[-1] == 16


# -- the change is not answered as it should be ----------------------------------------------------------------------


def test_a_gate_whose_end_is_answered_late(scene: Gated) -> None:
    scene.site.nodes("r1=4", cpu=8)
    with scene.phalanx():
        held = scene.proxy.hold(is_ungate, after=4, most=1, applied=True)
        promise = scene.gated("train", 16)
        [asked] = scene.until_caught(held, 1)
        scene.site.until(lambda: asked.last in scene.where("train"), "its pod is bound all the same")
        held.let_go()
        scene.until_bound("train", 16)
        assert scene.well(promise)


@pytest.mark.parametrize("applied", [True, False], ids=["done", "not-done"])
def test_a_gate_whose_end_is_never_answered(scene: Gated, applied: bool) -> None:
    scene.site.nodes("r1=4", cpu=8)
    with scene.phalanx():
        held = scene.proxy.hold(is_ungate, after=4, most=1, applied=applied)
        promise = scene.gated("train", 16)
        scene.until_caught(held, 1)
        scene.until_bound("train", 16)
        assert scene.well(promise)
        held.drop()


# -- the world changes between decision and bind ---------------------------------------------------------------------


@pytest.mark.parametrize("which", ["held", "pinned"])
def test_a_pod_that_is_deleted_between_decision_and_bind_is_replaced(scene: Gated, which: str) -> None:
    """Before its gate is off, or after it and before it has a node."""
    scene.site.nodes("r1=4", cpu=8)
    with scene.phalanx():
        with scene.nobody_binds():
            held = scene.proxy.hold(is_ungate, after=4)
            promise = scene.gated("train", 16)
            asked = scene.until_caught(held, 1)[0]
            victim = asked.last if which == "held" else next(iter(scene.until_pinned("train", 4)))
            scene.site.delete("pod", victim)
            scene.site.until(lambda: victim not in scene.pinned("train"), "the pod leaves")
            held.let_go()
            scene.until_pinned("train", 16)
        assert victim not in scene.until_bound("train", 16)
        assert scene.well(promise)


@pytest.mark.parametrize("drawn", ["r1=5", "r1=4 r2=5"], ids=["mended", "released"])
def test_a_node_that_is_deleted_before_its_pods_are_bound(scene: Gated, drawn: str) -> None:
    """Its pods are made anew in the rack; where that has no room the gang is released in time and goes elsewhere."""
    scene.site.nodes(drawn, cpu=4)
    with scene.phalanx():
        with scene.nobody_binds():
            promise = scene.gated("train", 8, scheduleTimeoutSeconds=5)
            node = next(iter(scene.until_pinned("train", 8).values()))
            scene.site.bed.kubectl("delete", "node", node)
        found = scene.until_bound("train", 8)
        assert node not in found.values()
        assert scene.well(promise, window=10)


def test_a_slot_that_somebody_else_took_before_kube_scheduler_bound(scene: Gated) -> None:
    scene.site.nodes("r1=5", cpu=4)
    with scene.phalanx():
        with scene.nobody_binds():
            promise = scene.gated("train", 8, scheduleTimeoutSeconds=5)
            node = next(iter(scene.until_pinned("train", 8).values()))
            scene.site.apply([pod("stranger", nodeName=node)])
        assert list(scene.until_bound("train", 8).values()).count(node) <= 1
        assert scene.well(promise, window=10)


def test_a_gang_whose_slot_was_taken_waits_whole_where_no_room_is_left(scene: Gated) -> None:
    scene.site.nodes("r1=4", cpu=4)
    with scene.phalanx():
        with scene.nobody_binds():
            promise = scene.gated("train", 8, scheduleTimeoutSeconds=5)
            node = next(iter(scene.until_pinned("train", 8).values()))
            scene.site.apply([pod("stranger", nodeName=node)])
        scene.site.until(lambda: scene.waits_for("train") == "NoRoom", "it is seen that there is no room for all of it")
        assert scene.where("train") == {}
        scene.site.delete("pod", "stranger", "--force", "--grace-period=0")
        scene.until_bound("train", 8)
        assert scene.well(promise, window=10)


def test_a_gang_that_nobody_binds_in_time_leaves_whole_with_what_was_on_its_way(scene: Gated) -> None:
    """Were one of its pods forgotten, kube-scheduler would bind that one when it is back."""
    scene.site.nodes("r1=4", cpu=4)
    with scene.phalanx():
        with scene.nobody_binds():
            promise = scene.gated("train", 8, scheduleTimeoutSeconds=5)
            first = scene.until_pinned("train", 8).keys()
            scene.site.until(lambda: first.isdisjoint(scene.pinned("train")), "all of them were called back")
        scene.until_bound("train", 8)
        assert scene.well(promise, window=10)


# -- an owner that is held back --------------------------------------------------------------------------------------


def test_a_job_whose_scheduler_is_killed_while_it_lets_it_go(scene: Gated) -> None:
    scene.site.nodes("r1=3 r2=4", cpu=8)
    with scene.phalanx() as running:
        held = scene.proxy.hold(is_ungate, after=4)
        promise = scene.suspended("train", 16)
        scene.until_caught(held, 1)
        running.kill()
        held.drop()
        running.start()
        scene.site.until(lambda: len(scene.site.where(f"{JOB}=train")) == 16, "the Job is bound")
        assert scene.well(promise)
        found = scene.site.pods(f"{JOB}=train")
        ranks = {one["metadata"]["annotations"][RANK] for one in found}
        assert ranks == {str(rank) for rank in range(16)}


def test_a_job_is_not_let_go_without_the_gate(scene: Gated) -> None:
    """The change that puts the gate into its template is refused; the one that lets it go would not be."""
    scene.site.nodes("r1=3 r2=4", cpu=8)
    with scene.phalanx():
        refused = scene.proxy.answer(puts_a_gate, 503, "ServiceUnavailable", most=1)
        promise = scene.suspended("train", 16)
        scene.site.until(lambda: refused.caught, "the gate was to be put in")
        scene.site.until(lambda: len(scene.site.where(f"{JOB}=train")) == 16, "the Job is bound")
        assert scene.well(promise)
        assert all(PINNED in one["metadata"]["annotations"] for one in scene.site.pods(f"{JOB}=train"))


def test_a_scheduler_killed_before_anything_is_bound_does_not_choose_anew_for_what_it_pinned(scene: Gated) -> None:
    """Half of the gates are off when it dies, and until it is back a rack has come that would fit better."""
    scene.site.nodes("r1=3", cpu=8)
    with scene.phalanx() as running:
        with scene.nobody_binds():
            held = scene.proxy.hold(is_ungate, after=4)
            promise = scene.gated("train", 8)
            scene.until_caught(held, 1)
            scene.until_pinned("train", 4)
            running.kill()
            held.drop()
            scene.site.nodes("r2=2", cpu=8)
            running.start()
            scene.until_pinned("train", 8)
        scene.until_bound("train", 8)
        assert scene.well(promise)


def test_a_scheduler_that_comes_back_calls_back_what_was_sent_to_a_node_that_is_gone(scene: Gated) -> None:
    scene.site.nodes("r1=3", cpu=8)
    with scene.phalanx() as running:
        with scene.nobody_binds():
            promise = scene.gated("train", 8, scheduleTimeoutSeconds=5)
            node = next(iter(scene.until_pinned("train", 8).values()))
            running.kill()
            scene.site.bed.kubectl("delete", "node", node)
            running.start()
        scene.until_bound("train", 8)
        assert scene.well(promise, window=10)


@pytest.mark.parametrize("drawn", ["r1=3", "r1=2 r2=2"], ids=["same-rack", "another-rack"])
def test_a_job_whose_node_is_deleted_before_its_pods_are_bound_starts_over(scene: Gated, drawn: str) -> None:
    """More of its pods were on their way to that node than a Job forgives."""
    scene.site.nodes(drawn, cpu=16)
    with scene.phalanx(f"{QUICK}timeouts: {{scheduleSeconds: 5}}\n"):
        with scene.nobody_binds():
            promise = scene.suspended("train", 16)
            scene.site.until(lambda: len(scene.free(f"{JOB}=train")) == 16, "all gates are off")
            node = scene.free(f"{JOB}=train")[0]["spec"]["nodeSelector"][HOSTNAME]
            scene.site.bed.kubectl("delete", "node", node)
        scene.site.until(lambda: len(scene.site.where(f"{JOB}=train")) == 16, "the Job is bound")
        assert scene.well(promise, window=10)
