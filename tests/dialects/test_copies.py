"""Groups of a Gang with copies, and how many pods of each there are where only pods tell what they are like."""

from typing import Any

import pytest

from phalanx.dialects.gang import copied
from phalanx.dialects.reading import Reading, read
from phalanx.model.request import Missing
from tests.dialects.manifests import Doc, gang, job, pod_spec
from tests.dialects.test_members import LINK, linked, one, pod, sets

KEY = "metadata.labels['k']"
RACK = {"required": "rack"}
TEMPLATE = {"spec": pod_spec()}


def keyed(name: str, key: str, label: str = "k", **more: Any) -> Doc:
    made = pod(name, **more)
    made["metadata"]["labels"][label] = key
    return made


def crew(keys: str, each: int, label: str = "k") -> list[Doc]:
    """Some pods of each key."""
    return [keyed(f"p-{key}-{i}", key, label) for key in keys for i in range(each)]


def units(found: Reading) -> dict[str | None, list[tuple[str, int, int, int]]]:
    assert not found.invalid, [str(p) for p in found.invalid[0].problems]
    return {request.unit: sets(request) for request in found.requests}


# -- a count that is written is the truth --------------------------------------------------------------------------


def test_pods_beyond_a_count_that_is_written_are_extra() -> None:  # M-025
    found = one(gang({"name": "w", "count": 2}), *[pod(f"p{i}") for i in range(3)])
    assert (sets(found), found.missing) == ([("w", 2, 2, 1)], ())


def test_pods_beyond_the_count_make_no_gang_invalid_that_may_not_grow() -> None:
    pods = [pod(f"p{i}") for i in range(3)]
    assert sets(one(gang({"name": "w", "count": 2, "maxCount": 2}), *pods)) == [("w", 2, 2, 1)]
    assert sets(one(gang({"name": "w", "minCount": 1, "maxCount": 2}), *pods)) == [("w", 1, 2, 1)]


def test_a_count_holds_for_pods_of_several_shapes_too() -> None:
    pods = [pod("a", cpu="4"), *[pod(f"b{i}") for i in range(3)]]
    assert sets(one(gang({"name": "w", "count": 2}), *pods)) == [("w/a", 1, 1, 4), ("w/b0", 1, 1, 1)]
    assert sets(one(gang({"name": "w", "count": 1}), *pods)) == [("w", 1, 1, 4)]


def test_a_count_above_the_pods_there_are_is_waited_for() -> None:
    found = one(gang({"name": "w", "count": 4}), *[pod(f"p{i}") for i in range(3)])
    assert (sets(found), found.missing) == ([("w", 4, 4, 1)], (Missing("w", 4, 3),))


def test_a_group_that_says_no_count_has_as_many_as_there_are_in_whole_slices() -> None:
    group = {"name": "w", "minCount": 2, "slices": [{"level": "host", "size": 2}]}
    assert sets(one(gang(group), *[pod(f"p{i}") for i in range(5)])) == [("w", 2, 4, 1)]


def test_a_count_that_is_no_number_is_told_though_pods_are_there() -> None:
    (found,) = read([gang({"name": "w", "count": "two"}), pod("p0")]).invalid
    assert [p.path for p in found.problems] == ["spec.podGroups[0].count"]


# -- copies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [{"replicaKey": KEY}, {}])
def test_a_count_is_that_of_each_copy(said: Doc) -> None:
    label = "k" if said else "phalanx.dev/replica"
    found = one(gang({"name": "w", "replicas": 2, "count": 2, **said}), *crew("01", 2, label))
    assert (sets(found), found.missing) == ([("w[0]", 2, 2, 1), ("w[1]", 2, 2, 1)], ())


def test_copies_that_say_no_count_have_as_many_as_the_fullest_of_them() -> None:
    pods = [*crew("x", 3), *crew("y", 2)]
    found = one(gang({"name": "w", "replicas": 2, "minCount": 1, "replicaKey": KEY}), *pods)
    assert sets(found) == [("w[0]", 1, 3, 1), ("w[1]", 1, 3, 1)]


def test_each_copy_that_lacks_pods_is_told() -> None:
    pods = [*crew("x", 2), *crew("y", 1)]
    found = one(gang({"name": "w", "replicas": 3, "count": 2, "replicaKey": KEY}), *pods)
    assert found.missing == (Missing("w[1]", 2, 1), Missing("w[2]", 2, 0))


def test_the_classes_of_a_copy_are_those_of_its_pods() -> None:
    pods = [keyed(f"{role}-{key}", key, cpu=cpu) for key in "01" for role, cpu in (("lead", "4"), ("work", "1"))]
    found = one(gang({"name": "w", "replicas": 2, "count": 2, "replicaKey": KEY}), *pods)
    assert [name for name, *_ in sets(found)] == ["w[0]/lead-0", "w[0]/work-0", "w[1]/lead-0", "w[1]/work-0"]


def test_copies_of_the_groups_around_it_count_too() -> None:
    groups = [{"name": "g", "replicas": 2, "replicaKey": KEY}, {"name": "w", "parent": "g", "count": 2}]
    assert sets(one(gang(*groups), *crew("01", 2))) == [("w[0]", 2, 2, 1), ("w[1]", 2, 2, 1)]


# -- as many copies as keys appear -----------------------------------------------------------------------------------


@pytest.mark.parametrize("template", [{}, {"template": TEMPLATE}])
def test_without_replicas_there_are_as_many_copies_as_keys(template: Doc) -> None:
    group = {"name": "w", "count": 2, "replicaKey": KEY, **template}
    found = units(read([gang(group, policy="Basic"), *crew("xy", 2)]))
    assert found == {"w[x]": [("w[x]", 2, 2, 1)], "w[y]": [("w[y]", 2, 2, 1)]}


def test_keys_appear_on_pods_though_a_job_says_what_they_are_like() -> None:
    group = {"name": "w", "count": 2, "replicaKey": KEY}
    found = units(read([gang(group, policy="Basic"), linked(job()), *crew("xy", 2)]))
    assert found == {"w[x]": [("w[x]", 2, 2, 1)], "w[y]": [("w[y]", 2, 2, 1)]}


def test_two_jobs_may_be_a_copy_each() -> None:
    jobs = [linked(job(), **{**LINK, "k": key}) for key in "xy"]
    jobs[1]["metadata"]["name"] = "other"
    found = units(read([gang({"name": "w", "minCount": 1, "replicaKey": KEY}, policy="Basic"), *jobs]))
    assert found == {"w[x]": [("w[x]", 1, 4, 1)], "w[y]": [("w[y]", 1, 4, 1)]}


def test_a_copy_that_lacks_pods_does_not_hold_up_another_one() -> None:
    found = read([gang({"name": "w", "count": 2, "replicaKey": KEY}, policy="Basic"), *crew("x", 2), *crew("y", 1)])
    assert {r.unit: r.missing for r in found.requests} == {"w[x]": (), "w[y]": (Missing("w[y]", 2, 1),)}


def test_copies_inside_a_group_that_waits_for_nobody_appear_in_it() -> None:
    groups = [{"name": "g", "policy": "Basic"}, {"name": "w", "parent": "g", "count": 1, "replicaKey": KEY}]
    assert [name for name, *_ in sets(one(gang(*groups), *crew("xy", 1)))] == ["w[x]", "w[y]"]


def test_a_level_around_copies_that_may_appear_is_refused_before_the_second_does() -> None:
    group = {"name": "w", "count": 1, "replicaKey": KEY}
    for keys in ("x", "xy"):
        (found,) = read([gang(group, policy="Basic", topology={"required": "host"}), *crew(keys, 1)]).invalid
        assert [p.path for p in found.problems] == ["spec.topology"]


# -- names of copies -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "known", "called"),
    [
        ("01", {}, {"0": "0", "1": "1"}),
        ("10", {}, {"0": "0", "1": "1"}),
        ("xy", {}, {"x": "0", "y": "1"}),
        ("12", {}, {"1": "1", "2": "0"}),  # numbered from 1
        ("xy", {"y": "0"}, {"y": "0", "x": "1"}),
        ("0x", {"y": "0"}, {"y": "0", "0": "1"}),
        ("xyz", {}, {"x": "0", "y": "1"}),
    ],
)
def test_two_keys_never_mean_the_same_of_two_copies(keys: str, known: dict[str, str], called: dict[str, str]) -> None:
    assert copied.marks(keys, 2, known) == called
