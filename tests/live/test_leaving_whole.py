"""A gang that leaves its places whole leaves what makes its pods alive: Jobs are suspended meanwhile, and resumed."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from phalanx.dialects import kindtable
from phalanx.dialects.following import Follower, Marks
from phalanx.model.effects import Report
from phalanx.model.events import GangSeen, SuspendRefused
from phalanx.model.objects import ObjectKey
from phalanx.model.rules import Rules
from phalanx.testing import Effect, LiveScheduler
from tests.testing import live_objects as objects
from tests.testing.live_jobs import JobStage, job_key
from tests.testing.live_objects import Doc
from tests.testing.made_by_controllers import MADE, made

NOTE = "phalanx.dev/suspended"
RECOVERY, SCHEDULE = Rules().recovery, Rules().schedule
ACTS = ("Bind", "Evict", "Suspend", "Resume", "Prepare", "Ungate")


def running(*jobs: Doc, racks: int = 2, **more: Any) -> JobStage:
    """Jobs that run; by default one whose eight pods fill the two nodes of a rack."""
    wanted = jobs or (objects.job("train", 8, 2),)
    stage = JobStage(*objects.cluster(racks=racks, nodes=2), **more)
    stage.see(*wanted)
    assert {one["state"] for one in stage.scheduler.gangs()} == {"Running"}
    return stage


def drain(stage: JobStage) -> int:
    """Takes the pods of one node away, as a drain does. How many those were."""
    node = stage.pods_of("train")[0]["spec"]["nodeName"]
    found = deepcopy(stage.told["", "Node", "", node])
    found["spec"]["unschedulable"] = True
    stage.see(found)
    lost = [one["metadata"]["name"] for one in stage.pods_of("train") if one["spec"].get("nodeName") == node]
    stage.evict(*lost)
    return len(lost)


def leaving(slow: bool = True, **more: Any) -> JobStage:
    """A gang that was told to leave; its pods are slow to."""
    stage = running(slow=slow, **more)
    drain(stage)
    stage.let_go()
    stage.after(RECOVERY + 1)
    assert stage.state("default/train") == "Evicting"
    return stage


def change(stage: JobStage, name: str = "train", note: bool | None = None, **spec: Any) -> Doc:
    """A Job that its user changes. ``note``: False takes ours off."""
    found = deepcopy(stage.job(name))
    found["spec"].update(spec)
    if note is False:
        del found["metadata"]["annotations"][NOTE]
    return found


def acts(stage: JobStage, since: int = 0) -> list[tuple[str, str]]:
    return [(one.kind, one.name) for one in stage.effects[since:] if one.kind in ACTS]


def reason(stage: JobStage, name: str = "train") -> str | None:
    found = stage.gang(f"default/{name}")
    return None if found is None else found["reason"]


# -- what leaves -------------------------------------------------------------------------------------------------------


def test_a_job_survives_that_its_gang_leaves_whole_after_a_drain() -> None:
    stage = running()
    taken = drain(stage)
    assert stage.failures["train"] == taken == 4
    stage.after(RECOVERY + 60)
    assert stage.failures["train"] == 4, "what a drain takes counts; what leaves with its gang does not"
    assert not stage.is_failed("train")
    assert stage.state("default/train") == "Running"
    assert {"Suspend", "Resume"} <= set(stage.kinds()) and "Evict" not in stage.kinds()
    assert NOTE not in stage.job("train")["metadata"]["annotations"]
    assert stage.at_rest() == []


def test_pods_that_exit_0_because_their_job_was_suspended_have_not_done_its_work() -> None:
    """The Job controller lets go of the pods that it deletes then, and does not count them."""
    stage = leaving()
    old = [one for one in stage.pods_of("train") if "deletionTimestamp" in one["metadata"]]
    assert len(old) == 4
    stage.see(*({**one, "status": {"phase": "Succeeded"}} for one in old))
    stage.let_go()
    stage.after(60)
    assert (stage.state("default/train"), stage.job("train")["spec"]["suspend"]) == ("Running", False)


def test_jobs_survive_that_nobody_answers_their_binds_in_time() -> None:
    stage = JobStage(*objects.cluster(racks=2, nodes=16))
    stage.binds = False
    stage.see(objects.job("train", 64, 2), objects.job("other", 64, 2))
    assert stage.state("default/train") == stage.state("default/other") == "Binding"
    stage.after(2 * SCHEDULE)
    stage.binds = True
    stage.after(SCHEDULE + 60)
    assert not stage.failures and not stage.is_failed("train") and not stage.is_failed("other")
    assert stage.state("default/train") == stage.state("default/other") == "Running"
    assert "Evict" not in stage.kinds()


def test_a_gang_that_restarts_whole_costs_its_job_the_pod_that_failed_and_no_other() -> None:
    gang, job = restarting("train")
    stage = running(gang, job, slow=True)
    first = stage.pods_of("train")[0]
    stage.see(objects.on(first, first["spec"]["nodeName"], ready=False, phase="Failed"))
    assert ("Suspend", "train") in acts(stage)
    stage.let_go()
    stage.see(gone=stage.pods_of("train"))
    stage.after(60)
    assert ("Resume", "train") in acts(stage) and "Evict" not in stage.kinds()
    assert not stage.failures


def restarting(*names: str) -> list[Doc]:
    """A Gang that restarts whole, and the Jobs that make its pods."""
    gang = made("phalanx.dev/v1alpha1", "Gang", "crew", {"onFailure": "RestartGang", "podGroups": []})
    docs = [gang]
    for name in names:
        job = objects.job(name, 2, 2, required=None)
        job["spec"]["template"]["metadata"] = {"labels": {"phalanx.dev/gang": "crew", "phalanx.dev/group": name}}
        gang["spec"]["podGroups"].append({"name": name, "count": 2})
        docs.append(job)
    return docs


def kueues_queue() -> list[Doc]:
    """A ClusterQueue and what it needs."""
    quota = {"name": objects.GPU, "nominalQuota": 100}
    covered = {"coveredResources": [objects.GPU], "flavors": [{"name": "any", "resources": [quota]}]}
    spec = {"namespaceSelector": {}, "resourceGroups": [covered]}
    queue = made("kueue.x-k8s.io/v1beta1", "ClusterQueue", "research", spec)
    flavor = made("kueue.x-k8s.io/v1beta1", "ResourceFlavor", "any", {})
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "uid": "default"}}
    for one in (queue, flavor):
        del one["metadata"]["namespace"]
    return [queue, flavor, namespace]


def test_a_job_of_a_drained_queue_is_suspended_until_its_queue_is_open() -> None:
    queue, *others = kueues_queue()
    job = objects.job("train", 8, 2, required=None)
    job["metadata"]["labels"] = {"phalanx.dev/queue": "research"}
    stage = running(queue, *others, job)
    stopped = deepcopy(queue)
    stopped["spec"]["stopPolicy"] = "HoldAndDrain"
    stage.see(stopped)
    stage.after(300)
    assert acts(stage)[8:] == [("Suspend", "train")]
    assert stage.state("default/train") == "Queued"
    assert "queue" in stage.gang("default/train")["message"]  # type: ignore[index]
    assert stage.at_rest() == []
    stage.see(queue)
    stage.after(10)
    assert stage.state("default/train") == "Running" and not stage.failures


def test_a_gang_whose_pods_are_gone_waits_until_its_job_is_seen_suspended_or_nobody_waits_any_more() -> None:
    """Else it would start, and be told to stop by what was asked for before."""
    stage = running()
    drain(stage)
    stage.forbidden = True
    stage.after(RECOVERY + 0.5)
    gone = stage.pods_of("train")
    stage.scheduler.step(gone=[("", "Pod", "default", one["metadata"]["name"]) for one in gone], now=stage.now)
    assert stage.state("default/train") == "Evicting"
    stage.scheduler.step(now=stage.now + 14)
    assert stage.state("default/train") == "Evicting"
    stage.scheduler.step(now=stage.now + 20)
    assert stage.state("default/train") == "Queued"


def test_pods_without_a_node_are_gone_too_before_a_job_is_let_go() -> None:
    stage = running()
    job, pods = change(stage, suspend=True), stage.pods_of("train")
    job["metadata"]["annotations"][NOTE] = "for gang default/train: RECOVERY_TIMEOUT"
    scheduler = LiveScheduler()
    waiting = objects.pod("late", 2, owner=job)
    scheduler.step(seen=[*objects.cluster(racks=2, nodes=2), job, *pods, waiting])
    gone = [("", "Pod", "default", one["metadata"]["name"]) for one in pods]
    found = scheduler.step(gone=gone, now=1001.0)
    assert [one["state"] for one in scheduler.gangs()] == ["Evicting"]
    found = scheduler.step(gone=[("", "Pod", "default", "late")], now=1002.0)
    assert [one["state"] for one in scheduler.gangs()] == ["Queued"]
    assert "Resume" not in [one.kind for one in found]
    assert "Resume" in [one.kind for one in scheduler.step(now=1010.0)]


# -- who says what about it --------------------------------------------------------------------------------------------


def test_who_is_held_back_by_us_says_so_and_never_that_its_user_did_it() -> None:
    stage = leaving()
    assert stage.job("train")["spec"]["suspend"] is True
    assert stage.job("train")["metadata"]["annotations"][NOTE] == "RECOVERY_TIMEOUT"
    assert "did not recover in time" in stage.gang("default/train")["message"]  # type: ignore[index]
    stage.let_go()
    assert (stage.state("default/train"), reason(stage)) == ("Queued", "BackingOff")
    reports = [one for one in stage.effects if one.kind == "Report"]
    assert "SUSPENDED" not in [one.cause for one in reports]


def test_pods_that_take_their_time_are_waited_for_and_none_is_deleted_by_us() -> None:
    stage = leaving()
    stage.after(SCHEDULE - 10)
    assert stage.state("default/train") == "Evicting"
    assert acts(stage)[-1] == ("Suspend", "train") and "Evict" not in stage.kinds()
    stage.after(60)
    assert stage.state("default/train") == "Running", "as long as for a start, then it starts beside them"


def test_a_job_that_we_suspended_is_resumed_by_a_scheduler_that_starts_meanwhile() -> None:
    stage = leaving()
    again = stage.fresh()
    assert again.state("default/train") == "Evicting"
    assert [(one.kind, one.name) for one in again.effects if one.kind in ACTS] == []
    stage.let_go()
    again = stage.fresh()
    assert [(one.kind, one.name) for one in again.effects if one.kind in ACTS] == [("Resume", "train")]
    assert again.gang("default/train")["reason"] == "PodsMissing"  # type: ignore[index]


def test_a_scheduler_that_starts_meanwhile_takes_a_gang_that_leaves_off_its_nodes() -> None:
    """Its pods were not told to leave yet: the Job controller is slow."""
    stage = running()
    note = {NOTE: "for gang default/train: RECOVERY_TIMEOUT"}
    job = change(stage, suspend=True)
    job["metadata"]["annotations"] |= note
    again = LiveScheduler()
    docs = [one for at, one in stage.told.items() if at[1] != "Job"]
    found = again.step(seen=[*docs, job])
    assert [one.kind for one in found if one.kind in ACTS] == []
    assert [one["state"] for one in again.gangs()] == ["Evicting"]
    pods = [("", "Pod", "default", one["metadata"]["name"]) for one in stage.pods_of("train")]
    found = (*again.step(gone=pods, now=1010.0), *again.step(now=1020.0))
    assert [one.kind for one in found if one.kind in ACTS] == ["Resume"]


def test_a_note_without_a_gang_that_leaves_is_enough_to_be_resumed() -> None:
    job = objects.job("train", 8, 2, suspend=True)
    job["metadata"]["annotations"][NOTE] = "for gang default/train: DRAINED"
    stage = JobStage(*objects.cluster(racks=1, nodes=2))
    stage.see(job)
    assert stage.state("default/train") == "Running"


def test_a_job_is_resumed_by_whoever_suspended_it_where_the_note_was_not_written() -> None:
    stage = running()
    stage.noted = False
    drain(stage)
    stage.after(RECOVERY + 60)
    assert stage.state("default/train") == "Running" and stage.failures["train"] == 4
    assert acts(stage).count(("Resume", "train")) == 1


# -- its user has the last word ----------------------------------------------------------------------------------------


def test_a_job_that_its_user_suspends_is_never_resumed_and_none_of_its_pods_is_deleted_by_us() -> None:
    stage = running()
    stage.see(change(stage, suspend=True))
    stage.after(SCHEDULE)
    assert acts(stage)[8:] == [] and not stage.failures
    assert (stage.state("default/train"), reason(stage)) == ("Queued", "Suspended")
    assert NOTE not in stage.job("train")["metadata"]["annotations"]
    stage.see(change(stage, suspend=False))
    stage.after(10)
    assert stage.state("default/train") == "Running"


def test_who_takes_our_note_off_keeps_the_job_suspended() -> None:
    stage = leaving()
    stage.see(change(stage, note=False))
    stage.let_go()
    stage.after(SCHEDULE)
    assert "Resume" not in stage.kinds() and "Evict" not in stage.kinds()
    assert (stage.state("default/train"), reason(stage)) == ("Queued", "Suspended")


def test_who_lets_a_job_go_while_its_gang_leaves_is_not_fought_and_its_old_pods_leave() -> None:
    stage = running(objects.job("train", 8, 2, backoffLimit=100))
    drain(stage)
    stage.forbidden = True
    stage.after(RECOVERY + 0.5)
    assert stage.state("default/train") == "Evicting"
    since = len(stage.effects)
    stage.see(change(stage, suspend=True), carry_out=False)
    stage.see(change(stage, suspend=False))
    stage.after(60)
    assert "Suspend" not in [kind for kind, _ in acts(stage, since)]
    assert [kind for kind, _ in acts(stage, since)][:4] == ["Evict"] * 4
    assert stage.state("default/train") == "Running"


def test_a_note_on_a_job_that_its_user_let_go_is_taken_off_and_says_nothing_later() -> None:
    stage = leaving()
    stage.let_go()
    stage.see(change(stage, suspend=False))
    assert stage.job("train")["metadata"]["annotations"][NOTE]
    stage.after(60)
    assert stage.state("default/train") == "Running"
    assert NOTE not in stage.job("train")["metadata"]["annotations"]
    since = len(stage.effects)
    stage.see(change(stage, suspend=True))
    stage.let_go()
    stage.after(SCHEDULE)
    assert acts(stage, since) == [] and reason(stage) == "Suspended"


def test_a_note_on_a_job_that_runs_is_taken_off_and_changes_nothing_else() -> None:
    stage = running()
    job = change(stage)
    job["metadata"]["annotations"][NOTE] = "for gang default/train: DRAINED"
    stage.see(job)
    assert acts(stage)[8:] == [("Resume", "train")]
    assert NOTE not in stage.job("train")["metadata"]["annotations"]
    stage.after(SCHEDULE)
    assert acts(stage)[9:] == [] and stage.state("default/train") == "Running"


def test_another_job_of_that_name_is_not_held_back() -> None:
    stage = leaving()
    old = stage.job("train")
    stage.see(gone=[old])
    stage.see(objects.job("train", 8, 2, uid="another"))
    stage.let_go()
    stage.after(60)
    assert stage.state("default/train") == "Running"
    assert "Resume" not in stage.kinds()


def test_a_job_that_is_deleted_while_it_is_held_back_leaves_nothing() -> None:
    stage = leaving()
    stage.see(gone=[stage.job("train")])
    stage.let_go()
    stage.after(SCHEDULE)
    assert stage.scheduler.gangs() == [] and "Resume" not in stage.kinds()


# -- where it is not for us to do --------------------------------------------------------------------------------------


def test_pods_are_deleted_where_a_job_may_not_be_suspended() -> None:
    stage = running()
    stage.forbidden = True
    drain(stage)
    stage.after(RECOVERY + 0.5)
    assert acts(stage)[-1] == ("Suspend", "train")
    stage.after(60)
    assert acts(stage).count(("Suspend", "train")) == 3
    assert [kind for kind, _ in acts(stage)].count("Evict") == 4
    assert stage.failures["train"] == 8 and stage.is_failed("train")


def test_time_in_which_nothing_could_be_heard_is_none_in_which_a_job_should_have_been_seen_suspended() -> None:
    stage = running()
    stage.forbidden = True
    drain(stage)
    stage.after(RECOVERY + 0.5)
    found = stage.scheduler.step(now=stage.now + 70, unheard=70.0)
    assert "Evict" not in [one.kind for one in found]
    assert stage.state("default/train") == "Evicting"
    found = stage.scheduler.step(now=stage.now + 90)
    assert [one.kind for one in found].count("Evict") == 4


def test_they_are_deleted_at_once_where_that_was_refused() -> None:
    stage = running()
    stage.forbidden = True
    drain(stage)
    stage.after(RECOVERY + 0.5)
    engine = stage.scheduler._decider.engine
    effects = engine.step([SuspendRefused("default/train")], stage.now)
    assert [type(one).__name__ for one in effects if type(one).__name__ in ACTS] == ["Evict"] * 4
    assert engine.step([SuspendRefused("default/train"), SuspendRefused("default/gone")], stage.now) == ()


def with_controller(job: Doc, kind: str, api: str) -> Doc:
    owner = {"apiVersion": api, "kind": kind, "name": "above", "uid": "above", "controller": True}
    job["metadata"]["ownerReferences"] = [owner]
    return job


LEFT_ALONE: dict[str, Callable[[], list[Doc]]] = {
    "something that nobody reads made it": lambda: [
        with_controller(objects.job("train", 8, 2), "Pipeline", "example.com/v1")
    ],
    "another controller manages it": lambda: [objects.job("train", 8, 2, managedBy="kueue.x-k8s.io/multikueue")],
}


@pytest.mark.parametrize("why", LEFT_ALONE)
def test_a_job_is_not_suspended_where(why: str) -> None:
    stage = JobStage(*objects.cluster(racks=2, nodes=2))
    stage.see(*LEFT_ALONE[why]())
    (gang,) = stage.scheduler.gangs()
    assert gang["state"] == "Running"
    drain(stage)
    stage.after(RECOVERY + 1)
    assert "Suspend" not in stage.kinds() and [kind for kind, _ in acts(stage)].count("Evict") == 4


def test_a_job_that_kueue_manages_is_not_suspended() -> None:
    job = objects.job("train", 8, 2)
    pods = {"name": "main", "count": 8, "template": deepcopy(job["spec"]["template"])}
    workload = made("kueue.x-k8s.io/v1beta1", "Workload", "job-train", {"active": True, "podSets": [pods]}, job)
    follower = Follower(Marks())
    for one in (*objects.cluster(), job, workload):
        follower.seen(one)
    gangs = [event for event in follower.tell().events if isinstance(event, GangSeen)]
    assert gangs and not [one for one in gangs if one.makers]
    follower.gone(ObjectKey("kueue.x-k8s.io", "Workload", "default", "job-train"))
    gangs = [event for event in follower.tell().events if isinstance(event, GangSeen)]
    assert [len(one.makers) for one in gangs] == [1]


def test_a_run_of_a_cron_job_is_suspended_like_any_job() -> None:
    stage = running(with_controller(objects.job("train", 8, 2), "CronJob", "batch/v1"))
    drain(stage)
    stage.after(RECOVERY + 60)
    assert {"Suspend", "Resume"} <= set(stage.kinds()) and "Evict" not in stage.kinds()


# -- several makers ----------------------------------------------------------------------------------------------------


def test_all_jobs_of_one_gang_are_suspended_and_resumed() -> None:
    stage = running(*restarting("head", "train"), slow=True)
    first = stage.pods_of("train")[0]
    stage.see(objects.on(first, first["spec"]["nodeName"], ready=False, phase="Failed"))
    assert acts(stage)[4:] == [("Suspend", "head"), ("Suspend", "train")]
    assert stage.job("head")["spec"]["suspend"] is stage.job("train")["spec"]["suspend"] is True
    stage.let_go()
    stage.see(gone=[*stage.pods_of("train"), *stage.pods_of("head")])
    stage.after(60)
    assert acts(stage)[6:8] == [("Resume", "head"), ("Resume", "train")]
    assert stage.state("default/crew") == "Running" and not stage.failures


def test_a_suspended_gang_keeps_its_jobs_suspended_until_it_may_start_again() -> None:
    docs = restarting("head", "train")
    stage = running(*docs)
    stopped = deepcopy(docs[0])
    stopped["spec"]["suspend"] = True
    stage.see(stopped)
    stage.after(SCHEDULE)
    assert acts(stage)[4:] == [("Suspend", "head"), ("Suspend", "train")]
    assert reason(stage, "crew") == "Suspended"
    stage.see(docs[0])
    stage.after(10)
    assert stage.state("default/crew") == "Running" and not stage.failures


def test_pods_of_a_gang_are_deleted_where_not_all_of_them_are_made_by_jobs() -> None:
    gang, job = restarting("train")
    gang["spec"]["podGroups"].append({"name": "bare", "count": 1})
    bare = objects.pod("bare", 1, labels={"phalanx.dev/gang": "crew", "phalanx.dev/group": "bare"})
    stage = running(gang, job, bare)
    first = stage.pods_of("train")[0]
    stage.see(objects.on(first, first["spec"]["nodeName"], ready=False, phase="Failed"))
    assert "Suspend" not in stage.kinds() and ("Evict", "bare") in acts(stage)


def test_jobs_that_we_suspended_are_let_go_though_other_pods_came_into_their_gang_since() -> None:
    gang, job = restarting("train")
    stage = running(gang, job, slow=True)
    first = stage.pods_of("train")[0]
    stage.see(objects.on(first, first["spec"]["nodeName"], ready=False, phase="Failed"))
    assert stage.job("train")["spec"]["suspend"] is True
    stage.see(objects.pod("bare", 1, labels={"phalanx.dev/gang": "crew", "phalanx.dev/group": "train"}))
    stage.let_go()
    stage.after(60)
    assert stage.job("train")["spec"]["suspend"] is False and acts(stage).count(("Suspend", "train")) == 1


# -- every kind --------------------------------------------------------------------------------------------------------

CAN_BE = {row.kind for row in kindtable.ROWS if row.suspend}


def docs_of(kind: str) -> list[Doc]:
    docs = MADE[kind]()
    if kind == "RayJob":
        docs[0]["spec"]["shutdownAfterJobFinishes"] = True
    return docs


def leaves(docs: list[Doc]) -> list[Effect]:
    """What is done about a gang whose places nobody could be bound to in time."""
    scheduler = LiveScheduler()
    followed = {row.key for row in kindtable.FOLLOWED}
    seen = [one for one in docs if (one["apiVersion"].rpartition("/")[0], one["kind"]) in followed]
    scheduler.step(seen=[*objects.cluster(gpus=32), *seen])
    while scheduler.next_at is not None and scheduler.next_at <= 1000 + SCHEDULE:
        found = [one for one in scheduler.step(now=scheduler.next_at) if one.kind in ("Suspend", "Evict")]
        if found:
            return found
    return []


@pytest.mark.parametrize("kind", MADE)
def test_of_a_kind_that_can_be_suspended_the_outermost_object_is_and_of_others_the_pods_go(kind: str) -> None:
    found = leaves(docs_of(kind))
    assert found
    if kind in CAN_BE:
        assert {(one.kind, one.effect.owner.key.kind, one.name) for one in found} == {("Suspend", kind, "w")}  # type: ignore[union-attr]
    elif kind == "CronJob":
        assert {(one.kind, one.name) for one in found} == {("Suspend", "w-1"), ("Suspend", "w-2")}
    else:
        assert {one.kind for one in found} == {"Evict"}


@pytest.mark.parametrize("kind", sorted(CAN_BE))
def test_of_every_kind_what_we_suspended_is_let_go_and_what_its_user_suspended_is_not(kind: str) -> None:
    docs = [one for one in docs_of(kind) if one["kind"] != "Pod"]
    own = next(one for one in docs if one["kind"] == kind)
    (field,) = {row.suspend for row in kindtable.ROWS if row.kind == kind}
    at = own
    for name in field.split(".")[:-1]:
        at = at.setdefault(name, {})
    at["suspend"] = True
    waits = LiveScheduler()
    assert "Resume" not in [one.kind for one in waits.step(seen=[*objects.cluster(gpus=32), *docs])]
    assert {one["reason"] for one in waits.gangs()} == {"Suspended"}
    own["metadata"].setdefault("annotations", {})[NOTE] = "for gang default/w: DRAINED"
    found = waits.step(seen=[own], now=1001.0)
    assert [(one.kind, one.name) for one in found if one.kind in ACTS] == [("Resume", "w")]
    assert {one["reason"] for one in waits.gangs()} == {"PodsMissing"}


def test_a_ray_job_that_keeps_its_cluster_is_not_suspended() -> None:
    assert {one.kind for one in leaves(MADE["RayJob"]())} == {"Evict"}


# -- as it arrives -----------------------------------------------------------------------------------------------------


def test_pods_that_are_heard_of_before_their_job_was_let_go_start_as_ever() -> None:
    stage = leaving()
    held = deepcopy(stage.job("train"))
    scheduler = LiveScheduler()
    found = scheduler.step(seen=[*objects.cluster(racks=2, nodes=2), held])
    assert [one.kind for one in found if one.kind in ACTS] == ["Resume"]
    pods = [objects.pod(f"p{number}", 2, owner=held) for number in range(8)]
    found = scheduler.step(seen=pods, now=1000.1)
    assert [one.kind for one in found if one.kind in ACTS] == ["Bind"] * 8
    homes = {one.name: one.node for one in found if one.kind == "Bind"}
    bound = [objects.on(pod, homes[pod["metadata"]["name"]]) for pod in pods]
    found = scheduler.step(seen=bound, now=1000.2)
    assert [one.kind for one in found if one.kind in ACTS] == []
    assert [one["state"] for one in scheduler.gangs()] == ["Running"]


def test_a_suspension_that_is_done_late_is_undone() -> None:
    """The write took longer than anybody waits for it: the gang has started again by then."""
    stage = running(objects.job("train", 8, 2, backoffLimit=100))
    stage.forbidden = True
    drain(stage)
    stage.after(RECOVERY + 60)
    assert stage.state("default/train") == "Running"
    stage.forbidden = False
    late = change(stage, suspend=True)
    late["metadata"]["annotations"][NOTE] = "for gang default/train: RECOVERY_TIMEOUT"
    stage.see(late)
    stage.after(60)
    assert job_key("train") in stage.told and stage.job("train")["spec"]["suspend"] is False
    assert stage.state("default/train") == "Running"


# -- how it ends -------------------------------------------------------------------------------------------------------


def ended(stage: JobStage) -> list[tuple[str, str]]:
    found = [one.effect for one in stage.effects if isinstance(one.effect, Report) and one.effect.state == "Finished"]
    return [(one.cause, one.said) for one in found]


def over(stage: JobStage, **condition: str) -> Doc:
    found = deepcopy(stage.job("train"))
    found["status"] = {"conditions": [{"status": "True", **condition}]}
    return found


def test_a_job_that_failed_for_good_is_told_as_failed_and_why() -> None:
    stage = running(objects.job("train", 8, 2, backoffLimit=3))
    drain(stage)
    stage.after(1)
    assert stage.is_failed("train")
    assert ended(stage) == [("FAILED", "BackoffLimitExceeded")]


def test_a_job_that_says_that_it_is_complete_before_its_pods_do_is_told_as_completed() -> None:
    stage = running()
    stage.see(over(stage, type="Complete", reason="CompletionsReached"))
    assert ended(stage) == [("COMPLETED", "CompletionsReached")]


def test_a_job_that_is_deleted_is_told_as_deleted() -> None:
    stage = running()
    stage.see(gone=[stage.job("train")])
    assert ended(stage) == [("DELETED", "")]
