"""Events: what users read in `kubectl describe`."""

from tests.contract.door import Doc
from tests.contract.objects import pod, unique
from tests.contract.scope import Scope

THEN = "2026-01-01T00:00:00.000000Z"


def event(space: Scope, **more: object) -> Doc:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "gang.1", "namespace": space.namespace},
        "eventTime": THEN,
        "reportingController": "contract.example/scheduler",
        "reportingInstance": "replica-1",
        "action": "Placing",
        "reason": "NoRoom",
        "type": "Warning",
        "note": "no rack holds 8 pods",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "a", "namespace": space.namespace, "uid": "u-1"},
        **more,
    }


def test_an_event_is_kept(space: Scope) -> None:
    made = space.made("events", event(space))
    assert (made["reason"], made["note"], made["eventTime"]) == ("NoRoom", "no rack holds 8 pods", THEN)


def test_the_object_of_an_event_does_not_have_to_exist(space: Scope) -> None:
    space.get("pods", "a").refused(404, "NotFound")
    space.made("events", event(space))


def test_an_event_is_seen_through_the_core_group_too(space: Scope) -> None:
    space.made("events", event(space))
    old = space.door.get(f"/api/v1/namespaces/{space.namespace}/events/gang.1").expect(200)
    assert (old["message"], old["involvedObject"]["name"]) == ("no rack holds 8 pods", "a")


def test_a_repeated_event_becomes_a_series(space: Scope) -> None:
    space.made("events", event(space))
    series = {"count": 2, "lastObservedTime": "2026-01-01T00:05:00.000000Z"}
    assert space.merge("events", "gang.1", {"series": series}).expect(200)["series"] == series
    more = {"count": 3, "lastObservedTime": "2026-01-01T00:09:00.000000Z"}
    assert space.merge("events", "gang.1", {"series": more}).expect(200)["series"] == more


def test_a_series_of_one_is_refused(space: Scope) -> None:
    space.made("events", event(space))
    series = {"series": {"count": 1, "lastObservedTime": "2026-01-01T00:05:00.000000Z"}}
    space.merge("events", "gang.1", series).refused(422, "Invalid")


def test_what_an_event_says_does_not_change_afterwards(space: Scope) -> None:
    space.made("events", event(space))
    space.merge("events", "gang.1", {"note": "on second thought"}).refused(422, "Invalid")


def test_an_event_has_to_say_who_did_what(space: Scope) -> None:
    nobody = {key: value for key, value in event(space).items() if key not in ("reportingController", "action")}
    answer = space.create("events", nobody)
    answer.refused(422, "Invalid")
    assert {"reportingController", "action"} <= {cause["field"] for cause in answer.causes()}


def test_an_event_about_an_object_without_a_namespace_stands_in_default(space: Scope) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
    space.create("events", event(space, regarding=node)).refused(422, "Invalid")
    default = Scope(space.door, "default")
    about = event(default, regarding=node)
    about["metadata"]["name"] = unique("contract")
    default.made("events", about)
    default.delete("events", about["metadata"]["name"]).expect(200)


def test_a_long_note_is_refused(space: Scope) -> None:
    """1 KiB and no more: an explanation for people has to fit, or be cut by us."""
    space.made("events", event(space, note="x" * 1024))
    longer = event(space, note="x" * 1025)
    longer["metadata"]["name"] = "gang.2"
    answer = space.create("events", longer)
    answer.refused(422, "Invalid")
    assert len(answer.causes()) == 1  # its field is `message`, the name of the note in the older version


def test_the_events_of_one_object_are_selected(space: Scope) -> None:
    space.made("events", event(space))
    other = event(space, regarding={"apiVersion": "v1", "kind": "Pod", "name": "b", "namespace": space.namespace})
    other["metadata"]["name"] = "gang.2"
    space.made("events", other)
    assert space.names("events", fieldSelector="regarding.name=a,regarding.kind=Pod") == ["gang.1"]


def test_events_leave_the_object_alone(space: Scope) -> None:
    made = space.made("pods", pod("a"))
    space.made("events", event(space))
    assert space.read("pods", "a") == made
