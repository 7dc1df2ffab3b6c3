"""A workload that is another gang by now: its pods follow it, bound or not."""

from dataclasses import replace

from phalanx.engine.lifecycle import State
from phalanx.model.effects import Bind
from phalanx.model.events import GangGone, GangSeen, NodeSeen, PodGone, PodSeen
from phalanx.model.request import Request
from tests.engine.stage import Stage, gang

FIRST, SECOND = gang("first", 2), gang("second", 2)


def binds(stage: Stage) -> list[Bind]:
    return [effect for effect in stage.last if isinstance(effect, Bind)]


def becomes(stage: Stage, before: Request, now: Request) -> None:
    """An annotation makes one gang of what were several, or a namesake went: the same pods name another gang."""
    stage.pods = {key: replace(pod, gang=now.id) for key, pod in stage.pods.items()}
    stage.step(GangGone(before.id), GangSeen(now, 0), *(PodSeen(pod) for pod in stage.pods.values()))


def test_pods_that_wait_go_on_waiting_in_the_gang_they_name_by_now() -> None:
    stage = Stage("b1: r1=1")
    stage.submit(FIRST)
    becomes(stage, FIRST, SECOND)
    assert list(stage.engine.states()) == [SECOND.id]
    (more,) = Stage("b1: r9=2").nodes.values()
    stage.step(NodeSeen(more))
    assert [bind.gang for bind in binds(stage)] == [SECOND.id] * 2


def test_what_was_half_bound_is_completed_by_the_gang_of_the_other_id() -> None:
    stage = Stage("b1: r1=2")
    stage.submit(FIRST)
    one, other = binds(stage)
    stage.step(*stage.bound(one))
    becomes(stage, FIRST, SECOND)
    for bind in [bind for bind in binds(stage) if bind.key == other.key] or [other]:
        stage.step(*stage.bound(bind))
    assert all(pod.node for pod in stage.engine.book.gangs[SECOND.id].pods.values())
    assert stage.state("second") is State.RUNNING


def test_pods_whose_gang_is_forgotten_late_are_handed_on_then() -> None:
    stage = Stage("b1: r1=2")
    stage.submit(FIRST)
    stage.carry_out()
    becomes(stage, FIRST, SECOND)
    stage.after(1000.0)
    assert list(stage.engine.states()) == [SECOND.id]
    assert stage.state("second") is State.RUNNING


def test_a_pod_of_the_same_name_may_come_before_the_first_is_gone() -> None:
    stage = Stage("b1: r1=2")
    (node,) = stage.nodes
    alone = replace(stage.pod(gang("nobody", 1), 0), gang=None, pod_set=None)
    here = replace(alone, running=replace(alone.running, node=node))
    again = replace(here, key=replace(here.key, uid="another"))
    stage.step(PodSeen(here))
    stage.step(PodSeen(again))
    stage.step(PodGone(here.key))
    assert stage.submit(gang("g", 2)) and not binds(stage)


def test_a_pod_may_go_over_to_another_gang_in_the_step_in_which_its_own_is_deleted() -> None:
    """As when a LeaderWorkerSet is deleted before its StatefulSets are."""
    for name in ("a", "z"):  # before and after the other one, by name
        stage = Stage("b1: r1=2")
        pods = stage.run(gang("m"))
        other = gang(name)
        over = [PodSeen(replace(pod, gang=other.id)) for pod in pods]
        stage.step(GangGone("default/m"), GangSeen(other, 0.0), *over)
        assert stage.state(name) is State.RUNNING and stage.state("m") is None


def test_a_pod_of_a_deleted_gang_may_stand_for_itself_in_the_same_step() -> None:
    stage = Stage("b1: r1=2")
    pods = stage.run(gang("m"))
    stage.step(GangGone("default/m"), *(PodSeen(replace(pod, gang="default/later")) for pod in pods))
    assert stage.state("m") is None


def test_pods_that_say_they_have_the_same_rank_may_go_together() -> None:
    stage = Stage("b1: r1=4")
    request = gang(count=3, ranked=True)
    stage.submit(request, pods=0)
    twins = [replace(stage.pod(request, rank, life), rank=0) for rank, life in ((0, 0), (1, 1), (2, 2))]
    stage.step(*(PodSeen(one) for one in twins))
    stage.pods |= {one.key: one for one in twins}
    stage.carry_out()
    stage.step(*(PodGone(one.key) for one in twins[:2]))
    assert stage.engine.book.audit() == []
