"""Following a living cluster: objects in, events out."""

from collections.abc import Iterable

import pytest

from phalanx.dialects.fields import Field
from phalanx.dialects.following import podseen
from phalanx.engine.engine import Engine
from phalanx.model.effects import Bind
from phalanx.model.events import (
    DaemonSetsSeen,
    Event,
    GangGone,
    GangSeen,
    GangSpoiled,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
)
from phalanx.model.objects import ObjectKey
from phalanx.model.pods import Pod
from tests.dialects.following.living import (
    Object,
    bound,
    follower,
    grouped,
    job,
    jobs_pod,
    node,
    pod,
    pod_group,
    spec,
    tell,
)
from tests.testing import named


def gangs(events: Iterable[Event]) -> dict[str, GangSeen]:
    return {event.request.id: event for event in events if isinstance(event, GangSeen)}


def pods(events: Iterable[Event]) -> dict[str, Pod]:
    return {event.pod.key.name: event.pod for event in events if isinstance(event, PodSeen)}


def places(events: Iterable[Event]) -> dict[str, tuple[str | None, str | None, int | None]]:
    return {name: (one.gang, one.pod_set, one.rank) for name, one in pods(events).items()}


def test_a_node_is_told_when_it_comes_changes_and_goes() -> None:
    one = follower()
    assert [e.node.name for e in tell(one, node("n1")).events if isinstance(e, NodeSeen)] == ["n1"]
    assert not [e for e in tell(one, node("n1")).events if isinstance(e, NodeSeen)], "nothing changed"
    assert [e.node.labels["rack"] for e in tell(one, node("n1", rack="r1")).events if isinstance(e, NodeSeen)] == ["r1"]
    one.gone(ObjectKey("", "Node", "default", "n1"))
    assert NodeGone("n1") in one.tell().events


def test_the_pods_of_an_indexed_job_take_the_places_of_its_gang_by_their_index() -> None:
    train = job("train", 2)
    told = tell(follower(), train, jobs_pod(train, 1), jobs_pod(train, 0))
    assert list(gangs(told.events)) == ["default/train"]
    assert places(told.events) == {
        "train-0-x": ("default/train", "main", 0),
        "train-1-x": ("default/train", "main", 1),
    }
    assert told.subjects["default/train"].key == ("batch", "Job", "default", "train")


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_objects_may_come_in_any_order(order: tuple[int, ...]) -> None:  # W-046
    train = job("train", 2)
    docs = [train, jobs_pod(train, 0), jobs_pod(train, 1)]
    one = follower()
    events = [event for i in order for event in tell(one, docs[i]).events]
    assert set(gangs(events)) == {"default/train"}
    assert set(places(events).values()) == {("default/train", "main", 0), ("default/train", "main", 1)}


def test_an_unbound_pod_of_ours_is_not_told_of_before_its_gang_is_known() -> None:
    train = job("train", 1)
    assert not pods(tell(follower(), jobs_pod(train, 0)).events)


def test_a_pod_that_only_lives_on_does_not_have_its_family_read_again() -> None:
    train = job("train", 1)
    one, first = follower(), jobs_pod(train, 0)
    tell(one, train, first)
    told = tell(one, bound(first, "n1"))
    assert [type(event) for event in told.events] == [PodSeen]
    assert pods(told.events)["train-0-x"].node == "n1"


def test_a_pod_keeps_its_place_when_it_is_relabelled() -> None:  # W-111
    train = job("train", 2)
    one, first = follower(), jobs_pod(train, 0)
    tell(one, train, first)
    moved = {**first, "metadata": {**first["metadata"], "labels": {"batch.kubernetes.io/job-completion-index": "1"}}}
    assert places(tell(one, bound(moved, "n1")).events) == {"train-0-x": ("default/train", "main", 0)}


def test_a_pod_that_is_relabelled_is_told_of() -> None:  # W-111
    gang = {
        "apiVersion": "phalanx.dev/v1alpha1",
        "kind": "Gang",
        "metadata": {"name": "g", "namespace": "default", "uid": "g"},
        "spec": {"podGroups": [{"name": name, "count": 1, "template": {"spec": spec()}} for name in ("a", "b")]},
    }
    labels = {"phalanx.dev/gang": "g", "phalanx.dev/group": "a"}
    one = follower()
    tell(one, gang, pod("x", labels=labels))
    told = tell(one, pod("x", labels={**labels, "phalanx.dev/group": "b"}))
    ((problem,),) = told.notes.values()
    assert problem.path == "Pod/x: metadata.labels"
    assert "it stays in a of default/g" in problem.message
    assert not tell(one, pod("x", labels={**labels, "phalanx.dev/group": "b"})).notes, "told once"


def test_pods_of_others_are_told_of_once_they_take_room() -> None:
    other = pod("other")
    other["spec"]["schedulerName"] = "default-scheduler"
    one = follower()
    assert not pods(tell(one, other).events)
    told = tell(one, bound(other, "n1"))
    assert places(told.events) == {"other": (None, None, None)}
    one.gone(ObjectKey("", "Pod", "default", "other"))
    assert [type(event) for event in one.tell().events] == [PodGone]


def test_a_deployment_of_others_is_none_of_our_business() -> None:
    made = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "dns", "namespace": "default", "uid": "u"},
        "spec": {"replicas": 2, "template": {"spec": {**spec(), "schedulerName": "default-scheduler"}}},
    }
    told = tell(follower(), made)
    assert not gangs(told.events)
    assert not told.refused


def test_a_bare_pod_that_names_us_is_a_gang_of_one() -> None:
    told = tell(follower(), pod("alone"))
    assert places(told.events) == {"alone": ("default/alone", "main", None)}


def test_the_pods_that_name_a_podgroup_say_what_it_is_like() -> None:
    told = tell(follower(), pod_group("pg", 2), grouped("a", "pg"), grouped("b", "pg"))
    (gang,) = gangs(told.events).values()
    assert [(s.name, s.count, s.min_count) for s in gang.request.root.pod_sets()] == [("pg", 2, 2)]
    assert set(places(told.events).values()) == {("default/pg", "pg", None)}


def test_a_podgroup_waits_for_its_pods_and_pods_wait_for_their_podgroup() -> None:
    one = follower()
    assert not pods(tell(one, grouped("a", "pg")).events)
    assert places(tell(one, pod_group("pg", 2)).events) == {"a": ("default/pg", "pg", None)}


def test_a_jobset_with_a_rack_for_each_job_seats_pods_by_their_job() -> None:
    def replicated(rack: str) -> Object:
        return {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": {
                "name": "js", "namespace": "default", "uid": "js", "annotations": {"phalanx.dev/gang-mode": "Gang"},
            },
            "spec": {"replicatedJobs": [{
                "name": "workers", "replicas": 2,
                "template": {
                    "metadata": {"annotations": {"phalanx.dev/topology-required": rack}},
                    "spec": {"parallelism": 2, "completions": 2, "completionMode": "Indexed",
                             "template": {"spec": spec(restartPolicy="Never")}},
                },
            }]},
        }  # fmt: skip

    topology = {
        "apiVersion": "phalanx.dev/v1alpha1",
        "kind": "Topology",
        "metadata": {"name": "t"},
        "spec": {"levels": [{"nodeLabel": "rack"}]},
    }
    jobset = replicated("rack")
    jobs = [job(f"js-workers-{i}", 2, jobset) for i in range(2)]
    said = [
        {"jobset.sigs.k8s.io/replicatedjob-name": "workers", "jobset.sigs.k8s.io/job-index": str(i)} for i in range(2)
    ]
    made = [jobs_pod(jobs[i], k, **said[i]) for i in range(2) for k in range(2)]
    told = tell(follower(), topology, jobset, *jobs, *made)
    assert not told.refused
    assert list(gangs(told.events)) == ["default/js"]
    assert sorted(places(told.events).values()) == [
        ("default/js", f"workers[{i}]", k) for i in range(2) for k in range(2)
    ]


def test_a_daemonset_is_told_of_before_its_pods_exist_and_its_pods_name_it() -> None:  # K-074
    made = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "default", "uid": "d"},
        "spec": {"template": {"spec": {**spec("2"), "schedulerName": "default-scheduler"}}},
    }
    one = follower()
    (seen,) = [event for event in tell(one, made).events if isinstance(event, DaemonSetsSeen)]
    assert [(d.namespace, d.name, d.shape.requests.get("cpu")) for d in seen.daemon_sets] == [
        ("default", "agent", 2 * 10**9)
    ]
    own = pod("agent-x", made)
    own["spec"]["schedulerName"] = "default-scheduler"
    (known,) = pods(tell(one, bound(own, "n1")).events).values()
    assert (known.daemon, known.daemon_set, known.gang) == (True, "default/agent", None)


def test_a_gang_is_gone_when_its_object_is() -> None:
    train = job("train", 1)
    one = follower()
    tell(one, train, jobs_pod(train, 0))
    one.gone(ObjectKey("batch", "Job", "default", "train"))
    assert GangGone("default/train") in one.tell().events


def test_a_finished_job_asks_for_nothing_any_more() -> None:
    train = job("train", 1)
    train["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert not gangs(tell(follower(), train).events)


def test_a_wrong_manifest_is_told_once_and_again_when_it_is_good() -> None:
    train = job("train", 1, annotations={"phalanx.dev/topology-required": "rak"})
    one = follower()
    told = tell(one, train)
    assert [subject.key[3] for subject, _ in told.refused] == ["train"]
    assert not tell(one, train).refused, "told once"
    good = job("train", 1)
    assert [subject.key[3] for subject in tell(one, good).accepted] == ["train"]


def test_what_is_wrong_with_the_cluster_itself_is_told_once() -> None:
    bad = {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Topology", "metadata": {"name": "t"}, "spec": {"levels": []}}
    one = follower()
    assert [problem.path for problem in tell(one, bad).problems] == ["Topology/t: spec.levels"]
    queue = {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Queue", "metadata": {"name": "default"}, "spec": {}}
    assert tell(one, queue).problems == ()
    open_to_all = {**queue, "metadata": {"name": "q"}}
    assert [problem.path for problem in tell(one, open_to_all).problems] == ["Queue/q: spec.namespaceSelector"]
    assert tell(one, open_to_all).problems == ()


def test_two_workloads_of_one_name_go_by_different_ids() -> None:
    gang = {
        "apiVersion": "phalanx.dev/v1alpha1",
        "kind": "Gang",
        "metadata": {"name": "train", "namespace": "default", "uid": "g"},
        "spec": {"podGroups": [{"name": "main", "count": 1, "template": {"spec": spec()}}]},
    }
    told = tell(follower(), job("train", 1), gang)
    assert len(gangs(told.events)) == 2


def test_a_queued_job_of_another_scheduler_is_gated_and_resumed_by_us() -> None:
    train = job("train", 2, labels={"phalanx.dev/queue": "default"})
    train["spec"]["suspend"] = True
    train["spec"]["template"]["spec"]["schedulerName"] = "default-scheduler"
    (gang,) = gangs(tell(follower(), train).events).values()
    assert gang.request.rules.enforcement == "Gate"
    assert gang.owner == named.owner("train", uid="uid-train")
    assert not gang.request.suspended


def test_a_queued_job_that_nothing_holds_back_is_told_how_to_be_handed_over() -> None:
    train = job("train", 2, labels={"phalanx.dev/queue": "default"})
    train["spec"]["template"]["spec"]["schedulerName"] = "default-scheduler"
    one = follower()
    told = tell(one, train)
    ((subject, invalid),) = told.refused
    assert subject.key[3] == "train"
    assert invalid.problems[0].path == "spec.suspend"
    assert "schedulerName: phalanx" in invalid.problems[0].message
    held = {**train, "spec": {**train["spec"], "suspend": True}}
    told = tell(one, held)
    assert list(gangs(told.events)) == ["default/train"]
    resumed = job("train", 2, labels={"phalanx.dev/queue": "default"})
    resumed["spec"]["template"]["spec"] |= {
        "schedulerName": "default-scheduler",
        "schedulingGates": [{"name": "phalanx.dev/topology"}],
    }
    assert not tell(one, resumed).refused, "our own gate is in its template by now"


def test_the_shape_of_a_pod_does_not_depend_on_where_it_was_pinned() -> None:
    def pinned(name: str, host: str) -> Object:
        made = grouped(name, "pg")
        made["spec"] |= {"schedulerName": "default-scheduler", "nodeSelector": {"kubernetes.io/hostname": host}}
        made["metadata"]["annotations"] = {"phalanx.dev/pinned": "kubernetes.io/hostname"}
        return made

    told = tell(follower(), pod_group("pg", 2), pinned("a", "n1"), pinned("b", "n2"))
    (gang,) = gangs(told.events).values()
    assert [(s.name, s.count) for s in gang.request.root.pod_sets()] == [("pg", 2)]


def test_pods_that_an_autoscaler_nominated_do_not_pass_without_the_others() -> None:  # W-161
    nominated = [grouped(name, "pg") for name in ("a", "b", "c")]
    for one in nominated:
        one["status"]["nominatedNodeName"] = "n1"
    engine = Engine()
    told = tell(follower(), node("n1"), pod_group("pg", 4), *nominated)
    assert not [effect for effect in engine.step(told.events, 0.0) if isinstance(effect, Bind)]


def test_a_pod_of_the_same_name_made_anew_is_another_pod() -> None:
    train = job("train", 1)
    one, first = follower(), jobs_pod(train, 0)
    tell(one, train, first)
    again = {**first, "metadata": {**first["metadata"], "uid": "second"}}
    told = tell(one, again)
    assert [type(event) for event in told.events] == [PodGone, PodSeen]


def test_a_workload_that_is_wrong_by_now_is_not_gone() -> None:
    """What runs of it goes on, and it is read again when it is right."""
    good = job("train", 2)
    wrong = {**good, "metadata": {**good["metadata"], "annotations": {"phalanx.dev/topology-required": "nowhere"}}}
    one = follower()
    first = tell(one, good, jobs_pod(good, 0))
    told = tell(one, wrong)
    assert told.events == [GangSpoiled("default/train")] and len(told.refused) == 1
    assert tell(one, {**wrong, "metadata": {**wrong["metadata"], "labels": {"a": "b"}}}).events == []
    running = {**jobs_pod(good, 0), "status": {"phase": "Running"}}
    (event,) = tell(one, running).events
    assert isinstance(event, PodSeen) and event.pod.gang == "default/train"
    assert tell(one, good).events == list(gangs(first.events).values())
    tell(one, wrong)
    one.gone(ObjectKey("batch", "Job", "default", "train"))
    assert GangGone("default/train") in one.tell().events


def test_a_pod_says_with_how_many_its_gang_was_whole_as_far_as_that_is_a_number() -> None:
    for text, least in (("3", 3), ("", None), ("three", None), ("-1", None), ("9" * 400, None), (7, None)):
        made = {"metadata": {"name": "p", "uid": "u", "annotations": {"phalanx.dev/least": text}}, "spec": {}}
        assert podseen.pod(Field.of(made)).least == least
