"""Controllers of several pods or Jobs: what they make again, in which order, under which names."""

from typing import Any

import pytest

from phalanx.minicluster import Pace
from tests.minicluster.site import ANNOTATED, Doc, Site, is_leaving, is_true, made, nodes_of, phases, template
from tests.testing import live_objects as objects
from tests.testing.made_by_controllers import train_job

LWS = "leaderworkerset.sigs.k8s.io/"
JOBSET = "jobset.sigs.k8s.io/"


def here(site: Site) -> list[str]:
    return [pod["metadata"]["name"] for pod in site.pods() if not is_leaving(pod)]


# -- StatefulSets ------------------------------------------------------------------------------------------------


def stateful(replicas: int = 3, **spec: Any) -> Doc:
    return made("apps/v1", "StatefulSet", "w", {"replicas": replicas, "template": template(), **spec})


def test_an_ordered_set_makes_each_pod_when_those_before_it_are_ready() -> None:
    site = Site()
    site.add(stateful())
    assert here(site) == ["w-0"]
    site.bind(5)
    assert here(site) == ["w-0", "w-1"]
    site.bind(5)
    site.bind(5)
    assert site.there("apps", "StatefulSet", "w")["status"]["readyReplicas"] == 3


def test_a_parallel_set_makes_all_pods_at_once_with_their_numbers() -> None:
    site = Site()
    site.add(stateful(podManagementPolicy="Parallel", ordinals={"start": 4}))
    assert here(site) == ["w-4", "w-5", "w-6"]
    assert [pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] for pod in site.pods()] == ["4", "5", "6"]


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_a_pod_of_a_set_comes_back_under_its_name_when_the_old_one_is_gone(policy: str) -> None:
    site = Site(Pace(ending=(10.0, 10.0)))
    site.add(stateful(podManagementPolicy=policy))
    for _ in range(3):
        site.bind(5)
    uid = site.there("", "Pod", "w-1")["metadata"]["uid"]
    site.delete(site.there("", "Pod", "w-1"))
    site.run(9)
    assert here(site) == ["w-0", "w-2"]
    site.run(1)
    assert here(site) == ["w-0", "w-1", "w-2"] and site.there("", "Pod", "w-1")["metadata"]["uid"] != uid


def test_a_set_shrinks_from_the_end() -> None:
    site = Site()
    own = site.add(stateful(podManagementPolicy="Parallel"))
    site.bind(5)
    site.set(own, replicas=1)
    site.run(5)
    assert here(site) == ["w-0"]


def test_a_new_template_of_a_set_reaches_its_pods_from_the_end_one_by_one() -> None:
    site = Site()
    own = site.add(stateful(podManagementPolicy="Parallel"))
    site.bind(5)
    site.set(own, template=template(2))
    asked = []
    for _ in range(3):
        site.run(5)
        asked.append([objects_of(pod) for pod in site.pods()])
        site.bind(5)
    assert asked == [["1", "1", "2"], ["1", "2", "2"], ["2", "2", "2"]]


def objects_of(pod: Doc) -> str:
    return str(pod["spec"]["containers"][0]["resources"]["requests"][objects.GPU])


def test_a_set_made_again_waits_for_the_names_of_the_old_pods() -> None:
    site = Site(Pace(ending=(10.0, 10.0)))
    own = site.add(stateful(podManagementPolicy="Parallel"))
    site.bind(5)
    site.delete(own)
    again = site.add(stateful(podManagementPolicy="Parallel"))
    assert here(site) == []
    site.run(15)
    owners = {pod["metadata"]["ownerReferences"][0]["uid"] for pod in site.pods()}
    assert len(here(site)) == 3 and owners == {again["metadata"]["uid"]}


# -- ReplicaSets and Deployments ---------------------------------------------------------------------------------


@pytest.mark.parametrize("api", [("apps/v1", "ReplicaSet"), ("v1", "ReplicationController")])
def test_replicas_are_replaced_at_once_and_removed_from_those_without_a_node(api: tuple[str, str]) -> None:
    site = Site(Pace(ending=(10.0, 10.0)))
    own = site.add(made(*api, "w", {"replicas": 2, "template": template()}))
    site.bind(5)
    site.delete(site.pods()[0])
    assert len(site.pods()) == 3
    site.set(own, replicas=1)
    site.run(15)
    assert [bool(name) for name in nodes_of(site.pods())] == [True]


def deployment(replicas: int = 4, **spec: Any) -> Doc:
    return made("apps/v1", "Deployment", "w", {"replicas": replicas, "template": template(), **spec})


def test_a_rollout_stays_between_surge_and_what_may_lack() -> None:
    site = Site()
    own = site.add(deployment(strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}))
    site.bind(5)
    site.set(own, template=template(2))
    for _ in range(10):
        ready = sum(is_true(pod, "Ready") and not is_leaving(pod) for pod in site.pods())
        assert ready >= 3 and len(here(site)) <= 5
        site.bind(5)
    assert [objects_of(pod) for pod in site.pods()] == ["2"] * 4
    sizes = [each["spec"]["replicas"] for each in site.store.of_kind("apps", "ReplicaSet")]
    assert sorted(sizes) == [0, 4]


def test_a_rollout_by_recreation_ends_all_old_pods_first() -> None:
    site = Site(Pace(ending=(10.0, 10.0)))
    own = site.add(deployment(strategy={"type": "Recreate"}))
    site.bind(5)
    site.set(own, template=template(2))
    site.run(9)
    assert here(site) == []
    site.run(1)
    assert [objects_of(pod) for pod in site.pods()] == ["2"] * 4


def test_a_rollout_back_uses_the_replica_set_that_is_there() -> None:
    site = Site()
    own = site.add(deployment())
    site.bind(5)
    for gpus in (2, 1):
        site.set(own, template=template(gpus))
        for _ in range(8):
            site.bind(5)
    assert len(site.store.of_kind("apps", "ReplicaSet")) == 2
    assert [objects_of(pod) for pod in site.pods()] == ["1"] * 4


# -- JobSets -----------------------------------------------------------------------------------------------------


def jobset(jobs: int = 2, pod: Doc | None = None, **spec: Any) -> Doc:
    own = pod or template()
    own = {**own, "spec": {**own["spec"], "restartPolicy": "Never"}}
    each = {"parallelism": 2, "completions": 2, "completionMode": "Indexed", "backoffLimit": 0, "template": own}
    listed = [{"name": name, "replicas": jobs, "template": {"spec": each}} for name in ("a", "b")]
    return made("jobset.x-k8s.io/v1alpha2", "JobSet", "js", {"replicatedJobs": listed, **spec})


def jobs(site: Site) -> list[str]:
    return [job["metadata"]["name"] for job in site.store.of_kind("batch", "Job")]


def attempts(site: Site) -> set[str]:
    return {pod["metadata"]["labels"][f"{JOBSET}restart-attempt"] for pod in site.pods() if not is_leaving(pod)}


def test_a_jobset_numbers_its_jobs_in_labels_and_annotations() -> None:
    site = Site()
    site.add(jobset())
    assert jobs(site) == ["js-a-0", "js-a-1", "js-b-0", "js-b-1"] and len(site.pods()) == 8
    last = site.there("batch", "Job", "js-b-1")["metadata"]
    said = {"replicatedjob-name": "b", "job-index": "1", "job-global-index": "3", "restart-attempt": "0"}
    for key, value in said.items():
        assert last["labels"][JOBSET + key] == last["annotations"][JOBSET + key] == value


def test_a_failed_job_makes_the_whole_jobset_again_under_its_names_until_the_limit() -> None:
    site = Site(Pace(ending=(5.0, 5.0)))
    site.add(jobset(failurePolicy={"maxRestarts": 2}))
    for attempt in (0, 1):
        site.bind(5)
        assert attempts(site) == {str(attempt)}
        uids = {job["metadata"]["uid"] for job in site.store.of_kind("batch", "Job")}
        site.annotate(site.pods()[0], runs_for="0", fails="1")
        site.run(30)
        assert attempts(site) == {str(attempt + 1)} and len(site.pods()) == 8
        assert not uids & {job["metadata"]["uid"] for job in site.store.of_kind("batch", "Job")}
    site.bind(5)
    site.annotate(site.pods()[0], runs_for="0", fails="1")
    site.run(30)
    own = site.there("jobset.x-k8s.io", "JobSet", "js")
    assert is_true(own, "Failed") and own["status"]["restarts"] == 2 and site.names() != []
    assert not any(phase == "Running" for phase in phases(site.pods()))


def test_a_job_of_a_restart_comes_when_the_last_pod_of_the_old_one_is_gone() -> None:
    site = Site(Pace(ending=(20.0, 20.0)))
    site.add(jobset(failurePolicy={"maxRestarts": 1}))
    site.bind(5)
    site.annotate(site.pods()[0], runs_for="0", fails="1")
    site.run(21)  # the other pod of the Job that failed is gone, and so the Job has failed
    waiting = [pod["metadata"]["name"][:6] for pod in site.pods() if is_leaving(pod)]
    assert sorted(waiting) == ["js-a-1"] * 2 + ["js-b-0"] * 2 + ["js-b-1"] * 2
    assert {name[:6] for name in here(site)} == {"js-a-0"} and attempts(site) == {"1"}
    site.run(20)
    assert attempts(site) == {"1"} and len(site.pods()) == 8


def test_a_jobset_is_complete_with_its_jobs() -> None:
    site = Site()
    site.add(jobset(pod=template(runs_for="5")))
    site.bind(20)
    assert is_true(site.there("jobset.x-k8s.io", "JobSet", "js"), "Completed")


def test_jobs_of_a_suspended_jobset_are_suspended_and_steered_when_they_resume() -> None:
    site = Site()
    own = site.add(jobset(suspend=True))
    assert len(jobs(site)) == 4 and site.pods() == []

    def steered(doc: Doc) -> Doc:
        spec = doc["spec"]
        listed = [with_gate(each) for each in spec["replicatedJobs"]]
        return {**doc, "spec": {**spec, "replicatedJobs": listed, "suspend": False}}

    site.change(own, steered)
    assert {pod["spec"]["schedulingGates"][0]["name"] for pod in site.pods()} == {"example.org/gate"}
    site.set(own, suspend=True)
    assert site.pods() == [] and is_true(site.there("jobset.x-k8s.io", "JobSet", "js"), "Suspended")


def with_gate(replicated: Doc) -> Doc:
    job = replicated["template"]["spec"]
    pods = {**job["template"], "spec": {**job["template"]["spec"], "schedulingGates": [{"name": "example.org/gate"}]}}
    return {**replicated, "template": {**replicated["template"], "spec": {**job, "template": pods}}}


@pytest.mark.parametrize("suspended", [False, True])
def test_a_jobset_in_order_starts_its_jobs_when_those_before_are_ready(suspended: bool) -> None:
    site = Site()
    own = site.add(jobset(startupPolicy={"startupPolicyOrder": "InOrder"}, suspend=suspended))
    site.set(own, suspend=False)
    assert {pod["metadata"]["labels"][f"{JOBSET}replicatedjob-name"] for pod in site.pods()} == {"a"}
    site.bind(5)
    assert len(site.pods()) == 8


def test_the_jobs_of_a_jobset_get_no_workload_of_their_own() -> None:
    site = Site(Pace(workload_with_job=True))
    site.add(jobset())
    assert site.store.of_kind("scheduling.k8s.io", "Workload") == []


# -- LeaderWorkerSets --------------------------------------------------------------------------------------------


def lws(replicas: int = 2, size: int = 3, startup: str = "LeaderCreated", **spec: Any) -> Doc:
    templates = {"size": size, "leaderTemplate": template(2), "workerTemplate": template(1), **spec}
    whole = {"replicas": replicas, "leaderWorkerTemplate": templates, "startupPolicy": startup}
    return made("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "w", whole)


def group(site: Site, number: int) -> list[str]:
    return [pod["metadata"]["name"] for pod in site.pods(**{f"{LWS}group-index": str(number)})]


def test_a_group_is_a_leader_and_the_workers_of_its_own_set() -> None:
    site = Site()
    site.add(lws())
    assert here(site) == ["w-0", "w-0-1", "w-0-2", "w-1", "w-1-1", "w-1-2"]
    leader, worker = site.there("", "Pod", "w-1"), site.there("", "Pod", "w-1-2")
    assert (leader["metadata"]["labels"][f"{LWS}group-index"], leader["metadata"]["labels"][f"{LWS}worker-index"]) == (
        "1", "0",
    )  # fmt: skip
    assert worker["metadata"]["labels"][f"{LWS}worker-index"] == "2"
    assert worker["metadata"]["labels"][f"{LWS}group-key"] == leader["metadata"]["labels"][f"{LWS}group-key"]
    assert (
        worker["metadata"]["annotations"] | {f"{LWS}leader-name": "w-1", f"{LWS}size": "3"}
        == (worker["metadata"]["annotations"])
    )


@pytest.mark.parametrize("broken", ["w-0", "w-0-2"])
def test_a_group_of_which_one_pod_is_deleted_is_made_again_whole(broken: str) -> None:
    site = Site(Pace(ending=(5.0, 5.0)))
    site.add(lws())
    site.bind(5)
    before = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in site.pods()}
    site.delete(site.there("", "Pod", broken))
    site.run(30)
    after = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in site.pods()}
    assert before.keys() == after.keys()
    assert {name for name in before if before[name] != after[name]} == {"w-0", "w-0-1", "w-0-2"}


def test_a_leader_comes_back_when_the_last_worker_of_its_group_is_gone() -> None:
    site = Site()
    site.add(lws(replicas=1, workerTemplate=template(1, ends_slowly="60")))
    site.bind(5)
    site.delete(site.there("", "Pod", "w-0-1"))
    site.run(59)
    assert here(site) == [] and site.names() == ["w-0", "w-0-1", "w-0-2"]
    site.run(1)
    assert here(site) == ["w-0", "w-0-1", "w-0-2"]


def test_a_group_whose_container_restarts_is_made_again_unless_it_shall_not() -> None:
    for policy, renewed in (("RecreateGroupOnPodRestart", 3), ("None", 0)):
        site = Site()
        site.add(lws(restartPolicy=policy))
        site.bind(5)
        before = {pod["metadata"]["uid"] for pod in site.pods()}
        site.annotate(site.there("", "Pod", "w-0-1"), runs_for="0", fails="1")
        site.run(5)
        assert len(before - {pod["metadata"]["uid"] for pod in site.pods()}) == renewed


def test_workers_wait_for_a_ready_leader_where_it_is_asked_for() -> None:
    site = Site()
    site.add(lws(startup="LeaderReady"))
    assert here(site) == ["w-0", "w-1"]
    site.bind(5)
    assert len(here(site)) == 6


def test_groups_come_and_go_with_the_number_of_replicas() -> None:
    site = Site()
    own = site.add(lws())
    site.set(own, replicas=3)
    assert group(site, 2) == ["w-2", "w-2-1", "w-2-2"]
    site.set(own, replicas=1)
    site.run(10)
    assert here(site) == ["w-0", "w-0-1", "w-0-2"]


def test_a_new_template_reaches_group_by_group() -> None:
    site = Site()
    own = site.add(lws())
    site.bind(5)
    new = {**own["spec"]["leaderWorkerTemplate"], "workerTemplate": template(4)}
    site.set(own, leaderWorkerTemplate=new)
    for _ in range(6):
        site.bind(5)
    assert {objects_of(pod) for pod in site.pods() if pod["metadata"]["name"].count("-") == 2} == {"4"}
    assert len(here(site)) == 6


# -- Kubeflow, Ray and others ------------------------------------------------------------------------------------


def torch(policy: str = "OnFailure", **spec: Any) -> Doc:
    replicas = {
        role: {"replicas": count, "restartPolicy": policy, "template": template()}
        for role, count in (("Master", 1), ("Worker", 2))
    }
    return made("kubeflow.org/v1", "PyTorchJob", "w", {"pytorchReplicaSpecs": replicas, **spec})


def test_a_deleted_pod_of_a_training_job_is_made_again_under_its_name() -> None:
    site = Site()
    site.add(torch())
    site.bind(5)
    site.delete(site.there("", "Pod", "w-worker-1"))
    site.run(5)
    assert here(site) == ["w-master-0", "w-worker-0", "w-worker-1"]
    assert not is_true(site.there("kubeflow.org", "PyTorchJob", "w"), "Failed")


@pytest.mark.parametrize(("code", "failed"), [("1", True), ("130", False)])
def test_a_failed_pod_ends_a_training_job_unless_its_exit_code_asks_for_another_try(code: str, failed: bool) -> None:
    site = Site()
    site.add(torch("ExitCode"))
    site.bind(5)
    site.annotate(site.there("", "Pod", "w-worker-1"), runs_for="0", fails=code)
    site.run(5)
    assert is_true(site.there("kubeflow.org", "PyTorchJob", "w"), "Failed") is failed
    assert ("Failed" in phases(site.pods())) is failed


def test_a_suspended_training_job_has_no_pods() -> None:
    site = Site()
    own = site.add(torch())
    site.set(own, runPolicy={"suspend": True})
    assert site.pods() == []
    site.set(own, runPolicy={"suspend": False})
    assert len(site.pods()) == 3


def test_a_training_job_is_done_when_its_master_is() -> None:
    site = Site()
    site.add(torch())
    site.bind(5)
    site.annotate(site.there("", "Pod", "w-master-0"), runs_for="0")
    site.run(5)
    assert is_true(site.there("kubeflow.org", "PyTorchJob", "w"), "Succeeded") and len(site.pods()) == 3


def mpi(**spec: Any) -> Doc:
    replicas = {"Launcher": {"template": template(1)}, "Worker": {"replicas": 2, "template": template(2)}}
    return made("kubeflow.org/v2beta1", "MPIJob", "w", {"mpiReplicaSpecs": replicas, **spec})


def test_a_launcher_waits_for_its_workers_where_it_is_asked_for() -> None:
    site = Site()
    site.add(mpi(launcherCreationPolicy="WaitForWorkersReady"))
    assert here(site) == ["w-worker-0", "w-worker-1"]
    site.bind(5)
    assert len(here(site)) == 3


def test_workers_go_when_the_launcher_is_done() -> None:
    site = Site()
    site.add(mpi())
    site.bind(5)
    launcher = next(pod for pod in site.pods() if pod["metadata"]["name"].startswith("w-launcher"))
    site.annotate(launcher, runs_for="0")
    site.run(5)
    assert is_true(site.there("kubeflow.org", "MPIJob", "w"), "Succeeded") and phases(site.pods()) == ["Succeeded"]


def ray(hosts: int = 1, **spec: Any) -> Doc:
    workers = {"groupName": "g", "replicas": 2, "numOfHosts": hosts, "template": template()}
    own = {"headGroupSpec": {"template": template(2)}, "workerGroupSpecs": [workers], **spec}
    return made("ray.io/v1", "RayCluster", "w", own)


def test_a_worker_of_several_hosts_is_made_again_whole() -> None:
    site = Site()
    site.add(ray(hosts=2))
    site.bind(5)
    index = "ray.io/worker-group-replica-index"
    before = {pod["metadata"]["uid"] for pod in site.pods(**{index: "1"})}
    site.delete(site.pods(**{index: "1"})[0])
    site.run(5)
    after = {pod["metadata"]["uid"] for pod in site.pods(**{index: "1"})}
    assert len(before) == len(after) == 2 and not before & after


def test_a_suspended_ray_cluster_has_no_pods_and_a_suspended_ray_job_no_cluster() -> None:
    site = Site()
    own = site.add(ray())
    site.set(own, suspend=True)
    assert site.pods() == []
    above = site.add(made("ray.io/v1", "RayJob", "j", {"rayClusterSpec": ray()["spec"]}))
    assert len(site.pods()) == 3
    site.set(above, suspend=True)
    assert site.pods() == [] and len(site.store.of_kind("ray.io", "RayCluster")) == 1


def test_a_train_job_waits_for_its_runtime() -> None:
    runtime, own, *_ = train_job()
    site = Site()
    site.add(own)
    assert site.pods() == []
    site.add(runtime)
    assert len(site.pods()) == 3


def test_a_suspended_train_job_has_a_suspended_jobset() -> None:
    runtime, own, *_ = train_job()
    site = Site()
    stored = site.add(runtime, {**own, "spec": {**own["spec"], "suspend": True}})
    assert site.pods() == [] and site.there("jobset.x-k8s.io", "JobSet", "w")["spec"]["suspend"]
    site.set(stored, suspend=False)
    assert len(site.pods()) == 3


def test_a_daemon_pod_stands_on_every_node_that_it_may_use() -> None:
    site = Site(nodes=3)
    tainted = {"taints": [{"key": "example.org/own", "effect": "NoSchedule"}]}
    site.add(objects.node("n9", "b0", "r0", **tainted))
    pod = template()
    pod["spec"]["nodeSelector"] = {"topology/rack": "r0"}
    site.add(made("apps/v1", "DaemonSet", "d", {"template": pod}))
    assert sorted(nodes_of(site.pods())) == ["n0", "n1"]
    site.change(site.there("", "Node", "n0"), lambda doc: relabelled(doc, "r7"))
    site.run(5)
    assert nodes_of(site.pods()) == ["n1"]
    site.change(site.there("", "Node", "n0"), lambda doc: relabelled(doc, "r0"))
    site.delete(site.there("", "Node", "n1"))
    site.run(50)
    assert nodes_of(site.pods()) == ["n0"]


def relabelled(node: Doc, rack: str) -> Doc:
    labels = {**node["metadata"]["labels"], "topology/rack": rack}
    return {**node, "metadata": {**node["metadata"], "labels": labels}}


@pytest.mark.parametrize(("policy", "running"), [("Allow", 3), ("Forbid", 1), ("Replace", 1)])
def test_a_cron_job_makes_a_job_every_so_often(policy: str, running: int) -> None:
    site = Site()
    spec = {"concurrencyPolicy": policy, "jobTemplate": {"spec": {"template": template()}}}
    site.add(made("batch/v1", "CronJob", "c", spec, annotations={f"{ANNOTATED}every": "60"}))
    site.run(185)
    assert len(site.store.of_kind("batch", "Job")) == running
