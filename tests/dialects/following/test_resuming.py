"""Suspended workloads under a Gang: one that makes all of its pods is resumed by us, and of others it is told."""

from collections.abc import Iterable
from typing import Any

from phalanx.engine.engine import Engine
from phalanx.model.effects import Effect, Prepare, Resume, Suspend
from phalanx.model.events import GangSeen
from tests.dialects.following.living import Object, follower, job, jobs_pod, node, pod, spec, tell

QUEUED = {"phalanx.dev/queue": "default"}
GATES = [{"name": "phalanx.dev/topology"}]
THEIRS = "default-scheduler"


def gang(*groups: str, **spec_of: Any) -> Object:
    listed = [{"name": name, "count": 2} for name in groups or ("workers",)]
    metadata = {"name": "crew", "namespace": "default", "uid": "crew"}
    head = {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Gang", "metadata": metadata}
    return {**head, "spec": {"podGroups": listed, "enforcement": "Gate", **spec_of}}


def named(group: str = "workers", scheduler: str = THEIRS, **more: Any) -> Object:
    """A pod template that names the Gang."""
    labels = {"phalanx.dev/gang": "crew", "phalanx.dev/group": group}
    return {"metadata": {"labels": labels}, "spec": {**spec(restartPolicy="Never"), "schedulerName": scheduler, **more}}


def held(name: str = "train", template: Object | None = None, labels: Object | None = None) -> Object:
    made = job(name, 2, labels=QUEUED if labels is None else labels)
    return {**made, "spec": {**made["spec"], "suspend": True, "template": template or named()}}


def resumed(one: Object) -> Object:
    """A Job after our gate went in and it was let go."""
    template = one["spec"]["template"]
    opened = {**template, "spec": {**template["spec"], "schedulingGates": GATES}}
    return {**one, "spec": {**one["spec"], "suspend": False, "template": opened}}


def gated(one: Object) -> Object:
    """A pod of the Gang with our gate on it."""
    return {**one, "spec": {**one["spec"], "schedulerName": THEIRS, "schedulingGates": GATES}}


LABELS = {"phalanx.dev/gang": "crew", "phalanx.dev/group": "workers"}


def seen(*docs: Object, **marks: Any) -> tuple[str, list[str]]:
    """Whom we resume for the Gang, and what is told on it."""
    told = tell(follower(**marks), *docs)
    assert not told.refused
    (owner,) = {event.owner for event in told.events if isinstance(event, GangSeen)}
    return str(owner or ""), [str(problem) for notes in told.notes.values() for problem in notes]


def acts(effects: Iterable[Effect]) -> list[tuple[type, str]]:
    return [(type(one), str(one.owner)) for one in effects if isinstance(one, Prepare | Resume | Suspend)]


# -- one that makes all pods ----------------------------------------------------------------------------------------


def test_a_job_that_makes_all_pods_of_a_gang_is_resumed_for_it() -> None:
    told = tell(follower(), node("n1"), gang(), held())
    assert acts(Engine().step(told.events, 0.0)) == [(Prepare, "Job/default/train"), (Resume, "Job/default/train")]
    assert not told.notes["default/crew"]


def test_its_pods_do_not_change_who_is_resumed_and_it_is_suspended_when_the_gang_must_leave() -> None:
    one, engine, train = follower(), Engine(), held()
    engine.step(tell(one, node("n1"), gang(), train).events, 0.0)
    pods = [gated(jobs_pod(train, index, **LABELS)) for index in range(2)]
    told = tell(one, resumed(train), *pods)
    assert not [event for event in told.events if isinstance(event, GangSeen) and not event.owner]
    engine.step(told.events, 1.0)
    told = tell(one, gang(suspend=True))
    assert acts(engine.step(told.events, 2.0)) == [(Suspend, "Job/default/train")]


def test_a_gang_that_says_itself_what_its_pods_are_like_learns_later_who_makes_them() -> None:
    one, engine = follower(), Engine()
    groups = [{"name": "workers", "count": 2, "template": {"spec": named()["spec"]}}]
    assert not acts(engine.step(tell(one, node("n1"), gang(podGroups=groups)).events, 0.0))
    assert (Resume, "Job/default/train") in acts(engine.step(tell(one, held()).events, 1.0))


def test_a_template_need_not_name_the_only_group() -> None:
    template = named()
    del template["metadata"]["labels"]["phalanx.dev/group"]
    assert seen(gang(), held(template=template)) == ("Job/default/train", [])


def test_a_job_set_is_resumed_and_not_its_jobs() -> None:
    inner = {"spec": {"parallelism": 2, "completions": 2, "template": named()}}
    jobset = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "set", "namespace": "default", "uid": "set", "labels": QUEUED},
        "spec": {"suspend": True, "replicatedJobs": [{"name": "workers", "replicas": 1, "template": inner}]},
    }
    child = {**held("set-workers-0"), "metadata": job("set-workers-0", 2, jobset, labels=QUEUED)["metadata"]}
    assert seen(gang(), jobset, child) == ("JobSet/default/set", [])


def test_a_run_that_is_over_is_not_counted() -> None:
    over = {**held("first"), "status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    assert seen(gang(), over, held("second")) == ("Job/default/second", [])


# -- others ---------------------------------------------------------------------------------------------------------


def test_several_jobs_are_left_to_their_user_and_the_gang_says_so() -> None:
    owner, told = seen(gang("a", "b"), held("one", named("a")), held("two", named("b")))
    assert owner == ""
    assert [line.partition(":")[0] for line in told] == ["Job/one", "Job/two"]
    assert all("2 make pods of this gang (Job one, Job two); resume it yourself" in line for line in told)
    assert all("gate phalanx.dev/topology" in line for line in told)


def test_nothing_is_told_any_more_once_they_are_resumed() -> None:
    one = follower()
    both = [held("one", named("a")), held("two", named("b"))]
    assert tell(one, gang("a", "b"), *both).notes["default/crew"]
    assert not tell(one, *(resumed(each) for each in both)).notes["default/crew"]


def test_a_job_beside_pods_that_are_there_is_left_to_its_user() -> None:
    beside = gated(pod("driver", labels={**LABELS, "phalanx.dev/group": "driver"}))
    owner, (told,) = seen(gang("driver", "workers"), held(), beside)
    assert owner == "" and "2 make pods of this gang (Job train, Pod driver)" in told


def test_a_job_that_makes_only_some_groups_is_left_to_its_user() -> None:
    owner, (told,) = seen(gang("workers", "driver"), held())
    assert owner == "" and "it makes no pods of group driver" in told


def test_a_job_set_some_of_whose_pods_belong_elsewhere_is_left_to_its_user() -> None:
    def replicated(name: str, template: Object) -> Object:
        return {"name": name, "template": {"spec": {"parallelism": 2, "completions": 2, "template": template}}}

    elsewhere = named()
    elsewhere["metadata"] = {"labels": {"phalanx.dev/gang": "other"}}
    jobset = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "set", "namespace": "default", "uid": "set", "labels": QUEUED},
        "spec": {"suspend": True, "replicatedJobs": [replicated("a", named()), replicated("b", elsewhere)]},
    }
    other = gang()
    other["metadata"] = {**other["metadata"], "name": "other", "uid": "other"}
    owner, told = seen(gang(), other, jobset)
    assert owner == "" and len(told) == 2
    assert all("some of its pods do not belong to this gang" in line for line in told)


def test_a_job_is_not_resumed_for_parts_that_start_on_their_own() -> None:
    owner, told = seen(gang("a", "b", policy="Basic"), held(template=named("a")))
    assert owner == "" and len(told) == 2 and all("start on their own" in line for line in told)


def test_a_kind_that_we_cannot_resume_is_left_to_its_user() -> None:
    widget = {**held("widget"), "apiVersion": "example.com/v1", "kind": "Widget"}
    owner, (told,) = seen(gang(), widget)
    assert owner == "" and "we do not resume Widget widget: only a Job or a JobSet is resumed" in told


def test_only_the_labels_that_we_are_told_hand_a_job_to_us() -> None:
    kueue = {"kueue.x-k8s.io/queue-name": "q"}
    owner, (told,) = seen(gang(), held(labels=kueue))
    assert owner == "" and "it has none of the labels phalanx.dev/queue" in told
    assert seen(gang(), held(labels=kueue), queues=("kueue.x-k8s.io/queue-name",)) == ("Job/default/train", [])


def test_a_job_that_its_user_holds_back_is_no_mistake() -> None:
    (event,) = [one for one in tell(follower(), gang(), held(labels={})).events if isinstance(one, GangSeen)]
    assert event.request.suspended
    assert seen(gang(), held(labels={})) == ("", [])


def test_a_queued_job_whose_pods_we_bind_is_told_to_be_resumed() -> None:
    template = named(scheduler="phalanx")
    owner, (no_gates, told) = seen(gang(), held(template=template))
    assert owner == "" and told.endswith(
        "name our scheduler, and wait for their places without that; resume it yourself"
    )
    assert no_gates.startswith("spec.enforcement: is not followed: its pods name our scheduler")
