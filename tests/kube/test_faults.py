"""What goes wrong around ``phalanx run``, on purpose; each time the watch history of the server is judged afterwards.

Between the scheduler and the server stands a proxy, so that a fault comes exactly when it hurts: binds are held there
until the test has seen how far they are.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import TimeoutExpired
from urllib.request import urlopen

import pytest

from testbed.bed import Bed
from testbed.fixtures import skip_unless_built
from tests.contract.door import from_kubeconfig
from tests.kube.history import History, Promise
from tests.kube.proxy import Asked, Hold, Proxy, is_bind, is_resumed, is_watch
from tests.kube.site import Object, Running, Site, with_us

PARTS = frozenset({"apiserver", "controllers", "kwok"})
WINDOW = 20  # seconds; the schedule time-out of these gangs, and the longest that any of them may be half bound
LARGE = 64
GRACE = 30  # seconds; what Kubernetes gives pods that do not say
# Short, so that a fault is over soon: a bind that is not answered, and the wait until it is asked for again.
QUICK = """
binds: {timeoutSeconds: 1}
engine: {bindAgainSeconds: 1}
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """A bed of its own, with our kinds and our role: its server is restarted, which others would not like."""
    skip_unless_built(PARTS)
    with Bed.start(PARTS, tmp_path_factory.mktemp("faulty")) as bed:
        with_us(bed)
        yield bed


@dataclass(frozen=True, slots=True)
class Scene:
    """A site, who stands in the middle, and who writes down what happens."""

    site: Site
    proxy: Proxy
    history: History

    @contextmanager
    def phalanx(self, configuration: str = QUICK) -> Iterator[Running]:
        with self.site.phalanx(configuration, self.proxy.kubeconfig) as running:
            yield running

    # -- gangs ---------------------------------------------------------------------------------------------------

    def gang(self, name: str, count: int, *, level: str = "rack", least: int | None = None, **rules: object) -> Promise:
        """A Gang without its pods; what is promised of it."""
        group = {"name": "workers", "count": count, "minCount": least or count}
        spec = {"scheduleTimeoutSeconds": WINDOW, "topology": {"required": level}, "podGroups": [group], **rules}
        spec |= {"topologyName": self.site.namespace}
        self.site.apply([_ours("Gang", name, spec)])
        path = tuple(f"{self.site.namespace}/{one}" for one in ("block", "rack")[: 1 if level == "block" else 2])
        return Promise(name, least or count, path, namespace=self.site.namespace)

    def pods(self, gang: str, count: int, cpu: int = 2, first: int = 0) -> list[str]:
        """Pods of a gang, made by nobody in particular."""
        names = [f"{gang}-{number}" for number in range(first, first + count)]
        self.post("pods", *(_pod(name, {"phalanx.dev/gang": gang}, cpu) for name in names))
        return names

    def post(self, path: str, *documents: Object) -> None:
        """Creates what kubectl has no word for, such as a binding, or would be slow with."""
        door = from_kubeconfig(self.site.bed.admin_kubeconfig)
        try:
            for document in documents:
                door.call("POST", f"/api/v1/namespaces/{self.site.namespace}/{path}", document).expect(201)
        finally:
            door.close()

    def kept(self, gang: str, count: int, cpu: int = 2) -> None:
        """Pods of a gang that are made again when they go."""
        labels = {"phalanx.dev/gang": gang}
        template = {"metadata": {"labels": labels}, "spec": _pod("", labels, cpu)["spec"]}
        spec = {"replicas": count, "selector": {"matchLabels": labels}, "template": template}
        self.site.apply([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": gang}, "spec": spec}])

    def where(self, gang: str) -> dict[str, str]:
        """The node of each of its pods that has one and stays."""
        found = self.site.pods(f"phalanx.dev/gang={gang}")
        staying = [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]
        return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in staying if pod["spec"].get("nodeName")}

    # -- waiting -------------------------------------------------------------------------------------------------

    def until_bound(self, gang: str, count: int) -> dict[str, str]:
        self.site.until(lambda: len(self.where(gang)) == count, f"{count} pods of {gang} have their nodes")
        return self.where(gang)

    def known(self, kind: str) -> int:
        """How many objects of a kind the scheduler holds, as its metrics tell."""
        started = (self.site.folder / "phalanx-1.log").read_text().splitlines()[0]
        with urlopen(f"http://127.0.0.1:{json.loads(started)['port']}/metrics") as answer:
            found = re.search(rf'_objects{{[^}}]*"{kind}"[^}}]*}} (\d+)', answer.read().decode())
        return int(found[1]) if found else 0

    def says(self, gang: str, of: str) -> str:
        """The message of a condition of the Gang, while it holds."""
        found = self.site.condition("gang.phalanx.dev", gang, of) or {"status": "False"}
        return str(found["message"]) if found["status"] == "True" else ""

    def until_caught(self, hold: Hold, count: int) -> list[Asked]:
        """Waits until so many requests wait in the proxy, and gives them."""
        self.site.until(lambda: len(hold.caught) >= count, f"{count} requests wait in the proxy")
        return hold.caught

    def well(self, *promises: Promise, window: float = WINDOW) -> bool:
        wrong = self.history.judge(promises, window)
        assert not wrong, "\n".join(wrong)
        return True


@pytest.fixture
def scene(site: Site, prepared: Bed, tmp_path: Path) -> Iterator[Scene]:
    site.topology()
    with Proxy(prepared.kubeconfig(site.account), tmp_path) as proxy, History(prepared.admin_kubeconfig) as history:
        yield Scene(site, proxy, history)


def _ours(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": "phalanx.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _pod(name: str, labels: dict[str, str], cpu: int, scheduler: str = "phalanx", node: str = "") -> Object:
    resources = {"requests": {"cpu": str(cpu)}}
    container = {"name": "main", "image": "registry.example/none:1", "resources": resources}
    spec = {"schedulerName": scheduler, "containers": [container], **({"nodeName": node} if node else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


def told_why(pod: Object) -> str:
    """Why a pod was evicted, as it says itself."""
    conditions = {one["type"]: one for one in pod["status"]["conditions"]}
    assert conditions["DisruptionTarget"]["reason"] == "EvictionByPhalanx"
    return str(conditions["DisruptionTarget"]["message"])


# -- nothing goes wrong ----------------------------------------------------------------------------------------------


def test_a_large_gang_without_any_fault_starts_in_one_go(scene: Scene) -> None:  # W-002, W-077
    scene.site.nodes("r1=13", cpu=16)
    promise = scene.gang("train", 100)
    with scene.phalanx():
        scene.pods("train", 100)
        scene.until_bound("train", 100)
        counts = scene.history.counts(promise)
        assert counts == sorted(counts)  # nothing was taken back; how long it takes: make bench-kube
        assert scene.well(promise)


# -- the scheduler dies ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("late", [False, True], ids=["cut", "late"])
def test_a_scheduler_killed_while_a_large_gang_binds_ends_it_when_it_is_back(scene: Scene, late: bool) -> None:
    """``late``: what was on the wire when it died reaches the server after the next one has begun."""
    scene.site.nodes("r1=8 r2=8", cpu=16)
    promise = scene.gang("train", LARGE)
    with scene.phalanx() as running:
        held = scene.proxy.hold(is_bind, after=20)
        scene.pods("train", LARGE)
        scene.until_caught(held, 8)
        scene.until_bound("train", 20)
        running.kill()
        assert 0 < len(scene.where("train")) < LARGE
        if not late:
            held.drop()
        else:
            scene.proxy.forget(held)
        running.start()
        if late:
            held.let_go()
        scene.until_bound("train", LARGE)
        assert scene.well(promise)
        assert LARGE in scene.history.counts(promise)


def test_a_scheduler_told_to_end_while_a_large_gang_binds_ends_the_gang_first(scene: Scene) -> None:
    scene.site.nodes("r1=8 r2=8", cpu=16)
    promise = scene.gang("train", LARGE)
    with scene.phalanx(configuration="") as running:
        held = scene.proxy.hold(is_bind, after=20)
        scene.pods("train", LARGE)
        scene.until_caught(held, 8)
        scene.until_bound("train", 20)
        assert running.process is not None
        running.process.terminate()
        with pytest.raises(TimeoutExpired):
            running.process.wait(timeout=2)
        held.let_go()
        assert running.process.wait(timeout=30) == 0
        assert len(scene.where("train")) == LARGE
    assert scene.well(promise)


# -- the server is away, or cannot be heard --------------------------------------------------------------------------


@pytest.mark.parametrize("kill", [False, True], ids=["restarted", "killed"])
def test_a_server_that_is_restarted_while_a_gang_binds(scene: Scene, prepared: Bed, kill: bool) -> None:
    scene.site.nodes("r1=8 r2=8", cpu=16)
    promise = scene.gang("train", LARGE)
    with scene.phalanx():
        held = scene.proxy.hold(is_bind, after=20)
        scene.pods("train", LARGE)
        scene.until_caught(held, 8)
        scene.until_bound("train", 20)
        if kill:
            prepared.kill_apiserver()
        held.let_go()
        prepared.restart_apiserver()
        scene.until_bound("train", LARGE)
        assert scene.well(promise)


def test_watches_that_are_cut_while_a_gang_binds_go_on_where_they_were(scene: Scene) -> None:
    scene.site.nodes("r1=4", cpu=16)
    promise = scene.gang("train", 16)
    with scene.phalanx():
        held = scene.proxy.hold(is_bind, after=4)
        scene.pods("train", 16)
        scene.until_caught(held, 8)
        assert scene.proxy.cut_watches() > 0
        held.let_go()
        scene.until_bound("train", 16)
        scene.site.until(scene.proxy.cut_watches, "there are watches again, which are cut again")
        other = scene.gang("other", 8)
        scene.pods("other", 8)
        scene.until_bound("other", 8)
        assert scene.well(promise, other)


@pytest.mark.parametrize("as_event", [False, True], ids=["refused", "event"])
def test_what_vanished_while_nobody_could_watch_is_known_after_a_410(scene: Scene, as_event: bool) -> None:
    """The rack of the lost node would fit best, were it still there."""
    first, *_ = scene.site.nodes("r1=2", cpu=8)
    with scene.phalanx():
        deaf = scene.proxy.answer(is_watch, 503, "ServiceUnavailable")
        assert scene.proxy.cut_watches() > 0
        scene.site.bed.kubectl("delete", "node", first)
        scene.site.nodes("r2=3", cpu=8)
        expired = scene.proxy.answer(is_resumed, 410, "Expired", as_event=as_event)
        deaf.stop()
        nodes = "/api/v1/nodes"
        scene.site.until(lambda: nodes in {asked.path for asked in expired.caught}, "the watch lost its place")
        expired.stop()
        scene.site.until(lambda: scene.known("nodes") == 4, "all nodes are known again, and none that is gone")
        promise = scene.gang("train", 8)
        scene.pods("train", 8)
        scene.until_bound("train", 8)
        assert scene.site.racks("phalanx.dev/gang=train") == {("b1", "r2")}
        assert scene.well(promise)


# -- a bind is not answered as it should be --------------------------------------------------------------------------


def test_a_bind_that_is_answered_late(scene: Scene) -> None:
    scene.site.nodes("r1=4", cpu=8)
    promise = scene.gang("train", 8)
    with scene.phalanx():
        held = scene.proxy.hold(is_bind, after=2, most=3, applied=True)
        scene.pods("train", 8)
        scene.until_caught(held, 3)
        scene.until_bound("train", 8)
        held.let_go()
        assert scene.well(promise)


@pytest.mark.parametrize("applied", [True, False], ids=["done", "not-done"])
def test_a_bind_that_is_never_answered(scene: Scene, applied: bool) -> None:
    scene.site.nodes("r1=4", cpu=8)
    promise = scene.gang("train", 8)
    with scene.phalanx():
        held = scene.proxy.hold(is_bind, after=2, most=3, applied=applied)
        scene.pods("train", 8)
        scene.until_caught(held, 3)
        scene.until_bound("train", 8)
        assert scene.well(promise)
        held.drop()


def test_binds_that_are_answered_with_errors_of_the_server_are_asked_for_again(scene: Scene) -> None:
    scene.site.nodes("r1=4", cpu=8)
    promise = scene.gang("train", 8)
    with scene.phalanx():
        broken = scene.proxy.answer(is_bind, 503, "ServiceUnavailable", most=5)
        scene.pods("train", 8)
        scene.until_bound("train", 8)
        assert len(broken.caught) == 5
        assert scene.well(promise)


# -- the world changes between decision and bind ---------------------------------------------------------------------


def test_a_pod_that_is_deleted_between_decision_and_bind_is_replaced(scene: Scene) -> None:
    scene.site.nodes("r1=4 r2=4", cpu=4)
    promise = scene.gang("train", 8)
    with scene.phalanx():
        held = scene.proxy.hold(is_bind)
        scene.kept("train", 8)
        victim = scene.until_caught(held, 8)[0].name
        scene.site.delete("pod", victim)
        held.let_go()
        scene.until_bound("train", 8)
        assert victim not in scene.where("train")
        assert scene.well(promise)


@pytest.mark.parametrize("drawn", ["r1=5", "r1=4 r2=5"], ids=["mended", "released"])
def test_a_node_that_is_deleted_between_decision_and_bind(scene: Scene, drawn: str) -> None:
    """Its place is found anew in the rack; where that has no room the gang is released in time and goes elsewhere."""
    scene.site.nodes(drawn, cpu=4)
    promise = scene.gang("train", 8, scheduleTimeoutSeconds=5)
    with scene.phalanx():
        held = scene.proxy.hold(is_bind)
        scene.kept("train", 8)
        node = scene.until_caught(held, 8)[0].node
        scene.site.bed.kubectl("delete", "node", node)
        held.drop()
        scene.until_bound("train", 8)
        assert node not in scene.where("train").values()
        assert scene.well(promise, window=10)
        for pod in scene.history.sent_away(promise):  # W-150
            assert pod["metadata"]["deletionGracePeriodSeconds"] == GRACE
            assert told_why(pod).endswith("SCHEDULE_TIMEOUT")
        assert bool(scene.history.sent_away(promise)) == ("r2" in drawn)


def test_a_node_that_is_lost_under_a_running_gang_is_replaced_in_its_rack(scene: Scene) -> None:
    scene.site.nodes("r1=5", cpu=4)
    promise = scene.gang("train", 8)
    with scene.phalanx():
        scene.pods("train", 8)
        before = scene.until_bound("train", 8)
        node = next(iter(before.values()))
        lost = [name for name, home in before.items() if home == node]
        scene.site.bed.kubectl("delete", "node", node)
        scene.site.until(lambda: scene.says("train", "Degraded"), "it is seen that the gang has lost pods")  # K-070
        assert "below its minimum" in scene.says("train", "Degraded")
        for name in lost:  # as the garbage collector of pods does after a minute
            scene.site.delete("pod", name, "--force", "--grace-period=0")
        scene.pods("train", len(lost), first=8)
        scene.until_bound("train", 8)
        assert node not in scene.where("train").values()
        assert scene.well(promise)


def test_a_gang_that_lost_its_minimum_starts_again_when_nodes_come(scene: Scene) -> None:
    scene.site.nodes("r1=2", cpu=8)
    promise = scene.gang("train", 8, recoveryTimeoutSeconds=3)
    with scene.phalanx():
        scene.kept("train", 8)
        before = scene.until_bound("train", 8)
        scene.site.bed.kubectl("delete", "node", next(iter(before.values())))
        scene.site.until(lambda: not scene.where("train"), "what is left of the gang has left")
        scene.site.nodes("r2=2", cpu=8)
        scene.until_bound("train", 8)
        assert all("-r2-" in node for node in scene.where("train").values())
        assert scene.well(promise)


def test_a_slot_that_somebody_else_took_before_the_bind_came_through(scene: Scene) -> None:
    """The first try gets lost; until the second another scheduler has put a pod of its own there. Whether the first one
    will still be done nobody can know, so its pod goes, and the one that is made for it has another place."""
    scene.site.nodes("r1=5", cpu=4)
    promise = scene.gang("train", 8)
    with scene.phalanx():
        held = scene.proxy.hold(is_bind, most=1)
        scene.kept("train", 8)
        node = scene.until_caught(held, 1)[0].node
        scene.until_bound("train", 7)
        scene.site.apply([_pod("stranger", {}, 2, "somebody-else", node), _pod("waiting", {}, 2, "somebody-else")])
        held.drop()
        assert list(scene.until_bound("train", 8).values()).count(node) == 1
        assert scene.well(promise)
        others = {pod["metadata"]["name"]: pod for pod in scene.site.pods("!phalanx.dev/gang")}  # W-039
        assert others["stranger"]["spec"]["nodeName"] == node
        assert "nodeName" not in others["waiting"]["spec"] and "conditions" not in others["waiting"]["status"]


def test_a_pod_that_somebody_else_bound_first_stays_where_it_is(scene: Scene) -> None:
    """The foreign scheduler takes not the slot but the pod: to the fifth node of the rack, which was not chosen."""
    nodes = scene.site.nodes("r1=5", cpu=4)
    promise = scene.gang("train", 8)
    with scene.phalanx():
        held = scene.proxy.hold(is_bind)
        scene.pods("train", 8)
        caught = list(scene.until_caught(held, 8))
        spare = next(name for name in nodes if name not in {asked.node for asked in caught})
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": caught[0].name}}
        binding["target"] = {"apiVersion": "v1", "kind": "Node", "name": spare}
        scene.post(f"pods/{caught[0].name}/binding", binding)
        held.let_go()
        assert scene.until_bound("train", 8)[caught[0].name] == spare
        assert scene.well(promise)


# -- two at once -----------------------------------------------------------------------------------------------------


def test_two_gangs_that_fit_only_alone_are_never_both_half(scene: Scene) -> None:
    scene.site.nodes("r1=4", cpu=8)
    with scene.phalanx():
        promises = [scene.gang(name, 16) for name in ("one", "two")]
        for half in (0, 8):  # interleaved, as two controllers make them
            for name in ("one", "two"):
                scene.pods(name, 8, first=half)
        scene.site.until(lambda: scene.where("one") or scene.where("two"), "one of them starts")
        winner = "one" if scene.where("one") else "two"
        loser = "two" if winner == "one" else "one"
        scene.until_bound(winner, 16)
        assert scene.where(loser) == {}
        scene.site.bed.kubectl("delete", "pods", "-l", f"phalanx.dev/gang={winner}", "-n", scene.site.namespace)
        scene.until_bound(loser, 16)
        assert scene.well(*promises)
        assert all(set(scene.history.counts(promise)) >= {0, 16} for promise in promises)
