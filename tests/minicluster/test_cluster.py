"""What holds for the whole of it, whatever happens: the same bytes, nothing changed in place, and rest at the end."""

import json
import os
import subprocess
import sys
from itertools import pairwise

import pytest

from phalanx.minicluster import Pace, cluster
from phalanx.minicluster.controller import Controller, controlled_by
from phalanx.minicluster.controllers.job import JOB
from phalanx.minicluster.documents import POD, Document, changed, controller_of, key_of, owner_key, uid_of
from phalanx.minicluster.pods import is_active
from tests.minicluster.churn import KINDS, bytes_of, churned
from tests.minicluster.site import Site, is_leaving, is_true, job, nodes_of

WITHOUT_END = {"Pod", "CronJob"}  # nothing makes them again


def test_the_same_seed_and_calls_give_the_same_bytes_under_any_hash_seed() -> None:
    command = [sys.executable, "-m", "tests.minicluster.churn"]
    runs = [
        subprocess.Popen(command, env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE, text=True)
        for seed in ("1", "2")
    ]
    told = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert told[0] == told[1] != "" and len(told[0].splitlines()) == len(KINDS)


def test_another_seed_gives_other_names() -> None:
    assert bytes_of(churned("Job", 1)) != bytes_of(churned("Job", 2))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_whatever_happens_to_a_workload_it_comes_to_rest_with_the_pods_it_wants(kind: str) -> None:
    for seed in range(8):
        site = churned(kind, seed)
        for _ in range(40):
            site.bind(700)
        assert site.cluster.next_due() is None, f"seed {seed} is not at rest"
        assert not any(map(is_leaving, site.pods())), seed
        assert "" not in nodes_of(site.pods()), seed
        for each in site.store.kinds():
            for doc in site.store.of_kind(*each):
                assert_owner_is_there(site, doc)
        assert_log_is_sound(site)
        if kind not in WITHOUT_END:
            assert_pods_are_there(site, kind)


def assert_pods_are_there(site: Site, kind: str) -> None:
    """All, of one that is there and is not over; none, of one that is gone."""
    docs = KINDS[kind]()
    top = next(doc for doc in reversed(docs) if "ownerReferences" not in doc["metadata"])
    own = site.store.get(key_of(top))
    assert own is not None or site.pods() == []
    if own is not None and not any(is_true(own, each) for each in ("Failed", "Complete", "Completed", "Succeeded")):
        wanted = sum(doc["kind"] == "Pod" for doc in docs)
        done = sum((job.get("status") or {}).get("succeeded", 0) for job in site.store.of_kind("batch", "Job"))
        running = sum(is_active(pod) for pod in site.pods())
        beside = sum(is_done(pod) for pod in site.pods() if controlled_by(pod, JOB) is None)
        assert running + done + beside == wanted, (running, done, beside, wanted)


def is_done(pod: Document) -> bool:
    return bool(pod["status"]["phase"] == "Succeeded")


def assert_owner_is_there(site: Site, doc: Document) -> None:
    above = controller_of(doc)
    if above is not None:
        owner = site.store.get(owner_key(doc, above))
        assert owner is not None and uid_of(owner) == above["uid"], f"{key_of(doc)} is an orphan"


def assert_log_is_sound(site: Site) -> None:
    """Versions rise, time never runs back, and of every name one incarnation goes before the next comes."""
    events = list(site.store.all_events_since(0))
    assert all(one.version + 1 == other.version and one.at <= other.at for one, other in pairwise(events))
    living: dict[object, str] = {}
    for event in events:
        key, uid = key_of(event.document), uid_of(event.document)
        assert living.get(key) == (None if event.type == "ADDED" else uid)
        living[key] = uid
        if event.type == "DELETED":
            del living[key]


def test_nothing_that_was_read_changes_afterwards() -> None:
    site = Site(Pace())
    site.add(job(pods=2))
    told = list(site.store.all_events_since(0))
    before = json.dumps([list(event) for event in told])
    site.bind(10)
    site.delete(site.pods()[0])
    site.run(100)
    assert json.dumps([list(event) for event in told]) == before


def test_the_next_time_is_that_of_the_next_thing_to_happen() -> None:
    site = Site(Pace(start=(4.0, 4.0)))
    site.add(job(pods=1))
    assert site.cluster.next_due() is None
    site.bind()
    assert site.cluster.next_due() == 4.0
    site.run(4)
    assert site.cluster.next_due() is None


def test_a_late_tick_gives_the_same_bytes_as_many_small_ones() -> None:
    def told(step: float) -> str:
        site = Site(Pace(reaction=(0.0, 3.0), ready=(0.0, 9.0)))
        site.add(job(pods=3))
        site.run(10)
        site.bind()
        for _ in range(round(60 / step)):
            site.run(step)
        return bytes_of(site)

    assert told(60.0) == told(7.5) == told(0.5)


def test_controllers_that_undo_each_others_work_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def flipped(doc: Document) -> Document:
        return changed(doc, "spec", "activeDeadlineSeconds", to=1 + doc["spec"].get("activeDeadlineSeconds", 0))

    def flip(context: object, key: object, now: float) -> None:
        site.store.change(key_of(site.pods()[0]), flipped, now)

    site = Site()
    flipping = Controller("Flip", (POD,), lambda _, event: (key_of(event.document),), flip)
    site.cluster = cluster.Cluster(1)
    site.store = site.cluster.store
    monkeypatch.setattr(site.cluster, "_controllers", (flipping,))
    monkeypatch.setattr(cluster, "_MOST", 50)
    with pytest.raises(cluster.NeverAtRest, match="Flip"):
        site.add({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}})
