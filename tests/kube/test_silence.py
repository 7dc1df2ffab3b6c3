"""Nobody is evicted for time in which nothing could be told: a server that hangs or is away, a scheduler that was
stopped, for longer than every clock of the gang."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from testbed.bed import Bed
from tests.kube.clerk import Clerk
from tests.kube.history import Promise
from tests.kube.lives import Life, Witness
from tests.kube.manifests import job
from tests.kube.proxy import is_bind
from tests.kube.site import Running
from tests.kube.test_faults import QUICK, Scene, prepared, scene

__all__ = ["prepared", "scene"]

SECONDS = 5  # every clock of the gang
SILENCE = 30.0  # longer than any of them, and than it takes to see that nothing is heard


def _wait(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def sent_away(scene: Scene, promise: Promise) -> set[str]:
    """Pods that were told to go, by whomever."""
    return {pod["metadata"]["name"] for pod in scene.history.sent_away(promise)}


@contextmanager
def frozen(pid: int | None) -> Iterator[None]:
    """The process takes no step meanwhile, and nobody's connection to it ends."""
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def away(bed: Bed) -> Iterator[None]:
    bed.kill_apiserver()
    try:
        yield
    finally:
        bed.restart_apiserver()


WAYS: dict[str, Callable[[Bed, Running], AbstractContextManager[None]]] = {
    "the server hangs": lambda bed, running: frozen(bed.processes["kube-apiserver"].pid),
    "the server is away": lambda bed, running: away(bed),
    "its store hangs": lambda bed, running: frozen(bed.processes["etcd"].pid),
    "the scheduler is stopped": lambda bed, running: frozen(running.process.pid if running.process else None),
}


@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.replace(" ", "-"))
def test_a_gang_that_could_not_be_heard_for_longer_than_its_clocks_is_not_evicted(
    scene: Scene, prepared: Bed, way: str
) -> None:
    """One pod of it was lost, and its recovery clock runs, when it becomes silent; the replacement comes afterwards."""
    scene.site.nodes("r1=4", cpu=4)
    promise = scene.gang("train", 8, recoveryTimeoutSeconds=SECONDS, readyTimeoutSeconds=SECONDS)
    with scene.phalanx(QUICK) as running:
        scene.pods("train", 8)
        scene.until_bound("train", 8)
        scene.site.until(lambda: scene.says("train", "Ready"), "the gang runs")
        scene.site.delete("pod", "train-0", "--force", "--grace-period=0")
        scene.site.until(lambda: scene.says("train", "Degraded"), "it is seen that the gang has lost a pod")
        with WAYS[way](prepared, running):
            scene.site.until(_wait(SILENCE), "the silence is over")
        scene.pods("train", 1, first=8)
        scene.until_bound("train", 8)
        assert sent_away(scene, promise) == {"train-0"}
        assert scene.well(promise, window=SILENCE + 60)


@pytest.mark.parametrize("way", list(WAYS)[:2], ids=lambda one: one.replace(" ", "-"))
def test_jobs_that_run_are_bound_or_wait_outlive_a_silence_that_is_longer_than_their_clocks(
    scene: Scene, prepared: Bed, way: str
) -> None:
    """Three binds were done, five are on their way when it becomes silent, and one Job has no room yet."""
    clocks = f"timeouts: {{scheduleSeconds: {SECONDS}, readySeconds: {SECONDS}, recoverySeconds: {SECONDS}}}\n"
    site, clerk = scene.site, Clerk(prepared.admin_kubeconfig, scene.site.namespace)
    wish = {"phalanx.dev/topology-required": "rack", "phalanx.dev/topology-name": site.namespace}
    site.nodes("r1=4 r2=4", cpu=4)
    with Witness(prepared.admin_kubeconfig) as witness, scene.phalanx(f"{QUICK}{clocks}") as running:

        def made(name: str) -> Life:
            life = witness.life(name, 8, tuple(f"{site.namespace}/{level}" for level in ("block", "rack")))
            document = clerk.try_to_create(job(name, 8, annotations=wish))
            assert document is not None
            life.uids.add(document["metadata"]["uid"])
            return life

        def bound(life: Life) -> int:
            return sum(1 for one in witness.lineage.pods_of(life) if one["spec"].get("nodeName"))

        first = made("first")
        site.until(lambda: bound(first) == 8, "the first is bound")
        held = scene.proxy.hold(is_bind, after=3)
        second = made("second")
        site.until(lambda: len(held.caught) == 5 and bound(second) == 3, "the second is bound in part")
        third = made("third")
        with WAYS[way](prepared, running):
            held.let_go()
            site.until(_wait(SILENCE), "the silence is over")
        site.until(lambda: bound(second) == 8, "the second is bound")
        site.nodes("r3=4", cpu=4)
        site.until(lambda: bound(third) == 8, "the third is bound")
        found = site.read(f"apis/batch/v1/namespaces/{site.namespace}/jobs")
        assert not [one["metadata"]["name"] for one in found if one["status"].get("failed")]
        assert not (wrong := witness.wrongs(SILENCE + 60)), "\n".join(wrong)
    clerk.close()


def test_a_gang_that_is_heard_and_does_not_recover_leaves_in_time(scene: Scene) -> None:
    """The clocks above would have evicted it."""
    scene.site.nodes("r1=4", cpu=4)
    promise = scene.gang("train", 8, recoveryTimeoutSeconds=SECONDS)
    with scene.phalanx(QUICK):
        scene.pods("train", 8)
        scene.until_bound("train", 8)
        scene.site.until(lambda: scene.says("train", "Ready"), "the gang runs")
        scene.site.delete("pod", "train-0", "--force", "--grace-period=0")
        scene.site.until(lambda: not scene.where("train"), "what is left of it has left", seconds=SECONDS + 15)
        assert sent_away(scene, promise) == {f"train-{number}" for number in range(8)}
