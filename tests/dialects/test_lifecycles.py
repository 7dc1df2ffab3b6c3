"""The four lifecycles of the object that gathers a workload's pods, for every kind: who makes it, and what goes when.

A small world stands in for a cluster: what is intended is written, then an object is deleted and the garbage collector
takes everything all of whose owners are gone.
"""

from collections.abc import Callable
from typing import Any

import pytest

from phalanx.dialects.generation import Generation, for_run, generate
from phalanx.dialects.generation.generate import run_of
from tests.dialects.manifests import AROUND, Doc
from tests.dialects.test_generation import (
    TO_MINE,
    applied,
    asking,
    cronjob,
    job,
    jobset,
    lws,
    made,
    mpijob,
    pods,
    pytorchjob,
    statefulset,
    thing,
    user_gang,
)

MINE = ("phalanx.dev", "Gang", "ml", "mine")
Maker = Callable[..., Doc]

KINDS: dict[str, Maker] = {
    "StatefulSet": statefulset,
    "Job": job,
    "LeaderWorkerSet": lws,
    "MPIJob": mpijob,
    "JobSet": jobset,
}
DELETING: dict[str, Callable[[Doc], Doc]] = {
    "Job": lambda template: job(template, ttlSecondsAfterFinished=60),
    "JobSet": lambda template: jobset(template, ttlSecondsAfterFinished=60),
    "MPIJob": lambda template: mpijob(template, ttlSecondsAfterFinished=60),
    "MPIJob, cleaned": lambda template: mpijob(template, cleanPodPolicy="Running"),
    "CronJob": lambda template: cronjob(template, successfulJobsHistoryLimit=2),
}


def gathering(*groups: str) -> Doc:
    """A user's Gang with these groups."""
    return user_gang(podGroups=[{"name": name, "count": 4, "template": pods()} for name in groups or ("main",)])


def settled(*docs: Doc) -> list[Doc]:
    """The documents once everything intended is written, and nothing more is."""
    whole = list(docs)
    for _ in range(2):
        whole = applied(whole, made(*whole))
    again = made(*whole)
    assert (again.objects, again.templates, again.adoptions) == ((), (), ())
    return whole


def after(docs: list[Doc], deleted: str) -> list[str]:
    """Kind and name of what is left when an object is deleted and the garbage collector has been there."""
    left = {doc["metadata"]["uid"]: doc for doc in docs if _title(doc) != deleted}
    assert len(left) == len(docs) - 1, f"there is no {deleted}"
    while gone := [uid for uid, doc in left.items() if _is_orphan(doc, left)]:
        for uid in gone:
            del left[uid]
    return sorted(map(_title, left.values()))


def _is_orphan(doc: Doc, left: dict[str, Doc]) -> bool:
    references = doc["metadata"].get("ownerReferences", [])
    return bool(references) and not any(one["uid"] in left for one in references)


def _title(doc: Doc) -> str:
    return f"{doc['kind']}/{doc['metadata']['name']}"


def titled(docs: list[Doc], title: str) -> Doc:
    (found,) = [doc for doc in docs if _title(doc) == title]
    return found


# -- the matrix --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_default_created_goes_with_its_workload(kind: str) -> None:
    # W-121, W-124, W-125, W-127, W-128, W-129, J-005, J-034
    doc = KINDS[kind](metadata=asking() if kind == "JobSet" else None)
    docs = settled(doc)
    assert len(docs) == 2
    assert after(docs, _title(doc)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_default_created_can_go_alone_and_is_made_again(kind: str) -> None:
    # W-121
    doc = KINDS[kind](metadata=asking() if kind == "JobSet" else None)
    first = settled(doc)
    assert settled(doc) == first
    assert after(first, _title(first[1])) == [_title(doc)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_manifest_stays_its_user_s(kind: str) -> None:
    # W-119, W-124, W-127, W-033: nothing is made, nothing is owned, and the user deletes it
    groups = {"MPIJob": ("launcher", "worker"), "JobSet": ("driver", "workers")}.get(kind, ("main",))
    doc, mine = KINDS[kind](pods({"phalanx.dev/gang": "mine"})), gathering(*groups)
    for order in ([doc, mine], [mine, doc]):
        docs = settled(*order)
        assert docs == order
        assert after(docs, _title(doc)) == ["Gang/mine"]
        assert after(docs, "Gang/mine") == [_title(doc)]


@pytest.mark.parametrize("kind", DELETING)
def test_a_workload_that_deletes_itself_adopts_what_its_user_made(kind: str) -> None:
    # W-116, W-120, W-125, W-128, W-129
    doc = DELETING[kind](pods(TO_MINE))
    docs = settled(doc, gathering())
    assert after(docs, _title(doc)) == []
    assert len(docs) == 2


@pytest.mark.parametrize("name", ["nightly-1", "nightly-2"])
def test_each_run_of_a_cronjob_takes_its_own_gang_with_it(name: str) -> None:
    # W-122, W-126, W-075
    whole = cronjob()
    runs = [run_of(whole, f"nightly-{i}", f"Job-nightly-{i}") for i in (1, 2)]
    docs = settled(whole, *(_placed(run, whole) for run in runs))
    assert len(docs) == 5
    other = {"nightly-1": "nightly-2", "nightly-2": "nightly-1"}[name]
    assert after(docs, f"Job/{name}") == ["CronJob/nightly", f"Gang/{other}", f"Job/{other}"]
    assert after(docs, "CronJob/nightly") == []


def _placed(run: Doc, of: Doc) -> Doc:
    """A run whose owner has the uid that the garbage collector goes by."""
    assert run["metadata"]["ownerReferences"][0]["uid"] == of["metadata"]["uid"]
    return run


def test_a_run_is_generated_for_before_its_job_is_seen() -> None:
    # W-122, W-090
    found = for_run(cronjob(), "nightly-1", "Job-nightly-1", around=AROUND)
    docs = applied([cronjob(), run_of(cronjob(), "nightly-1", "Job-nightly-1")], found)
    assert settled(*docs) == docs


# -- adoption ----------------------------------------------------------------------------------------------------


def test_adoption_adds_an_owner_that_is_no_controller() -> None:
    # W-116: the object stays its user's, and is never refreshed
    (adoption,) = made(job(pods(TO_MINE), ttlSecondsAfterFinished=60), user_gang()).adoptions
    assert adoption.of == MINE
    assert adoption.reference == {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "Job-train"}


def test_an_adopted_object_is_as_its_user_wrote_it() -> None:
    # W-036, W-082, W-120
    mine = user_gang("train", podGroups=[{"name": "main", "count": 3, "fromTheFuture": True, "template": pods()}])
    docs = settled(job(pods({"phalanx.dev/gang": "train"}), ttlSecondsAfterFinished=60), mine)
    assert titled(docs, "Gang/train")["spec"] == mine["spec"]


def test_a_workload_of_the_designs_is_adopted_too() -> None:
    # W-116, W-120
    template = pods()
    template["spec"]["workload"] = {"name": "w", "podGroup": "pg"}
    groups = [{"name": "pg", "policy": {"kind": "Gang", "gang": {"minCount": 8}}}]
    workload = thing("scheduling/v1alpha1", "Workload", "w", {"podGroups": groups})
    (adoption,) = made(job(template, ttlSecondsAfterFinished=0), workload).adoptions
    assert adoption.of == ("scheduling.k8s.io", "Workload", "ml", "w")


@pytest.mark.parametrize(
    "doc",
    [
        job(pods(TO_MINE)),
        mpijob(pods({"phalanx.dev/gang": "mine"}), cleanPodPolicy="None"),
        cronjob(pods(TO_MINE)),
        statefulset(pods(TO_MINE)),
    ],
    ids=["Job", "MPIJob", "CronJob", "StatefulSet"],
)
def test_a_workload_that_stays_adopts_nothing(doc: Doc) -> None:
    # W-116
    assert made(doc, gathering("main")).adoptions == ()


def test_an_object_that_has_a_controller_is_not_adopted() -> None:
    # W-116
    mine = user_gang()
    mine["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps.example/v1", "kind": "Pipeline", "name": "p", "uid": "p", "controller": True}
    ]
    assert made(job(pods(TO_MINE), ttlSecondsAfterFinished=60), mine).adoptions == ()


def test_an_object_that_is_not_given_is_not_adopted() -> None:
    assert made(job(pods(TO_MINE), ttlSecondsAfterFinished=60)) == Generation()


def test_an_object_that_two_workloads_share_is_told_and_adopted_by_neither() -> None:
    # W-119: it would go with the first of them that does
    both = [job(pods(TO_MINE), name=name, ttlSecondsAfterFinished=60) for name in ("a", "b")]
    found = made(*both, user_gang())
    assert found.adoptions == ()
    (warning,) = found.warnings
    assert (warning.path, "Job/a, Job/b" in warning.message) == ("Gang/mine", True)


def test_a_workload_that_is_wrong_adopts_nothing() -> None:
    bad = job(pods(TO_MINE), {"annotations": {"phalanx.dev/gang-mode": "Gnag"}}, ttlSecondsAfterFinished=60)
    assert generate([bad, user_gang()], AROUND).adoptions == ()


def test_a_generated_object_that_another_workload_names_too_is_told() -> None:
    # W-119
    docs = settled(job())
    assert (
        "Job/train, Job/guest"
        in made(*docs, job(pods({"phalanx.dev/gang": "train"}), name="guest")).warnings[0].message
    )


def test_one_workload_with_several_templates_shares_nothing() -> None:
    # W-119
    assert made(mpijob(pods({"phalanx.dev/gang": "mine"})), gathering("launcher", "worker")).warnings == ()


def test_a_run_does_not_adopt_what_all_runs_share() -> None:
    # W-119, W-126: it would be gone for the next run
    whole = cronjob(pods(TO_MINE), successfulJobsHistoryLimit=1)
    whole["spec"]["jobTemplate"]["spec"]["ttlSecondsAfterFinished"] = 60
    run = run_of(whole, "nightly-1", "Job-nightly-1")
    assert [one.reference["kind"] for one in made(whole, run, user_gang()).adoptions] == ["CronJob"]


def test_other_training_jobs_adopt_by_the_same_policy() -> None:
    # W-129
    doc = pytorchjob()
    for role in doc["spec"]["pytorchReplicaSpecs"].values():
        role["template"] = pods(TO_MINE)
    doc["spec"]["runPolicy"] = {"ttlSecondsAfterFinished": 1}
    assert len(made(doc, user_gang()).adoptions) == 1


# -- changing one's mind -----------------------------------------------------------------------------------------


def test_a_workload_that_turns_to_its_user_s_object_leaves_the_generated_one_to_be_deleted() -> None:
    # W-078, W-082
    gang = made(job()).objects[0]
    found = made(job(pods(TO_MINE)), gang, user_gang())
    assert found.objects == ()
    assert found.templates == ()
    assert any("not needed any more" in one.message for one in found.warnings)


def test_a_workload_that_shrinks_keeps_its_gang_in_step() -> None:
    # W-023, W-085
    docs: list[Any] = settled(statefulset())
    smaller = [{**doc, "spec": {**doc["spec"], "replicas": 2}} if doc["kind"] == "StatefulSet" else doc for doc in docs]
    now = settled(*smaller)
    assert titled(now, "Gang/web")["spec"]["podGroups"][0]["count"] == 2
    assert len(now) == 2
