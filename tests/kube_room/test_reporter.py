"""The reporter against a server in memory: what is written, what is not, and what happens when the server says no."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from phalanx.dialects.following import Subject
from phalanx.engine.lifecycle import State
from phalanx.engine.views import GroupView, View
from phalanx.kube import status
from phalanx.kube.pending import Pending
from phalanx.kube.reporter import Lane, Reporter, Settings
from phalanx.model.effects import Notice, Report, Topic
from phalanx.model.problems import Problem
from phalanx.model.reasons import WayOut
from phalanx.wire.discovery import Served
from phalanx.wire.errors import Refused, Unanswered
from phalanx.wire.resources import JOBS, PODS, Resource
from tests.engine.stage import Stage, gang
from tests.kube_room.kinds import (
    COMPOSITES,
    GANGS,
    POD_GROUPS,
    SERVED,
    TOPOLOGIES,
    Clock,
    Server,
    condition,
    pod_key,
    report_of,
    run,
    subject,
    view_of,
)
from tests.testing import named

USUAL = Settings()
WRONG = Problem("spec.podGroups[0].count", 0, ("1 or more",), "must be 1 or more")


class Room:
    """A reporter, its server and its clock. ``stage``: a cluster in which gang ``g`` is too large at first."""

    def __init__(self, resource: Resource = GANGS, settings: Settings = USUAL, drawing: str = "b1: r1=2") -> None:
        self.clock, self.server, self.told, self.busy = Clock(), Server(), list[str](), False
        self.stage = Stage(drawing)
        self.stage.now = self.clock.now
        self.subjects: dict[str, Subject] = {"default/g": subject(resource, "g")}
        self.server.put(resource, "g")
        self.reporter = Reporter(
            self.server, lambda: SERVED, self.subjects.get, self.clock, settings,
            busy=lambda: self.busy, on_problem=self.told.append,
        )  # fmt: skip

    def submit(self, count: int = 4) -> View:
        """A gang and its pods, as the engine and the server see them."""
        for pod in self.stage.submit(gang(count=count)):
            self.server.put(PODS, pod.key.name, pod.key.uid, spec={}, status={"phase": "Pending"})
        return self.tell()

    def tell(self) -> View:
        view = view_of(self.stage)
        self.reporter.report(report_of(self.stage), view)
        return view

    def after(self, seconds: float) -> float | None:
        self.clock.now += seconds
        self.stage.now = self.clock.now
        found: float | None = run(self.reporter.flush())
        return found

    def start(self) -> View:
        """A gang that fits, and all that is told of it on its way to running."""
        self.submit(2)
        self.stage.carry_out()
        view = view_of(self.stage)
        for one in self.stage.effects:
            if isinstance(one, Report):
                self.reporter.report(one, view)
        return view

    def gang(self) -> dict[str, Any]:
        return self.server.status("Gang", "g")


# -- status ------------------------------------------------------------------------------------------------------


def test_nothing_is_written_before_it_has_settled() -> None:
    room = Room()
    room.submit()
    assert room.after(0.5) is not None
    assert room.server.asked == []
    room.after(0.6)
    assert condition(room.gang(), "Scheduled")["reason"] == "TooLarge"


def test_many_changes_are_one_write_with_the_last_of_them() -> None:
    room = Room()
    view = room.submit()
    for priority in range(100):
        room.reporter.see(replace(view, priority=priority))
    room.reporter.see(replace(view, state=State.RUNNING))
    room.after(1.0)
    assert room.server.writes("Gang") == 1
    assert room.gang()["state"] == "Running"


def test_what_did_not_change_is_not_written() -> None:
    room = Room()
    view = room.submit()
    room.after(1.0)
    room.reporter.see(replace(view, priority=7))  # of which a status does not speak
    room.after(1.0)
    assert room.server.writes("Gang") == 1
    assert room.reporter.counts.unchanged == 1


def test_a_restarted_scheduler_writes_nothing_that_stands_there_already() -> None:
    first = Room()
    first.submit()
    first.after(1.0)
    second = Room()
    second.server.objects = first.server.objects
    second.clock.now += 1000.0
    second.submit()
    second.after(1.0)
    assert second.server.writes("Gang") == 0


def test_what_the_mirror_knows_is_not_read_again() -> None:
    room = Room()
    found = room.server.put(GANGS, "g", status={"conditions": []})
    room.reporter = Reporter(
        room.server, lambda: SERVED, room.subjects.get, room.clock, Settings(), current=lambda key: found
    )
    room.submit()
    room.after(1.0)
    assert [verb for verb, kind, _ in room.server.asked if kind == "Gang"] == ["status"]


def test_states_go_before_reasons_to_wait() -> None:
    room = Room(settings=Settings(together=1, events=False))
    room.subjects["default/h"] = subject(GANGS, "h")
    room.server.put(GANGS, "h")
    view = room.submit()
    room.reporter.see(view)
    started = replace(view, id="default/h", name="h", state=State.BINDING)
    room.reporter.report(Report("default/h", State.BINDING, "PLACED"), started)
    room.after(1.0)
    assert [name for verb, _, name in room.server.asked if verb == "status"] == ["h", "g"]


def test_so_many_writes_in_a_second_and_the_rest_later() -> None:
    room = Room(settings=Settings(writes_per_second=10, events=False))
    view = room.submit()
    for i in range(30):
        room.subjects[f"default/x{i}"] = subject(GANGS, f"x{i}")
        room.server.put(GANGS, f"x{i}")
        room.reporter.see(replace(view, id=f"default/x{i}", name=f"x{i}", unplaced=()))
    next_at = room.after(1.0)
    assert room.server.writes("Gang") == 10
    assert next_at == pytest.approx(room.clock.now + 0.1)
    room.after(1.0)
    assert room.server.writes("Gang") == 20
    assert room.server.most_together == 4


def test_binds_go_first_but_not_for_ever() -> None:
    room = Room()
    room.submit()
    room.busy = True
    next_at = room.after(2.0)
    assert room.server.asked == []
    assert next_at is not None
    assert next_at > room.clock.now
    room.after(4.1)
    assert room.server.writes("Gang") == 1


def test_an_object_that_is_gone_is_forgotten() -> None:
    room = Room()
    view = room.submit()
    room.server.objects.clear()
    room.after(1.0)
    assert (room.told, room.reporter.waiting) == ([], 4)  # what is left are its pods
    room.reporter.forget(view.id)
    assert room.reporter.waiting == 0


def test_a_successor_with_the_same_name_is_not_written_to() -> None:
    room = Room()
    room.submit()
    room.server.put(GANGS, "g", uid="u2")
    room.after(1.0)
    assert room.gang() == {}


def test_a_successor_that_came_between_two_writes_is_not_written_to() -> None:
    room = Room()
    view = room.submit()
    room.after(1.0)
    room.server.put(GANGS, "g", uid="u2")
    room.reporter.see(replace(view, state=State.RUNNING))
    room.after(1.0)
    room.after(60.0)
    assert room.gang() == {}


def test_what_somebody_else_wrote_meanwhile_is_read_and_kept() -> None:
    room = Room(settings=Settings(events=False))
    view = room.submit()
    room.after(1.0)
    other = {"type": "example.com/Paid", "status": "True"}
    room.server.put(GANGS, "g", status={**room.gang(), "conditions": [*room.gang()["conditions"], other]})
    room.reporter.see(replace(view, state=State.RUNNING))
    room.after(1.0)
    room.after(1.0)
    assert (room.gang()["state"], condition(room.gang(), "example.com/Paid")) == ("Running", other)
    assert (room.reporter.counts.overtaken, room.told) == (1, [])


def test_a_mirror_that_lags_is_not_asked_again() -> None:
    room = Room(settings=Settings(events=False))
    old = {"metadata": dict(room.server.objects["Gang", "default", "g"]["metadata"])}
    room.server.put(GANGS, "g")
    room.reporter._current = lambda key: old if key[1] == "Gang" else None
    room.submit()
    room.after(1.0)
    room.after(1.0)
    assert room.gang()["state"] == "Queued"


@pytest.mark.parametrize("error", [Unanswered("no answer"), Refused(503, "ServiceUnavailable")])
def test_what_may_work_later_is_tried_again(error: Exception) -> None:
    room = Room(settings=Settings(events=False))
    room.submit()
    room.server.fail = [error]  # type: ignore[list-item]
    room.after(1.0)
    assert (room.gang(), room.reporter.counts.failed, len(room.told)) == ({}, 1, 1)
    room.after(5.0)
    assert room.gang()["state"] == "Queued"


def test_what_cannot_work_is_told_and_left() -> None:
    room = Room(settings=Settings(events=False))
    room.submit()
    room.server.fail = [Refused(403, "Forbidden", "gangs.phalanx.dev is forbidden")]
    room.after(1.0)
    assert "gangs.phalanx.dev is forbidden" in room.told[0]
    room.after(2.0)
    assert room.gang() == {}


def test_refused_objects_say_so_until_they_are_good() -> None:
    room = Room()
    about = subject(TOPOLOGIES, "t")
    room.server.put(TOPOLOGIES, "t")
    room.reporter.refuse(about, [WRONG])
    room.after(1.0)
    assert condition(room.server.status("Topology", "t"), "Valid")["status"] == "False"
    assert [one["reason"] for one in room.server.events] == ["Invalid"]
    room.reporter.accept(replace(about, generation=2))
    room.after(1.0)
    valid = condition(room.server.status("Topology", "t"), "Valid")
    assert (valid["status"], valid["observedGeneration"]) == ("True", 2)


def test_one_whose_manifest_is_wrong_while_it_runs_is_told_that_what_runs_goes_on() -> None:
    room = Room()
    room.start()
    room.reporter.refuse(room.subjects["default/g"], [WRONG])
    room.after(1.0)
    for kind in ("Valid", "Scheduled"):
        message = condition(room.gang(), kind)["message"]
        assert message == f"{WRONG}; what runs goes on as before, as the last valid manifest asked"
    assert "what runs goes on as before" in next(
        one["note"] for one in room.server.events if one["reason"] == "Invalid"
    )


def test_what_was_wrong_for_a_moment_is_not_told() -> None:  # W-033: a Gang may come just after its pods
    room = Room()
    about = subject(TOPOLOGIES, "t")
    room.server.put(TOPOLOGIES, "t")
    room.reporter.refuse(about, [WRONG])
    room.after(0.5)
    room.reporter.accept(about)
    room.after(1.0)
    assert not room.server.events


def test_an_object_that_names_what_is_not_there_stays_valid_and_says_what_is_missing() -> None:
    room = Room()
    about = subject(TOPOLOGIES, "t")
    room.server.put(TOPOLOGIES, "t")
    room.reporter.accept(about, [WRONG])
    room.after(1.0)
    valid = condition(room.server.status("Topology", "t"), "Valid")
    assert (valid["status"], valid["reason"], valid["message"]) == ("True", "Inconsistent", str(WRONG))
    assert [one["reason"] for one in room.server.events] == ["Inconsistent"]
    room.reporter.accept(about)
    room.after(1.0)
    valid = condition(room.server.status("Topology", "t"), "Valid")
    assert (valid["status"], valid["reason"], valid["message"]) == ("True", "Accepted", "")


def test_a_refused_object_that_was_deleted_is_not_kept() -> None:
    room = Room()
    about = subject(TOPOLOGIES, "t")
    room.reporter.refuse(about, [WRONG])
    room.reporter.gone(about.key)
    room.after(1.0)
    assert room.server.writes("Topology") == 0


def test_a_server_that_refuses_all_statuses_is_told_of_once_in_a_while() -> None:
    room = Room()
    room.server.fail = [Refused(403, "Forbidden", "may not patch") for _ in range(50)]
    for number in range(50):
        room.server.put(TOPOLOGIES, f"t{number}")
        room.reporter.refuse(subject(TOPOLOGIES, f"t{number}"), [WRONG])
    room.reporter._lanes[Lane.EVENTS] = Pending()
    room.after(1.0)
    assert room.reporter.counts.failed == 50
    assert room.told == ["status of Topology t0: 403 Forbidden: may not patch"]
    room.server.fail = [Refused(403, "Forbidden", "may not patch")]
    room.reporter.refuse(subject(TOPOLOGIES, "t7"), [WRONG, WRONG])
    room.reporter._lanes[Lane.EVENTS] = Pending()
    room.after(15.0)
    assert room.told[1:] == ["status of Topology t7: 403 Forbidden: may not patch (and 49 more like it before)"]


def test_a_status_that_cannot_be_made_stays_with_its_object(monkeypatch: pytest.MonkeyPatch) -> None:
    room, tripped = Room(), list[str]()
    room.reporter._tripped = lambda about, mishap: tripped.append(f"{about}: {mishap.line}")
    real = status.invalid_status

    def trip(kind: str, problems: Any, *rest: Any) -> Any:
        if problems == ():
            raise ValueError("not reached")
        if len(problems) == 2:
            raise KeyError("planted")
        return real(kind, problems, *rest)

    monkeypatch.setattr(status, "invalid_status", trip)
    for name, problems in (("bad", [WRONG, WRONG]), ("good", [WRONG])):
        room.server.put(TOPOLOGIES, name)
        room.reporter.refuse(subject(TOPOLOGIES, name), problems)
    room.after(1.0)
    assert tripped == ["status of Topology bad: KeyError: 'planted'"]
    assert condition(room.server.status("Topology", "good"), "Valid")["status"] == "False"


@pytest.mark.parametrize("when", ["before", "while it is read", "while it is written"])
def test_a_write_that_waits_while_its_kind_goes_ends_nothing(when: str) -> None:
    """The definition is deleted, and all objects with it."""
    room, about, served = Room(), subject(TOPOLOGIES, "t"), [SERVED]
    room.server.put(TOPOLOGIES, "t")
    room.reporter._served = lambda: served[0]

    def go() -> None:
        served[0] = Served(tuple(one for one in SERVED.resources if one != TOPOLOGIES), {})
        room.server.objects.clear()
        room.reporter.gone(about.key)

    real_get, real_begin = room.server.get, room.server._begin

    async def get(*given: Any) -> Any:
        found = await real_get(*given)
        go()
        return found

    async def begin(verb: str, *given: Any) -> None:
        await real_begin(verb, *given)
        if verb == "status":
            go()

    if when == "while it is read":
        room.server.get = get  # type: ignore[method-assign]
    elif when == "while it is written":
        room.server._begin = begin  # type: ignore[method-assign]
    room.reporter.refuse(about, [WRONG])
    if when == "before":
        served[0] = Served((), {})
    tripped: list[str] = []
    room.reporter._tripped = lambda what, mishap: tripped.append(mishap.trace)
    room.after(1.0)
    room.after(10.0)
    assert tripped == [] and room.server.status is not None
    assert when == "before" or room.reporter._ledger.entries == {}


# -- kinds of others ---------------------------------------------------------------------------------------------


def test_foreign_kinds_get_an_event_and_no_status() -> None:
    room = Room(JOBS)
    room.submit()
    room.after(1.0)
    assert room.server.writes("Job") == 0
    assert [one["regarding"]["kind"] for one in room.server.events] == ["Job"]


def test_foreign_kinds_get_one_condition_where_that_is_wanted() -> None:
    room = Room(JOBS, Settings(foreign_status=True))
    other = {"type": "Suspended", "status": "False"}
    room.server.put(JOBS, "g", status={"active": 4, "conditions": [other]})
    room.submit()
    room.after(1.0)
    found = room.server.status("Job", "g")
    assert (found["active"], found["conditions"][-1]) == (4, other)
    assert condition(found, "phalanx.dev/Scheduled")["reason"] == "TooLarge"


def test_upstream_groups_get_their_conditions_and_keep_those_of_others() -> None:
    room = Room(POD_GROUPS)
    other = {"type": "example.com/Seen", "status": "True"}
    room.server.put(POD_GROUPS, "g", status={"conditions": [other]})
    room.submit()
    room.after(1.0)
    found = room.server.status("PodGroup", "g")
    assert condition(found, "PodGroupInitiallyScheduled")["reason"] == "Unschedulable"
    assert condition(found, "example.com/Seen") == other


def test_all_groups_of_a_tree_get_their_conditions() -> None:
    room = Room(COMPOSITES)
    room.server.put(COMPOSITES, "inner", uid="u2")
    room.server.put(POD_GROUPS, "a", uid="u3")
    root, inner = GroupView("g", 4, 4, 4, 4, 4, 4, has_pods=False), GroupView("inner", 4, 4, 4, 4, 4, 4, has_pods=False)
    view = room.submit()
    tree = (root, inner, GroupView("a", 4, 4, 4, 4, 4, 4))
    room.reporter.see(replace(view, state=State.RUNNING, scheduled=True, groups=tree))
    room.after(1.0)
    for kind, name in (("CompositePodGroup", "g"), ("CompositePodGroup", "inner"), ("PodGroup", "a")):
        assert condition(room.server.status(kind, name), f"{kind}InitiallyScheduled")["status"] == "True"


def test_a_pod_group_that_was_scheduled_costs_no_further_writes() -> None:
    room = Room(POD_GROUPS)
    view = room.start()
    room.after(1.0)
    room.reporter.see(replace(view, state=State.DEGRADED, scheduled=False))
    room.after(1.0)
    assert room.server.writes("PodGroup") == 1


# -- events ------------------------------------------------------------------------------------------------------


def test_one_event_for_a_gang_that_waits_however_often_it_is_told() -> None:  # W-014
    room = Room()
    for _ in range(10):
        room.submit()
        room.after(1.0)
    assert len(room.server.events) == 1


def test_what_would_help_is_told_with_the_reason_if_it_is_found_before_that_is_written() -> None:
    room = Room()
    view = replace(room.submit(), ways_out=(WayOut("wait for team/other"),))
    room.reporter.advise(view)
    room.after(1.0)
    (event,) = room.server.events
    assert event["note"].endswith(" It starts when team/other ends.")
    assert condition(room.gang(), "Scheduled")["message"] == event["note"]


def test_what_would_help_is_written_into_the_status_when_it_is_found_later() -> None:
    room = Room()
    view = room.submit()
    room.after(1.0)
    room.reporter.advise(replace(view, ways_out=(WayOut("wait for team/other"),)))
    room.after(1.0)
    assert condition(room.gang(), "Scheduled")["message"].endswith(" It starts when team/other ends.")
    assert len(room.server.events) == 1


def test_a_gang_that_starts_at_once_is_told_of_once() -> None:
    room = Room()
    room.start()
    room.after(1.0)
    assert [one["reason"] for one in room.server.events] == ["Started"]
    assert room.server.writes("Gang") == 1


def test_what_went_wrong_is_told_even_if_it_is_better_now() -> None:
    room = Room()
    view = room.start()
    room.reporter.report(Report(view.id, State.DEGRADED, "LOST"), replace(view, state=State.DEGRADED))
    room.reporter.report(Report(view.id, State.STARTING, "RECOVERED"), view)
    room.after(1.0)
    assert {one["reason"] for one in room.server.events} == {"Degraded", "Repaired"}


def test_an_event_that_a_predecessor_wrote_is_no_failure() -> None:
    first = Room()
    first.submit()
    first.after(1.0)
    second = Room()
    second.server.events = first.server.events
    second.submit()
    second.after(1.0)
    assert (len(second.server.events), second.told) == (1, [])


@pytest.mark.parametrize("error", [Unanswered("no answer"), Refused(503, "ServiceUnavailable")])
def test_an_event_that_could_not_be_told_is_told_later(error: Exception) -> None:
    room = Room()
    room.reporter.notice(Notice(named.node("n1"), Topic.FOREIGN_PODS, ("default/p",)))
    room.server.fail = [error]  # type: ignore[list-item]
    room.after(1.0)
    assert (room.server.events, room.reporter.counts.failed) == ([], 1)
    room.after(5.0)
    assert len(room.server.events) == 1


def test_an_event_that_is_not_allowed_is_not_tried_again() -> None:
    room = Room()
    room.reporter.notice(Notice(named.node("n1"), Topic.FOREIGN_PODS, ("default/p",)))
    room.server.fail = [Refused(403, "Forbidden")]
    room.after(1.0)
    assert (room.after(600.0), room.server.events, len(room.told)) == (None, [], 1)


def test_a_status_is_not_written_twice_at_once() -> None:
    room = Room(settings=Settings(events=False))
    view = room.submit()
    room.server.fail = [Unanswered("no answer")]
    room.after(1.0)
    room.reporter.report(Report(view.id, State.RUNNING, "BOUND"), replace(view, state=State.RUNNING, unplaced=()))
    room.after(6.0)
    assert room.server.most_together == 1
    assert room.server.writes("Gang") == 2


def test_without_events_none_are_written() -> None:
    room = Room(settings=Settings(events=False))
    room.submit()
    room.reporter.notice(Notice(named.node("n1"), Topic.FOREIGN_PODS, ("default/p",)))
    room.after(1.0)
    assert room.server.events == []


def test_news_are_bounded() -> None:
    room = Room(settings=Settings(news_max=5))
    for i in range(20):
        room.reporter.notice(Notice(named.node(f"n{i}"), Topic.FOREIGN_PODS, ("default/p",)))
    room.after(1.0)
    assert (len(room.server.events), room.reporter.counts.dropped) == (5, 15)


def test_pods_that_name_no_group_of_theirs_are_told_of_on_the_gang_and_on_the_pod() -> None:  # W-103, M-023
    room = Room()
    room.submit()
    odd = Problem("Pod/p: metadata.labels", "x", ("w",), "there is no group 'x'; there are w")
    room.reporter.note("default/g", [odd])
    room.reporter.note("default/g", [odd])
    room.reporter.warn(subject(PODS, "p"), [odd])
    room.after(1.0)
    assert "there are w" in condition(room.gang(), "Valid")["message"]
    about = [one["regarding"]["kind"] for one in room.server.events if one["reason"] == "Inconsistent"]
    assert about == ["Gang", "Pod"]
    room.reporter.note("default/g", [])
    room.after(1.0)
    assert condition(room.gang(), "Valid")["reason"] == "Accepted"


# -- pods --------------------------------------------------------------------------------------------------------


def scheduled(room: Room, name: str) -> dict[str, Any] | None:
    found = room.server.status("Pod", name).get("conditions", ())
    return next((one for one in found if one["type"] == "PodScheduled"), None)


def test_pods_learn_why_they_wait_after_a_while() -> None:
    room = Room()
    room.submit()
    room.after(4.9)
    assert room.server.writes("Pod") == 0
    room.after(0.2)
    assert room.server.writes("Pod") == 4
    found = scheduled(room, "g-0")
    assert found is not None
    assert (found["status"], found["reason"]) == ("False", "Unschedulable")


def test_pods_that_are_placed_at_once_are_told_nothing() -> None:
    room = Room()
    room.start()
    room.after(60.0)
    assert room.server.writes("Pod") == 0


def test_pods_are_told_once_for_each_reason() -> None:
    room = Room()
    view = room.submit()
    room.after(5.1)
    asked = [one for one in room.server.asked if one[1] == "Pod"]
    for priority in range(5):
        room.reporter.see(replace(view, priority=priority))
        room.after(5.0)
    assert room.server.writes("Pod") == 4
    assert [one for one in room.server.asked if one[1] == "Pod"] == asked


def test_a_pod_that_was_bound_meanwhile_keeps_its_condition() -> None:
    room = Room()
    room.submit()
    mirrored = {key[2]: {**one, "metadata": dict(one["metadata"])} for key, one in room.server.objects.items()}
    room.reporter._current = lambda key: mirrored[key[3]] if key[1] == "Pod" else None
    bound = {"type": "PodScheduled", "status": "True"}
    room.server.put(PODS, "g-0", pod_key("g-0").uid, spec={"nodeName": "n"}, status={"conditions": [bound]})
    room.after(5.1)
    assert scheduled(room, "g-0") == bound
    assert scheduled(room, "g-1") != bound


def test_pods_are_marked_at_a_pace_of_their_own() -> None:
    room = Room(settings=Settings(pods_per_second=10), drawing="b1: r1=2")
    room.submit(25)
    next_at = room.after(5.1)
    assert room.server.writes("Pod") == 10
    assert next_at == pytest.approx(room.clock.now + 0.1)


def test_pods_that_wait_no_more_use_up_nothing() -> None:
    room = Room(settings=Settings(pods_per_second=10))
    view = room.submit(25)
    room.reporter.see(replace(view, state=State.BINDING, reason=None, unplaced=()))
    room.after(5.1)
    assert (room.server.writes("Pod"), room.reporter.waiting) == (0, 0)


# -- over time ---------------------------------------------------------------------------------------------------


def test_it_writes_by_itself_while_it_runs() -> None:
    async def live() -> None:
        room = Room(settings=Settings(settle_seconds=0.0, events=False, pod_delay_seconds=3600.0))
        task = asyncio.get_running_loop().create_task(room.reporter.run())
        room.submit()
        for _ in range(10_000):
            if room.gang():
                break
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert room.gang()["state"] == "Queued"

    run(live())


def test_at_the_end_what_waits_is_written_at_once() -> None:
    room = Room()
    room.submit()
    run(room.reporter.drain(room.clock.now + 5.0))
    assert (room.server.writes("Gang"), len(room.server.events), room.server.writes("Pod")) == (1, 1, 0)


def test_the_end_does_not_wait_for_ever() -> None:
    room = Room()
    room.submit()
    run(room.reporter.drain(room.clock.now))
    assert room.server.asked == []


def test_a_gang_that_is_gone_is_not_spoken_of() -> None:
    room = Room()
    view = room.submit()
    room.reporter.forget(view.id)
    room.after(60.0)
    assert room.server.asked == []
