"""Watches: order, where they start, what selectors do to them, how they end."""

from typing import Any

import pytest

from tests.contract.door import Doc
from tests.contract.objects import lease, pod
from tests.contract.scope import Scope


def told(event: Doc) -> tuple[str, str]:
    return event["type"], event["object"]["metadata"]["name"]


def version(event: Doc) -> int:
    return int(event["object"]["metadata"]["resourceVersion"])


# ---------------------------------------------------------------------------------------------------- order


def test_the_life_of_an_object_is_told_in_order(space: Scope) -> None:
    with space.watch("leases", resourceVersion=space.version("leases")) as watch:
        space.made("leases", lease("a"))
        space.merge("leases", "a", {"metadata": {"labels": {"rank": "1"}}}).expect(200)
        space.delete("leases", "a").expect(200)
        assert [event["type"] for event in watch.take(3)] == ["ADDED", "MODIFIED", "DELETED"]


def test_a_pod_is_seen_leaving_before_it_is_gone(space: Scope) -> None:
    """Two writes even where no kubelet is asked: first the time of deletion, then the deletion."""
    made = space.made("pods", pod("a"))
    with space.watch("pods", resourceVersion=made["metadata"]["resourceVersion"]) as watch:
        space.delete("pods", "a").expect(200)
        leaving, gone = watch.take(2)
    assert (leaving["type"], gone["type"]) == ("MODIFIED", "DELETED")
    assert leaving["object"]["metadata"]["deletionGracePeriodSeconds"] == 0


def test_versions_only_grow_along_a_watch(space: Scope) -> None:
    with space.watch("pods", resourceVersion=space.version("pods")) as watch:
        for name in "abc":
            space.made("pods", pod(name))
            space.merge("pods", name, {"metadata": {"labels": {"touched": "yes"}}}).expect(200)
        versions = [version(event) for event in watch.take(6)]
    assert versions == sorted(set(versions))


def test_two_watchers_are_told_the_same(space: Scope) -> None:
    start = space.version("pods")
    with space.watch("pods", resourceVersion=start) as one, space.watch("pods", resourceVersion=start) as other:
        for name in "abc":
            space.made("pods", pod(name))
        assert one.take(3) == other.take(3)


def test_an_event_carries_the_object_as_it_was_written(space: Scope) -> None:
    with space.watch("pods", resourceVersion=space.version("pods")) as watch:
        made = space.made("pods", pod("a"))
        assert watch.next() == {"type": "ADDED", "object": made}


def test_a_deletion_carries_the_last_state_under_a_newer_version(space: Scope) -> None:
    made = space.made("leases", lease("a", holderIdentity="one"))
    with space.watch("leases", resourceVersion=made["metadata"]["resourceVersion"]) as watch:
        space.delete("leases", "a").expect(200)
        event = watch.next()
    assert event["type"] == "DELETED" and event["object"]["spec"] == {"holderIdentity": "one"}
    assert version(event) > int(made["metadata"]["resourceVersion"])


def test_a_write_that_changes_nothing_is_not_told(space: Scope) -> None:
    made = space.made("pods", pod("a"))
    with space.watch("pods", resourceVersion=made["metadata"]["resourceVersion"]) as watch:
        space.merge("pods", "a", {"spec": {"schedulerName": made["spec"]["schedulerName"]}}).expect(200)
        space.made("pods", pod("marker"))
        assert told(watch.next()) == ("ADDED", "marker")


def test_a_write_of_the_status_is_told(space: Scope) -> None:
    made = space.made("pods", pod("a"))
    with space.watch("pods", resourceVersion=made["metadata"]["resourceVersion"]) as watch:
        space.merge("pods", "a", {"status": {"phase": "Running"}}, "status").expect(200)
        event = watch.next()
    assert (event["type"], event["object"]["status"]["phase"]) == ("MODIFIED", "Running")


# ---------------------------------------------------------------------------------------------------- start


def test_a_watch_without_a_version_begins_with_what_is_there(space: Scope) -> None:
    for name in "ab":
        space.made("pods", pod(name))
    with space.watch("pods") as watch:
        assert sorted(told(event) for event in watch.take(2)) == [("ADDED", "a"), ("ADDED", "b")]
        space.made("pods", pod("c"))
        assert told(watch.next()) == ("ADDED", "c")


def test_a_watch_from_the_version_of_a_list_misses_nothing_and_repeats_nothing(space: Scope) -> None:
    space.made("pods", pod("before"))
    start = space.version("pods")
    space.made("pods", pod("between"))
    with space.watch("pods", resourceVersion=start) as watch:
        space.made("pods", pod("after"))
        assert [told(event) for event in watch.take(2)] == [("ADDED", "between"), ("ADDED", "after")]


def test_a_cut_watch_is_taken_up_at_its_last_event(space: Scope) -> None:
    with space.watch("leases", resourceVersion=space.version("leases")) as watch:
        space.made("leases", lease("a"))
        last = version(watch.next())
    space.delete("leases", "a").expect(200)
    space.made("leases", lease("b"))
    with space.watch("leases", resourceVersion=last) as watch:
        assert [told(event) for event in watch.take(2)] == [("DELETED", "a"), ("ADDED", "b")]


def test_a_watch_across_namespaces_sees_them_all(space: Scope, other_space: Scope) -> None:
    everywhere = space.everywhere()
    with everywhere.watch("pods", resourceVersion=everywhere.version("pods"), labelSelector="case=both") as watch:
        space.made("pods", pod("a", labels={"case": "both"}))
        other_space.made("pods", pod("a", labels={"case": "both"}))
        seen = [event["object"]["metadata"]["namespace"] for event in watch.take(2)]
    assert seen == [space.namespace, other_space.namespace]


# ------------------------------------------------------------------------------------------ streaming start


def streaming(**more: Any) -> dict[str, Any]:
    return {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true", **more}


def test_a_streaming_start_sends_what_is_there_then_a_mark_then_news(space: Scope) -> None:
    for name in "ab":
        space.made("pods", pod(name))
    with space.watch("pods", **streaming()) as watch:
        assert sorted(told(event) for event in watch.take(2)) == [("ADDED", "a"), ("ADDED", "b")]
        mark = watch.next()
        assert mark["type"] == "BOOKMARK"
        assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        space.made("pods", pod("c"))
        assert told(watch.next()) == ("ADDED", "c")


def test_a_streaming_start_over_nothing_is_the_mark_alone(space: Scope) -> None:
    with space.watch("pods", **streaming()) as watch:
        assert watch.next()["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_the_mark_is_at_least_as_new_as_the_last_write(space: Scope) -> None:
    made = space.made("pods", pod("a"))
    with space.watch("pods", **streaming()) as watch:
        assert version(watch.take(2)[1]) >= int(made["metadata"]["resourceVersion"])


def test_a_streaming_start_honours_selectors(space: Scope) -> None:
    space.made("pods", pod("a", labels={"gang": "x"}))
    space.made("pods", pod("b", labels={"gang": "y"}))
    with space.watch("pods", **streaming(labelSelector="gang=y")) as watch:
        first, mark = watch.take(2)
    assert told(first) == ("ADDED", "b") and mark["type"] == "BOOKMARK"


def test_a_streaming_start_has_to_say_how_fresh(space: Scope) -> None:
    answer = space.listed("pods", watch="true", sendInitialEvents="true", allowWatchBookmarks="true")
    answer.refused(422, "Invalid")
    assert [cause["field"] for cause in answer.causes()] == ["resourceVersionMatch"]


def test_custom_resources_stream_too(space: Scope, pennants: str, pennant: Doc) -> None:
    space.made(pennants, pennant)
    with space.watch(pennants, **streaming()) as watch:
        first, mark = watch.take(2)
    assert told(first)[0] == "ADDED" and mark["type"] == "BOOKMARK"


# ------------------------------------------------------------------------------------------------ bookmarks


@pytest.fixture
def bookmark(space: Scope, other_space: Scope) -> tuple[Doc, Doc]:
    """A write in another namespace, and the bookmark by which a watch of this one learns of it.

    It comes about two seconds before the watch runs out (and every minute). On a server where nothing at all is
    written after the start of the watch none comes, so silence is not yet a broken connection.
    """
    start = space.version("pods")
    with space.watch("pods", resourceVersion=start, allowWatchBookmarks="true", timeoutSeconds=4) as watch:
        return other_space.made("pods", pod("a")), watch.next()


def test_a_bookmark_is_no_valid_object(bookmark: tuple[Doc, Doc]) -> None:
    """Kind and version, and a null where a pod must have containers: decode the type of the event first."""
    _, mark = bookmark
    assert mark["type"] == "BOOKMARK" and (mark["object"]["kind"], mark["object"]["apiVersion"]) == ("Pod", "v1")
    assert mark["object"]["metadata"].keys() == {"resourceVersion"}
    assert not mark["object"].get("spec", {}).get("containers")


def test_a_bookmark_moves_a_quiet_watch_past_the_writes_of_others(bookmark: tuple[Doc, Doc], space: Scope) -> None:
    """Without bookmarks the resume point of a quiet namespace would grow too old while others work."""
    elsewhere, mark = bookmark
    assert version(mark) >= int(elsewhere["metadata"]["resourceVersion"])
    space.made("pods", pod("news"))
    with space.watch("pods", resourceVersion=version(mark)) as watch:
        assert told(watch.next()) == ("ADDED", "news")


# ------------------------------------------------------------------------------------------------ selectors


def test_losing_the_label_looks_like_a_deletion(space: Scope) -> None:
    space.made("pods", pod("a", labels={"gang": "x"}))
    with space.watch("pods", resourceVersion=space.version("pods"), labelSelector="gang=x") as watch:
        space.merge("pods", "a", {"metadata": {"labels": {"gang": "y"}}}).expect(200)
        assert told(watch.next()) == ("DELETED", "a")


def test_gaining_the_label_looks_like_an_addition(space: Scope) -> None:
    space.made("pods", pod("a"))
    with space.watch("pods", resourceVersion=space.version("pods"), labelSelector="gang=x") as watch:
        space.merge("pods", "a", {"metadata": {"labels": {"gang": "x"}}}).expect(200)
        assert told(watch.next()) == ("ADDED", "a")


def test_a_bound_pod_leaves_the_watch_of_unbound_pods(space: Scope) -> None:
    space.made("pods", pod("a"))
    with space.watch("pods", resourceVersion=space.version("pods"), fieldSelector="spec.nodeName=") as watch:
        space.bind("a", "contract-nowhere").expect(201)
        assert told(watch.next()) == ("DELETED", "a")
    assert space.read("pods", "a")["spec"]["nodeName"] == "contract-nowhere"


def test_a_bound_pod_enters_the_watch_of_bound_pods(space: Scope) -> None:
    space.made("pods", pod("a"))
    with space.watch("pods", resourceVersion=space.version("pods"), fieldSelector="spec.nodeName!=") as watch:
        space.bind("a", "contract-nowhere").expect(201)
        assert told(watch.next()) == ("ADDED", "a")


def test_a_pod_that_ends_leaves_the_watch_of_live_pods(space: Scope) -> None:
    space.made("pods", pod("a"))
    live = "status.phase!=Succeeded,status.phase!=Failed"
    with space.watch("pods", resourceVersion=space.version("pods"), fieldSelector=live) as watch:
        space.merge("pods", "a", {"status": {"phase": "Failed"}}, "status").expect(200)
        assert told(watch.next()) == ("DELETED", "a")


def test_one_object_is_watched_by_its_name(space: Scope) -> None:
    with space.watch("leases", resourceVersion=space.version("leases"), fieldSelector="metadata.name=leader") as watch:
        space.made("leases", lease("other"))
        space.made("leases", lease("leader"))
        assert told(watch.next()) == ("ADDED", "leader")


# --------------------------------------------------------------------------------------------------- the end


def test_a_watch_ends_by_itself_when_its_time_is_over(space: Scope) -> None:
    with space.watch("pods", resourceVersion=space.version("pods"), timeoutSeconds=1) as watch:
        assert watch.rest() == []


def test_a_version_older_than_the_memory_of_the_server_is_gone(space: Scope, pennants: str) -> None:
    """The kind was defined after version 1: nobody kept what happened since. The 410 comes inside the stream."""
    with space.watch(pennants, resourceVersion=1) as watch:
        event = watch.next()
        assert event["type"] == "ERROR"
        status = event["object"]
        assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
        assert watch.rest() == []


@pytest.mark.parametrize("start", ["0", ""])
def test_a_watch_from_zero_or_nothing_is_never_too_old(space: Scope, pennants: str, pennant: Doc, start: str) -> None:
    space.made(pennants, pennant)
    with space.watch(pennants, resourceVersion=start) as watch:
        assert watch.next()["type"] == "ADDED"
