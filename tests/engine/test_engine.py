"""Gangs over time: they wait, start whole, lose pods and nodes, recover or leave, and never stand half."""

from dataclasses import replace
from typing import Any

import pytest

from phalanx.engine.lifecycle import State
from phalanx.engine.settings import Settings
from phalanx.model.effects import Bind, Evict, Prepare, Report, Resume, Suspend, Ungate
from phalanx.model.events import Answer, BindAnswered, GangSeen, NodeSeen, PodGone, PodSeen, QueuesSeen
from phalanx.model.nodes import RunningPod, Taint
from phalanx.model.pods import Pod, PodKey
from phalanx.model.queues import Flavor, Queue, Queues, Quota
from phalanx.model.reasons import Why
from phalanx.model.request import Request
from phalanx.model.resources import NANO
from phalanx.model.rules import Rules
from phalanx.model.sketch import GPU
from tests.engine.stage import Stage, gang
from tests.testing import named


def binds(stage: Stage) -> list[str]:
    return [effect.node for effect in stage.last if isinstance(effect, Bind)]


def reason(stage: Stage, name: str = "g") -> Why | None:
    found = stage.engine.book.gangs[f"default/{name}"].reason
    return None if found is None else found.type


# -- starting ----------------------------------------------------------------------------------------------------


def test_a_gang_is_released_whole_when_its_last_pod_is_there() -> None:  # W-001, W-133, W-147
    stage = Stage("b1: r1=2 r2=2")
    request = gang(count=3)
    stage.submit(request, pods=2)
    assert (binds(stage), stage.state(), reason(stage)) == ([], State.QUEUED, Why.PODS_MISSING)
    stage.pod(request, 2)
    assert len(binds(stage)) == 3
    assert stage.state() is State.BINDING
    stage.carry_out()
    assert stage.state() is State.RUNNING


def test_no_pod_is_released_without_room_for_all() -> None:  # W-001
    stage = Stage("b1: r1=2")
    stage.submit(gang(count=3))
    assert (stage.where(), stage.state(), reason(stage)) == (["", "", ""], State.QUEUED, Why.TOO_LARGE)


def test_two_gangs_that_come_pod_by_pod_do_not_hold_each_others_room() -> None:  # W-003
    stage = Stage("b1: r1=10")
    one, two = gang("one", 6), gang("two", 6)
    stage.step(GangSeen(one, 0), GangSeen(two, 0))
    for rank in range(6):
        stage.pod(one, rank)
        stage.carry_out()
        stage.pod(two, rank)
        stage.carry_out()
    assert [stage.state("one"), stage.state("two")] == [State.RUNNING, State.QUEUED]
    assert stage.where("two") == [""] * 6


def test_pods_may_be_told_of_before_their_gang() -> None:  # W-046, W-093
    stage = Stage("b1: r1=2")
    request = gang(count=2)
    for rank in range(2):
        stage.pod(request, rank)
        assert binds(stage) == []
    stage.step(GangSeen(request, 0))
    assert len(binds(stage)) == 2


def test_a_gang_starts_when_a_node_comes() -> None:  # K-009, K-075
    stage = Stage("b1: r1=1")
    stage.submit(gang(count=2, required=2))
    more = replace(next(iter(stage.nodes.values())), name="new")
    labels = {**more.labels, "kubernetes.io/hostname": "new"}
    stage.step(NodeSeen(replace(more, labels=labels)))
    stage.carry_out()
    assert stage.state() is State.RUNNING


def test_a_gang_starts_when_another_one_ends() -> None:
    stage = Stage("b1: r1=2")
    first = gang("first")
    stage.run(first)
    stage.submit(gang("second"))
    assert stage.state("second") is State.QUEUED
    for pod in list(stage.pods.values()):
        if pod.gang == first.id:
            stage.succeed(pod)
    stage.carry_out()
    assert (stage.state("first"), stage.state("second")) == (State.FINISHED, State.RUNNING)


def test_a_higher_priority_goes_first() -> None:  # M-013
    stage = Stage("b1: r1=2")
    blocker = gang("blocker")
    stage.run(blocker)
    stage.submit(gang("low"))
    stage.submit(gang("high", priority=5))
    stage.delete(blocker)
    for pod in list(stage.pods.values()):
        if pod.gang == blocker.id:
            stage.lose(pod)
    stage.carry_out()
    assert (stage.state("low"), stage.state("high")) == (State.QUEUED, State.RUNNING)


def test_ranks_follow_the_places() -> None:  # K-101, KA-056
    stage = Stage("b1: r1=1 r2=1,1")
    stage.run(gang(count=3, ranked=True))
    bound = {e.rank: (e.node, e.domain) for e in stage.effects if isinstance(e, Bind)}
    assert sorted(bound) == [0, 1, 2]
    assert all(domain.count("/") == 1 for _, domain in bound.values())


# -- failing -----------------------------------------------------------------------------------------------------


def test_a_bind_that_is_refused_is_tried_again_and_then_the_whole_gang_leaves() -> None:  # W-159
    stage = Stage("b1: r1=2")
    first, second = stage.submit(gang(count=2))
    good, bad = (effect for effect in stage.last if isinstance(effect, Bind))
    stage.step(*stage.bound(good))
    for _ in range(3):
        stage.step(BindAnswered(bad.key, bad.node, Answer.REFUSED))
    assert stage.state() is State.EVICTING
    assert [e.key for e in stage.last if isinstance(e, Evict)] == [good.key]
    stage.carry_out()
    assert stage.state() is State.QUEUED
    assert (first.key, second.key) == (good.key, bad.key)


def test_a_gang_that_is_not_bound_in_time_leaves_and_comes_back_later() -> None:  # W-134, W-163, X-32
    stage = Stage("b1: r1=2")
    stage.submit(gang(count=2, rules=Rules(schedule=60)))
    stage.after(59)
    assert stage.state() is State.BINDING
    stage.after(2)
    assert stage.state() is State.EVICTING  # the binds are under way, so the pods go: nobody knows where they end
    stage.carry_out()
    assert (stage.state(), stage.where()) == (State.QUEUED, [])
    for rank in range(2):
        stage.pod(gang(count=2, rules=Rules(schedule=60)), rank, life=1)
    assert stage.state() is State.QUEUED
    stage.after(1.5)
    assert stage.state() is State.BINDING


def test_a_bind_without_an_answer_is_asked_for_again() -> None:
    stage = Stage("b1: r1=1")
    stage.submit(gang(count=1))
    assert len(binds(stage)) == 1
    stage.after(1)
    assert binds(stage) == []
    stage.after(5)
    assert len(binds(stage)) == 1


def test_a_gang_that_is_not_ready_in_time_leaves() -> None:
    stage = Stage("b1: r1=1")
    (pod,) = stage.submit(gang(count=1, rules=Rules(ready=600)))
    stage.step(PodSeen(replace(stage._on(pod.key, binds(stage)[0]), ready=False)))
    assert stage.state() is State.STARTING
    stage.after(601)
    assert stage.state() is State.EVICTING


def test_a_lost_pod_comes_back_to_its_place() -> None:  # K-067, W-152, W-153
    stage = Stage("b1: r1=1,1 r2=1,1")
    request = gang(count=2, required=2, ranked=True)
    _, second = stage.run(request)
    before = stage.where()
    stage.lose(second)
    assert stage.state() is State.DEGRADED
    stage.pod(request, 1, life=1)
    stage.carry_out()
    assert (stage.where(), stage.state()) == (before, State.RUNNING)


def test_one_failure_restarts_the_gang_where_it_says_so() -> None:  # W-153, X-33
    stage = Stage("b1: r1=2")
    first, _ = stage.run(gang(count=2, rules=Rules(on_failure="RestartGang")))
    stage.fail(first)
    assert stage.state() is State.EVICTING
    assert len([e for e in stage.last if isinstance(e, Evict)]) == 1


def test_a_gang_that_does_not_recover_in_time_leaves_and_has_the_first_claim() -> None:  # K-071
    stage = Stage("b1: r1=2")
    first, _ = stage.run(gang(count=2, rules=Rules(recovery=300)))
    stage.lose(first)
    stage.after(301)
    stage.carry_out()
    assert stage.state() is State.QUEUED
    assert stage.engine.book.gangs["default/g"].urgent


def test_a_node_that_is_lost_is_replaced_inside_the_domain_of_the_rest() -> None:  # K-070, K-103
    stage = Stage("b1: r1=1,1,1 r2=1,1,1")
    request = gang(count=2, required=2, ranked=True)
    stage.run(request)
    rack = stage.where()[0].rsplit("-", 1)[0]
    lost = stage.where()[1]
    dead = next(pod for pod in stage.pods.values() if pod.node == lost)
    stage.lose_node(lost)
    stage.lose(dead)
    stage.pod(request, 1, life=1)
    stage.carry_out()
    assert stage.state() is State.RUNNING
    assert {node.rsplit("-", 1)[0] for node in stage.where()} == {rack}
    assert lost not in stage.where()


def test_a_gang_that_cannot_be_mended_waits_for_room_near_it() -> None:  # K-103
    stage = Stage("b1: r1=1,1 r2=1,1")
    request = gang(count=2, required=2)
    stage.run(request)
    dead = next(iter(stage.pods.values()))
    stage.lose_node(dead.node)
    stage.lose(dead)
    stage.pod(request, 0, life=1)
    stage.carry_out()
    assert stage.state() is State.DEGRADED
    assert stage.where().count("") == 1


def test_extra_pods_are_placed_as_they_come_in_the_domain_of_the_gang() -> None:  # M-025
    stage = Stage("b1: r1=1,1,1 r2=1,1,1")
    request = gang(count=3, least=2, required=2)
    stage.run(request, pods=2)
    stage.pod(request, 2)
    stage.carry_out()
    racks = {node.rsplit("-", 1)[0] for node in stage.where()}
    assert len(racks) == 1 and "" not in stage.where()


def test_pods_that_have_succeeded_count_for_the_minimum() -> None:
    stage = Stage("b1: r1=4")
    request = gang(count=3, ranked=True)
    first, second, _ = stage.run(request)
    stage.succeed(first)
    stage.succeed(second)
    assert stage.state() is State.RUNNING
    third = next(pod for pod in stage.pods.values() if pod.rank == 2)
    stage.fail(third)
    assert stage.state() is State.DEGRADED
    stage.pod(request, 2, life=1)
    stage.carry_out()
    assert stage.state() is State.RUNNING


def test_a_suspended_gang_leaves_and_a_resumed_one_is_placed_afresh() -> None:  # K-068, K-085
    stage = Stage("b1: r1=2")
    request = gang(count=2)
    stage.run(request)
    stage.step(GangSeen(replace(request, suspended=True), 0))
    stage.carry_out()
    assert stage.state() is State.QUEUED
    for rank in range(2):
        stage.pod(request, rank, life=1)
    assert stage.where() == ["", ""]
    stage.after(10)
    stage.step(GangSeen(request, 0))
    stage.carry_out()
    assert stage.state() is State.RUNNING


# -- gates -------------------------------------------------------------------------------------------------------


def test_a_gated_gang_is_placed_ahead_its_owner_resumed_and_its_pods_ungated_by_rank() -> None:  # K-048, K-061, K-062
    stage = Stage("b1: r1=1,1")
    request = gang(count=2, ranked=True, rules=Rules(enforcement="Gate"))
    stage.step(GangSeen(request, 0, owner=named.owner("g")))
    assert [type(e) for e in stage.last if not isinstance(e, Report)] == [Prepare, Resume]
    assert stage.state() is State.RESERVED
    stage.pod(request, 0, gated=True)
    assert stage.state() is State.RESERVED
    stage.pod(request, 1, gated=True)
    pinned = [dict(e.selector)["kubernetes.io/hostname"] for e in stage.last if isinstance(e, Ungate)]
    assert len(set(pinned)) == 2
    stage.carry_out()
    assert stage.state() is State.RUNNING


def test_a_gated_gang_leaves_by_being_suspended() -> None:  # K-068
    stage = Stage("b1: r1=1,1")
    request = gang(count=2, rules=Rules(enforcement="Gate", schedule=60))
    stage.step(GangSeen(request, 0, owner=named.owner("g")))
    stage.after(61)
    assert [e for e in stage.last if isinstance(e, Suspend)] == [
        Suspend(request.id, named.owner("g"), "SCHEDULE_TIMEOUT")
    ]


# -- starting over -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [1, 2])
def test_an_engine_that_starts_anew_finds_what_is_there(bound: int) -> None:
    stage = Stage("b1: r1=1,1,1")
    request = gang(count=2)
    stage.submit(request)
    for effect in [e for e in stage.last if isinstance(e, Bind)][:bound]:
        stage.bound(effect)
    again = Stage("b1: r1=1,1,1")
    again.pods = stage.pods
    again.step(GangSeen(request, 0), *(PodSeen(pod) for pod in stage.pods.values()))
    again.carry_out()
    assert again.state() is State.RUNNING
    assert "" not in again.where()


def test_a_pod_that_is_relabelled_stays_in_its_gang() -> None:  # W-111
    stage = Stage("b1: r1=2")
    first, _ = stage.run(gang(count=2))
    stage.see(replace(stage.pods[first.key], gang="default/other"))
    assert stage.state() is State.RUNNING


def test_a_pod_that_was_seen_running_for_itself_joins_its_gang_when_that_is_known() -> None:  # W-046, X-46
    stage = Stage("b1: r1=2")
    request = gang(count=2)
    (pods,) = request.root.pod_sets()
    node = next(iter(stage.nodes))
    running = [RunningPod(f"p{i}", "default", node, pods.shape.requests) for i in range(2)]
    alone = [Pod(PodKey("default", one.name, one.name), one, phase="Running") for one in running]
    stage.step(*(PodSeen(one) for one in alone))
    stage.step(GangSeen(request, 0.0), *(PodSeen(replace(one, gang=request.id, pod_set="w")) for one in alone))
    assert stage.state() is State.STARTING
    assert not [effect for effect in stage.effects if isinstance(effect, Bind)]


def test_who_follows_a_pod_that_was_found_running_is_not_put_where_nobody_is_let_in_any_more() -> None:
    stage = Stage("b1: r1=2,2")
    request = gang(count=2)
    first, second = stage.nodes
    shut = replace(stage.nodes[first], taints=(Taint("maintenance", "", "NoSchedule"),))
    (pods,) = request.root.pod_sets()
    found = [
        Pod(PodKey("default", f"g-{i}", f"g-{i}.0"), RunningPod(f"g-{i}", "default", first, pods.shape.requests),
            request.id, "w", phase="Running", ready=True)
        for i in range(2)
    ]  # fmt: skip
    stage.step(NodeSeen(shut), GangSeen(request, 0.0), *(PodSeen(one) for one in found))
    stage.step(PodGone(found[1].key))
    stage.pod(request, 1, life=1)
    assert binds(stage) == [second]


def test_pods_of_others_take_room() -> None:  # K-055, X-46
    stage = Stage("b1: r1=2")
    request = gang("foreign", count=1)
    pod = stage.pod(request, 0)
    stage.step(PodSeen(replace(stage._on(pod.key, next(iter(stage.nodes))), gang=None)))
    stage.submit(gang(count=2))
    assert stage.state() is State.QUEUED


# -- queues ------------------------------------------------------------------------------------------------------


def queued(stage: Stage, *queues: Queue, **flavors: Flavor) -> None:
    stage.step(QueuesSeen(Queues({queue.name: queue for queue in queues}, flavors)))


def limited(name: str, gpus: int, **more: Any) -> Queue:
    return Queue(name, quotas=(Quota(None, GPU, gpus * NANO),), **more)


def in_queue(name: str, queue: str, **more: Any) -> Request:
    return replace(gang(name, **more), queue=queue)


def test_a_queue_takes_no_more_than_its_quota() -> None:  # K-060, K-112
    stage = Stage("b1: r1=8")
    queued(stage, limited("q", 3), Queue("free"))
    stage.run(in_queue("one", "q"))
    stage.submit(in_queue("two", "q"))
    assert (stage.state("two"), reason(stage, "two")) == (State.QUEUED, Why.OVER_QUOTA)
    stage.run(in_queue("other", "free"))
    assert stage.state("other") is State.RUNNING


def test_quota_that_comes_free_starts_who_waits_for_it() -> None:  # K-112
    stage = Stage("b1: r1=8")
    queued(stage, limited("q", 2))
    stage.run(in_queue("one", "q"))
    stage.submit(in_queue("two", "q"))
    for pod in list(stage.pods.values()):
        if pod.gang == "default/one":
            stage.succeed(pod)
    stage.carry_out()
    assert stage.state("two") is State.RUNNING


def test_a_strict_queue_lets_nobody_pass_its_head() -> None:
    stage = Stage("b1: r1=4")
    queued(stage, Queue("q", when_blocked="Strict"), Queue("other"))
    stage.run(in_queue("first", "q", count=3))
    stage.submit(in_queue("head", "q", count=3))
    stage.submit(in_queue("small", "q", count=1))
    assert (stage.state("small"), reason(stage, "small")) == (State.QUEUED, Why.BEHIND_OTHERS)
    stage.submit(in_queue("else", "other", count=1))
    assert stage.state("else") is State.BINDING


def test_a_queue_that_does_its_best_lets_small_ones_pass() -> None:
    stage = Stage("b1: r1=4")
    queued(stage, Queue("q"))
    stage.run(in_queue("first", "q", count=3))
    stage.submit(in_queue("head", "q", count=3))
    stage.submit(in_queue("small", "q", count=1))
    assert stage.state("small") is State.BINDING


def test_who_has_waited_too_long_is_passed_by_nobody() -> None:
    stage = Stage("b1: r1=4", Settings(starving=100))
    stage.run(gang("first", count=3))
    stage.submit(gang("head", count=3))
    stage.after(101)
    stage.submit(gang("small", count=1))
    assert reason(stage, "small") is Why.BEHIND_OTHERS


def test_who_could_not_start_on_the_empty_cluster_blocks_nobody_however_old_it_is() -> None:
    stage = Stage("b1: r1=4", Settings(starving=100))
    stage.now = 1000.0
    old, small = gang("old", count=9), gang("small", count=1)
    (pods,) = small.root.pod_sets()
    running = RunningPod("s", "default", "", pods.shape.requests)
    members = [Pod(PodKey("default", f"o{i}", f"o{i}"), replace(running, name=f"o{i}"), old.id, "w") for i in range(9)]
    alone = Pod(PodKey("default", "s", "s"), running, small.id, "w")
    stage.step(GangSeen(old, 0.0), GangSeen(small, 1.0), *(PodSeen(one) for one in (*members, alone)))
    assert reason(stage, "old") is Why.TOO_LARGE
    assert stage.state("small") is State.BINDING


def test_flavor_and_place_are_chosen_together() -> None:  # K-060
    """The first flavor has quota and no place; Kueue would stop there."""
    stage = Stage("b1: r1=1 r2=4")
    for name, node in list(stage.nodes.items()):
        color = "red" if "-r1-" in name else "blue"
        stage.step(NodeSeen(replace(node, labels={**node.labels, "color": color})))
    flavors = {name: Flavor(name, (("color", name),)) for name in ("red", "blue")}
    quotas = tuple(Quota(name, GPU, 9 * NANO) for name in ("red", "blue"))
    queued(stage, Queue("q", quotas=quotas), **flavors)
    stage.run(in_queue("two", "q", count=2))
    assert stage.state("two") is State.RUNNING
    assert stage.engine.book.gangs["default/two"].flavor == "blue"


def test_a_step_looks_only_at_those_it_could_help() -> None:
    stage = Stage("b1: r1=2 r2=8")
    stage.run(gang("big", count=8))
    stage.run(gang("small", count=2))
    for number in range(20):
        stage.submit(gang(f"waiting-{number}", count=4))
    before = stage.engine.turns.looked
    for pod in list(stage.pods.values()):
        if pod.gang == "default/small":
            stage.succeed(pod)
    assert stage.engine.turns.looked == before


def test_replacements_wait_for_the_whole_set_where_the_rule_says_so() -> None:  # W-153
    stage = Stage("b1: r1=3")
    request = gang(count=3, ranked=True, rules=Rules(on_failure="None"))
    first, second, _ = stage.run(request)
    stage.lose(first)
    stage.lose(second)
    stage.pod(request, 0, life=1)
    assert binds(stage) == []
    stage.pod(request, 1, life=1)
    assert len(binds(stage)) == 2
    stage.carry_out()
    assert stage.state() is State.RUNNING
