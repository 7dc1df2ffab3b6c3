"""Lists: selectors, pages, versions and order."""

from typing import Any

import pytest

from tests.contract.door import Doc
from tests.contract.objects import lease, pod
from tests.contract.scope import Scope


def page(space: Scope, resource: str, **query: Any) -> tuple[list[str], Doc]:
    body = space.listed(resource, **query).expect(200)
    return [item["metadata"]["name"] for item in body["items"]], body["metadata"]


def five_pods(space: Scope) -> None:
    for name in "abcde":
        space.made("pods", pod(name))


# ----------------------------------------------------------------------------------------------------- form


def test_a_list_says_kind_and_version_once_and_its_items_do_not(space: Scope) -> None:
    space.made("pods", pod("a"))
    body = space.listed("pods").expect(200)
    assert (body["kind"], body["apiVersion"]) == ("PodList", "v1") and body["metadata"]["resourceVersion"]
    assert not {"kind", "apiVersion"} & body["items"][0].keys()


def test_the_items_of_a_custom_list_say_their_kind_themselves(space: Scope, pennants: str, pennant: Doc) -> None:
    space.made(pennants, pennant)
    assert space.listed(pennants).expect(200)["items"][0]["kind"] == "Pennant"


def test_an_empty_list_is_a_list(space: Scope) -> None:
    body = space.listed("pods").expect(200)
    assert body["items"] == [] and body["metadata"]["resourceVersion"]


def test_a_list_is_sorted_by_name(space: Scope) -> None:
    for name in ("c", "a", "b"):
        space.made("pods", pod(name))
    assert space.names("pods") == ["a", "b", "c"]


def test_the_version_of_a_list_is_not_older_than_its_items(space: Scope) -> None:
    made = space.made("pods", pod("a"))
    assert int(space.version("pods")) >= int(made["metadata"]["resourceVersion"])


def test_a_list_across_namespaces_has_them_all(space: Scope, other_space: Scope) -> None:
    space.made("pods", pod("a", labels={"case": "across"}))
    other_space.made("pods", pod("a", labels={"case": "across"}))
    items = space.everywhere().listed("pods", labelSelector="case=across").expect(200)["items"]
    namespaces = {item["metadata"]["namespace"] for item in items}
    assert {space.namespace, other_space.namespace} <= namespaces


# ------------------------------------------------------------------------------------------------ selectors

LABELS = {"a": {"rack": "r1", "gang": "x"}, "b": {"rack": "r2", "gang": "x"}, "c": {"rack": "r1"}, "d": {}}


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("rack=r1", ["a", "c"]),
        ("rack==r1", ["a", "c"]),
        ("rack!=r1", ["b", "d"]),
        ("rack in (r1,r2),gang=x", ["a", "b"]),
        ("rack notin (r1)", ["b", "d"]),
        ("gang", ["a", "b"]),
        ("!gang", ["c", "d"]),
    ],
)
def test_labels_select(space: Scope, selector: str, names: list[str]) -> None:
    for name, labels in LABELS.items():
        space.made("leases", {**lease(name), "metadata": {"name": name, "labels": labels}})
    assert space.names("leases", labelSelector=selector) == names


def test_a_malformed_label_selector_is_refused(space: Scope) -> None:
    space.listed("pods", labelSelector="rack in r1").refused(400, "BadRequest")


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("metadata.name=free", ["free"]),
        ("spec.nodeName=contract-nowhere", ["bound"]),
        ("spec.nodeName=", ["ended", "free", "mine"]),
        ("spec.nodeName!=", ["bound"]),
        ("spec.schedulerName=phalanx-contract", ["mine"]),
        ("status.phase=Failed", ["ended"]),
        ("status.phase!=Failed,spec.nodeName=", ["free", "mine"]),
    ],
)
def test_fields_of_pods_select(space: Scope, selector: str, names: list[str]) -> None:
    for name in ("bound", "ended", "free"):
        space.made("pods", pod(name))
    space.made("pods", pod("mine", schedulerName="phalanx-contract"))
    space.bind("bound", "contract-nowhere").expect(201)
    space.merge("pods", "ended", {"status": {"phase": "Failed"}}, "status").expect(200)
    assert space.names("pods", fieldSelector=selector) == names


def test_a_field_that_cannot_select_is_refused(space: Scope) -> None:
    space.listed("pods", fieldSelector="spec.priority=0").refused(400, "BadRequest")


def test_custom_resources_are_selected_by_name(space: Scope, pennants: str, pennant: Doc) -> None:
    name = space.made(pennants, pennant)["metadata"]["name"]
    assert space.names(pennants, fieldSelector=f"metadata.name={name}") == [name]
    assert space.names(pennants, fieldSelector="metadata.name=absent") == []


# ---------------------------------------------------------------------------------------------------- pages


def test_pages_together_are_the_whole_list(space: Scope) -> None:
    five_pods(space)
    first, meta = page(space, "pods", limit=2)
    second, meta = page(space, "pods", limit=2, **{"continue": meta["continue"]})
    third, meta = page(space, "pods", limit=2, **{"continue": meta["continue"]})
    assert (first, second, third) == (["a", "b"], ["c", "d"], ["e"]) and not meta.get("continue")


def test_a_page_says_how_many_are_left(space: Scope) -> None:
    five_pods(space)
    assert page(space, "pods", limit=2)[1]["remainingItemCount"] == 3


def test_all_pages_show_the_same_moment(space: Scope) -> None:
    five_pods(space)
    _, meta = page(space, "pods", limit=3)
    space.delete("pods", "e").expect(200)
    space.made("pods", pod("f"))
    names, after = page(space, "pods", limit=3, **{"continue": meta["continue"]})
    assert names == ["d", "e"] and after["resourceVersion"] == meta["resourceVersion"]


def test_a_malformed_page_token_is_refused(space: Scope) -> None:
    space.listed("pods", limit=2, **{"continue": "nonsense"}).refused(400, "BadRequest")


# ------------------------------------------------------------------------------------------------- versions


def test_a_list_can_show_an_exact_moment(space: Scope) -> None:
    space.made("pods", pod("a"))
    moment = space.version("pods")
    space.made("pods", pod("b"))
    assert space.names("pods", resourceVersion=moment, resourceVersionMatch="Exact") == ["a"]


def test_a_list_from_the_cache_answers_at_version_zero(space: Scope) -> None:
    assert space.listed("pods", resourceVersion=0).expect(200)["metadata"]["resourceVersion"]


def test_a_list_not_older_than_a_write_has_the_write(space: Scope) -> None:
    made = space.made("pods", pod("a"))
    version = made["metadata"]["resourceVersion"]
    assert space.names("pods", resourceVersion=version, resourceVersionMatch="NotOlderThan") == ["a"]


def test_a_version_that_is_no_number_is_refused(space: Scope) -> None:
    """Of a list: the real server answers the same mistake in a watch with 500."""
    space.listed("pods", resourceVersion="yesterday").refused(400, "BadRequest")


def test_a_version_from_the_future_times_out_and_says_so(space: Scope) -> None:
    answer = space.listed("pods", resourceVersion=10**15)
    status = answer.refused(504, "Timeout")
    assert [cause["reason"] for cause in answer.causes()] == ["ResourceVersionTooLarge"]
    assert status["details"]["retryAfterSeconds"] >= 1
