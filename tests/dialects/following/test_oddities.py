"""Pods that are there and do not count, or count only for a while: each is told, and none waits without a word."""

from typing import Any

from phalanx.dialects.following import Told
from phalanx.model.events import GangGone, GangSeen, PodSeen
from phalanx.model.objects import ObjectKey
from tests.dialects.following.living import Object, follower, job, jobs_pod, pod, reference, spec, tell

LWS = "leaderworkerset.sigs.k8s.io"


def ids(told: Told) -> list[str]:
    return [one.request.id for one in told.events if isinstance(one, GangSeen)]


def told_of(told: Told) -> dict[str, str | None]:
    return {one.pod.key.name: one.pod.gang for one in told.events if isinstance(one, PodSeen)}


def noted(told: Told, gang: str) -> list[str]:
    return [str(problem) for problem in told.notes.get(gang, ())]


def serve(replicas: int, **annotations: str) -> Object:
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "serve", "namespace": "default", "uid": "l", "annotations": annotations},
        "spec": {
            "replicas": replicas,
            "leaderWorkerTemplate": {"size": 1, "workerTemplate": {"spec": spec()}},
        },
    }


def leaders(owner: Object, replicas: int) -> Object:
    metadata = {"name": "serve", "namespace": "default", "uid": "s", "ownerReferences": [reference(owner)]}
    own: dict[str, Any] = {"replicas": replicas, "podManagementPolicy": "Parallel", "template": {"spec": spec()}}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": {**own, "serviceName": "s"}}


def leader(owner: Object, index: int) -> Object:
    return pod(f"serve-{index}", owner, labels={f"{LWS}/group-index": str(index), f"{LWS}/worker-index": "0"})


def test_replicas_of_a_roll_out_are_gangs_for_as_long_as_the_set_of_leaders_counts_them() -> None:  # W-231
    one, lws = follower(), serve(2)
    calm = leaders(lws, 2)
    assert len(ids(tell(one, lws, calm, leader(calm, 0), leader(calm, 1)))) == 2
    rolling = leaders(lws, 3)
    told = tell(one, rolling, leader(rolling, 2))
    assert ids(told) == ["default/serve#main[2]"]
    assert told_of(told) == {"serve-2": "default/serve#main[2]"}
    assert [event.id for event in tell(one, calm).events if isinstance(event, GangGone)] == ["default/serve#main[2]"]


def test_a_set_of_the_same_name_that_is_somebody_elses_counts_nothing() -> None:
    lws = serve(2)
    stranger = leaders(lws, 5)
    stranger["metadata"]["ownerReferences"][0]["kind"] = "Pennant"
    assert [one for one in ids(tell(follower(), lws, stranger)) if "main[4]" in one] == []


def test_a_pod_of_no_part_of_its_workload_is_told_by_name() -> None:
    lws = serve(2, **{"phalanx.dev/gang-mode": "Gang"})  # the surge of a roll-out is not part of the one gang
    rolling = leaders(lws, 3)
    one = follower()
    told = tell(one, lws, rolling, *(leader(rolling, index) for index in range(3)))
    assert told_of(told).keys() == {"serve-0", "serve-1"}
    assert [subject.key[3] for subject, _ in told.dangling] == ["serve-2"], "and on the pod itself"
    (said,) = [line for line in noted(told, "default/serve") if "serve-2" in line]
    assert said.startswith("Pod/serve-2: metadata.labels") and "main[0], main[1]" in said


def test_a_pod_that_somebody_else_holds_back_is_not_there_yet() -> None:
    train = job("train", 2)
    free, held = jobs_pod(train, 0), jobs_pod(train, 1)
    held["spec"]["schedulingGates"] = [{"name": "example.com/quota"}]
    one = follower()
    told = tell(one, train, free, held)
    assert told_of(told) == {"train-0-x": "default/train"}
    (said,) = noted(told, "default/train")
    assert said.startswith("Pod/train-1-x: spec.schedulingGates") and "example.com/quota" in said

    let_go = jobs_pod(train, 1)
    told = tell(one, let_go)
    assert told_of(told) == {"train-1-x": "default/train"}
    assert told.notes["default/train"] == ()


def test_a_workload_keeps_its_id_when_the_other_of_its_name_goes() -> None:
    gang = {
        "apiVersion": "phalanx.dev/v1alpha1",
        "kind": "Gang",
        "metadata": {"name": "train", "namespace": "default", "uid": "g"},
        "spec": {"podGroups": [{"name": "main", "count": 1, "template": {"spec": spec()}}]},
    }
    one = follower()
    first, second = ids(tell(one, job("train", 1), gang))
    one.gone(ObjectKey("batch", "Job", "default", "train"))
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "p"}, "value": 1}
    told = tell(one, priority)  # everything is read again
    assert [event.id for event in told.events if isinstance(event, GangGone)] == [first]
    assert set(ids(told)) <= {second}


# -- pods that do not agree with themselves, or with their Gang ------------------------------------------------------


def crew(**more: Any) -> Object:
    return {
        "apiVersion": "phalanx.dev/v1alpha1",
        "kind": "Gang",
        "metadata": {"name": "dis", "namespace": "default", "uid": "g"},
        "spec": {**more, "podGroups": [{"name": "a", "count": 2}]},
    }


def torn(name: str) -> Object:
    """A pod that names three gangs."""
    made = pod(name, labels={"phalanx.dev/gang": "dis", "phalanx.dev/group": "a"})
    made["metadata"]["annotations"] = {"pod-group-name": "other"}
    made["spec"]["schedulingGroup"] = {"podGroupName": "xx"}
    return made


def test_pods_that_name_several_gangs_are_told_on_the_one_that_wins() -> None:  # X-08, W-031
    told = tell(follower(), crew(), torn("dis-0"), torn("dis-1"))
    assert told_of(told) == {"dis-0": "default/dis", "dis-1": "default/dis"}
    group, kai = noted(told, "default/dis")
    assert group.startswith("Pod/dis-0: spec.schedulingGroup") and "PodGroup.scheduling.k8s.io xx" in group
    assert kai.startswith("Pod/dis-0: metadata.annotations") and "Gang.phalanx.dev dis" in kai
    ((subject, odd),) = told.dangling
    assert subject.key == ("", "Pod", "default", "dis-0"), "the first stands for all"
    assert [one.path for one in odd] == ["spec.schedulingGroup.podGroupName", "metadata.annotations.pod-group-name"]


def test_gates_that_a_gang_asks_for_and_its_pods_cannot_have_are_told() -> None:
    labels = {"phalanx.dev/gang": "dis", "phalanx.dev/group": "a"}
    told = tell(follower(), crew(enforcement="Gate"), pod("dis-0", labels=labels))
    assert [e.request.rules.enforcement for e in told.events if isinstance(e, GangSeen)] == ["Bind"]
    (said,) = noted(told, "default/dis")
    assert said.startswith("spec.enforcement: is not followed: its pods name our scheduler")
    assert noted(tell(follower(), crew(enforcement="Bind"), pod("dis-0", labels=labels)), "default/dis") == []
