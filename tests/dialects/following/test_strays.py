"""A wrong pod is told of, on itself and on its gang, and makes no gang invalid. (W-103, M-023)"""

from typing import Any

import pytest

from phalanx.dialects.following import Told
from phalanx.model.events import GangGone, GangSeen, GangSpoiled, PodSeen
from phalanx.model.objects import ObjectKey
from tests.dialects.following.living import bound, follower, grouped, pod, pod_group, spec, tell
from tests.dialects.following.test_copies import gang, member, seats
from tests.dialects.following.test_oddities import noted

GANG = gang({"name": "decode", "count": 2})
CREW = [member(f"p{i}") for i in range(2)]


def refused(told: Told) -> dict[tuple[str, str], list[str]]:
    return {(one.kind, one.name): [str(p) for p in one.problems] for _, one in told.refused}


def is_unharmed(told: Told) -> bool:
    return not any(isinstance(one, (GangGone, GangSpoiled, GangSeen)) for one in told.events)


@pytest.mark.parametrize("state", ["waits", "runs"])
def test_a_pod_that_names_an_unknown_group_leaves_its_gang_alone(state: str) -> None:
    one = follower()
    tell(one, GANG, *(bound(each, "n1") if state == "runs" else each for each in CREW))
    told = tell(one, member("stray", "zzz"))
    assert is_unharmed(told) and seats(told) == {}
    assert list(refused(told)) == [("Pod", "stray")]
    (said,) = noted(told, "default/llm")
    assert said.startswith("Pod/stray: metadata.labels['phalanx.dev/group']") and "has: decode" in said


def test_a_stray_is_told_once_and_is_good_when_it_is_gone() -> None:
    one = follower()
    tell(one, GANG, *CREW, member("stray", "zzz"))
    told = tell(one, member("p2"))
    assert refused(told) == {} and len(noted(told, "default/llm")) == 1
    one.gone(ObjectKey("", "Pod", "default", "stray"))
    told = one.tell()
    assert refused(told) == {} and told.notes["default/llm"] == ()


def test_a_pod_with_a_wrong_annotation_leaves_its_gang_alone() -> None:
    one = follower()
    tell(one, GANG, *CREW)
    wrong = pod("odd", labels=CREW[0]["metadata"]["labels"], annotations={"phalanx.dev/gang-mode": "Sometimes"})
    told = tell(one, wrong)
    assert is_unharmed(told) and list(refused(told)) == [("Pod", "odd")]


def test_a_pod_of_another_size_leaves_a_sliced_gang_that_runs_alone() -> None:
    sliced = gang({"name": "decode", "minCount": 2, "slices": [{"level": "host", "size": 2}]})
    one = follower()
    tell(one, sliced, *(bound(each, "n1") for each in CREW))
    large: dict[str, Any] = {**member("early"), "spec": spec("4")}
    told = tell(one, large)
    assert is_unharmed(told) and refused(told) == {}
    assert any("ask for something else" in line for line in noted(told, "default/llm"))


def test_a_pod_that_was_placed_stays_when_its_labels_turn_wrong() -> None:  # W-111
    one = follower()
    tell(one, GANG, *(bound(each, "n1") for each in CREW))
    told = tell(one, bound(member("p1", "zzz"), "n1"))
    assert is_unharmed(told) or not [event for event in told.events if isinstance(event, (GangGone, GangSpoiled))]
    assert [event.pod.gang for event in told.events if isinstance(event, PodSeen)] in ([], ["default/llm"])
    assert any("stays in decode" in line for line in noted(told, "default/llm"))


def test_a_wrong_pod_of_a_pod_group_leaves_it_alone() -> None:
    one = follower()
    tell(one, pod_group("pg", 2), grouped("a", "pg"), grouped("b", "pg"))
    wrong = grouped("c", "pg")
    wrong["metadata"]["annotations"] = {"phalanx.dev/gang-mode": "Sometimes"}
    told = tell(one, wrong)
    assert is_unharmed(told) and list(refused(told)) == [("Pod", "c")]


def test_what_is_wrong_with_the_gang_itself_is_told_on_it() -> None:
    told = tell(follower(), gang({"name": "decode", "count": 2, "minCount": 3}), *CREW, member("stray", "zzz"))
    assert sorted(refused(told)) == [("Gang", "llm"), ("Pod", "stray")]


def test_a_pod_that_comes_later_does_not_say_what_its_group_is_like() -> None:
    one = follower()
    tell(one, GANG, *(bound(each, "n1") for each in CREW))
    late: dict[str, Any] = {**member("a"), "spec": spec("4")}
    late["metadata"]["creationTimestamp"] = "2026-11-16T09:00:00Z"
    told = tell(one, late)
    assert is_unharmed(told) and seats(told) == {}, "one too many, and of another size: it waits"
    assert any("pod a belongs to no part" in line for line in noted(told, "default/llm"))


def test_a_gang_that_has_none_but_wrong_pods_is_wrong_itself() -> None:
    one = follower()
    told = tell(one, GANG, member("stray", "zzz"))
    assert list(refused(told)) == [("Gang", "llm")]
    told = tell(one, *CREW)
    assert list(refused(told)) == [("Pod", "stray")] and not is_unharmed(told)
