"""What was refused, by us or by a scheduler before us, is told to be good once it is."""

from typing import Any

from phalanx.dialects import documents
from phalanx.dialects.following.estate import Estate
from phalanx.dialects.following.told import Told
from tests.dialects.following.living import Object, follower, spec, tell

REFUSED = {"conditions": [{"type": "Queued", "status": "False"}, {"type": "Valid", "status": "False"}]}


def ours(kind: str, name: str, status: Object | None = None, **spec_of: Any) -> Object:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "generation": 2}
    made = {"apiVersion": "phalanx.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec_of}
    return made if status is None else {**made, "status": status}


def gang(status: Object | None = None, least: int = 1) -> Object:
    return ours(
        "Gang", "g", status, podGroups=[{"name": "a", "count": 1, "minCount": least, "template": {"spec": spec()}}]
    )


def flavor(key: str = "rack", status: Object | None = None) -> Object:
    return ours("Flavor", "fast", status, nodeLabels={key: "x"})


def told_of(one: Estate, *docs: Object) -> Told:
    for doc in documents.sort(docs)[0]:
        one.seen(doc)
    told = Told()
    one.tell(told)
    return told


# -- workloads ----------------------------------------------------------------------------------------------------


def test_a_gang_that_was_refused_before_we_came_and_is_good_now_is_told_so_once() -> None:
    one = follower()
    told = tell(one, gang(REFUSED))
    assert [(subject.key[3], subject.generation) for subject in told.accepted] == [("g", 2)]
    assert not tell(one, gang(REFUSED)).accepted, "its status is written a little later, and seen again before that"


def test_a_gang_that_was_refused_before_we_came_and_still_is_wrong_is_refused_again() -> None:
    one = follower()
    told = tell(one, gang(REFUSED, least=2))
    assert [subject.key[3] for subject, _ in told.refused] == ["g"] and not told.accepted
    assert [subject.key[3] for subject in tell(one, gang(REFUSED)).accepted] == ["g"]


def test_a_gang_that_nobody_refused_is_not_told_that_it_is_good() -> None:
    good = {"conditions": [{"type": "Valid", "status": "True"}, {"type": "Ready", "status": "False"}]}
    assert not tell(follower(), gang()).accepted
    assert not tell(follower(), gang(good)).accepted


def test_what_others_call_valid_is_none_of_our_business() -> None:
    template = {"spec": spec(restartPolicy="Never")}
    job = {**ours("Job", "j", REFUSED, template=template), "apiVersion": "batch/v1"}
    assert not tell(follower(), job).accepted


# -- the cluster's own objects --------------------------------------------------------------------------------------


def test_a_wrong_flavor_is_told_once_by_its_own_paths_and_again_when_it_is_good() -> None:
    one = Estate()
    ((subject, problems),) = told_of(one, flavor("not a key")).unusable
    assert (subject.key[:2], subject.key[3]) == (("phalanx.dev", "Flavor"), "fast")
    assert [problem.path for problem in problems] == ["spec.nodeLabels['not a key']"]
    again = told_of(one, flavor("not a key", REFUSED))
    assert (again.unusable, again.accepted) == ([], [])
    assert [subject.key[3] for subject in told_of(one, flavor(status=REFUSED)).accepted] == ["fast"]
    assert not told_of(one, flavor(status=REFUSED)).accepted


def test_a_flavor_that_was_refused_before_we_came_and_is_good_now_is_told_so() -> None:
    told = told_of(Estate(), flavor(status=REFUSED))
    assert [subject.key[3] for subject in told.accepted] == ["fast"] and not told.unusable


def test_what_is_wrong_with_one_queue_is_not_told_on_another_of_its_name() -> None:
    foreign = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": "q"}, "spec": "none"}
    told = told_of(Estate(), ours("Queue", "q"), foreign)
    assert told.problems and not told.unusable


def test_a_good_flavor_is_told_so_once_and_not_where_it_says_so_already() -> None:
    one = Estate()
    assert [subject.key[3] for subject in told_of(one, flavor()).accepted] == ["fast"]
    assert not told_of(one, flavor()).accepted
    said = {"conditions": [{"type": "Valid", "status": "True"}]}
    assert not told_of(Estate(), flavor(status=said)).accepted


def test_an_object_that_is_made_again_under_the_same_name_is_judged_anew() -> None:
    one = Estate()
    told_of(one, flavor("not a key"))
    (doc,), _ = documents.sort([flavor()])
    one.gone(doc.key)
    told = told_of(one, flavor("not a key"))
    assert (len(told.unusable), told.accepted) == (1, [])


# -- names that stand for nothing ------------------------------------------------------------------------------------


def queue(name: str = "research", status: Object | None = None, **spec_of: Any) -> Object:
    return ours("Queue", name, status, **spec_of)


def quota(flavor: str) -> list[Object]:
    return [{"flavor": flavor, "resources": [{"name": "nvidia.com/gpu", "nominal": 8}]}]


def test_a_queue_that_names_what_is_not_there_is_good_and_told_what_is_missing() -> None:
    told = told_of(Estate(), queue(parent="company", quota=quota("h100")))
    ((subject, problems),) = told.dangling
    assert subject.key[3] == "research" and not told.unusable and not told.accepted
    assert [problem.path for problem in problems] == ["spec.parent", "spec.quota[0].flavor"]
    assert "there is no Queue 'company'" in problems[0].message and "there is no Flavor 'h100'" in problems[1].message


def test_a_flavor_whose_topology_is_not_there_is_told_so_until_it_comes() -> None:
    one = Estate()
    fast = ours("Flavor", "fast", nodeLabels={"gpu": "x"}, topologyName="t")
    ((_, problems),) = told_of(one, fast).dangling
    assert [problem.path for problem in problems] == ["spec.topologyName"]
    assert told_of(one, fast).dangling == [], "once"
    told = told_of(one, ours("Topology", "t", levels=[{"nodeLabel": "rack"}]))
    assert [subject.key[3] for subject in told.accepted] == ["fast", "t"] and not told.dangling


def test_what_a_scheduler_before_us_missed_and_is_there_now_is_told_to_be_good() -> None:
    said = {"conditions": [{"type": "Valid", "status": "True", "reason": "Inconsistent", "message": "no company"}]}
    told = told_of(Estate(), queue(status=said, parent="company"), queue("company"))
    assert [subject.key[3] for subject in told.accepted] == ["company", "research"]


def test_a_parent_that_is_there_without_an_object_is_not_missed() -> None:
    assert not told_of(Estate(), queue(parent="default")).dangling
