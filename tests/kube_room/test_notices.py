"""Events: one per gang and change, and not again and again."""

from dataclasses import replace

from phalanx.engine.lifecycle import Cause
from phalanx.kube import notices
from phalanx.kube.notices import Again, Create, Notices, Said
from phalanx.model.effects import Notice, Report, Topic
from phalanx.model.events import GangSeen
from phalanx.model.problems import Problem
from phalanx.model.reasons import Closed, ClosedQueue, Reason, Why
from tests.engine.casting import members, see
from tests.engine.stage import Stage, gang
from tests.kube_room.kinds import GANGS, TOPOLOGIES, report_of, subject, view_of
from tests.testing import named

G = subject(GANGS, "g")
LOUD = Said("Warning", "NoRoom", "waiting: no room", "w/rack")


def waiting() -> Stage:
    stage = Stage("b1: r1=4 | b2: r1=7")
    stage.submit(gang(count=10, required=2))
    return stage


def test_a_gang_of_a_thousand_pods_that_waits_is_one_event() -> None:  # W-014
    stage = Stage("b1: r1=4")
    request = gang(count=1000)
    stage.step(GangSeen(request, 0.0))
    see(stage, *members(request))
    told = [one for one in stage.effects if isinstance(one, Report) and one.reason is not None]
    book, view = Notices(), view_of(stage)
    found = [notices.of_report(one, view) for one in told]
    writes = [book.told(G, one, 100.0 + i) for i, one in enumerate(found) if one is not None]
    assert sum(isinstance(one, Create) for one in writes if one is not None) == 1


def test_an_event_says_what_the_api_server_wants_to_hear() -> None:
    stage = waiting()
    said = notices.of_report(report_of(stage), view_of(stage))
    assert said is not None
    write = Notices("phalanx-0").told(G, said, 0.5)
    assert isinstance(write, Create)
    event = write.document
    about = {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Gang", "namespace": "default", "name": "g", "uid": "u1"}
    assert event["regarding"] == about
    assert (event["type"], event["reason"], event["eventTime"]) == (
        "Warning", "TooLarge", "1970-01-01T00:00:00.500000Z")  # fmt: skip
    assert event["note"].startswith('waiting: group "w" needs 10 pods')
    assert event["action"]
    assert (event["reportingController"], event["reportingInstance"]) == ("phalanx.dev/scheduler", "phalanx-0")
    assert event["metadata"]["namespace"] == write.namespace == "default"


def test_the_same_again_is_counted_and_written_now_and_then() -> None:
    book = Notices()
    first = book.told(G, LOUD, 0.0)
    assert isinstance(first, Create)
    assert book.told(G, replace(LOUD, note="waiting: still none"), 30.0) is None
    again = book.told(G, LOUD, 61.0)
    assert again == Again(
        "default", first.document["metadata"]["name"],
        {"series": {"count": 3, "lastObservedTime": "1970-01-01T00:01:01.000000Z"}},
    )  # fmt: skip


def test_after_the_window_it_is_an_event_of_its_own() -> None:
    book = Notices()
    first, second = book.told(G, LOUD, 0.0), book.told(G, LOUD, notices.WINDOW_SECONDS)
    assert isinstance(first, Create)
    assert isinstance(second, Create)
    assert first.document["metadata"]["name"] != second.document["metadata"]["name"]


def test_a_restarted_scheduler_gives_the_same_name_to_the_same_thing() -> None:
    first, second = Notices().told(G, LOUD, 10.0), Notices().told(G, LOUD, 20.0)
    assert isinstance(first, Create)
    assert isinstance(second, Create)
    assert first.document["metadata"]["name"] == second.document["metadata"]["name"]


def test_another_reason_another_object_or_its_successor_is_another_event() -> None:
    book = Notices()
    others = [(G, replace(LOUD, reason="Fragmented")), (subject(GANGS, "h"), LOUD), (subject(GANGS, "g", "u2"), LOUD)]
    assert isinstance(book.told(G, LOUD, 0.0), Create)
    assert all(isinstance(book.told(who, said, 1.0), Create) for who, said in others)


def test_memory_is_bounded() -> None:
    book = Notices(remembered=10)
    for i in range(100):
        book.told(subject(GANGS, f"g{i}"), LOUD, 0.0)
    assert len(book) == 10


def test_long_names_and_notes_are_cut_where_the_api_server_allows() -> None:
    write = Notices().told(subject(GANGS, "a" * 199 + "-." + "b" * 50), replace(LOUD, note="ü" * 2000), 0.0)
    assert isinstance(write, Create)
    assert len(write.document["note"].encode()) <= notices.NOTE_MAX
    name = write.document["metadata"]["name"]
    assert len(name) <= 253
    assert "-." not in name


def test_what_has_no_namespace_is_told_of_in_the_default_one() -> None:
    write = Notices().told(subject(TOPOLOGIES, "t"), LOUD, 0.0)
    assert isinstance(write, Create)
    assert write.namespace == "default"
    assert "namespace" not in write.document["regarding"]


def test_a_start_is_told_in_two_words_and_what_was_found_in_none() -> None:
    stage = Stage("b1: r1=4")
    stage.run(gang(count=4))
    view = view_of(stage)
    told = [one for one in stage.effects if isinstance(one, Report) and one.cause]
    found = [notices.of_report(one, view) for one in told]
    assert [one.reason for one in found if one is not None] == ["Placed", "Started"]
    for cause in (Cause.FOUND_RUNNING, Cause.FOUND_HALF, Cause.READY, Cause.PODS_CAME, Cause.DELETED):
        assert notices.of_report(Report(view.id, "Starting", cause.name), view) is None


def test_what_goes_wrong_is_a_warning_and_is_not_replaced_by_later_news() -> None:
    view = view_of(waiting())
    for cause in (Cause.SCHEDULE_TIMEOUT, Cause.BIND_FAILED, Cause.LOST, Cause.RECOVERY_TIMEOUT, Cause.POD_FAILED):
        said = notices.of_report(Report(view.id, "Evicting", cause.name), view)
        assert said is not None
        assert (said.type, said.stays) == ("Warning", True)


def test_waiting_ones_turn_is_no_warning_but_a_queue_that_is_not_there_is() -> None:
    view = view_of(waiting())

    def kind(reason: Reason) -> str:
        said = notices.of_report(Report(view.id, "Queued", "", reason), replace(view, reason=reason))
        assert said is not None
        return said.type

    over = Reason(Why.OVER_QUOTA, "w", "cluster", 3)
    assert kind(over) == "Normal"
    assert kind(replace(over, queue=ClosedQueue("q", Closed.MISSING))) == "Warning"
    assert kind(Reason(Why.SUSPENDED, "w", "cluster", 3, queue=ClosedQueue("q", Closed.HELD))) == "Normal"


def test_problems_are_one_event_with_their_paths() -> None:  # W-014
    first, other = Problem("spec.levels", None, (), "is empty"), Problem("spec.more", 7, (), "is wrong")
    said = notices.of_problems([first, other], "Invalid")
    assert (said.type, said.reason) == ("Warning", "Invalid")
    assert "spec.levels: is empty" in said.note and "spec.more" in said.note
    assert said.about == notices.of_problems([first], "Invalid").about, "more of the same is no other event"


def test_strangers_on_a_node_are_told_of_on_the_node() -> None:  # K-069
    notice = Notice(named.node("n1"), Topic.FOREIGN_PODS, tuple(f"default/p{i}" for i in range(10)))
    write = Notices().told(notices.node(notice), notices.of_notice(notice), 0.0)
    assert isinstance(write, Create)
    assert write.document["regarding"] == {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n1"}
    assert "default/p7 and 2 more" in write.document["note"]
