"""History: what a server says when asked about a past it no longer has.

Compacting etcd is not enough: the real server keeps a past of its own in memory, as long as it lives, and answers from
it. So the bed compacts the store and starts the server again. That start alone already ends every watch that resumes
from before it with 410; lists and page tokens are lost only with the compaction.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.contract.objects import pod, unique
from tests.contract.scope import Scope
from tests.contract.target import Target


@dataclass(frozen=True, slots=True)
class Past:
    """A namespace with pods a b c e f, and what was handed out when they were a b c d e."""

    space: Scope
    version: str
    token: str


@pytest.fixture(scope="module")
def past(cluster: Scope, target: Target, forget: Callable[[], None]) -> Iterator[Past]:
    name = unique("contract")
    cluster.made("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    space = Scope(cluster.door, name)
    space.create("serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
    for each in "abcde":
        space.made("pods", pod(each))
    metadata = space.listed("pods", limit=2).expect(200)["metadata"]
    space.made("pods", pod("f"))
    space.delete("pods", "d").expect(200)
    forget()
    yield Past(space, metadata["resourceVersion"], metadata["continue"])
    target.clear(cluster, name)


def test_a_watch_from_a_forgotten_version_is_gone(past: Past) -> None:
    with past.space.watch("pods", resourceVersion=past.version) as watch:
        event = watch.next()
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
        assert watch.rest() == []


def test_a_new_list_shows_what_is_and_its_version_can_be_watched(past: Past) -> None:
    """The deletion of `d` is told by nobody any more: only a comparison with what one knew finds it."""
    assert past.space.names("pods") == ["a", "b", "c", "e", "f"]
    with past.space.watch("pods", resourceVersion=past.space.version("pods")) as watch:
        past.space.merge("pods", "a", {"metadata": {"labels": {"seen": "again"}}}).expect(200)
        assert watch.next()["object"]["metadata"]["labels"] == {"seen": "again"}


def test_a_streaming_start_not_older_than_a_forgotten_version_passes(past: Past) -> None:
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    with past.space.watch("pods", resourceVersion=past.version, **query) as watch:
        assert [event["type"] for event in watch.take(6)] == ["ADDED"] * 5 + ["BOOKMARK"]


def test_a_page_token_outlived_by_history_is_gone_and_offers_another(past: Past) -> None:
    status = past.space.listed("pods", limit=2, **{"continue": past.token}).refused(410, "Expired")
    rest = {"continue": status["metadata"]["continue"]}
    assert past.space.names("pods", **rest) == ["c", "e", "f"]


def test_a_list_of_a_forgotten_moment_is_gone(past: Past) -> None:
    past.space.listed("pods", resourceVersion=past.version, resourceVersionMatch="Exact").refused(410, "Expired")


def test_a_list_not_older_than_a_forgotten_moment_is_fine(past: Past) -> None:
    query = {"resourceVersion": past.version, "resourceVersionMatch": "NotOlderThan"}
    assert past.space.names("pods", **query) == ["a", "b", "c", "e", "f"]
