"""What is raised while one object or one family is read stays with it, and nothing of it stays half read."""

from collections.abc import Callable
from typing import Any

import pytest

from phalanx.dialects import daemonsets, picture, workloads
from phalanx.dialects.following import Follower, Told, absent, family, membership, podseen, resuming
from phalanx.model.events import GangGone, GangSeen, GangSpoiled, NodeSeen, PodSeen
from phalanx.model.objects import ObjectKey
from tests.dialects.following.living import Object, bound, follower, job, jobs_pod, node, pod, tell

PLACES: dict[str, Any] = {
    "read": workloads, "of": resuming, "find": membership, "remarks": family, "told": absent,
}  # fmt: skip


class Trap:
    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch, self.is_set = patch, True

    def at(self, owner: Any, name: str, meant: Callable[..., bool]) -> "Trap":
        real = getattr(owner, name)

        def trapped(*given: Any, **more: Any) -> Any:
            done = real(*given, **more)
            if self.is_set and meant(*given):
                raise KeyError("planted")
            return done

        self._patch.setattr(owner, name, trapped)
        return self


def of_poison(*given: Any) -> bool:
    return "poison" in repr(given)


def gangs(told: Told) -> list[str]:
    return sorted(event.request.name for event in told.events if isinstance(event, GangSeen))


def running(name: str, count: int = 2) -> list[Object]:
    own = job(name, count)
    return [own, *(bound(jobs_pod(own, index), "n1") for index in range(count))]


@pytest.mark.parametrize("place", PLACES)
def test_a_family_that_nobody_can_read_goes_on_as_it_was_and_others_are_read(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = follower()
    first = tell(one, node("n1"), *running("poison"))
    assert gangs(first) == ["poison"]
    trap = Trap(monkeypatch).at(PLACES[place], place, of_poison)
    changed = job("poison", 3)
    late = jobs_pod(changed, 2)
    told = tell(one, changed, late, *running("good"))
    assert gangs(told) == ["good"]
    assert [event.id for event in told.events if isinstance(event, GangSpoiled)] == ["default/poison"]
    assert not [event for event in told.events if isinstance(event, GangGone)]
    assert {event.pod.gang for event in told.events if isinstance(event, PodSeen)} == {"default/good"}
    (aside,) = told.set_aside
    assert aside.subject.key == ObjectKey("batch", "Job", "default", "poison")
    assert "a mistake of Phalanx: KeyError: 'planted'" in aside.problem.message
    assert [subject for subject, _ in told.refused] == [aside.subject]
    assert one.set_aside_by_kind == {("batch", "Job"): 1}
    again = tell(one, {**changed, "status": {"active": 1}})
    assert again.set_aside == again.refused == [] and not again.events, "the same is said once"
    trap.is_set = False
    healed = tell(one, {**changed, "status": {"active": 2}})
    assert gangs(healed) == ["poison"] and [subject.key.name for subject in healed.accepted] == ["poison"]
    seen = {event.pod.key.name: event.pod.gang for event in healed.events if isinstance(event, PodSeen)}
    assert seen == {late["metadata"]["name"]: "default/poison"}, "the others never left"
    assert one.set_aside_by_kind == {}


def test_a_family_that_nobody_could_ever_read_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    trap = Trap(monkeypatch).at(PLACES["remarks"], "remarks", of_poison)
    one, own = follower(), job("poison", 1)
    one.tell()
    told = tell(one, own, jobs_pod(own, 0))
    assert not told.events and not told.subjects and not told.notes
    other = {**job("poison", 1), "apiVersion": "apps/v1", "kind": "StatefulSet"}
    other["spec"] = {"replicas": 1, "podManagementPolicy": "Parallel", "template": own["spec"]["template"]}
    other["metadata"]["uid"] = "another"
    trap.is_set = False
    (event,) = [event for event in tell(one, other).events if isinstance(event, GangSeen)]
    assert event.request.id == "default/poison", "the name is free"
    (late,) = [e for e in tell(one, {**own, "status": {"active": 1}}).events if isinstance(e, GangSeen)]
    assert late.request.id == "Job/default/poison"


def test_pods_that_name_a_group_without_an_object_go_on_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = {"kueue.x-k8s.io/pod-group-name": "poison"}
    count = {"kueue.x-k8s.io/pod-group-total-count": "2"}
    pods = [bound(pod(f"p{i}", labels=labels, annotations=count), "n1") for i in range(2)]
    one = follower()
    assert len(gangs(tell(one, node("n1"), *pods))) == 1
    Trap(monkeypatch).at(workloads, "read", of_poison)
    told = tell(one, pod("late", labels=labels, annotations=count))
    assert [type(event) for event in told.events] == [GangSpoiled]


def test_a_pod_that_nobody_can_read_stays_as_it_was_known_until_it_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    one, known = follower(), bound(pod("poison"), "n1")
    tell(one, node("n1"), known)
    Trap(monkeypatch).at(podseen, "pod", lambda at: at.at("metadata", "name").value == "poison")
    told = tell(one, {**known, "status": {"phase": "Running"}}, pod("good"))
    assert [event.pod.key.name for event in told.events if isinstance(event, PodSeen)] == ["good"]
    assert [aside.subject.key.name for aside in told.set_aside] == ["poison"]
    assert one.set_aside_by_kind == {("", "Pod"): 1}
    other = {**known, "metadata": {**known["metadata"], "uid": "another"}}
    (gone, *_) = tell(one, other).events
    assert type(gone).__name__ == "PodGone", "the one that was known is no more"
    one.gone(ObjectKey("", "Pod", "default", "poison"))
    one.tell()
    assert one.set_aside_by_kind == {}


def test_what_is_nested_without_end_is_no_mistake_of_ours() -> None:
    deep: Any = "end"
    for _ in range(3000):
        deep = [deep]
    odd = job("odd", 1)
    odd["spec"]["template"]["spec"]["extra"] = deep
    told = tell(follower(), odd, job("good", 1))
    assert gangs(told) == ["good"]
    (aside,) = told.set_aside
    assert aside.mishap is None
    assert aside.problem.path.startswith("spec.template.spec.extra[0][0]")
    assert aside.problem.message == "is nested more than 200 levels deep, and cannot be read"


# -- the cluster's own objects -----------------------------------------------------------------------------------------


def queue(name: str, gpus: int = 8) -> Object:
    spec = {"quota": [{"flavor": "any", "resources": [{"name": "nvidia.com/gpu", "nominal": gpus}]}]}
    metadata = {"name": name, "uid": name}
    return {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Queue", "metadata": metadata, "spec": spec}


def test_a_queue_that_nobody_can_read_is_as_if_it_were_not_there_and_others_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def meant(docs: Any, *_: Any) -> bool:
        asked.append(len(docs))
        return any(doc.name == "poison" for doc in docs)

    trap = Trap(monkeypatch).at(picture, "read", meant)
    one = follower()
    told = tell(one, queue("good"), queue("poison"), node("n1"), job("train", 1))
    (seen,) = [event for event in told.events if type(event).__name__ == "QueuesSeen"]
    assert set(seen.queues.queues) == {"good"}  # type: ignore[union-attr]
    assert gangs(told) == ["train"] and [type(e) for e in told.events if isinstance(e, NodeSeen)] == [NodeSeen]
    assert [aside.subject.key.name for aside in told.set_aside] == ["poison"]
    before = len(asked)
    tell(one, queue("good", 9))
    assert all(count == 1 for count in asked[before:]), "that one is not tried again until it changes"
    trap.is_set = False
    healed = tell(one, queue("poison", 9))
    (seen,) = [event for event in healed.events if type(event).__name__ == "QueuesSeen"]
    assert set(seen.queues.queues) == {"good", "poison"}  # type: ignore[union-attr]
    assert [subject.key.name for subject, _ in healed.dangling] == ["poison"], "good, but for its flavor"
    assert one.set_aside_by_kind == {}


def test_a_daemon_set_that_nobody_can_read_stops_no_other_object(monkeypatch: pytest.MonkeyPatch) -> None:
    Trap(monkeypatch).at(daemonsets, "read", lambda at, *_: True)
    one: Follower = follower()
    metadata = {"name": "d", "namespace": "default"}
    daemons: Object = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": {}}
    told = tell(one, node("n1"), daemons, job("train", 1))
    assert gangs(told) == ["train"]
    assert one.set_aside_by_kind == {("apps", "DaemonSet"): 1}
    one.gone(ObjectKey("apps", "DaemonSet", "default", "d"))
    assert one.set_aside_by_kind == {}
