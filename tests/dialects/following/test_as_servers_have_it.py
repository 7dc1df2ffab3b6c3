"""Families as controllers and admission of a real server leave them."""

from typing import Any

from phalanx.model.events import GangSeen, PodSeen
from tests.dialects.following.living import Object, follower, job, jobs_pod, pod, reference, spec, tell

EVERYBODY_TOLERATES = [
    {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for what in ("not-ready", "unreachable")
]


def members(events: list[Any]) -> dict[str, tuple[str | None, str | None]]:
    return {one.pod.key.name: (one.pod.gang, one.pod.pod_set) for one in events if isinstance(one, PodSeen)}


def made(api: str, kind: str, name: str, of: Object | None = None, **spec_of: Any) -> Object:
    metadata: Object = {"name": name, "namespace": "default", "uid": f"uid-{kind}-{name}"}
    if of is not None:
        metadata["ownerReferences"] = [reference(of)]
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec_of}


def test_two_runs_of_a_cron_job_are_two_gangs_and_each_pod_is_in_its_own() -> None:  # W-075
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly", "uid": "u"}}
    runs = [job(name, 1, cron) for name in ("nightly-1", "nightly-2")]
    told = tell(follower(), *runs, *(jobs_pod(run, 0) for run in runs))
    assert members(told.events) == {f"{name}-0-x": (f"default/{name}", "main") for name in ("nightly-1", "nightly-2")}


def test_classes_are_told_apart_though_admission_adds_to_every_pod() -> None:  # W-212
    classes = [{"name": name, "count": 1, "template": {"spec": spec(cpu)}} for name, cpu in (("a", "1"), ("b", "2"))]
    both = made("phalanx.dev/v1alpha1", "Gang", "both", podGroups=[{"name": "main", "podClasses": classes}])
    pods = [pod(name, labels={"phalanx.dev/gang": "both"}) for name in ("second", "first")]
    for one, cpu in zip(pods, ("2", "1"), strict=True):
        one["spec"] = spec(cpu, tolerations=EVERYBODY_TOLERATES)
    told = tell(follower(), both, *pods)
    assert members(told.events) == {
        "second": ("default/both", "main/b"),
        "first": ("default/both", "main/a"),
    }


def test_workers_of_a_leader_worker_set_are_in_the_gang_of_their_leader() -> None:  # W-029
    template = {"spec": spec()}
    lws = made(
        "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "serve",
        replicas=1, leaderWorkerTemplate={"size": 2, "workerTemplate": template},
    )  # fmt: skip
    own = {"podManagementPolicy": "Parallel", "template": template, "serviceName": "serve"}
    leaders = made("apps/v1", "StatefulSet", "serve", lws, replicas=1, **own)
    index = "leaderworkerset.sigs.k8s.io"
    leader = pod("serve-0", leaders, labels={f"{index}/group-index": "0", f"{index}/worker-index": "0"})
    workers = made("apps/v1", "StatefulSet", "serve-0", leader, replicas=1, **own)
    worker = pod("serve-0-1", workers, labels={f"{index}/group-index": "0", f"{index}/worker-index": "1"})
    told = tell(follower(), lws, leaders, leader, workers, worker)
    (gang,) = [one.request.id for one in told.events if isinstance(one, GangSeen)]
    assert {of for of, _ in members(told.events).values()} == {gang} and len(members(told.events)) == 2


def test_gangs_of_one_object_stand_in_line_in_its_own_order() -> None:
    groups = [{"name": name, "count": 1, "template": {"spec": spec()}} for name in ("z", "a", "m")]
    basic = made("phalanx.dev/v1alpha1", "Gang", "basic", policy="Basic", podGroups=groups)
    basic["metadata"]["creationTimestamp"] = "2026-11-16T08:00:00Z"
    seen = [one for one in tell(follower(), basic).events if isinstance(one, GangSeen)]
    assert [one.request.unit for one in sorted(seen, key=lambda one: one.since)] == ["z", "a", "m"]
    assert len({one.since for one in seen}) == 3


def claim(volume: str = "") -> Object:
    found = made("v1", "PersistentVolumeClaim", "data", accessModes=["ReadWriteOnce"])
    return {**found, "spec": {**found["spec"], **({"volumeName": volume} if volume else {})}}


VOLUMES = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


def test_a_pod_that_we_bind_waits_for_its_volume() -> None:
    reader = pod("reader")
    reader["spec"]["volumes"] = VOLUMES
    one = follower()
    told = tell(one, claim(), reader)
    assert not [each for each in told.events if isinstance(each, GangSeen)]
    ((subject, invalid),) = told.refused
    assert subject.key[3] == "reader"
    assert invalid.problems[0].path == "Pod/reader: spec.volumes[0].persistentVolumeClaim.claimName"
    assert "WaitForFirstConsumer" in invalid.problems[0].message
    assert [each for each in tell(one, claim("pv-1")).events if isinstance(each, GangSeen)]


def test_a_gated_pod_leaves_its_volume_to_kube_scheduler() -> None:
    reader = pod("reader")
    reader["spec"] |= {
        "volumes": VOLUMES,
        "schedulerName": "default-scheduler",
        "schedulingGates": [{"name": "phalanx.dev/topology"}],
    }
    told = tell(follower(), claim(), reader)
    assert [each for each in told.events if isinstance(each, GangSeen)] and not told.refused


def test_a_gang_that_runs_is_not_refused_for_a_volume_that_comes_late() -> None:
    train = job("train", 2)
    train["spec"]["template"]["spec"]["volumes"] = VOLUMES
    first, second = jobs_pod(train, 0), jobs_pod(train, 1)
    first["spec"] |= {"nodeName": "n1", "volumes": VOLUMES}
    told = tell(follower(), claim(), train, first, second)
    assert [each for each in told.events if isinstance(each, GangSeen)] and not told.refused
