"""Gangs that leave their places whole, on a real server with real controllers: what made their pods stays alive."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.bed import Bed
from testbed.fixtures import skip_unless_built
from tests.kube.history import History
from tests.kube.manifests import job
from tests.kube.proxy import Asked, Proxy, is_bind
from tests.kube.site import Site, with_us
from tests.kube.test_faults import PARTS, QUICK, Scene

JOB = "batch.kubernetes.io/job-name"
NOTE = "phalanx.dev/suspended"
SOON = f"""{QUICK}
timeouts: {{recoverySeconds: 5, scheduleSeconds: 20}}
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    skip_unless_built(PARTS)
    with Bed.start(PARTS, tmp_path_factory.mktemp("evictions")) as bed:
        with_us(bed)
        yield bed


class Leaving(Scene):
    def job(self, name: str, pods: int, cpu: int) -> None:
        wish = {"phalanx.dev/topology-required": "rack", "phalanx.dev/topology-name": self.site.namespace}
        self.site.apply([job(name, pods, cpu=cpu, scheduler="phalanx", annotations=wish)])

    def status(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.site.get("job", name)["status"]
        return found

    def is_alive(self, name: str) -> bool:
        return not [
            one for one in self.status(name).get("conditions", []) if one["type"] in ("Failed", "FailureTarget")
        ]

    def until_up(self, name: str, pods: int) -> None:
        self.site.until(lambda: self.status(name).get("ready") == pods, f"{pods} pods of {name} are ready", 180)
        assert len(self.site.racks(f"{JOB}={name}")) == 1

    def was_suspended(self, name: str) -> bool:
        return any(one["type"] == "Suspended" for one in self.status(name).get("conditions", []))


@pytest.fixture
def scene(site: Site, prepared: Bed, tmp_path: Path) -> Iterator[Leaving]:
    site.topology()
    with Proxy(prepared.kubeconfig(site.account), tmp_path) as proxy, History(prepared.admin_kubeconfig) as history:
        yield Leaving(site, proxy, history)


def is_change_of_a_job(asked: Asked) -> bool:
    return asked.method == "PATCH" and asked.path.split("/")[-2] == "jobs"


def test_a_job_of_which_a_drain_takes_some_pods_loses_no_others_and_starts_elsewhere(scene: Leaving) -> None:
    scene.site.nodes("r1=4 r2=4", cpu=8)
    with scene.phalanx(SOON):
        scene.job("train", 8, cpu=4)
        scene.until_up("train", 8)
        first = scene.site.racks(f"{JOB}=train")
        node = min(scene.site.where(f"{JOB}=train").values())
        scene.site.bed.kubectl("drain", node, "--force", "--ignore-daemonsets", "--timeout=60s")
        scene.site.until(lambda: scene.was_suspended("train"), "the Job was suspended", 90)
        scene.site.until(lambda: scene.site.racks(f"{JOB}=train") not in (first, set()), "it is elsewhere", 180)
        scene.until_up("train", 8)
        assert scene.is_alive("train")
        assert scene.status("train")["failed"] == 2, "what the drain took, and nothing else"
        assert NOTE not in scene.site.get("job", "train")["metadata"].get("annotations", {})


def test_two_jobs_whose_binds_nobody_answers_for_long_stay_alive(scene: Leaving) -> None:
    scene.site.nodes("r1=8 r2=8", cpu=16)
    with scene.phalanx(SOON):
        held = scene.proxy.hold(is_bind, after=40)
        scene.job("train", 64, cpu=2)
        scene.job("other", 64, cpu=2)
        scene.until_caught(held, 8)
        for name in ("train", "other"):
            scene.site.until(lambda name=name: scene.was_suspended(name), f"{name} was suspended", 90)  # type: ignore[misc]
        held.drop()
        for name in ("train", "other"):
            scene.until_up(name, 64)
            assert scene.is_alive(name) and not scene.status(name).get("failed")


def test_pods_say_why_they_go_where_their_job_may_not_be_suspended(scene: Leaving) -> None:
    scene.site.nodes("r1=4 r2=4", cpu=8)
    with scene.phalanx(SOON):
        scene.job("train", 8, cpu=4)
        scene.until_up("train", 8)
        node = min(scene.site.where(f"{JOB}=train").values())
        refused = scene.proxy.answer(is_change_of_a_job, 403, "Forbidden")
        scene.site.bed.kubectl("drain", node, "--force", "--ignore-daemonsets", "--timeout=60s")
        scene.site.until(lambda: (scene.status("train").get("failed") or 0) >= 8, "all of its pods were deleted", 90)
        assert len(refused.caught) == 1
        refused.stop()
