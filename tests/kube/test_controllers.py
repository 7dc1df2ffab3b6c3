"""Pods that real controllers make, and what people see of them: bound or ungated whole, or waiting with a reason."""

import json
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from phalanx.cli import replaying
from testbed.bed import Bed
from tests.kube.manifests import GATE, gang, job, members, pod, pod_group, template
from tests.kube.site import Object, Site

INDEX = "batch.kubernetes.io/job-completion-index"
RANK, DOMAIN = "phalanx.dev/rank", "phalanx.dev/domain"
IN_A_RACK = {"phalanx.dev/topology-required": "rack"}


def only_here(site: Site) -> str:
    """A configuration: what other tests left behind is not looked at."""
    return f"namespaces: [{site.namespace}]\n"


def rack_of(site: Site, one: Object) -> str:
    return str(one["spec"]["nodeName"]).removeprefix(f"{site.namespace}-").rpartition("-")[0]


def is_bound(site: Site, count: int, selector: str = "") -> bool:
    return len(site.where(selector)) == count


# -- kinds of Kubernetes itself -----------------------------------------------------------------------------------


def test_pod_i_of_an_indexed_job_is_on_the_node_of_rank_i(site: Site) -> None:  # W-087, W-117, KA-004, KA-056
    site.nodes("r1=3 r2=4")
    site.topology()
    with site.phalanx(only_here(site)):
        site.apply([job("train", 8, cpu=4, annotations=IN_A_RACK)])
        site.until(lambda: is_bound(site, 8), "the Job is bound")
    found = {int(one["metadata"]["annotations"][INDEX]): one for one in site.pods()}
    assert {index: int(one["metadata"]["annotations"][RANK]) for index, one in found.items()} == {
        i: i for i in range(8)
    }
    nodes = [found[rank]["spec"]["nodeName"] for rank in range(8)]
    assert nodes == [name for name in dict.fromkeys(nodes) for _ in range(2)]  # neighbours in rank share a node
    assert {one["metadata"]["annotations"][DOMAIN] for one in found.values()} == {"b1/r2"}
    assert site.racks() == {("b1", "r2")}


def test_each_run_of_a_cron_job_is_a_gang(site: Site) -> None:  # W-025, W-075, W-126
    site.nodes("r1=2 r2=2")
    site.topology()
    run = job("run", 4, cpu=4, annotations=IN_A_RACK)
    cron = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly"},
        "spec": {"schedule": "0 * * * *", "jobTemplate": {"metadata": {"annotations": IN_A_RACK}, "spec": run["spec"]}},
    }
    with site.phalanx(only_here(site)):
        site.apply([cron])
        missed = (datetime.now(UTC) - timedelta(hours=1, minutes=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
        change = json.dumps({"status": {"lastScheduleTime": missed}})  # a run is due at once
        site.bed.kubectl(
            "patch", "cronjob", "nightly", "-n", site.namespace, "--subresource=status", "--type=merge", "-p", change
        )
        site.until(lambda: is_bound(site, 4), "the run that is due is bound")
        assert len(site.racks()) == 1
        site.bed.kubectl("create", "job", "second", "--from=cronjob/nightly", "-n", site.namespace)
        site.until(lambda: is_bound(site, 8), "a second run is bound beside it")
        assert len(site.racks("batch.kubernetes.io/job-name=second")) == 1


def test_a_parallel_stateful_set_starts_whole_or_not_at_all(site: Site) -> None:  # W-028, W-135
    site.nodes("r1=2 r2=1")
    site.topology()
    made = template(cpu=4, labels={"app": "store"})
    spec = {
        "replicas": 5,
        "serviceName": "store",
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": {"app": "store"}},
        "template": made,
    }
    head = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "store", "annotations": IN_A_RACK}}
    with site.phalanx(only_here(site)):
        site.apply([{**head, "spec": spec}])
        site.until(lambda: any(one["type"] == "Warning" for one in site.events("store")), "it is told why it waits")
        assert len(site.pods()) == 5 and not site.where()
        site.nodes("r3=3")
        site.until(lambda: is_bound(site, 5), "the set is bound")
    assert site.racks() == {("b1", "r3")}
    ranks = {one["metadata"]["name"]: one["metadata"]["annotations"][RANK] for one in site.pods()}
    assert ranks == {f"store-{number}": str(number) for number in range(5)}


def test_a_deployment_rolls_out(site: Site) -> None:  # W-026, W-182
    site.nodes("r1=3")
    site.topology()

    def deployment(cpu: int) -> Object:
        made = template(cpu, labels={"app": "web", "size": str(cpu)})
        spec = {"replicas": 4, "selector": {"matchLabels": {"app": "web"}}, "template": made}
        head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
        return {**head, "spec": spec}

    with site.phalanx(only_here(site)):
        site.apply([deployment(2)])
        site.until(lambda: is_bound(site, 4, "size=2"), "the Deployment is bound")
        site.apply([deployment(3)])
        site.until(lambda: is_bound(site, 4, "size=3") and not site.pods("size=2"), "the new pods took over")


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_what_runs_is_kept_when_more_is_asked_for_than_there_is_room(site: Site, kind: str) -> None:
    """And the pods that are too many say why, also to a scheduler that starts meanwhile."""
    site.nodes("r1=1 r2=1")
    site.topology()
    spec: Object = {"selector": {"matchLabels": {"app": "web"}}, "template": template(2, labels={"app": "web"})}
    spec |= {"podManagementPolicy": "Parallel"} if kind == "StatefulSet" else {}
    head = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web", "annotations": IN_A_RACK}}
    rules = f"{only_here(site)}timeouts: {{recoverySeconds: 1}}\n"  # pods are told later than that
    with site.phalanx(rules) as running:
        site.apply([{**head, "spec": {**spec, "replicas": 3}}])
        site.until(lambda: is_bound(site, 3), "all are bound")
        before = site.where()
        site.apply([{**head, "spec": {**spec, "replicas": 6}}])
        site.until(lambda: unschedulable(site, "app=web"), "pods without a place say why")
        running.kill()
        running.start()
        site.apply([job("huge", 1, cpu=64)])
        site.until(lambda: unschedulable(site, "batch.kubernetes.io/job-name=huge"), "it was at work for so long")
    assert before.items() <= site.where().items()


def unschedulable(site: Site, selector: str) -> list[Object]:
    said = [condition for one in site.pods(selector) for condition in one["status"].get("conditions", [])]
    return [one for one in said if (one["type"], one.get("reason")) == ("PodScheduled", "Unschedulable")]


def test_a_bare_pod_is_a_gang_of_one(site: Site) -> None:
    site.nodes("r1=1")
    with site.phalanx(only_here(site)):
        site.apply([pod("alone")])
        site.until(lambda: is_bound(site, 1), "the pod is bound")


def test_pods_of_a_kind_that_nobody_knows_are_a_gang_by_their_gang(site: Site) -> None:  # W-017, W-077
    site.nodes("r1=2 r2=2")
    site.topology()
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}}
    site.apply([config])
    uid = site.get("configmap", "owner")["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "controller": True}
    pods = members("crew", "workers", 4, cpu=4)
    for one in pods:
        one["metadata"]["ownerReferences"] = [owner]
    with site.phalanx(only_here(site)):
        site.apply([gang("crew", workers={"count": 4, "topology": {"required": "rack"}})])
        site.apply(pods[:3])
        site.until(
            lambda: (site.condition("gang", "crew", "Scheduled") or {}).get("reason") == "PodsMissing",
            "it waits for its last pod",  # W-019
        )
        assert not site.where()
        site.apply(pods[3:])
        site.until(lambda: is_bound(site, 4), "the gang is bound")
    assert len(site.racks()) == 1


def test_pods_may_come_before_the_gang_they_name(site: Site) -> None:  # W-033, W-046
    site.nodes("r1=2")
    site.topology()
    with site.phalanx(only_here(site)):
        site.apply(members("crew", "workers", 2))
        site.apply([pod("later")])
        site.until(lambda: site.where().keys() == {"later"}, "a pod that came after them is bound, and none of them")
        site.apply([gang("crew", workers={"count": 2})])
        site.until(lambda: is_bound(site, 3), "the gang is bound")


def test_who_names_a_gang_that_is_not_there_is_told_so_once(site: Site) -> None:
    site.nodes("r1=2")
    site.topology()
    labels = {"phalanx.dev/gang": "crew", "phalanx.dev/group": "workers"}

    def told(name: str) -> list[str]:
        return [one["note"] for one in site.events(name) if "names Gang crew" in one["note"]]

    with site.phalanx(only_here(site)):
        site.apply([job("train", 2, labels=labels), *members("crew", "workers", 2)])
        site.until(lambda: told("train") and told("crew-workers-0"), "the Job and the first of the pods say it")
        assert len(site.pods()) == 4 and not site.where()
        assert len({one["metadata"]["name"] for one in site.read(events(site)) if "names Gang" in one["note"]}) == 2
        site.apply([gang("crew", workers={"count": 4})])
        site.until(lambda: is_bound(site, 4), "the gang is bound")


def events(site: Site) -> str:
    return f"apis/events.k8s.io/v1/namespaces/{site.namespace}/events"


def test_pods_that_disagree_with_their_gang_are_told_by_name(site: Site) -> None:  # W-103
    site.nodes("r1=2")
    site.topology()
    with site.phalanx(only_here(site)):
        site.apply([gang("crew", workers={"count": 2}), *members("crew", "workers", 1), *members("crew", "wokers", 1)])
        told = site.until(
            lambda: [one["note"] for one in site.events("crew", "Gang") if "crew-wokers-0" in one["note"]], "it is told"
        )
        assert "workers" in told[0] and not site.where()


def test_what_is_not_for_us_is_left_alone(site: Site) -> None:  # W-039, W-048, W-100, W-101
    site.nodes("r1=2")
    site.topology()
    with site.phalanx(only_here(site)):
        site.apply(
            [job("plain", 2, scheduler="default-scheduler"), pod("other", scheduler="somebody-else"), pod("ours")]
        )
        site.until(lambda: is_bound(site, 3), "kube-scheduler's pods and ours are bound")
        assert "other" not in site.where()
        assert not [one for one in site.pods("batch.kubernetes.io/job-name=plain") if written_by_us(one)]
        assert not [one for one in site.pods() if one["metadata"]["name"] == "other" and written_by_us(one)]


def written_by_us(one: Object) -> bool:
    keys = [*one["metadata"].get("annotations", {}), *one["metadata"].get("labels", {})]
    return any(key.startswith("phalanx.dev/") for key in keys) or bool(one["spec"].get("nodeSelector"))


# -- waiting ------------------------------------------------------------------------------------------------------


def test_a_gang_waits_with_its_reason_and_starts_when_nodes_come(site: Site) -> None:  # W-014, W-018, K-075
    site.nodes("r1=2 r2=2")
    site.topology()
    with site.phalanx(only_here(site)):
        site.apply(
            [gang("big", workers={"count": 6, "topology": {"required": "rack"}}), *members("big", "workers", 6, 4)]
        )
        said = site.until(lambda: waiting(site, "big", "TooLarge"), "the Gang says why it waits")
        assert "needs 6 pods" in said["message"] and "rack" in said["message"]
        unscheduled = site.until(lambda: all_unschedulable(site), "every pod says so too")
        assert len(unscheduled) == 6 and not site.where()
        site.nodes("r3=3")
        site.until(lambda: is_bound(site, 6), "the gang is bound")
        done = site.until(lambda: scheduled(site, "big"), "the Gang says that it is scheduled")
        assert done["status"] == "True"
    assert site.racks() == {("b1", "r3")}
    told = [one for one in site.events("big", "Gang") if one["reason"] == "TooLarge"]
    assert len(told) == 1  # for six pods
    assert not [one for one in site.events("big-workers-0") if one["reportingController"].startswith("phalanx")]


def test_what_would_help_is_told_where_people_look_and_helps(site: Site) -> None:
    site.nodes("r1=2 r2=2")
    site.topology()
    way_out = "requiring the block instead of the rack starts it now"
    big = gang("big", workers={"count": 6, "topology": {"required": "rack"}})
    with site.phalanx(only_here(site)):
        site.apply([job("wide", 6, cpu=4, annotations={"phalanx.dev/topology-required": "rack"})])
        site.until(
            lambda: [one for one in site.events("wide") if way_out in one["note"]], "an event of the Job says so"
        )
        site.apply([big, *members("big", "workers", 6, 4)])
        site.until(lambda: way_out in (waiting(site, "big", "TooLarge") or {}).get("message", ""), "the Gang says so")
        site.apply([job("wider", 6, cpu=4, annotations={"phalanx.dev/topology-required": "block"})])
        site.until(lambda: is_bound(site, 6), "what was said is true")


def waiting(site: Site, name: str, reason: str) -> Object | None:
    found = site.condition("gang", name, "Scheduled")
    return found if found is not None and (found["status"], found["reason"]) == ("False", reason) else None


def scheduled(site: Site, name: str) -> Object | None:
    found = site.condition("gang", name, "Scheduled")
    return found if found is not None and found["status"] == "True" else None


def all_unschedulable(site: Site) -> list[Object]:
    """The conditions that autoscalers read, once every pod has them."""
    conditions = [
        condition
        for one in site.pods()
        for condition in one["status"].get("conditions", [])
        if (condition["type"], condition["status"]) == ("PodScheduled", "False")
    ]
    done = len(conditions) == len(site.pods()) and all(one["reason"] == "Unschedulable" for one in conditions)
    return conditions if done else []


def test_a_mistake_is_told_on_the_object(site: Site) -> None:
    site.nodes("r1=1")
    site.topology()
    with site.phalanx(only_here(site)):
        site.apply([job("typo", 2, annotations={"phalanx.dev/topology-required": "rak"})])
        told = site.until(
            lambda: [one for one in site.events("typo") if one["reason"] == "Invalid"], "an event says so"
        )
        assert "metadata.annotations['phalanx.dev/topology-required']" in told[0]["note"] and "rak" in told[0]["note"]
        assert not site.where()


# -- JobSet and LeaderWorkerSet -------------------------------------------------------------------------------------


def test_a_job_set_starts_as_one_gang_with_a_rack_for_each_job(site: Site) -> None:  # K-099, J-018, W-141
    site.nodes("r1=2 r2=2")
    site.topology()

    def replicated(name: str, replicas: int, pods: int) -> Object:
        spec = job(name, pods, cpu=4)["spec"]
        return {"name": name, "replicas": replicas, "template": {"metadata": {"annotations": IN_A_RACK}, "spec": spec}}

    head = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    metadata = {"name": "set", "annotations": {"phalanx.dev/gang-mode": "Gang"}}
    spec = {"replicatedJobs": [replicated("driver", 1, 2), replicated("workers", 2, 4)]}
    with site.phalanx(only_here(site)):
        site.apply([{**head, "metadata": metadata, "spec": spec}])
        site.until(lambda: len(site.pods()) == 10, "all pods are made")
        site.until(lambda: [one for one in site.events("set", "JobSet") if one["type"] == "Warning"], "why it waits")
        assert not site.where()
        site.nodes("r3=2")
        site.until(lambda: is_bound(site, 10), "the JobSet is bound")
    found: dict[str, set[str]] = {}
    for one in site.pods():
        found.setdefault(one["metadata"]["labels"]["batch.kubernetes.io/job-name"], set()).add(rack_of(site, one))
    assert {name: len(racks) for name, racks in found.items()} == {
        "set-driver-0": 1,
        "set-workers-0": 1,
        "set-workers-1": 1,
    }


def test_a_job_set_that_starts_over_is_a_gang_again(site: Site) -> None:  # J-046
    site.nodes("r1=2")
    site.topology()
    spec = job("workers", 2, cpu=4)["spec"]
    jobs = [{"name": "workers", "replicas": 2, "template": {"spec": {**spec, "backoffLimit": 0}}}]
    head = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    metadata = {"name": "set", "annotations": {"phalanx.dev/gang-mode": "Gang"}}
    with site.phalanx(only_here(site)):
        site.apply(
            [{**head, "metadata": metadata, "spec": {"failurePolicy": {"maxRestarts": 1}, "replicatedJobs": jobs}}]
        )
        site.until(lambda: is_bound(site, 4), "the JobSet is bound")
        site.until(lambda: all(one["status"]["phase"] == "Running" for one in site.pods()), "its pods run")
        before = {one["metadata"]["uid"] for one in site.pods()}
        site.bed.finish(site.namespace, site.pods()[0]["metadata"]["name"], phase="Failed")
        site.until(lambda: has_restarted(site, before), "all four are bound again")


def has_restarted(site: Site, before: set[str]) -> bool:
    found = site.pods()
    fresh = [one for one in found if one["metadata"]["uid"] not in before and one["spec"].get("nodeName")]
    return len(fresh) == len(found) == 4


def test_each_replica_of_a_leader_worker_set_is_a_gang_in_a_rack(site: Site) -> None:  # W-029, W-110, W-127, W-145
    site.nodes("r1=2 r2=1")
    site.topology()
    head = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}
    groups = {"size": 4, "workerTemplate": template(cpu=4)}
    with site.phalanx(only_here(site)):
        site.apply(
            [
                {
                    **head,
                    "metadata": {"name": "serve", "annotations": IN_A_RACK},
                    "spec": {"replicas": 2, "leaderWorkerTemplate": groups},
                }
            ]
        )
        site.until(lambda: len(site.where()) >= 4, "one replica is bound")
        site.until(lambda: [one for one in site.events("serve") if one["type"] == "Warning"], "why the other waits")
        assert is_bound(site, 4), site.story()
        site.nodes("r3=2")
        site.until(lambda: is_bound(site, 8), "both are bound")
    for group in ("0", "1"):
        assert len(site.racks(f"leaderworkerset.sigs.k8s.io/group-index={group}")) == 1


@pytest.mark.parametrize(
    ("racks", "surge", "unavailable"),
    [("r1=1 r2=1 r3=1", 1, 0), ("r1=1 r2=1", 1, 1)],
    ids=["beside", "no room for the surge"],
)
def test_a_leader_worker_set_is_rolled_out_replica_by_replica(
    site: Site, racks: str, surge: int, unavailable: int
) -> None:  # W-231
    site.nodes(racks)
    site.topology()
    rollout = {"rollingUpdateConfiguration": {"maxSurge": surge, "maxUnavailable": unavailable}}

    def serve(version: str) -> Object:
        groups = {"size": 2, "workerTemplate": template(cpu=4, labels={"version": version})}
        return {
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "LeaderWorkerSet",
            "metadata": {"name": "serve", "annotations": IN_A_RACK},
            "spec": {"replicas": 2, "rolloutStrategy": rollout, "leaderWorkerTemplate": groups},
        }

    with site.phalanx(only_here(site)):
        site.apply([serve("old")])
        site.until(lambda: is_bound(site, 4, "version=old"), "both replicas are bound")
        site.apply([serve("new")])
        site.until(lambda: is_bound(site, 4, "version=new") and len(site.pods()) == 4, "both are replaced")
    for group in ("0", "1"):
        assert len(site.racks(f"leaderworkerset.sigs.k8s.io/group-index={group}")) == 1


def test_a_leader_worker_set_that_is_deleted_leaves_the_scheduler_at_work(site: Site) -> None:
    """It goes before its StatefulSets and their pods do, which are theirs then."""
    site.nodes("r1=4")
    groups = {"size": 3, "workerTemplate": template(cpu=2)}
    serve = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "serve"},
        "spec": {"replicas": 2, "leaderWorkerTemplate": groups},
    }
    with site.phalanx(only_here(site)):
        for again in range(3):
            site.apply([serve])
            site.until(lambda: is_bound(site, 6), "both replicas are bound")
            site.delete("leaderworkerset", "serve")
            site.until(lambda: not site.pods(), "all pods are gone")
            site.apply([job(f"after-{again}", 2)])
            site.until(lambda: is_bound(site, 2), "the next one starts")
            site.delete("job", f"after-{again}")
            site.until(lambda: not site.pods(), "it is gone as well")


# -- groups of Kubernetes itself ------------------------------------------------------------------------------------


def test_a_pod_group_is_told_what_upstream_expects(site: Site) -> None:
    site.nodes("r1=1 r2=2")
    level = {"schedulingConstraints": {"topology": [{"key": f"{site.namespace}/rack"}]}}
    pods = [pod(f"p{number}", cpu=4, schedulingGroup={"podGroupName": "pg"}) for number in range(4)]
    with site.phalanx(only_here(site)):
        site.apply([pod_group("pg", 4, **level)])
        site.apply(pods)
        site.topology()
        site.until(lambda: is_bound(site, 4), "the group is bound")
        said = site.until(lambda: is_true(site, "PodGroup", "pg"), "the PodGroup says so")
        assert said["reason"] == "Scheduled"
        site.apply([pod_group("more", 4, **level)])
        site.apply([pod(f"m{number}", cpu=4, schedulingGroup={"podGroupName": "more"}) for number in range(4)])
        said = site.until(
            lambda: site.condition("podgroup", "more", "PodGroupInitiallyScheduled"),
            "the other waits",
        )
        assert (said["status"], said["reason"]) == ("False", "Unschedulable")
    assert site.racks() == {("b1", "r2")}


def is_true(site: Site, kind: str, name: str) -> Object | None:
    found = site.condition(kind.lower(), name, f"{kind}InitiallyScheduled")
    return found if found is not None and found["status"] == "True" else None


def test_a_tree_of_groups_starts_together(site: Site) -> None:
    site.nodes("r1=1 r2=1")
    site.topology()
    rack = {"topology": [{"key": f"{site.namespace}/rack"}]}
    block = {"topology": [{"key": f"{site.namespace}/block"}]}
    gangs = {"gang": {"minCount": 2}}
    leaf = [{"name": name, "schedulingPolicy": gangs, "schedulingConstraints": rack} for name in ("prefill", "decode")]
    whole = {"gang": {"minGroupCount": 2}}
    composed = {
        "name": "all",
        "schedulingPolicy": whole,
        "schedulingConstraints": block,
        "podGroupTemplates": leaf,
    }
    workload = {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "Workload",
        "metadata": {"name": "w"},
        "spec": {"compositePodGroupTemplates": [composed]},
    }
    tree = {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": "all"},
        "spec": {
            "workloadRef": {"workloadName": "w", "templateName": "all"},
            "schedulingPolicy": whole,
            "schedulingConstraints": block,
        },
    }
    with site.phalanx(only_here(site)):
        site.apply([workload])
        site.apply([tree])
        for name in ("prefill", "decode"):
            reference = {"workloadName": "w", "templateName": name}
            one = pod_group(
                name, 2, parentCompositePodGroupName="all", schedulingConstraints=rack, workloadRef=reference
            )
            site.apply([{**one, "apiVersion": "scheduling.k8s.io/v1alpha3"}])
            site.apply([pod(f"{name}-{i}", cpu=4, schedulingGroup={"podGroupName": name}) for i in range(2)])
            if name == "prefill":
                assert not site.where()  # half of the tree is no tree
        site.until(lambda: is_bound(site, 4), "the tree is bound")
        site.until(lambda: is_true(site, "CompositePodGroup", "all"), "the tree says so")
        for name in ("prefill", "decode"):
            site.until(partial(is_true, site, "PodGroup", name), f"{name} says so")
    assert len(site.racks()) == 2


# -- gate mode ----------------------------------------------------------------------------------------------------


def test_a_job_as_kueue_has_it_is_ungated_where_it_belongs(site: Site) -> None:  # K-048, K-061, K-062, K-080, X-01
    site.nodes("r1=2 r2=3")
    site.topology()
    site.apply(
        [{"apiVersion": "phalanx.dev/v1alpha1", "kind": "Queue", "metadata": {"name": "user-queue"}, "spec": {}}]
    )
    wish = {"kueue.x-k8s.io/podset-required-topology": f"{site.namespace}/rack"}
    given = job(
        "tas", 5, cpu=4, suspend=True, scheduler="default-scheduler", annotations={},
        job_labels={"kueue.x-k8s.io/queue-name": "user-queue"},
    )  # fmt: skip
    given["spec"]["template"]["metadata"] = {"annotations": wish}
    with site.phalanx(only_here(site)):
        site.apply([given])
        site.until(lambda: is_bound(site, 5), "kube-scheduler bound them")
        found = site.get("job", "tas")
        assert found["spec"]["suspend"] is False
        assert found["spec"]["template"]["spec"]["schedulingGates"] == [{"name": GATE}]
        pods = site.pods()
        assert all(one["spec"]["nodeSelector"]["kubernetes.io/hostname"] == one["spec"]["nodeName"] for one in pods)
        ranks = {one["metadata"]["annotations"][INDEX]: one["metadata"]["annotations"][RANK] for one in pods}
        assert ranks == {str(number): str(number) for number in range(5)}
    assert site.racks() == {("b1", "r2")}


def test_a_suspended_job_gives_its_places_back(site: Site) -> None:  # K-068
    site.nodes("r1=1")
    site.topology()
    queue = {"phalanx.dev/queue": "default"}
    made: Object = {"suspend": True, "scheduler": "default-scheduler", "job_labels": queue}
    with site.phalanx(only_here(site)):
        site.apply([job("first", 2, cpu=4, **made)])
        site.until(lambda: is_bound(site, 2), "the first Job runs")
        site.apply([job("second", 2, cpu=4, **made)])
        site.until(lambda: [one for one in site.events("second") if one["type"] == "Warning"], "the second waits")
        assert site.get("job", "second")["spec"]["suspend"] is True
        site.bed.kubectl("delete", "job", "first", "-n", site.namespace, "--wait=false")
        site.until(lambda: is_bound(site, 2, "batch.kubernetes.io/job-name=second"), "the second has its places")


def gathered(name: str, pods: int, group: str) -> Object:
    """A suspended Job in our queue, whose pods belong to Gang crew."""
    labels = {"phalanx.dev/gang": "crew", "phalanx.dev/group": group}
    made: Object = {"suspend": True, "scheduler": "default-scheduler", "job_labels": {"phalanx.dev/queue": "default"}}
    return job(name, pods, cpu=4, labels=labels, **made)


def gated_crew(**groups: Object) -> Object:
    made = gang("crew", **groups)
    return {**made, "spec": {**made["spec"], "enforcement": "Gate"}}


def test_a_suspended_job_whose_pods_a_gang_gathers_is_resumed_for_it(site: Site) -> None:  # X-01
    site.nodes("r1=2 r2=3")
    site.topology()
    with site.phalanx(only_here(site)):
        site.apply(
            [gated_crew(workers={"count": 5, "topology": {"required": "rack"}}), gathered("train", 5, "workers")]
        )
        site.until(lambda: is_bound(site, 5), "kube-scheduler bound them")
        found = site.get("job", "train")
        assert found["spec"]["suspend"] is False
        assert found["spec"]["template"]["spec"]["schedulingGates"] == [{"name": GATE}]
        site.until(lambda: scheduled(site, "crew"), "the Gang says so")
        change = json.dumps({"spec": {"suspend": True}})
        site.bed.kubectl("patch", "gang", "crew", "-n", site.namespace, "--type=merge", "-p", change)
        site.until(lambda: not site.where(), "it gave its places back")
        assert site.get("job", "train")["spec"]["suspend"] is True
    assert site.racks() == set()


def valid(site: Site, name: str) -> str:
    return str((site.condition("gang", name, "Valid") or {}).get("message", ""))


def test_suspended_jobs_that_nobody_resumes_are_told_on_their_gang(site: Site) -> None:
    site.nodes("r1=2")
    site.topology()
    with site.phalanx(only_here(site)):
        site.apply([gated_crew(a={"count": 2}, b={"count": 2}), gathered("one", 2, "a"), gathered("two", 2, "b")])
        told = site.until(
            lambda: [one["note"] for one in site.events("crew", "Gang") if "Job/two: spec.suspend" in one["note"]],
            "it is told",
        )
        assert "2 make pods of this gang (Job one, Job two); resume it yourself" in told[0]
        site.until(lambda: "Job/one: spec.suspend" in valid(site, "crew"), "the Gang says so too")
        assert not site.pods()


@pytest.fixture
def local_volume(site: Site) -> str:
    """A claim whose volume is chosen when its first pod is; the volume is on one node."""
    [node, _] = site.nodes("r1=1 r2=1")
    name = f"wait-{site.namespace}"
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]
    amount = {"storage": "1Gi"}
    site.apply(
        [
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": name},
                "provisioner": "kubernetes.io/no-provisioner",
                "volumeBindingMode": "WaitForFirstConsumer",
            },
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": name},
                "spec": {
                    "capacity": amount,
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": name,
                    "local": {"path": "/data"},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
                },
            },
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "data"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": name,
                    "resources": {"requests": amount},
                },
            },
        ]
    )
    return node


VOLUMES = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


def test_a_volume_that_waits_for_its_pod_is_told_and_not_guessed(site: Site, local_volume: str) -> None:
    with site.phalanx(only_here(site)):
        site.apply([pod("reader", volumes=VOLUMES)])
        told = site.until(lambda: said_of_volume(site), "it is told that the volume is not bound")
        assert "claim data has no volume yet" in told and GATE in told
        assert not site.where()


def said_of_volume(site: Site) -> str:
    return next((one["note"] for one in site.events("reader") if one["reason"] == "Invalid"), "")


def test_a_volume_that_waits_for_its_pod_is_found_behind_our_gate(site: Site, local_volume: str) -> None:
    gated: Object = {"scheduler": "default-scheduler", "schedulingGates": [{"name": GATE}], "volumes": VOLUMES}
    site.topology()
    with site.phalanx(only_here(site)):
        site.apply([pod("reader", nodeSelector={"kubernetes.io/hostname": local_volume}, **gated)])
        site.until(lambda: site.where() == {"reader": local_volume}, "pod and volume found each other")
    assert site.get("pvc", "data")["spec"]["volumeName"] == f"wait-{site.namespace}"


# -- rights and ends ----------------------------------------------------------------------------------------------


@pytest.fixture
def small_rights(prepared: Bed) -> str:
    """An account with the smallest role that binds."""
    name = "phalanx-small"
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "phalanx-system"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "phalanx-scheduler-minimal"}
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding"}
    prepared.apply(json.dumps({**binding, "metadata": {"name": name}, "roleRef": role, "subjects": [subject]}))
    return f"system:serviceaccount:phalanx-system:{name}"


def test_our_kinds_and_the_smallest_role_are_enough(site: Site, small_rights: str) -> None:  # W-016, W-051
    site.account = small_rights
    site.nodes("r1=2 r2=2")
    site.topology()
    with site.phalanx(only_here(site)):
        site.apply(
            [gang("crew", workers={"count": 4, "topology": {"required": "rack"}}), *members("crew", "workers", 4, 4)]
        )
        site.until(lambda: is_bound(site, 4), "the gang is bound")
        site.until(lambda: scheduled(site, "crew"), "and says so")
    assert len(site.racks()) == 1
    assert "jobs.batch are not followed" in (site.folder / "phalanx-1.log").read_text()


def test_who_is_told_to_end_leaves_no_gang_half_bound(site: Site) -> None:
    site.nodes("r1=8", cpu=16)
    with site.phalanx(only_here(site)) as running:
        site.apply([gang("crew", workers={"count": 64}), *members("crew", "workers", 64)])
        site.until(lambda: len(site.where()) > 0, "binding began")
        assert running.stop() == 0
        assert is_bound(site, 64)
    assert '"ended"' in (site.folder / "phalanx-1.log").read_text()


def test_what_was_decided_on_a_cluster_is_decided_again_without_one(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.nodes("r1=2 r2=2")
    site.topology()
    file = site.folder / "decisions.jsonl"
    with site.phalanx(f"{only_here(site)}records: {{file: {file}}}\n"):
        rack = {"topology": {"required": "rack"}}
        site.apply([gang("crew", workers={"count": 4, **rack}), *members("crew", "workers", 4, cpu=4)])
        site.until(lambda: is_bound(site, 4), "the gang is bound")
        site.apply([gang("more", workers={"count": 6, **rack}), *members("more", "workers", 6, cpu=4)])
        site.until(lambda: (site.condition("gang", "more", "Scheduled") or {}).get("reason") == "TooLarge", "it waits")
    assert replaying.run([str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[1].split("/")[1] for line in lines} == {"crew:", "more:"}
    assert all(line.endswith(": same") for line in lines)
