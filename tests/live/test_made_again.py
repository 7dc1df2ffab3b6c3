"""Objects that are deleted and made again under their names, while what the first ones left behind is still there."""

import random
from typing import Any

import pytest

from tests.live.test_several_shapes import GROUPS, linked
from tests.testing import live_objects as objects
from tests.testing.live_objects import Doc
from tests.testing.live_stage import LiveStage, key

RACKS = {"n0": "r0", "n1": "r0", "n2": "r1", "n3": "r1"}


def again(doc: Doc, uid: str) -> Doc:
    return {**doc, "metadata": {**doc["metadata"], "uid": uid}}


def pods_of(job: Doc, count: int, gpus: int = 4) -> list[Doc]:
    uid = job["metadata"]["uid"]
    return [objects.pod(f"{uid}-{number}", gpus, owner=job) for number in range(count)]


def leaving(pod: Doc) -> Doc:
    return {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "2026-11-18T10:00:00Z"}}


# -- a Job -------------------------------------------------------------------------------------------------------------


def test_pods_of_a_job_that_was_deleted_are_not_bound() -> None:
    stage = LiveStage(*objects.cluster(racks=1, nodes=1))
    blocker = objects.job("blocker", 1, 8, required=None)
    stage.see(blocker, *pods_of(blocker, 1, 8))
    job = objects.job("train", 2, 4)
    pods = pods_of(job, 2)
    stage.see(job, *pods)
    stage.see(gone=[job])
    stage.after(30, gone=[blocker, *pods_of(blocker, 1, 8)])
    assert stage.where("uid-train-0", "uid-train-1") == ["", ""]
    assert [one["id"] for one in stage.scheduler.gangs()] == []
    assert stage.at_rest() == []


@pytest.mark.parametrize("how", ["gone", "leaving"])
def test_what_kubernetes_made_for_a_job_is_no_gang_without_it(how: str) -> None:
    """The gate WorkloadWithJob: the Job controller makes a Workload and a PodGroup, which its pods name."""
    stage = LiveStage(*objects.cluster(racks=1, nodes=1, gpus=4))
    job = objects.job("train", 2, 4)  # too large for its rack
    reference = objects.reference(job)
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
        "metadata": {"name": "train-pg", "namespace": "default", "uid": "pg", "ownerReferences": [reference]},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}},
    }  # fmt: skip
    pods = pods_of(job, 2)
    for pod in pods:
        pod["spec"]["schedulingGroup"] = {"podGroupName": "train-pg"}
    stage.see(job, group, *pods)
    assert stage.where("uid-train-0", "uid-train-1") == ["", ""]
    if how == "gone":
        stage.see(gone=[job])
    else:
        stage.see(leaving(job))
    stage.after(60)
    assert stage.where("uid-train-0", "uid-train-1") == ["", ""]
    assert stage.scheduler.gangs() == []
    assert stage.at_rest() == []
    stage.one_by_one(*(again(one, f"{one['metadata']['uid']}-b") for one in pods[:1]))
    assert stage.where("uid-train-0") == [""]


def test_the_jobs_of_a_jobset_are_no_gangs_without_it() -> None:
    child = objects.job("x", 1, 8)["spec"]
    jobset = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "metadata": {
            "name": "js", "namespace": "default", "uid": "js", "annotations": {"phalanx.dev/topology-required": "rack"},
        },
        "spec": {"replicatedJobs": [{"name": "w", "replicas": 2, "template": {"spec": child}}]},
    }  # fmt: skip
    stage = LiveStage(*objects.cluster(racks=2, nodes=1))
    jobs = [objects.job(f"js-w-{i}", 1, 8, required=None) for i in range(2)]
    for number, job in enumerate(jobs):
        job["metadata"]["ownerReferences"] = [objects.reference(jobset)]
        job["metadata"]["labels"] = {
            "jobset.sigs.k8s.io/replicatedjob-name": "w",
            "jobset.sigs.k8s.io/job-index": str(number),
        }
    pods = [pod for job in jobs for pod in pods_of(job, 1, 8)]
    for pod, job in zip(pods, jobs, strict=True):
        pod["metadata"]["labels"] = job["metadata"]["labels"]
    stage.see(jobset, *jobs, *pods)
    assert not any(stage.where("uid-js-w-0-0", "uid-js-w-1-0")), "two hosts in one rack there are not"
    stage.see(gone=[jobset])
    stage.after(60)
    assert not any(stage.where("uid-js-w-0-0", "uid-js-w-1-0"))
    assert stage.scheduler.gangs() == []


def test_a_job_made_again_while_its_pods_end_slowly_starts_at_once_beside_them() -> None:
    stage = LiveStage(*objects.cluster(racks=2, nodes=2))
    first = objects.job("train", 4, 4, uid="a")
    stage.see(first)
    stage.one_by_one(*pods_of(first, 4))
    old = [stage.told["", "Pod", "default", f"a-{i}"] for i in range(4)]
    racks = {RACKS[node] for node in stage.where("a-0", "a-1", "a-2", "a-3")}
    second = objects.job("train", 4, 4, uid="b")
    stage.see(*(leaving(one) for one in old), second)
    before = len(stage.effects)
    stage.one_by_one(*pods_of(second, 4))
    assert {RACKS[node] for node in stage.where("b-0", "b-1", "b-2", "b-3")} == {"r0", "r1"} - racks
    assert {one.kind for one in stage.effects[before:]} <= {"Bind", "Report"}
    assert (stage.gang("default/train") or {})["wanted"] == 4
    assert (stage.gang("default/train") or {})["bound"] == 4
    assert stage.state("default/train") == "Running"
    stage.after(600, gone=old)
    assert "Evict" not in stage.kinds()
    assert stage.at_rest() == []


@pytest.mark.parametrize("seen", ["apart", "at once"])
def test_pods_that_waited_for_a_job_that_was_deleted_are_none_of_the_next_one(seen: str) -> None:
    stage = LiveStage(*objects.cluster(racks=2, nodes=2))
    first = objects.job("train", 4, 8, uid="a")
    old = pods_of(first, 4, 8)
    stage.see(first, *old)
    assert not any(stage.where("a-0", "a-1", "a-2", "a-3")), "two pods of this size are all that a rack takes"
    second = objects.job("train", 4, 4, uid="b")
    if seen == "apart":
        stage.see(gone=[first])
        stage.see(*(leaving(one) for one in old))
        stage.see(second)
    else:
        stage.see(*(leaving(one) for one in old), second)
    stage.see(*pods_of(second, 1))
    assert "Bind" not in stage.kinds()
    stage.see(*pods_of(second, 4))
    assert all(stage.where("b-0", "b-1", "b-2", "b-3"))
    assert not any(stage.where("a-0", "a-1", "a-2", "a-3"))
    assert stage.at_rest() == []


def test_a_job_made_again_waits_for_the_room_of_pods_that_end_slowly() -> None:
    stage = LiveStage(*objects.cluster(racks=1, nodes=2))
    first = objects.job("train", 4, 4, uid="a")
    stage.see(first, *pods_of(first, 4))
    old = [stage.told["", "Pod", "default", f"a-{i}"] for i in range(4)]
    second = objects.job("train", 4, 4, uid="b")
    stage.see(second, *pods_of(second, 4))  # that the first was deleted is never seen
    stage.see(*(leaving(one) for one in old))
    told = stage.gang("default/train")
    assert told is not None and (told["state"], told["reason"], told["bound"]) == ("Queued", "NoRoom", 0)
    stage.after(1, gone=old[:3])
    assert not any(stage.where("b-0", "b-1", "b-2", "b-3"))
    stage.after(1, gone=old[3:])
    assert all(stage.where("b-0", "b-1", "b-2", "b-3"))
    assert stage.state("default/train") == "Running"


def test_old_pods_that_end_slowly_are_heard_of_and_do_not_keep_the_scheduler_busy() -> None:
    stage = LiveStage(*objects.cluster(racks=2, nodes=2))
    first = objects.job("train", 4, 4, uid="a")
    stage.see(first, *pods_of(first, 4))
    old = [stage.told["", "Pod", "default", f"a-{i}"] for i in range(4)]
    second = objects.job("train", 4, 4, uid="b")
    stage.see(*(leaving(one) for one in old), second, *pods_of(second, 4))
    for _ in range(20):
        stage.after(5)
        assert (stage.scheduler.next_at or stage.now + 1) > stage.now


# -- a group -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(GROUPS))
@pytest.mark.parametrize("seed", range(25))
def test_a_group_that_is_made_again_with_its_pods_runs_whole_whatever_is_seen_first(kind: str, seed: int) -> None:
    """Every watch brings its own kind in order; names that change twice may be seen once."""
    chance = random.Random(seed)
    size = chance.choice((2, 4))
    stage = LiveStage(*objects.cluster(racks=2, nodes=2))
    groups = GROUPS[kind]
    pods = [linked(kind, f"p{i}", size, f"a{i}") for i in range(4)]
    stage.see(*groups)
    stage.one_by_one(*pods)
    assert all(stage.where("p0", "p1", "p2", "p3"))
    events: list[list[Any]] = [[again(one, f"{one['metadata']['uid']}-b") for one in groups]] if groups else []
    events += [[linked(kind, f"p{i}", size, f"b{i}")] for i in range(4)]
    marks = [[leaving(stage.told["", "Pod", "default", f"p{i}"])] for i in range(4) if chance.random() < 0.5]
    chance.shuffle(events)
    for one in marks:
        stage.after(chance.choice((0.0, 0.1, 3.0)), *one)
    for one in events:
        stage.after(chance.choice((0.0, 0.1, 3.0)), *one)
    stage.after(60)
    (told,) = stage.scheduler.gangs()
    assert (told["state"], told["bound"], told["wanted"]) == ("Running", 4, 4), told
    assert len({RACKS[node] for node in stage.where("p0", "p1", "p2", "p3")}) == 1
    assert "Evict" not in stage.kinds()
    assert stage.at_rest() == []


def test_a_group_that_is_made_again_alone_takes_its_pods_over_once_they_have_stayed() -> None:
    stage = LiveStage(*objects.cluster(), *GROUPS["podgroup"])
    stage.one_by_one(*(linked("podgroup", f"p{i}", 4) for i in range(4)))
    stage.see(again(GROUPS["podgroup"][0], "second"))
    assert (stage.gang("default/g") or {})["reason"] == "PodsMissing"
    stage.after(15)
    told = stage.gang("default/g") or {}
    assert (told["state"], told["bound"]) == ("Running", 4)
    assert "Evict" not in stage.kinds()


def test_pods_that_waited_for_a_job_that_was_deleted_are_not_bound_for_the_one_that_has_its_name() -> None:
    """It is never seen that the first one was deleted, and nobody has come yet to its pods."""
    stage = LiveStage(*objects.cluster(racks=1, nodes=1))
    first = objects.job("train", 4, 4, uid="a")  # too large for its rack
    stage.see(first, *pods_of(first, 4))
    second = objects.job("train", 2, 4, uid="b")
    stage.see(second)
    stage.one_by_one(*pods_of(second, 2))
    assert stage.where("a-0", "a-1", "a-2", "a-3") == [""] * 4
    assert all(stage.where("b-0", "b-1"))
    assert stage.at_rest() == []


def test_a_group_that_is_made_again_is_not_found_running_by_what_was_deleted_with_the_first() -> None:
    """The deletion is seen, and the watch of pods is late."""
    (group,) = GROUPS["podgroup"]
    stage = LiveStage(*objects.cluster(racks=2, nodes=1), group)
    stage.one_by_one(*(linked("podgroup", f"p{i}", 2) for i in range(4)))
    old = [stage.told["", "Pod", "default", f"p{i}"] for i in range(4)]
    stage.see(leaving(group))
    stage.see(gone=[group])
    stage.see(again(group, "second"))
    assert (stage.gang("default/g") or {})["state"] == "Queued"
    stage.after(1, *(leaving(one) for one in old))
    stage.after(1, *(linked("podgroup", f"again{i}", 2) for i in range(4)), gone=old)
    told = stage.gang("default/g") or {}
    assert (told["state"], told["bound"]) == ("Running", 4)
    assert "Evict" not in stage.kinds()


def made(doc: Doc, second: int, uid: str) -> Doc:
    stamp = f"2026-11-18T10:00:{second:02}Z"
    return {**doc, "metadata": {**doc["metadata"], "creationTimestamp": stamp, "uid": uid}}


@pytest.mark.parametrize("ends", [True, False])
def test_pods_that_come_before_the_group_they_were_made_after_are_its_own(ends: bool) -> None:
    """The watch of groups is late: the new pods are placed for the gang that had its name."""
    (group,) = GROUPS["podgroup"]
    stage = LiveStage(*objects.cluster(), made(group, 0, "first"))
    first = [made(linked("podgroup", f"p{i}", 4), 1, f"first-{i}") for i in range(4)]
    second = [made(linked("podgroup", f"p{i}", 4), 31, f"second-{i}") for i in range(4)]
    for pod in (*first, *second):
        pod["spec"]["restartPolicy"] = "Never"
    stage.one_by_one(*first)
    stage.after(5, gone=first)
    stage.one_by_one(*second)
    stage.after(1, made(group, 30, "second"))
    told = stage.gang("default/g") or {}
    assert (told["state"], told["bound"]) == ("Running", 4)
    if ends:
        bound = [stage.told["", "Pod", "default", f"p{i}"] for i in range(4)]
        stage.after(2, *({**pod, "status": {"phase": "Succeeded"}} for pod in bound))
        assert stage.state("default/g") == "Finished"
    stage.after(60)
    assert "Evict" not in stage.kinds()
    assert stage.at_rest() == []


def test_pods_that_are_being_bound_when_the_group_comes_that_they_were_made_after_are_its_own() -> None:
    """The watch of groups is late, and nobody knows yet what became of the binds."""
    (group,) = GROUPS["podgroup"]
    stage = LiveStage(*objects.cluster(), made(group, 0, "first"))
    pods = [made(linked("podgroup", f"p{i}", 4), 31, f"second-{i}") for i in range(4)]
    asked = [one for one in stage.see(*pods, carry_out=False) if one.kind == "Bind"]
    assert len(asked) == 4
    again = stage.see(made(group, 30, "second"), carry_out=False)
    assert [one.kind for one in again if one.kind in ("Bind", "Evict", "Suspend")] == []
    assert stage.state("default/g") == "Binding"
    bound = [objects.on(one, bind.node) for one in pods for bind in asked if bind.name == one["metadata"]["name"]]
    stage.after(1, *bound)
    told = stage.gang("default/g") or {}
    assert (told["state"], told["bound"]) == ("Running", 4)
    stage.after(60)
    assert "Evict" not in stage.kinds()
    assert stage.at_rest() == []


# -- the kubelet's word ------------------------------------------------------------------------------------------------


def test_a_pod_that_was_drained_and_exits_0_has_not_finished_its_work() -> None:
    stage = LiveStage(*objects.cluster(), *GROUPS["podgroup"])
    pods = [linked("podgroup", f"p{i}", 4) for i in range(4)]
    for pod in pods:
        pod["spec"]["restartPolicy"] = "Always"
    stage.one_by_one(*pods)
    for number in range(3):
        there = stage.told["", "Pod", "default", f"p{number}"]
        ended = leaving({**there, "status": {"phase": "Succeeded"}})
        stage.after(1, ended)
        stage.after(1, gone=[there])
    told = stage.gang("default/g") or {}
    assert (told["state"], told["bound"]) == ("Degraded", 1)
    stage.one_by_one(*(linked("podgroup", f"again{i}", 4) for i in range(3)))
    told = stage.gang("default/g") or {}
    assert (told["state"], told["bound"], told["wanted"]) == ("Running", 4, 4)


@pytest.mark.parametrize("before_it_was_deleted", [True, False])
def test_a_pod_that_may_end_is_done_when_it_ended_before_it_was_deleted(before_it_was_deleted: bool) -> None:
    """A deletion is no work. The server writes when the pod must be gone, its grace period after it was deleted."""
    stage = LiveStage(*objects.cluster(), *GROUPS["podgroup"])
    pods = [linked("podgroup", f"p{i}", 4) for i in range(4)]
    for pod in pods:
        pod["spec"]["restartPolicy"] = "Never"
    stage.one_by_one(*pods)
    there = stage.told["", "Pod", "default", "p0"]
    second = 9 if before_it_was_deleted else 12
    ended = [{"name": "main", "state": {"terminated": {"exitCode": 0, "finishedAt": f"2026-11-18T10:00:{second:02}Z"}}}]
    metadata = {"deletionTimestamp": "2026-11-18T10:00:40Z", "deletionGracePeriodSeconds": 30, "finalizers": ["x/y"]}
    pod = {**there, "status": {"phase": "Succeeded", "containerStatuses": ended}}
    stage.after(1, {**pod, "metadata": {**pod["metadata"], **metadata}})
    stage.after(1, gone=[there])
    told = stage.gang("default/g") or {}
    assert told["state"] == ("Running" if before_it_was_deleted else "Degraded")


def test_room_of_a_pod_whose_bind_was_not_seen_yet_is_taken_when_its_job_is_made_again() -> None:
    """The bind was done, and the watch of pods is late: the Job is heard to be gone, then that another has its name."""
    stage = LiveStage(*objects.cluster(racks=1, nodes=1))
    first = objects.job("train", 1, 8, uid="a")
    (old,) = pods_of(first, 1, 8)
    (_, bind) = stage.see(first, old, carry_out=False)
    stage.scheduler.step(answers=[("default", bind.name, bind.uid, bind.node, "bound")], now=stage.now)
    stage.see(gone=[first])
    second = objects.job("train", 1, 8, uid="b")
    stage.see(second)
    other = objects.job("other", 1, 8, uid="o")
    stage.see(other, *pods_of(other, 1, 8))
    assert stage.where("o-0") == [""]
    stage.see(leaving(objects.on(old, "n0")))
    assert stage.where("o-0") == [""]
    stage.after(1, gone=[old])
    assert stage.where("o-0") == ["n0"]


@pytest.mark.parametrize("seen", ["the Job", "the pods", "both"])
def test_pods_that_a_deleted_job_left_behind_are_told_of_on_no_node_as_those_of_strangers(seen: str) -> None:
    job = objects.job("train", 2, 4)
    stage = LiveStage(*objects.cluster(), job, *pods_of(job, 2))
    old = [stage.told[key(one)] for one in pods_of(job, 2)]
    if seen != "the pods":
        stage.after(1, gone=[job])
    if seen != "the Job":
        stage.after(1, *map(leaving, old))
    stage.after(5, gone=[job])
    stage.after(5, gone=old)
    assert "Notice" not in stage.kinds()


def kueue_pod(name: str, gpus: int, of: int, uid: str) -> Doc:
    annotations = {
        "kueue.x-k8s.io/pod-group-total-count": str(of),
        "kueue.x-k8s.io/podset-required-topology": "kubernetes.io/hostname",
    }
    return objects.pod(name, gpus, uid=uid, labels={"kueue.x-k8s.io/pod-group-name": "g"}, annotations=annotations)


def test_pods_of_a_group_without_an_object_that_come_while_all_before_them_leave_are_another_group() -> None:
    """They wait until all of them have room, and take no places of single pods that left."""
    stage = LiveStage(*objects.cluster(racks=1, nodes=1))
    stage.one_by_one(*(kueue_pod(f"p{i}", 4, 2, f"first-{i}") for i in range(2)))
    assert stage.where("p0", "p1") == ["n0", "n0"]
    old = [leaving(stage.told["", "Pod", "default", f"p{i}"]) for i in range(2)]
    stage.after(1, *old, *(kueue_pod(f"q{i}", 2, 4, f"second-{i}") for i in range(4)))
    stage.after(1, gone=old[:1])
    assert stage.where("q0", "q1", "q2", "q3") == [""] * 4
    stage.after(1, gone=old[1:])
    assert stage.where("q0", "q1", "q2", "q3") == ["n0"] * 4
    assert "Evict" not in stage.kinds()


def test_pods_that_were_bound_for_a_smaller_group_of_that_name_are_half_of_a_larger_one() -> None:
    """They came before the group that they were made for, and noted the minimum of the one before."""

    def group(least: int, uid: str) -> Doc:
        found = made(GROUPS["podgroup"][0], 0 if uid == "first" else 30, uid)
        return {**found, "spec": {**found["spec"], "schedulingPolicy": {"gang": {"minCount": least}}}}

    stage = LiveStage(*objects.cluster(racks=1, nodes=2), group(1, "first"))
    first, *more = (made(linked("podgroup", f"p{i}", 8), 1 if i == 0 else 31, f"pod-{i}") for i in range(4))
    stage.after(1, first)
    stage.after(1, more[0])
    bound = stage.told["", "Pod", "default", "p1"]
    bound["metadata"]["annotations"] = {"phalanx.dev/least": "1"}
    stage.after(1, bound)
    stage.after(1, gone=[first])
    stage.after(1, group(3, "second"), *more[1:])
    told = stage.gang("default/g") or {}
    assert told["state"] == "Degraded"


def test_pods_that_a_deleted_job_left_as_orphans_are_none_of_the_next_one() -> None:
    """``kubectl delete --cascade=orphan`` while they wait, heard of in the step in which the next Job comes."""
    stage = LiveStage(*objects.cluster(racks=1, nodes=1))
    first = objects.job("train", 4, 4, uid="a")  # too large for its rack
    waiting = pods_of(first, 4)
    stage.see(first, *waiting)
    second = objects.job("train", 2, 4, uid="b")
    orphans = [{**one, "metadata": {**one["metadata"], "ownerReferences": []}} for one in waiting]
    stage.see(second, *orphans, *pods_of(second, 2), gone=[first])
    bound = {one.name: one.gang for one in stage.effects if one.kind == "Bind"}
    assert {bound.get(f"a-{number}", "") for number in range(4)} & {"default/train"} == set()
    stage.see(gone=orphans)
    assert stage.where("b-0", "b-1") == ["n0", "n0"]


def test_room_is_kept_for_pods_that_are_being_bound_when_their_owner_is_made_again_within_a_second() -> None:
    """By the time they were made, which is told in whole seconds, they could be pods of the second one."""
    stage = LiveStage(*objects.cluster(racks=1, nodes=1))
    first, second = (made(objects.job("train", 1, 8), 0, uid) for uid in "ab")
    (old,), (new,) = ([made(one, 0, one["metadata"]["uid"]) for one in pods_of(job, 1, 8)] for job in (first, second))
    binds = [one.name for one in stage.see(first, old, carry_out=False) if one.kind == "Bind"]
    assert binds == ["a-0"]
    stage.see(second, carry_out=False)
    assert [one.name for one in stage.see(new, carry_out=False) if one.kind == "Bind"] == []
    stage.after(1, gone=[old])
    assert stage.where("b-0") == ["n0"]
