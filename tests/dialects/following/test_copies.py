"""Copies of a group of a Gang: each pod joins the one that its key says, whenever it comes. (X-10)"""

from typing import Any

import pytest

from phalanx.dialects.following import Follower, Told
from phalanx.model.events import GangGone, GangSeen, PodSeen
from tests.dialects.following.living import Object, follower, pod, spec, tell
from tests.dialects.following.test_oddities import noted, told_of

KEY = "metadata.labels['k']"


def gang(*groups: Object, **more: Any) -> Object:
    return {
        "apiVersion": "phalanx.dev/v1alpha1",
        "kind": "Gang",
        "metadata": {"name": "llm", "namespace": "default", "uid": "g"},
        "spec": {**more, "podGroups": list(groups)},
    }


def member(name: str, group: str = "decode", **labels: str) -> Object:
    said = {key.replace("replica", "phalanx.dev/replica"): value for key, value in labels.items()}
    return pod(name, labels={"phalanx.dev/gang": "llm", "phalanx.dev/group": group, **said})


def seats(told: Told) -> dict[str, str | None]:
    return {one.pod.key.name: one.pod.pod_set for one in told.events if isinstance(one, PodSeen)}


TWO: Object = {"name": "decode", "replicas": 2, "count": 2, "replicaKey": KEY}


@pytest.mark.parametrize("template", [{}, {"template": {"spec": spec()}}])
@pytest.mark.parametrize("keys", ["01", "xy", "12"])
def test_the_key_of_a_pod_tells_its_copy(keys: str, template: Object) -> None:
    pods = [member(f"p-{key}-{i}", k=key) for key in keys for i in range(2)]
    found = seats(tell(follower(), gang({**TWO, **template}), *pods))
    by_key = [{found[f"p-{key}-{i}"] for i in range(2)} for key in keys]
    assert sorted(map(sorted, by_key)) == [["decode[0]"], ["decode[1]"]]


def test_a_key_that_comes_later_takes_a_copy_that_nobody_has() -> None:
    one = follower()
    assert seats(tell(one, gang(TWO), member("z", k="y"))) == {"z": "decode[0]"}
    assert seats(tell(one, member("a", k="b"))) == {"a": "decode[1]"}
    assert seats(tell(one, member("b", k="y"))) == {"b": "decode[0]"}


def test_the_label_of_ours_tells_the_copy_where_nothing_else_does() -> None:
    told = tell(follower(), gang(TWO), member("p", replica="1"))
    assert seats(told) == {"p": "decode[1]"}
    assert noted(told, "default/llm") == []


def test_a_pod_that_says_two_copies_is_told_and_the_key_is_followed() -> None:
    told = tell(follower(), gang(TWO), member("p", replica="1", k="0"))
    assert seats(told) == {"p": "decode[0]"}
    (said,) = noted(told, "default/llm")
    assert said.startswith("Pod/p: metadata.labels['phalanx.dev/replica']") and "the key is followed" in said


@pytest.mark.parametrize("keyed", [{"replicaKey": KEY}, {}])
def test_a_pod_without_a_key_is_told_and_in_no_copy(keyed: Object) -> None:
    told = tell(follower(), gang({"name": "decode", "replicas": 2, "count": 1, **keyed}), member("p"))
    assert seats(told) == {}
    (said,) = noted(told, "default/llm")
    where = KEY if keyed else "metadata.labels['phalanx.dev/replica']"
    assert said.startswith("Pod/p: ") and f"it does not say which copy it is in: {where}" in said


def test_a_key_too_many_is_told() -> None:
    told = tell(follower(), gang(TWO), *(member(f"p-{key}", k=key) for key in "xyz"))
    assert seats(told) == {"p-x": "decode[0]", "p-y": "decode[1]"}
    assert any("p-z" in line for line in noted(told, "default/llm"))


def test_groups_inside_a_copied_one_are_told_apart_by_its_key() -> None:
    outer = {"name": "server", "replicas": 2, "replicaKey": KEY}
    inner = [{"name": name, "parent": "server", "count": 1} for name in ("leader", "worker")]
    pods = [member(f"{name}-{key}", name, k=key) for name in ("leader", "worker") for key in "xy"]
    assert seats(tell(follower(), gang(outer, *inner), *pods)) == {
        "leader-x": "leader[0]", "leader-y": "leader[1]", "worker-x": "worker[0]", "worker-y": "worker[1]",
    }  # fmt: skip


# -- as many copies as keys appear -----------------------------------------------------------------------------------

KEYED = gang({"name": "decode", "count": 2, "replicaKey": KEY}, policy="Basic")


def ids(told: Told) -> list[str]:
    return [event.request.id for event in told.events if isinstance(event, GangSeen)]


def test_each_key_is_a_gang_of_its_own_once_it_appears() -> None:
    one: Follower = follower()
    told = tell(one, KEYED)
    assert ids(told) == []
    ((subject, odd),) = told.dangling
    assert subject.key == ("phalanx.dev", "Gang", "default", "llm")
    assert any("no pods are known" in problem.message for problem in odd)
    assert ids(tell(one, member("p-x-0", k="x"), member("p-x-1", k="x"))) == ["default/llm#decode[x]"]
    told = tell(one, member("p-a-0", k="a"))
    assert "default/llm#decode[a]" in ids(told)
    assert not [event for event in told.events if isinstance(event, GangGone)], "the other one stays"
    assert told_of(told) == {"p-a-0": "default/llm#decode[a]"}


def test_a_pod_without_the_key_that_makes_copies_is_told() -> None:
    told = tell(follower(), KEYED, member("p-x", k="x"), member("lone"))
    assert told_of(told) == {"p-x": "default/llm#decode[x]"}
    assert any("Pod/lone" in line for line in noted(told, "default/llm#decode[x]"))


def test_a_gang_that_was_deleted_before_it_had_pods_is_forgotten_and_one_made_anew_is_told_the_same() -> None:
    one: Follower = follower()
    for uid in ("first", "second", "third"):
        made = {**KEYED, "metadata": {**KEYED["metadata"], "uid": uid}}
        ((subject, odd),) = tell(one, made).dangling
        assert subject.uid == uid and any("no pods are known" in problem.message for problem in odd)
        assert tell(one, made).dangling == [], "once"
        if uid != "first":  # that the first was deleted is never seen
            one.gone(subject.key)
            one.tell()
            assert not one._roll._odd.refused and not one._roll._verdicts.refused
