"""Who may close a queue to others, and that it is open again as soon as nobody may."""

from dataclasses import replace

import pytest

from phalanx.engine.lifecycle import State
from phalanx.engine.settings import Settings
from phalanx.model.events import GangSeen, NodeSeen
from phalanx.model.policy import Policy
from phalanx.model.queues import Flavor, Queue, Quota
from phalanx.model.reasons import Why
from phalanx.model.request import Request
from phalanx.model.resources import NANO
from phalanx.model.sketch import GPU
from tests.engine.stage import Stage, gang
from tests.engine.test_engine import in_queue, limited, queued, reason

HUNGRY = Settings(starving=100)


def end(stage: Stage, name: str) -> None:
    for pod in [one for one in stage.pods.values() if one.gang == f"default/{name}"]:
        stage.succeed(pod)
        stage.carry_out()


# -- ageing ------------------------------------------------------------------------------------------------------


def test_who_is_first_in_a_strict_queue_because_of_its_age_is_looked_at_when_it_is() -> None:
    stage = Stage("b1: r1=4", HUNGRY)
    queued(stage, Queue("q", when_blocked="Strict"))
    stage.run(gang("other", count=2))
    low, head = in_queue("low", "q", count=1), in_queue("head", "q", count=4, priority=10)
    stage.step(GangSeen(low, 0))
    stage.now = 1.0
    stage.submit(head)
    stage.pod(low, 0)
    assert (reason(stage, "head"), reason(stage, "low")) == (Why.NO_ROOM, Why.BEHIND_OTHERS)
    waits = stage.engine.book.gangs["default/low"].reason
    assert waits is not None and waits.ahead == "default/head"
    assert stage.engine.next_at == 100.0
    stage.after(99)
    assert stage.state("low") is State.BINDING


def test_whom_age_made_the_first_holds_back_the_others_and_starts_when_there_is_room() -> None:
    stage = Stage("b1: r1=4", HUNGRY)
    queued(stage, Queue("q", when_blocked="Strict"))
    stage.run(gang("other", count=2))
    low, head = in_queue("low", "q", count=3), in_queue("head", "q", count=4, priority=10)
    stage.step(GangSeen(low, 0))
    stage.now = 1.0
    stage.submit(head)
    for rank in range(3):
        stage.pod(low, rank)
    stage.after(20)
    stage.after(79)
    assert reason(stage, "low") is Why.NO_ROOM
    end(stage, "other")
    assert (stage.state("low"), stage.state("head")) == (State.RUNNING, State.QUEUED)
    end(stage, "low")
    assert stage.state("head") is State.RUNNING


# -- edits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edit", [{"priority": 0}, {"queue": "r"}])
def test_who_comes_to_be_first_by_an_edit_of_another_is_looked_at_in_the_same_step(edit: dict[str, object]) -> None:
    stage = Stage("b1: r1=4")
    queued(stage, Queue("q", when_blocked="Strict"), Queue("r"))
    stage.run(gang("other", count=2))
    head = in_queue("head", "q", count=4, priority=10)
    stage.submit(head)
    stage.submit(in_queue("next", "q", count=2, priority=5))
    assert reason(stage, "next") is Why.BEHIND_OTHERS
    stage.step(GangSeen(replace(head, **edit), 0))  # type: ignore[arg-type]
    assert (stage.state("next"), stage.state("head")) == (State.BINDING, State.QUEUED)


# -- who can never start -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("when_blocked", ["BestEffort", "Strict"])
def test_a_gang_larger_than_its_whole_quota_holds_nobody_back(when_blocked: str) -> None:
    stage = Stage("b1: r1=8", HUNGRY)
    queued(stage, limited("q", 4, when_blocked=when_blocked))
    stage.submit(in_queue("huge", "q", count=6, priority=9))
    stage.now = 200.0
    stage.run(in_queue("small", "q", count=1))
    assert (reason(stage, "huge"), stage.state("small")) == (Why.OVER_QUOTA, State.RUNNING)
    queued(stage, limited("q", 6, when_blocked=when_blocked))
    stage.submit(in_queue("late", "q", count=1))
    assert reason(stage, "late") is Why.BEHIND_OTHERS  # it could start now, if the small one left
    end(stage, "small")
    assert stage.state("huge") is State.RUNNING


@pytest.mark.parametrize("when_blocked", ["BestEffort", "Strict"])
def test_a_gang_that_no_rack_could_hold_holds_nobody_back_while_its_quota_is_short(when_blocked: str) -> None:
    stage = Stage("b1: r1=4 r2=4", HUNGRY)
    queued(stage, limited("q", 6, when_blocked=when_blocked))
    stage.run(in_queue("first", "q", count=2))
    huge = in_queue("huge", "q", count=6, priority=9)
    stage.submit(replace(huge, root=replace(huge.root, required=2)))
    stage.now = 200.0
    stage.run(in_queue("small", "q", count=1))
    assert (reason(stage, "huge"), stage.state("small")) == (Why.TOO_LARGE, State.RUNNING)


def test_a_gang_that_waits_for_quota_behind_which_it_fits_holds_others_back_in_a_strict_queue() -> None:
    stage = Stage("b1: r1=4 r2=4")
    queued(stage, limited("q", 6, when_blocked="Strict"))
    stage.run(in_queue("first", "q", count=4))
    stage.submit(in_queue("large", "q", count=4, priority=9))
    stage.submit(in_queue("small", "q", count=1))
    assert (reason(stage, "large"), reason(stage, "small")) == (Why.OVER_QUOTA, Why.BEHIND_OTHERS)


def test_a_gang_that_no_flavor_could_ever_hold_holds_nobody_back() -> None:
    """One has room and too little quota, the other quota and no node."""
    stage = Stage("b1: r1=8", HUNGRY)
    quotas = (Quota("here", GPU, 4 * NANO), Quota("nowhere", GPU, 99 * NANO))
    queued(stage, Queue("q", quotas=quotas), here=Flavor("here"), nowhere=Flavor("nowhere", (("no", "node"),)))
    stage.submit(in_queue("huge", "q", count=6))
    stage.now = 200.0
    stage.run(in_queue("small", "q", count=1))
    assert stage.state("small") is State.RUNNING


def test_a_gang_larger_than_the_cluster_holds_nobody_back_in_a_strict_queue() -> None:
    stage = Stage("b1: r1=4")
    queued(stage, Queue("q", when_blocked="Strict"))
    stage.submit(in_queue("huge", "q", count=9, priority=9))
    stage.run(in_queue("small", "q", count=1))
    assert (reason(stage, "huge"), stage.state("small")) == (Why.TOO_LARGE, State.RUNNING)


def too_large_behind(stage: Stage) -> Request:
    """One starves, and an older one that is too large waits too."""
    stage.run(gang("other", count=3))
    large = gang("large", count=9)
    stage.submit(large)
    stage.now = 1.0
    stage.submit(gang("small", count=3))
    stage.after(20)  # nobody asks for missing pods any more
    stage.after(180)
    return large


def test_a_gang_that_is_too_large_holds_nobody_back_though_it_was_touched_behind_another() -> None:
    stage = Stage("b1: r1=4", HUNGRY)
    large = too_large_behind(stage)
    first = next(pod for pod in stage.pods.values() if pod.gang == large.id)
    stage.see(replace(first, running=replace(first.running, labels={"any": "news"})))
    end(stage, "other")
    assert stage.state("small") is State.RUNNING


def test_a_gang_that_was_too_large_and_is_made_smaller_starves_like_others() -> None:
    stage = Stage("b1: r1=4", HUNGRY)
    large = too_large_behind(stage)
    (pods,) = large.root.pod_sets()
    stage.step(GangSeen(replace(large, root=replace(large.root, members=(replace(pods, min_count=4),))), 0.0))
    end(stage, "other")
    assert (stage.state("large"), stage.state("small")) == (State.RUNNING, State.QUEUED)


def test_a_gang_of_which_nobody_knew_that_it_is_too_large_holds_nobody_back_when_it_starves() -> None:
    """It came behind another, and was never tried."""
    stage = Stage("b1: r1=4", HUNGRY)
    stage.run(gang("other", count=3))
    stage.submit(gang("first", count=3))
    stage.now = 150.0
    stage.submit(gang("large", count=9))
    assert reason(stage, "large") is Why.BEHIND_OTHERS
    end(stage, "other")
    end(stage, "first")
    stage.run(gang("more", count=3))
    stage.after(200)
    stage.run(gang("small", count=1))
    assert (reason(stage, "large"), stage.state("small")) == (Why.TOO_LARGE, State.RUNNING)


def test_a_gang_that_is_too_hard_to_decide_holds_nobody_back_where_nobody_is_who_could_leave() -> None:
    stage = Stage("b1: r1=4", HUNGRY)
    stage.engine.policy = Policy(budget=0)
    stage.submit(gang("hard", count=2))
    stage.after(20)  # nobody asks for missing pods any more
    stage.engine.policy = Policy()
    stage.now = 200.0
    stage.run(gang("small", count=1))
    assert (reason(stage, "hard"), stage.state("small")) == (Why.UNDECIDED, State.RUNNING)


# -- nodes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("starves", ["before", "after"])
def test_a_gang_that_became_too_large_as_nodes_left_holds_nobody_back(starves: str) -> None:
    stage = Stage("b1: r1=2,2", HUNGRY)
    stage.run(gang("other", count=1))
    stage.submit(gang("large", count=4))
    (spare,) = set(stage.nodes) - set(stage.where("other"))
    if starves == "before":
        stage.after(200)
        stage.submit(gang("small", count=1))
        assert reason(stage, "small") is Why.BEHIND_OTHERS
        stage.lose_node(spare)
    else:
        stage.lose_node(spare)
        stage.after(200)
        stage.submit(gang("small", count=1))
    assert (reason(stage, "large"), stage.state("small")) == (Why.TOO_LARGE, State.BINDING)


def test_a_gang_that_was_too_large_starves_like_others_once_the_nodes_could_hold_it() -> None:
    stage = Stage("b1: r1=2,2", HUNGRY)
    spare = list(stage.nodes.values())[1]
    stage.lose_node(spare.name)
    stage.run(gang("other", count=1))
    stage.submit(gang("large", count=4))
    assert reason(stage, "large") is Why.TOO_LARGE
    stage.after(200)
    stage.nodes[spare.name] = spare
    stage.step(NodeSeen(spare))
    stage.submit(gang("small", count=1))
    assert (reason(stage, "large"), reason(stage, "small")) == (Why.NO_ROOM, Why.BEHIND_OTHERS)
    end(stage, "other")
    assert stage.state("large") is State.RUNNING


def test_a_step_tries_nobody_but_the_first_again_when_a_node_leaves() -> None:
    stage = Stage("b1: r1=2,2,2", HUNGRY)
    for number in range(3):
        stage.run(gang(f"other-{number}", count=1))
    for number in range(20):
        stage.submit(gang(f"waiting-{number}", count=4))
    stage.after(200)
    assert len(stage.engine.decisions) <= 1
    spare = sorted(set(stage.nodes) - {node for n in range(3) for node in stage.where(f"other-{n}")})
    before = stage.engine.turns.looked
    stage.lose_node(spare[0])
    assert len(stage.engine.decisions) <= 1
    assert stage.engine.turns.looked <= before + 1
