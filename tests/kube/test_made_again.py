"""Everything that can be made is deleted and made again under its name, without a pause, and judged from outside.

``PHALANX_AGAIN=1000 make test-kube ARGS="-k made_again"`` makes as many as that in each test, ``PHALANX_SEED`` others.
"""

import json
import os
from collections.abc import Iterator

import pytest

from phalanx.cli import main
from testbed.apiserver import FEATURE_GATES
from testbed.bed import Bed, Part
from testbed.fixtures import skip_unless_built
from tests.kube.again import staged
from tests.kube.lives import Life
from tests.kube.site import Site, with_us
from tests.kube.workloads import KINDS, PODS, SEVERAL, Order

PARTS: frozenset[Part] = frozenset({"apiserver", "controllers", "kwok", "jobset", "lws"})
TIMES = int(os.environ.get("PHALANX_AGAIN", "100"))
SEED = int(os.environ.get("PHALANX_SEED", "1"))
WINDOW = 20  # seconds that a gang may be half bound: its schedule time-out
SPARE = 4  # racks beyond one for each
GATES = pytest.mark.parametrize("prepared", ["WorkloadWithJob", "as in 1.36"], indirect=True)
ENDINGS = pytest.mark.parametrize("slow", [False, True], ids=["at once", "slowly"])


@pytest.fixture(scope="module")
def prepared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """A bed whose Job controller makes a PodGroup for every Job, or does not."""
    skip_unless_built(PARTS)
    gates = FEATURE_GATES if request.param in FEATURE_GATES else tuple(set(FEATURE_GATES) - {"WorkloadWithJob"})
    with Bed.start(PARTS, tmp_path_factory.mktemp("again"), feature_gates=gates) as bed:
        with_us(bed)
        yield bed


def here(site: Site) -> str:
    return f"namespaces: [{site.namespace}]\ntimeouts: {{scheduleSeconds: {WINDOW}}}\n"


def everything() -> list[tuple[str, bool]]:
    """Every kind, with pods that are alike and, where they may differ, with several shapes."""
    return [(kind, False) for kind in KINDS] + [(kind, True) for kind in SEVERAL]


@GATES
@ENDINGS
def test_every_kind_is_made_again_and_again_under_its_name(
    site: Site, slow: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = everything()
    with staged(site, count=len(kinds) + SPARE, seed=SEED, slow=slow) as stage, site.phalanx(here(site)):
        for number, (kind, several) in enumerate(kinds):
            stage.add(kind, several, (TIMES + number) // len(kinds))
        stage.run()
        assert not (wrong := stage.witness.wrongs(WINDOW)), "\n".join(wrong)
        assert told_of(site, capsys) == {one.name: (PODS, PODS) for one in stage.mine}
        stage.clear()
        site.until(lambda: not told_of(site, capsys), "nothing is left to be told of")
        assert not (wrong := stage.witness.wrongs(WINDOW)), "\n".join(wrong)
    assert logged(site) == {one.name for one in stage.mine}, "what Kubernetes makes for an owner is no gang without it"


@GATES
def test_what_is_shown_of_a_job_that_was_made_again_is_the_new_one(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    """While the old pods take their time to end."""
    (made,) = KINDS["job"](Order(site.namespace, "train", slow=True)).makers

    def again() -> Life:
        stage.clerk.delete(made)
        life = stage.witness.life("train", PODS)
        life.uids.add(site.until(lambda: stage.clerk.try_to_create(made), "it is made again")["metadata"]["uid"])
        site.until(lambda: len(stage.witness.lineage.pods_of(life)) == PODS, "its pods are there")
        return life

    def nodes(life: Life) -> set[str]:
        return {one["spec"].get("nodeName", "") for one in stage.witness.lineage.pods_of(life)}

    with staged(site, count=2, seed=SEED, slow=True) as stage, site.phalanx(here(site)):
        first = again()
        site.until(lambda: "" not in nodes(first), "the first is bound")
        second = again()
        site.until(lambda: "" not in nodes(second), "the second is bound beside it")
        assert told_of(site, capsys) == {"train": (PODS, PODS)}
        said = explained(site, "train", capsys)
        assert not [node for node in nodes(first) if node in said], said
        third = again()
        site.until(lambda: "NoRoom" in explained(site, "train", capsys), "the third waits for the room of the others")
        assert told_of(site, capsys) == {"train": (0, PODS)}
        assert nodes(third) == {""}
        stage.clerk.delete(made)


def told_of(site: Site, capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[int, int]]:
    """What ``phalanx get`` shows in the namespace: how many pods of each gang are bound, of how many."""
    main.run(["get", "--kubeconfig", str(site.bed.admin_kubeconfig), "-n", site.namespace, "-o", "json"])
    gangs = json.loads(capsys.readouterr().out)["gangs"]
    return {one["name"]: (one["pods"]["bound"], one["pods"]["wanted"]) for one in gangs}


def explained(site: Site, job: str, capsys: pytest.CaptureFixture[str]) -> str:
    main.run(["explain", f"job/{job}", "--kubeconfig", str(site.bed.admin_kubeconfig), "-n", site.namespace])
    return capsys.readouterr().out


def logged(site: Site) -> set[str]:
    """The gangs that the scheduler has had, by the names of their objects."""
    lines = [json.loads(line) for line in (site.folder / "phalanx-1.log").read_text().splitlines()]
    gangs = {one["gang"] for one in lines if one["event"] == "gang"}
    return {str(one).partition("/")[2].partition("#")[0] for one in gangs}
