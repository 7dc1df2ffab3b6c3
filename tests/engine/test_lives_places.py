"""Places over the life of a gang: whose they are, how long they are kept, and when they are given back."""

from dataclasses import replace

from phalanx.engine.lifecycle import State
from phalanx.model.effects import Bind, Evict
from phalanx.model.events import Answer, BindAnswered, GangSeen, NodeGone, NodeSeen, PodGone
from phalanx.model.nodes import PodShape
from phalanx.model.request import Group, PodSet, Request
from phalanx.model.rules import Rules
from tests.engine.casting import RACK, domains, free, members, see
from tests.engine.stage import ONE, Stage, gang
from tests.testing import named

RECOVERY = Rules().recovery


def binds(stage: Stage) -> list[Bind]:
    return [effect for effect in stage.last if isinstance(effect, Bind)]


def evictions(stage: Stage) -> list[Evict]:
    return [effect for effect in stage.last if isinstance(effect, Evict)]


# -- sets that are taken out of a manifest -----------------------------------------------------------------------


def of_sets(*names: str) -> Request:
    sets = tuple(PodSet(name, 1, 1, PodShape(ONE)) for name in names)
    return Request("RayCluster", "default", "g", Group("root", sets), "drawn")


def test_a_set_that_is_taken_out_takes_its_places_along() -> None:
    stage = Stage("b1: r1=3")
    (node,) = stage.nodes
    whole = of_sets("head", "a", "b")
    stage.step(GangSeen(whole, 0))
    pods = members(whole)
    see(stage, *pods)
    stage.carry_out()
    stage.step(GangSeen(of_sets("head", "a"), 0))
    assert (stage.state(), free(stage)[node]) == (State.RUNNING, 0), "its pod is there, and takes its room"
    stage.lose(pods[2])
    assert (stage.state(), free(stage)[node]) == (State.RUNNING, 1)


def test_an_empty_place_of_a_set_that_is_taken_out_is_free_at_once() -> None:
    stage = Stage("b1: r1=2")
    (node,) = stage.nodes
    whole = of_sets("a", "b")
    stage.step(GangSeen(whole, 0))
    pods = members(whole)
    see(stage, *pods)
    stage.carry_out()
    stage.lose(pods[1])
    assert (stage.state(), free(stage)[node]) == (State.DEGRADED, 0)
    stage.submit(gang("other", 1))
    stage.step(GangSeen(of_sets("a"), 0))
    assert len(binds(stage)) == 1
    assert (stage.state(), stage.state("other")) == (State.RUNNING, State.BINDING)


def test_a_bind_under_way_keeps_its_place_though_its_set_is_taken_out() -> None:  # W-092
    stage = Stage("b1: r1=2")
    (node,) = stage.nodes
    whole = of_sets("a", "b")
    stage.step(GangSeen(whole, 0))
    pods = members(whole)
    see(stage, *pods)
    under_way = binds(stage)
    stage.step(GangSeen(of_sets("a"), 0))
    stage.submit(gang("other", 1))
    assert (stage.state("other"), free(stage)[node]) == (State.QUEUED, 0)
    for bind in under_way:
        stage.step(*stage.bound(bind))
    assert (stage.state(), free(stage)[node]) == (State.RUNNING, 0)
    stage.lose(pods[1])
    assert stage.state("other") is State.BINDING


def test_a_pod_of_a_set_that_is_taken_out_gets_no_new_place() -> None:
    stage = Stage("b1: r1=3")
    whole = of_sets("a", "b")
    stage.step(GangSeen(whole, 0))
    pods = members(whole)
    see(stage, *pods)
    stage.carry_out()
    stage.step(GangSeen(of_sets("a"), 0))
    again = replace(pods[1], key=replace(pods[1].key, uid="again"))
    see(stage, again)
    stage.lose(pods[1])
    assert binds(stage) == []
    assert stage.state() is State.RUNNING


# -- binds under way ---------------------------------------------------------------------------------------------


def test_a_gang_that_is_seen_again_keeps_the_places_that_its_pods_are_on_their_way_to() -> None:  # W-092
    stage = Stage("b1: r1=2 r2=2")
    request = gang(required=RACK)
    stage.submit(request)
    first = binds(stage)
    stage.delete(request)
    stage.step(GangSeen(request, 0))
    assert (stage.state(), binds(stage)) == (State.BINDING, [])
    stage.submit(gang("other"))
    other = binds(stage)
    for bind in (*first, *other):
        stage.step(*stage.bound(bind))
    assert (stage.state(), stage.state("other")) == (State.RUNNING, State.RUNNING)
    assert len(domains(stage, stage.where(), "rack")) == 1
    assert min(free(stage).values()) == 0


def test_binds_that_were_lost_are_asked_for_again_when_their_gang_is_seen_again() -> None:
    stage = Stage("b1: r1=2 r2=2")
    request = gang(required=RACK)
    stage.submit(request)
    first = [(bind.key, bind.node) for bind in binds(stage)]
    stage.delete(request)
    stage.step(GangSeen(request, 0))
    stage.after(10)
    assert [(bind.key, bind.node) for bind in binds(stage)] == first


def test_binds_under_way_of_a_gang_that_is_seen_again_suspended_are_called_back() -> None:  # W-092, K-068
    stage = Stage("b1: r1=2")
    (node,) = stage.nodes
    request = gang()
    stage.submit(request)
    stage.delete(request)
    stage.step(GangSeen(replace(request, suspended=True), 0))
    assert (stage.state(), len(evictions(stage)), free(stage)[node]) == (State.EVICTING, 2, 0)
    stage.carry_out()
    assert (stage.state(), free(stage)[node]) == (State.QUEUED, 2)


def test_a_pod_on_its_way_to_a_node_that_went_while_its_gang_was_gone_is_called_back() -> None:  # W-092
    stage = Stage("b1: r1=1,1")
    request = gang()
    stage.submit(request)
    bind = binds(stage)[0]
    stage.delete(request)
    stage.lose_node(bind.node)
    stage.step(GangSeen(request, 0))
    stage.after(10)
    assert bind.key in [effect.key for effect in evictions(stage)]
    assert bind.key not in [effect.key for effect in binds(stage)]


# -- places that are done ----------------------------------------------------------------------------------------


def test_a_place_whose_pod_has_succeeded_stays_done_when_the_pod_is_collected() -> None:  # W-156
    stage = Stage("b1: r1=4")
    first, *rest = stage.run(gang(count=3))
    stage.succeed(first)
    stage.lose(first)
    assert stage.state() is State.RUNNING
    stage.after(RECOVERY + 1)
    assert (stage.state(), evictions(stage)) == (State.RUNNING, [])
    for pod in rest:
        stage.succeed(pod)
    assert stage.state() is State.FINISHED


def test_a_place_is_done_no_more_when_its_rank_is_made_again() -> None:
    stage = Stage("b1: r1=3")
    request = gang(count=3, ranked=True)
    first, *rest = stage.run(request)
    stage.succeed(first)
    stage.lose(first)
    stage.submit(gang("other", 1))
    stage.carry_out()
    stage.pod(request, 0, life=1)
    assert stage.state() is State.DEGRADED, "rank 0 is to run again, and has no room"
    stage.delete(gang("other", 1))
    stage.lose(next(pod for pod in stage.pods.values() if pod.gang == "default/other"))
    stage.carry_out()
    assert (stage.state(), len([node for node in stage.where() if node])) == (State.RUNNING, 3)
    for pod in rest:
        stage.succeed(pod)
    assert stage.state() is State.RUNNING


def test_a_gang_that_lost_all_of_its_pods_begins_from_the_first_again() -> None:  # W-001
    stage = Stage("b1: r1=4")
    request = gang(count=3)
    first, *rest = stage.run(request)
    stage.succeed(first)
    for pod in (first, *rest):
        stage.lose(pod)
    assert stage.state() is State.QUEUED
    for rank in (0, 1):
        stage.pod(request, rank, life=1)
        assert binds(stage) == []
    stage.pod(request, 2, life=1)
    assert len(binds(stage)) == 3


def test_a_gang_that_is_made_anew_begins_from_the_first_again() -> None:  # W-001
    stage = Stage("b1: r1=8")
    request = gang(count=4)
    *done, last = stage.run(request)
    for pod in done:
        stage.succeed(pod)
    stage.delete(request)
    stage.lose(last)
    stage.step(GangSeen(request, 50))
    for rank in range(3):
        stage.pod(request, rank, life=1)
        assert binds(stage) == []
    stage.see(replace(stage.pods[done[0].key], ready=True))  # told of once more, and gone in the end
    stage.lose(done[0])
    assert (stage.state(), binds(stage)) == (State.QUEUED, [])
    stage.pod(request, 3, life=1)
    assert len(binds(stage)) == 4


def test_a_gang_that_is_made_anew_while_an_old_pod_leaves_begins_from_the_first_again() -> None:  # W-001
    stage = Stage("b1: r1=8")
    request = gang(count=2)
    done, last = stage.run(request)
    stage.succeed(done)
    stage.delete(request)
    stage.see(replace(stage.pods[last.key], leaving=True))
    stage.step(GangSeen(request, 50))
    stage.lose(last)
    stage.pod(request, 0, life=1)
    assert (stage.state(), binds(stage)) == (State.QUEUED, [])
    stage.pod(request, 1, life=1)
    assert len(binds(stage)) == 2


def test_what_was_done_counts_when_the_same_gang_is_seen_again() -> None:
    stage = Stage("b1: r1=2")
    request = gang(count=2, least=2)
    stage.step(GangSeen(request, 7))
    done, last = (stage.pod(request, rank) for rank in range(2))
    stage.carry_out()
    stage.succeed(done)
    stage.lose(last)
    stage.delete(request)
    assert stage.state() is None
    stage.pod(request, 1, life=1)
    stage.step(GangSeen(request, 7))
    assert len(binds(stage)) == 1


# -- places that are no places any more --------------------------------------------------------------------------


def test_a_node_that_is_made_anew_elsewhere_between_two_steps_is_no_place_any_more() -> None:  # K-028
    stage = Stage("b1: r1=1,1 r2=1,1")
    request = gang(required=RACK)
    first, second = stage.run(request)
    there = next(one for one in stage.nodes.values() if one.labels["topology/rack"] != _rack(stage, first.node))
    stage.nodes[first.node] = replace(
        stage.nodes[first.node], labels={**there.labels, "kubernetes.io/hostname": first.node}
    )
    stage.pods.pop(first.key)
    stage.step(NodeGone(first.node), NodeSeen(stage.nodes[first.node]), PodGone(first.key))
    stage.pod(request, 0, life=1)
    stage.carry_out()
    assert stage.where() == ["", second.node], "no room in its rack"


def _rack(stage: Stage, node: str) -> str:
    return stage.nodes[node].labels["topology/rack"]


# -- places that are given back ----------------------------------------------------------------------------------


def test_the_place_of_a_late_pod_that_no_node_takes_is_for_those_who_wait() -> None:
    stage = Stage("b1: r1=3")
    request = gang("a", 3, 2)
    stage.run(request, pods=2)
    stage.pod(request, 2)
    (bind,) = binds(stage)
    stage.submit(gang("b", 1))
    for _ in range(3):
        assert stage.state("b") is State.QUEUED
        stage.step(BindAnswered(bind.key, bind.node, Answer.REFUSED))
    assert stage.state("b") is State.BINDING


def test_places_found_ahead_that_no_pod_ever_takes_are_given_back() -> None:  # W-202
    stage = Stage("b1: r1=4")
    (node,) = stage.nodes
    request = gang(count=4, least=2, rules=Rules(enforcement="Gate", recovery=30))
    stage.step(GangSeen(request, 0, named.owner("g")))
    for rank in (0, 1):
        stage.pod(request, rank, gated=True)
    stage.carry_out()
    assert (stage.state(), free(stage)[node]) == (State.RUNNING, 0)
    stage.submit(gang("b", 2))
    assert stage.engine.next_at is not None and stage.engine.next_at <= 30
    stage.after(30)
    assert (stage.state(), stage.state("b")) == (State.RUNNING, State.BINDING)
