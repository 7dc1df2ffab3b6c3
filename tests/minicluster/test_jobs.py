"""The Job controller counts, makes, suspends and gives up as the real one does."""

import pytest

from phalanx.minicluster import Pace
from phalanx.minicluster.documents import key_of
from tests.minicluster.site import Doc, Site, is_leaving, is_true, job, nodes_of, phases, template

QUICK = Pace(backoff=1.0)


def status(site: Site, name: str = "train") -> Doc:
    found: Doc = site.there("batch", "Job", name)["status"]
    return found


def indexes(site: Site) -> list[str]:
    index = "batch.kubernetes.io/job-completion-index"
    return sorted(pod["metadata"]["labels"][index] for pod in site.pods() if not is_leaving(pod))


def test_a_job_makes_its_pods_and_counts_them() -> None:
    site = Site()
    site.add(job(pods=3))
    assert indexes(site) == ["0", "1", "2"]
    assert (status(site)["active"], status(site)["ready"]) == (3, 0)
    site.bind(5)
    assert status(site)["ready"] == 3
    assert all(pod["spec"]["hostname"].startswith("train-") for pod in site.pods())


def test_a_job_is_complete_when_all_its_pods_succeeded() -> None:
    site = Site()
    site.add(job(pods=3, pod=template(runs_for="10")))
    site.bind(20)
    assert status(site)["completedIndexes"] == "0-2" and status(site)["succeeded"] == 3
    assert is_true(site.there("batch", "Job", "train"), "Complete")
    assert phases(site.pods()) == ["Succeeded"] * 3, "pods that are over stay"


def test_indexes_that_are_done_are_not_made_again() -> None:
    site = Site()
    site.add(job(pods=2, parallelism=1, pod=template(runs_for="10")))
    site.bind(20)
    assert indexes(site) == ["0", "1"] and status(site)["completedIndexes"] == "0"
    site.bind(20)
    assert is_true(site.there("batch", "Job", "train"), "Complete")


def test_a_pod_that_somebody_deletes_is_a_failure_and_is_made_again_after_a_pause() -> None:
    site = Site(Pace(backoff=10.0, ending=(5.0, 5.0)))
    site.add(job(pods=2))
    site.bind(5)
    site.delete(site.pods()[0])
    assert (status(site)["failed"], status(site)["terminating"], status(site)["active"]) == (1, 1, 1)
    site.run(9)
    assert len(site.pods()) == 1
    site.run(1)
    assert indexes(site) == ["0", "1"] and status(site)["failed"] == 1, "it is counted once"


def test_a_pod_that_is_deleted_before_it_has_a_node_is_counted_too() -> None:
    site = Site(QUICK)
    site.add(job(pods=2))
    site.delete(site.pods()[0])
    assert status(site)["failed"] == 1
    site.run(2)
    assert len(site.pods()) == 2


def test_each_failure_doubles_the_pause() -> None:
    site = Site(Pace(backoff=10.0, backoff_most=25.0))
    site.add(job(pods=1))
    for pause in (10, 20, 25, 25):
        site.delete(site.pods()[0])
        site.run(pause - 1)
        assert site.pods() == []
        site.run(1)
        assert len(site.pods()) == 1


def test_evicting_more_pods_than_the_backoff_limit_ends_the_job() -> None:
    site = Site(QUICK)
    site.add(job(pods=8))
    site.bind(5)
    for pod in site.pods():
        site.store.delete(key_of(pod), site.now)
    site.run(100)
    own = site.there("batch", "Job", "train")
    assert is_true(own, "Failed") and own["status"]["failed"] == 8 and site.pods() == []
    reasons = {each["type"]: each.get("reason") for each in own["status"]["conditions"]}
    assert reasons["Failed"] == "BackoffLimitExceeded"


def test_a_job_that_is_suspended_loses_its_pods_and_counts_no_failure() -> None:
    site = Site(QUICK)
    own = site.add(job(pods=8))
    site.bind(5)
    site.set(own, suspend=True)
    assert all(map(is_leaving, site.pods()))
    site.run(60)
    assert site.pods() == [] and status(site).get("failed", 0) == 0
    assert is_true(site.there("batch", "Job", "train"), "Suspended")
    site.set(own, suspend=False)
    assert len(indexes(site)) == 8 and not is_true(site.there("batch", "Job", "train"), "Suspended")


def test_a_job_that_is_resumed_while_its_old_pods_end_makes_new_ones_beside_them() -> None:
    site = Site(Pace(ending=(20.0, 20.0)))
    own = site.add(job(pods=2))
    site.bind(5)
    site.set(own, suspend=True)
    site.set(own, suspend=False)
    assert len(site.pods()) == 4 and indexes(site) == ["0", "1"]


@pytest.mark.parametrize(("policy", "made"), [("TerminatingOrFailed", 2), ("Failed", 1)])
def test_when_a_deleted_pod_is_replaced_follows_the_policy(policy: str, made: int) -> None:
    site = Site(Pace(backoff=0.0, ending=(20.0, 20.0)))
    site.add(job(pods=1, podReplacementPolicy=policy))
    site.bind(5)
    site.delete(site.pods()[0])
    assert len(site.pods()) == made
    site.run(25)
    assert indexes(site) == ["0"] and nodes_of(site.pods()) == [""]


def test_a_failed_job_ends_its_pods_and_says_so_when_they_are_gone() -> None:
    site = Site(Pace(ending=(20.0, 20.0)))
    site.add(job(pods=2, backoffLimit=0))
    site.bind(5)
    site.annotate(site.pods()[0], runs_for="0", fails="1")
    own = site.there("batch", "Job", "train")
    assert is_true(own, "FailureTarget") and not is_true(own, "Failed")
    site.run(25)
    assert is_true(site.there("batch", "Job", "train"), "Failed") and phases(site.pods()) == ["Failed"]


def test_an_elastic_job_grows_and_shrinks_without_failures() -> None:
    site = Site()
    own = site.add(job(pods=2))
    site.set(own, parallelism=4, completions=4)
    assert indexes(site) == ["0", "1", "2", "3"]
    site.bind(5)
    site.set(own, parallelism=1, completions=1)
    site.run(40)
    assert indexes(site) == ["0"] and status(site).get("failed", 0) == 0


def test_a_job_made_again_under_its_name_has_pods_of_its_own() -> None:
    site = Site(Pace(ending=(20.0, 20.0), garbage=(3.0, 3.0)))
    own = site.add(job(pods=2))
    site.bind(5)
    old = {pod["metadata"]["uid"] for pod in site.pods()}
    site.delete(own)
    again = site.add(job(pods=2))
    assert len(site.pods()) == 4
    site.run(60)
    assert len(site.pods()) == 2 and not old & {pod["metadata"]["uid"] for pod in site.pods()}
    assert status(site).get("failed", 0) == 0 and again["metadata"]["uid"] != own["metadata"]["uid"]


def test_a_job_that_somebody_else_manages_is_let_be() -> None:
    site = Site()
    site.add(job(managedBy="example.org/other"))
    assert site.pods() == []


def test_pods_come_as_the_pace_says_and_in_a_drawn_order() -> None:
    site = Site(Pace(at_once=2, pause=5.0, shuffled=True))
    site.add(job(pods=8))
    first = indexes(site)
    assert len(first) == 2
    site.run(14)
    assert len(indexes(site)) == 6
    site.run(1)
    assert len(indexes(site)) == 8
    orders = {tuple(order(seed)) for seed in range(5)}
    assert len(orders) > 1


def order(seed: int) -> list[str]:
    site = Site(Pace(shuffled=True), seed=seed)
    site.add(job(pods=4))
    made = [event.document for event in site.store.events_since("", "Pod", 0)]
    return [pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] for pod in made[:4]]


# -- the gate WorkloadWithJob ------------------------------------------------------------------------------------


def test_with_the_gate_a_job_gets_a_workload_and_a_group_that_its_pods_name() -> None:
    site = Site(Pace(workload_with_job=True))
    own = site.add(job(pods=2))
    (workload,) = site.store.of_kind("scheduling.k8s.io", "Workload")
    (group,) = site.store.of_kind("scheduling.k8s.io", "PodGroup")
    assert workload["spec"]["controllerRef"] == {"apiGroup": "batch", "kind": "Job", "name": "train"}
    assert workload["spec"]["podGroupTemplates"] == [{"name": "train-pgt-0", "schedulingPolicy": {"basic": {}}}]
    assert group["spec"]["workloadRef"] == {"workloadName": workload["metadata"]["name"], "templateName": "train-pgt-0"}
    for pod in site.pods():
        assert pod["spec"]["schedulingGroup"] == {"podGroupName": group["metadata"]["name"]}
        assert [each["kind"] for each in pod["metadata"]["ownerReferences"]] == ["Job", "PodGroup"]
    site.delete(own)
    site.run(5)
    assert site.store.of_kind("scheduling.k8s.io", "PodGroup") == [] == site.pods()


def test_a_gang_of_the_gate_without_a_number_has_all_pods_of_the_job() -> None:
    site = Site(Pace(workload_with_job=True))
    site.add(job(pods=3, scheduling={"schedulingPolicy": {"gang": {}}}))
    (group,) = site.store.of_kind("scheduling.k8s.io", "PodGroup")
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 3}}


def test_the_gate_leaves_jobs_alone_that_name_a_group_or_belong_to_something() -> None:
    site = Site(Pace(workload_with_job=True))
    named = template()
    named["spec"]["schedulingGroup"] = {"podGroupName": "mine"}
    site.add(job(pod=named))
    assert site.store.of_kind("scheduling.k8s.io", "Workload") == []
    assert {pod["spec"]["schedulingGroup"]["podGroupName"] for pod in site.pods()} == {"mine"}
