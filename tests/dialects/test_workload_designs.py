"""The Workload of the designs: Rev1, RevN and the JobSet design, read into the normal form."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phalanx.cluster import Cluster
from phalanx.dialects import outline
from phalanx.dialects.reading import read_workloads
from phalanx.model.decision import Invalid
from phalanx.model.request import Missing, Request, Spread
from tests.dialects.manifests import (
    AROUND,
    BLOCK,
    HOST,
    RACK,
    ZONE,
    Doc,
    gang,
    node,
    paths,
    pod_spec,
    problem,
    request,
    requests,
    topology,
    warnings,
)
from tests.dialects.workload_manifests import (
    found,
    job,
    jobset,
    linked,
    lws,
    normal,
    placed,
    pod,
    said,
    statefulset,
    workload,
    wrong,
)

INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"


# -- the table of common workloads -------------------------------------------------------------------------------


def gg(**more: Any) -> Doc:
    return {"name": "gg", **more}


OFF = {"rankedGroups": [{"name": "rg", "rankMode": "Off"}]}
RANKED = {"rankedGroups": [{"name": "rg", "podRank": {"valueFrom": {"fieldRef": {"fieldPath": INDEX}}}}]}
RANK = {"fieldPath": INDEX}
PART = {"count": 4, "minCount": 4}


@pytest.mark.parametrize(
    ("given", "want"),
    [
        # W-135, W-028
        ([statefulset(4, linked()), workload(gg(minCount=4))], [("gg", {"gg": (4, 4)})]),
        # W-136, X-11
        ([statefulset(3, linked(), "OrderedReady"), workload(gg(gangMode="Off"))], [("gg", {"gg": (3, 1)})]),
        # W-137, W-218
        ([job(8, linked(), completionMode="Indexed"), workload(gg(minCount=8))], [("gg", {"gg": (8, 8)})]),
        # W-138, W-144: the launcher and its workers are one gang
        ([jobset(launcher=(1, 1, linked()), worker=(1, 7, linked())), workload(gg(minCount=8))],
         [("gg", {"gg": (8, 8)})]),
        # W-139
        ([job(50, linked(), 100), workload(gg(minCount=0))], [("gg", {"gg": (50, 1)})]),
        # W-140, W-219, X-14: two groups, independent
        ([jobset(a=(1, 4, linked("a")), b=(1, 3, linked("b"))),
          workload({"name": "a", "minCount": 4}, {"name": "b", "minCount": 3})],
         [("a", {"a": (4, 4)}), ("b", {"b": (3, 3)})]),
        # W-141, X-19: one group for all
        ([jobset(a=(1, 4, linked()), b=(1, 3, linked())), workload(gg(minCount=7))], [("gg", {"gg": (7, 7)})]),
        # W-141 in RevN: one ranked group per Job, told apart by name
        ([jobset(a=(1, 4, linked()), b=(1, 3, linked())),
          workload(gg(minCount=7, rankedGroups=[{"name": "a", "rankMode": "Off"}, {"name": "b", "rankMode": "Off"}]))],
         [("gg", {"a": (4, 4), "b": (3, 3)})]),
        # W-142, W-143: no gang
        ([jobset(a=(1, 4, linked()), b=(1, 3, linked())), workload(gg(gangMode="Off"))], [("gg", {"gg": (7, 1)})]),
        # W-145 in Rev1: all replicas one gang
        ([lws(2, 2, linked()), workload(gg(minCount=4))], [("gg", {"gg": (4, 4)})]),
        # W-145 in RevN, W-172, W-220: a gang per replica
        ([lws(2, 2, linked()), workload(gg(minCount=2), replicaMode="ReplicatedGangs")],
         [("gg[0]", {"gg[0]": (2, 2)}), ("gg[1]", {"gg[1]": (2, 2)})]),
        # W-146: as many as the LeaderWorkerSet has now, with no edit of the Workload
        ([lws(5, 2, linked()), workload(gg(minCount=2), replicaMode="ReplicatedGangs")],
         [(f"gg[{i}]", {f"gg[{i}]": (2, 2)}) for i in range(5)]),
    ],
)  # fmt: skip
def test_each_row_of_the_table_of_common_workloads(given: list[Doc], want: object) -> None:
    assert placed(*given) == want


# -- ways to write it --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "group",
    [
        {"minCount": 4}, {"gangMode": "Gang", "minCount": 4}, {"count": 4}, {"gangMode": "Gang"}, {},
        {"policy": {"kind": "Gang", "gang": {"minCount": 4}}},  # J-037
        {"policy": {"kind": "PodGroupPolicyKindGang", "gang": {"minCount": 4}}, "replicas": 1},  # X-37
        {"policy": {"gang": {"minCount": 4}}},
        {"minCount": 4, "maxCount": 4, **OFF},
        {"minCount": 4, "rankMode": "Off", "eqGroups": [{"name": "all"}]},  # X-22
    ],
)  # fmt: skip
@pytest.mark.parametrize("key", ["gangGroups", "podGroups"])  # X-03
def test_a_gang_of_four_in_every_spelling_is_the_same_group(group: Doc, key: str) -> None:
    doc = workload()
    doc["spec"][key] = [gg(**group)]
    most = {"maxCount": 4} if "maxCount" in group else {}
    assert normal(job(4, linked()), doc) == [gg(**PART, **most)]


@pytest.mark.parametrize(
    "group",
    [
        {"minCount": 0}, {"gangMode": "Off"}, {"gangMode": "GangModeOff"}, {"gangMode": False},
        {"policy": {"kind": "Default"}}, {"policy": {"kind": "Basic"}}, {"policy": {"basic": {}}},
    ],
)  # fmt: skip
def test_every_way_to_say_no_gang_lets_pods_start_as_they_fit(group: Doc) -> None:
    # X-11, W-118: also where the Job by itself would be one
    assert normal(job(4, linked()), workload(gg(**group))) == [gg(count=4, minCount=1)]


def test_an_unquoted_off_is_understood_and_told() -> None:
    assert "YAML reads Off" in said(job(4, linked()), workload(gg(gangMode=False)))


@pytest.mark.parametrize("carrier", ["workload", "workloadRef"])
def test_pods_are_linked_by_either_field(carrier: str) -> None:
    # W-097, W-106, X-08
    docs = [job(4, linked("b", carrier=carrier)), workload({"name": "a", "minCount": 2}, {"name": "b", "minCount": 4})]
    units = {one.unit: one.missing for one in found(*docs).requests}
    assert units == {"a": (Missing("a", 2, 0),), "b": ()}


def test_a_workload_of_one_group_needs_no_part_in_the_link() -> None:
    # W-108
    assert placed(job(4, linked()), workload(gg(minCount=4))) == [("gg", {"gg": (4, 4)})]


def test_pods_of_an_unmodified_jobset_are_told_apart_by_the_name_of_their_job() -> None:
    # W-104, W-109
    docs = [jobset(a=(1, 4, linked()), b=(1, 3, linked())), workload({"name": "a"}, {"name": "b"})]
    assert placed(*docs) == [("a", {"a": (4, 4)}), ("b", {"b": (3, 3)})]


def test_a_pod_that_names_no_group_of_the_workload_is_told_which_there_are() -> None:
    # W-103
    text = "; ".join(wrong(job(4, linked("x")), workload({"name": "a"}, {"name": "b"})))
    assert "names group 'x'; Workload w has: a, b" in text


def test_a_workload_that_says_nothing_places_nothing_and_is_no_mistake() -> None:
    # W-188
    reading = found(workload())
    assert reading.requests == ()
    assert "nothing is known to place" in said(workload())


def test_pods_of_a_workload_that_says_nothing_start_as_they_fit() -> None:
    assert placed(job(4, linked()), workload()) == [("main", {"main": (4, 1)})]


# -- replicas ----------------------------------------------------------------------------------------------------


def replicated(minimum: int, **more: Any) -> Doc:
    return workload(gg(minCount=minimum, **more), replicaMode="ReplicatedGangs")


def test_replicas_of_the_jobset_design_are_gangs_of_their_own() -> None:
    # J-037, J-028
    doc = workload()
    doc["spec"]["podGroups"] = [gg(replicas=2, policy={"kind": "Gang", "gang": {"minCount": 4}})]
    assert placed(jobset(a=(2, 4, linked())), doc) == [("gg[0]", {"gg[0]": (4, 4)}), ("gg[1]", {"gg[1]": (4, 4)})]


def test_pods_say_by_their_keys_how_many_replicas_there_are() -> None:
    # W-220, X-10: keys are compared, not counted from 0 or 1
    pods = [pod(f"p{i}", linked("gg", replica)) for i, replica in enumerate((1, 1, 7, 7))]
    assert placed(*pods, replicated(2)) == [("gg[0]", {"gg[0]": (2, 2)}), ("gg[1]", {"gg[1]": (2, 2)})]


def test_pods_of_a_leaderworkerset_say_it_by_a_label() -> None:
    # W-110
    key = "leaderworkerset.sigs.k8s.io/group-key"
    pods = [pod(f"p{i}", linked(), {key: f"k{i // 2}"}) for i in range(6)]
    assert [unit for unit, _ in placed(*pods, replicated(2))] == ["gg[0]", "gg[1]", "gg[2]"]


def test_a_replica_that_lacks_pods_waits_for_them() -> None:
    pods = [pod(f"p{i}", linked("gg", replica)) for i, replica in enumerate(("a", "a", "b"))]
    assert Missing("gg[1]", 2, 1) in found(*pods, replicated(2)).requests[1].missing


def test_a_replica_of_which_no_pod_exists_waits_for_them() -> None:
    pods = [pod(f"p{i}", linked("gg", "a")) for i in range(2)]
    assert Missing("gg[1]", 2, 0) in found(*pods, replicated(2, replicas=2)).requests[1].missing


def test_an_unknown_number_of_replicas_is_as_many_as_keys_appear() -> None:
    # W-220
    assert "how many copies there are is not known" in said(replicated(2))


@pytest.mark.parametrize(
    ("doc", "path"),
    [
        (workload(gg(minCount=4, replicas=2), replicaMode="Unreplicated"), "spec.gangGroups[0].replicas"),
        (workload(gg(minCount=4), replicaMode="ReplicatedPods"), "spec.gangGroups[0]"),
        (workload(gg(gangMode="Off"), replicaMode="ReplicatedGangs"), "spec.gangGroups[0]"),
        (workload(gg(minCount=4), replicaMode="Replicated"), "spec.replicaMode"),
        (workload(gg(), replicaMode="Unreplicated", replicationMode="ReplicatedPods"), "spec.replicationMode"),
    ],
)
def test_a_replica_mode_that_the_groups_contradict_is_a_problem(doc: Doc, path: str) -> None:
    assert problem(doc).path == path


def test_the_prose_spelling_of_the_replica_mode_is_read() -> None:
    # X-42, W-130, W-131
    assert placed(job(4, linked()), workload(gg(), replicationMode="unreplicated")) == [("gg", {"gg": (4, 4)})]


# -- levels inside levels ----------------------------------------------------------------------------------------


def eq(name: str, **more: Any) -> Doc:
    return {"name": name, "template": {"spec": pod_spec()}, **more}


def rg(*equals: Doc, name: str = "rg", **more: Any) -> Doc:
    return {"name": name, "rankMode": "Off", **more, "eqGroups": list(equals)}


def test_levels_that_say_nothing_are_folded_into_one_group() -> None:
    assert normal(workload(gg(gangMode="Gang", rankedGroups=[rg(eq("t", count=3))]))) == [gg(count=3)]


def test_leader_and_workers_are_classes_of_one_numbering() -> None:
    # W-174, W-179, W-185, W-229, X-25: counts are per replica
    doc = workload(gg(rankedGroups=[rg(eq("leader", count=1), eq("worker", minCount=3, maxCount=3))]))
    want = [{"name": "leader", "count": 1}, {"name": "worker", "count": 3}]
    (made,) = normal(doc)
    assert [{key: one[key] for key in ("name", "count")} for one in made["podClasses"]] == want
    assert made["minCount"] == 4


def test_several_ranked_groups_of_one_gang_are_groups_inside_it() -> None:
    # W-178
    docs = workload(gg(rankedGroups=[rg(eq("t", count=2), name="a"), rg(eq("t", count=3), name="b")]))
    assert normal(docs) == [gg(), {"name": "a", "parent": "gg", "count": 2}, {"name": "b", "parent": "gg", "count": 3}]


def test_ranked_groups_of_no_gang_wait_for_none_of_each_other() -> None:
    # W-180
    inner = [rg(eq("t", count=2), name="a"), rg(eq("t", count=3), name="b")]
    one = request(workload(gg(gangMode="Off", rankedGroups=inner)))
    assert one.root.min_members == 1 and [pods.min_count for pods in one.root.pod_sets()] == [1, 1]


def test_two_levels_that_ask_for_a_domain_stay_two() -> None:
    # W-056, W-196
    inner = rg(eq("t", count=2, topologyRequest={"required": "host"}), topologyRequest={"required": "rack"})
    root = request(workload(gg(topologyRequest={"required": "block"}, rankedGroups=[inner]))).root
    assert [(one.name, one.required) for one in root.groups()] == [("gg", BLOCK), ("rg", RACK), ("t", HOST)]


def test_eq_groups_with_domains_of_their_own_are_groups_of_their_own() -> None:
    # W-181, W-204 at level 3
    equals = [eq("a", count=2, topologyRequest={"required": "host"}), eq("b", count=1)]
    root = request(workload(gg(topologyRequest={"required": "rack"}, rankedGroups=[rg(*equals)]))).root
    assert [(one.name, one.required) for one in root.groups()] == [("gg", RACK), ("a", HOST), ("b", None)]


def test_ranked_groups_of_two_gangs_may_have_one_name() -> None:
    inner = [rg(eq("t", count=2), name="a"), rg(eq("t", count=3), name="b")]
    names = [entry["name"] for entry in normal(workload(gg(rankedGroups=inner), {"name": "hh", "rankedGroups": inner}))]
    assert names == ["gg", "a", "b", "hh", "hh.a", "hh.b"]


def test_the_same_workload_as_a_gang_is_the_identical_request() -> None:
    near = {"required": "rack"}
    doc = workload(gg(minCount=3, rankedGroups=[{**RANKED["rankedGroups"][0], "eqGroups": [eq("t", count=4)],
                                                 "topologyRequest": near}]), name="llm")  # fmt: skip
    ours = gang(gg(count=4, minCount=3, topology=near, rank=RANK, template={"spec": pod_spec()}), policy="Basic")
    one, other = request(doc), request(ours)
    assert (one.root, one.unit, one.queue, one.priority) == (other.root, other.unit, other.queue, other.priority)


@pytest.mark.parametrize(
    ("least", "message"),
    [(6, "minCount 6 is more than the 5 pods"), (4, "over several ranked groups is not supported")],
)
def test_a_gang_over_several_ranked_groups_starts_whole(least: int, message: str) -> None:
    inner = [rg(eq("t", count=2), name="a"), rg(eq("t", count=3), name="b")]
    one = problem(workload(gg(minCount=least, rankedGroups=inner)))
    assert one.path == "spec.gangGroups[0].minCount" and message in one.message


def test_pods_of_ranked_groups_that_nothing_tells_apart_are_a_problem() -> None:
    inner = [{"name": "a", "rankMode": "Off"}, {"name": "b", "rankMode": "Off"}]
    assert "which of them the pods of Job/train are in" in wrong(job(4, linked()), workload(gg(rankedGroups=inner)))[0]


# -- counts and templates ----------------------------------------------------------------------------------------


def test_a_workload_is_evaluated_before_any_pod_exists() -> None:
    # W-015, W-175, W-210
    assert request(workload(gg(rankedGroups=[rg(eq("t", count=3))]))).missing == ()


def test_without_pods_and_templates_a_gang_waits_for_its_pods() -> None:
    # W-019, W-133
    assert request(workload(gg(minCount=10))).missing == (Missing("gg", 10, 0),)


def test_a_gang_waits_for_the_pods_it_lacks() -> None:
    # W-019
    one = found(job(8, linked()), workload(gg(minCount=10))).requests[0]
    assert one.missing == (Missing("gg", 10, 8),)


def test_a_gang_is_content_with_fewer_pods_than_there_are() -> None:
    assert placed(job(6, linked()), workload(gg(minCount=4, maxCount=8))) == [("gg", {"gg": (6, 4)})]


def test_the_largest_expected_pod_is_the_one_that_room_is_kept_for() -> None:
    # W-226, W-206
    largest = {"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": "16"}}}]}}
    doc = workload(gg(gangMode="Off", rankedGroups=[rg(eq("t", count=3, maxTemplate=largest))]))
    (pods,) = request(doc).root.pod_sets()
    assert pods.shape.requests.get("cpu") == 16 * 10**9
    assert warnings(doc) == ["spec.gangGroups[0].rankedGroups[0].eqGroups[0].maxTemplate"]


def test_a_range_of_pods_wants_as_many_as_there_are_now() -> None:
    # W-228, W-062
    def doc(**counts: int) -> Doc:
        return workload(gg(gangMode="Off", rankedGroups=[rg(eq("t", **counts))]), replicaMode="ReplicatedPods")

    assert placed(doc(minCount=1, maxCount=5)) == [("gg", {"gg": (1, 1)})]
    assert placed(job(3, linked()), doc(minCount=1, maxCount=5)) == [("gg", {"gg": (3, 1)})]
    assert placed(job(3, linked()), doc()) == [("gg", {"gg": (3, 1)})]
    assert any("maxCount" in one for one in wrong(job(6, linked()), doc(minCount=1, maxCount=5)))


def test_pods_that_differ_from_the_template_of_their_group_are_told() -> None:
    # W-103, W-211, W-212
    doc = workload(gg(rankedGroups=[rg(eq("t", count=4))]))
    assert "differ from the template in: requests" in said(job(4, linked(cpu="2")), doc)
    assert "differ" not in said(job(4, linked()), doc)


def test_pods_that_are_not_as_many_as_their_group_says_are_told() -> None:
    # W-019, W-103
    doc = workload(gg(rankedGroups=[rg(eq("t", count=4))]))
    assert "says 4 pods, but those that name the group are 5" in said(job(5, linked()), doc)
    assert "but those" not in said(job(4, linked()), doc)


def test_what_is_wrong_with_a_members_template_is_told_where_it_is_placed() -> None:
    (text,) = wrong(job(4, linked(cpu="100GB")), workload(gg(minCount=4)))
    assert text.startswith("Job/train: spec.template.spec.containers[0].resources.requests.cpu: ")


@pytest.mark.parametrize(
    ("path", "group"),
    [
        ("minCount", gg(minCount=-1)),
        ("minCount", gg(minCount="four")),
        ("maxCount", gg(minCount=4, maxCount=3)),
        ("count", gg(count=4, minCount=3)),
        ("policy.gang.minCount", gg(minCount=3, policy={"gang": {"minCount": 4}})),
        ("policy", gg(gangMode="Off", policy={"kind": "Gang", "gang": {"minCount": 4}})),
        ("gangMode", gg(gangMode="Maybe")),
        ("name", {"minCount": 4}),
        ("name", {"name": "Upper", "minCount": 4}),  # W-132
        ("reschedulingPolicy", gg(minCount=4, reschedulingPolicy="Pray")),
        ("scheduleTimeoutSeconds", gg(minCount=4, scheduleTimeoutSeconds=0)),
        ("rankedGroups[0].podRank", gg(rankedGroups=[{"name": "rg", "podRank": {"fieldRef": "x"}}])),
        ("rankedGroups[0].podRank", gg(rankedGroups=[{**RANKED["rankedGroups"][0], "rankMode": "Off"}])),
        ("rankedGroups[0].rankPlacement.order", gg(rankedGroups=[
            {**RANKED["rankedGroups"][0], "rankPlacement": {"order": "Sideways"}}])),
        ("rankedGroups[0].eqGroups[0].template.resources", gg(rankedGroups=[
            rg({"name": "t", "count": 1, "template": {"resources": {}}})])),  # X-42
        ("rankedGroups[0].eqGroups[0].template.containers", gg(rankedGroups=[
            rg({"name": "t", "count": 1, "template": {"containers": []}})])),
        ("rankedGroups[0].eqGroups[1].name", gg(rankedGroups=[rg(eq("t", count=1), eq("t", count=1))])),
        ("rankedGroups[0].eqGroups[0].minCount", gg(rankedGroups=[rg(eq("a", minCount=1, count=2), eq("b", count=1))])),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_group_is_told_at_its_place(path: str, group: Doc) -> None:
    assert f"spec.gangGroups[0].{path}" in paths(workload(group))


def test_a_number_that_is_left_to_compute_is_answered_with_its_result() -> None:
    # X-37
    one = problem(workload(gg(policy={"kind": "Gang", "gang": {"minCount": "2 X 2 X 4"}})))
    assert one.path == "spec.gangGroups[0].policy.gang.minCount" and "write 16" in one.message


def test_two_groups_of_one_name_are_a_problem() -> None:
    assert "spec.gangGroups[1].name" in paths(workload(gg(minCount=1), gg(minCount=2)))


def test_both_names_of_the_list_at_once_are_a_problem() -> None:
    doc = workload(gg(minCount=1))
    doc["spec"]["podGroups"] = [{"name": "other", "minCount": 1}]
    assert "spec.podGroups" in paths(doc)


# -- ranks -------------------------------------------------------------------------------------------------------


def test_ranks_are_read_where_the_group_says() -> None:
    # W-173, W-221, W-223
    assert normal(job(4, linked()), workload(gg(minCount=4, **RANKED))) == [gg(**PART, rank=RANK)]


def test_ranks_without_a_place_to_read_them_are_told() -> None:
    assert "podRank.valueFrom.fieldRef.fieldPath is missing" in said(
        workload(gg(minCount=4, rankedGroups=[{"name": "r"}]))
    )


def test_ranks_go_over_a_level_as_the_group_asks() -> None:
    # W-199, W-205
    ranked = {**RANKED["rankedGroups"][0], "rankPlacement": {"order": "Stripe", "across": "rack"}}
    ranks = request(workload(gg(minCount=4, rankedGroups=[ranked]))).root.ranks
    assert ranks is not None and (ranks.order, ranks.across) == ("Stripe", RACK)


def test_ranks_of_two_groups_sit_together() -> None:
    # W-200
    source = RANKED["rankedGroups"][0]["podRank"]
    beside = {"withSameRankOf": "a", "level": "host"}
    inner = [
        {"name": "a", "podRank": source, "eqGroups": [eq("t", count=2)]},
        {"name": "b", "podRank": source, "eqGroups": [eq("t", count=2)], "rankPlacement": beside},
    ]
    *_, last = request(workload(gg(rankedGroups=inner))).root.groups()
    assert last.ranks is not None and (last.ranks.with_same_rank_of, last.ranks.level) == ("a", HOST)


def test_two_pods_of_one_rank_are_a_problem() -> None:
    # X-24; X-23: the label is read where the annotation is absent
    key = "batch.kubernetes.io/job-completion-index"
    pods = [pod(name, linked(), {key: "0"}) for name in ("p", "q")]
    (text,) = wrong(*pods, workload(gg(minCount=2, **RANKED)))
    assert "both have rank 0" in text
    found(*(pod(f"p{i}", linked(), {key: str(i)}) for i in range(2)), workload(gg(minCount=2, **RANKED)))


# -- topology, time-outs, failures -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        ({"required": "rack"}, (RACK, None)), ({"preferred": "rack"}, (None, RACK)),
        ({"required": "block", "preferred": "rack"}, (BLOCK, RACK)), ({"level": "rack"}, (RACK, None)),
        ({"level": "rack", "policy": "Preferred"}, (None, RACK)), ({"key": "topology/rack"}, (RACK, None)),
        ({"nodeLabel": "topology/zone"}, (ZONE, None)),
    ],
)  # fmt: skip
def test_a_level_is_asked_for_in_any_spelling(asked: Doc, want: tuple[int | None, int | None]) -> None:
    # W-194, W-197
    root = request(workload(gg(minCount=4, topologyRequest=asked))).root
    assert (root.required, root.preferred) == want


def test_a_domain_around_the_whole_workload() -> None:
    # W-204 at level 0, W-222
    root = request(workload(gg(gangMode="Off"), topologyRequest={"required": "block"})).root
    assert root.required == BLOCK


def test_a_domain_around_several_gangs_is_told_not_to_be_built() -> None:
    doc = workload({"name": "a", "minCount": 1}, {"name": "b", "minCount": 1}, topologyRequest={"required": "rack"})
    assert problem(doc).path == "spec.topologyRequest"


@pytest.mark.parametrize(
    ("asked", "path", "message"),
    [
        ({"resourceClaims": [{"name": "x", "resourceClaimTemplate": "y"}]}, ".resourceClaims", "not built yet"),  # X-41
        ("<details TBD>", "", "write a level"),
        ({}, "", "names no level"),
        ({"required": "rack", "key": "topology/rack"}, "", "in two ways"),
        ({"required": "rak"}, ".required", "rak"),
    ],
)
def test_what_is_wrong_with_a_topology_request_is_told(asked: object, path: str, message: str) -> None:
    # W-057
    one = problem(workload(gg(minCount=4, topologyRequest=asked)))
    assert one.path == f"spec.gangGroups[0].topologyRequest{path}" and message in one.message


def test_pods_of_the_whole_workload_are_kept_apart() -> None:
    # W-208
    ours = request(workload(gg(minCount=4), topologySpread={"level": "host", "maxPerDomain": 1})).root.spread
    assert ours == Spread(HOST, max_per_domain=1)
    theirs = request(
        workload(gg(minCount=4), topologySpread={"topologyKey": "topology/rack", "maxSkew": 2})
    ).root.spread
    assert theirs == Spread(RACK, max_skew=2)


def spec_of(doc: Doc) -> Any:
    (one,) = found(doc).outlines
    return outline.plain(one.spec)


def test_the_time_out_of_the_whole_is_the_longest_of_its_groups() -> None:
    # W-134, X-32
    doc = workload(
        gg(minCount=1, scheduleTimeoutSeconds=60), {"name": "b", "minCount": 1, "schedulerTimeoutSeconds": 90}
    )
    assert spec_of(doc)["scheduleTimeoutSeconds"] == 90
    assert "the longest of them" in said(doc) and "is read as scheduleTimeoutSeconds" in said(doc)
    assert "longest" not in said(workload(gg(minCount=1, scheduleTimeoutSeconds=60)))


def test_terminate_all_restarts_the_gang() -> None:
    # X-33, W-193
    assert spec_of(workload(gg(minCount=1, reschedulingPolicy="TerminateAll")))["onFailure"] == "RestartGang"


def test_groups_that_disagree_about_failures_are_a_problem() -> None:
    other = {"name": "b", "minCount": 1, "reschedulingPolicy": "ReplacePod"}
    doc = workload(gg(minCount=1, reschedulingPolicy="TerminateAll"), other)
    assert problem(doc).path == "spec.gangGroups[1].reschedulingPolicy"


@pytest.mark.parametrize(("said_", "want"), [("Pod", "Pod"), ("Replica", "Group"), ("Workload", "Gang")])
def test_replicas_are_disrupted_as_the_workload_says(said_: str, want: str) -> None:
    # W-209, W-059
    assert spec_of(workload(gg(minCount=1), replicaDisruptionPolicy=said_))["disruption"] == want


# -- the matrix --------------------------------------------------------------------------------------------------


POLICIES: dict[str, tuple[object, tuple[int, ...]]] = {
    "gangMode": ("Gang", (1,)), "scheduleTimeoutSeconds": (60, (1,)), "reschedulingPolicy": ("TerminateAll", (1,)),
    "topologyRequest": ({"preferred": "rack"}, (0, 1, 2, 3)),
    "podRank": ({"valueFrom": {"fieldRef": {"fieldPath": INDEX}}}, (2,)), "rankMode": ("Ranked", (2,)),
    "template": ({"spec": pod_spec()}, (3,)), "maxTemplate": ({"spec": pod_spec()}, (3,)),
    "minCount": (2, (0, 1, 2, 3)), "maxCount": (2, (0, 1, 2, 3)),
    "topologySpread": ({"level": "host", "maxPerDomain": 1}, (0,)), "replicaDisruptionPolicy": ("Pod", (0,)),
    "controllerRef": ({"kind": "Job", "name": "j"}, (0,)),
}  # fmt: skip


@pytest.mark.parametrize("level", range(4))
@pytest.mark.parametrize("policy", POLICIES)
def test_each_policy_stands_at_its_levels_and_at_no_other(policy: str, level: int) -> None:
    # W-190, W-203..W-209
    equal: Doc = {"name": "t", "count": 2}
    ranked: Doc = {"name": "rg", "eqGroups": [equal], "podRank": {"valueFrom": {"fieldRef": {"fieldPath": INDEX}}}}
    group: Doc = {"name": "gg", "rankedGroups": [ranked]}
    doc = workload(group)
    (doc["spec"], group, ranked, equal)[level][policy] = POLICIES[policy][0]
    if level == 3 and policy in ("minCount", "maxCount"):
        del equal["count"]
    place = ("spec", "spec.gangGroups[0]", "spec.gangGroups[0].rankedGroups[0]",
             "spec.gangGroups[0].rankedGroups[0].eqGroups[0]")[level]  # fmt: skip
    if level in POLICIES[policy][1]:
        assert requests(doc)
    else:
        assert f"{place}.{policy}" in paths(doc)


@pytest.mark.parametrize("key", ["gangGroups", "podGroups", "rankedGroups", "eqGroups"])
def test_a_fifth_level_is_a_problem(key: str) -> None:
    # W-115
    one = problem(workload(gg(rankedGroups=[rg(eq("t", count=1, **{key: [eq("u")]}))])))
    assert "four levels" in one.message


def test_eq_groups_right_in_a_gang_group_get_an_unranked_group_between() -> None:
    # X-22, W-190, W-227
    doc = workload(gg(minCount=1, rankMode="Off", eqGroups=[eq("t")]))
    assert normal(doc) == [gg(count=1, minCount=1)]
    assert "an unranked one is put between" in said(doc)
    assert (
        problem(workload(gg(minCount=1, rankMode="Ranked", eqGroups=[eq("t")]))).path == "spec.gangGroups[0].rankMode"
    )


# -- who it belongs to -------------------------------------------------------------------------------------------


REFERENCE = {"apiGroup": "batch", "kind": "Job", "name": "train"}


def test_a_reference_to_the_true_workload_may_be_left_out_or_given() -> None:
    # W-067
    assert said(job(4, linked()), workload(gg(minCount=4))) == ""
    assert said(job(4, linked()), workload(gg(minCount=4), controllerRef=REFERENCE)) == ""


def test_a_reference_to_nothing_is_a_warning_only() -> None:
    # W-067, X-47
    assert "Job train is not among the documents" in said(workload(gg(minCount=4), controllerRef=REFERENCE))


def test_the_link_of_the_pods_decides_and_not_the_reference() -> None:
    # W-068
    docs = [job(3, pod_spec()), job(4, linked(), name="other"), workload(gg(minCount=4), controllerRef=REFERENCE)]
    reading = found(*docs)
    made = {one.name: next(one.root.pod_sets()).count for one in reading.requests}
    assert made == {"train": 3, "w": 4}
    assert "those of Job/other do" in said(*docs)


def test_a_true_workload_without_a_link_is_told_which_one_to_add() -> None:
    # W-068
    docs = [job(3, pod_spec()), workload(gg(minCount=3), controllerRef=REFERENCE)]
    assert "put into their template: spec.workload: {name: w}" in said(*docs)


def test_two_workloads_that_share_one_object_are_told() -> None:
    # W-119
    docs = [job(2, linked()), job(2, linked(), name="other"), workload(gg(minCount=4))]
    assert "is shared by Job/other, Job/train" in said(*docs)


def test_the_wishes_of_a_member_are_told_not_to_be_followed() -> None:
    member = job(4, linked())
    member["spec"]["template"]["metadata"] = {"annotations": {"phalanx.dev/topology-required": "rack"}}
    assert "annotations about topology are not followed" in said(member, workload(gg(minCount=4)))


def test_the_priority_is_that_of_the_pods() -> None:
    doc = job(4, {**linked(), "priorityClassName": "system-node-critical"})
    assert found(doc, workload(gg(minCount=4))).requests[0].priority == 2_000_001_000


def test_templates_belong_to_the_other_workload() -> None:
    doc = workload(gg(minCount=1), podGroupTemplates=[])
    assert problem(doc).allowed == ("gangGroups", "podGroups")


# -- the designs' examples, compact ------------------------------------------------------------------------------


def placements(*docs: Doc, nodes: int = 4, cpu: str = "2") -> list[tuple[str, dict[str, int]]]:
    state = [topology({"nodeLabel": "topology/rack", "name": "rack"})]
    for i in range(nodes):
        one = node(f"n{i}", {"topology/rack": f"r{i // 2}"})
        one["status"]["allocatable"]["cpu"] = cpu
        state.append(one)
    made = Cluster.from_manifests(state).place(list(docs))
    return [(one.status, {name: sum(on.values()) for name, on in one.pod_sets.items()}) for one in made]


def test_an_indexed_job_in_one_block_is_placed_whole() -> None:
    # W-221, W-001
    doc = workload(gg(minCount=4, maxCount=4, scheduleTimeoutSeconds=60, reschedulingPolicy="TerminateAll", **RANKED),
                   topologyRequest={"required": "rack"})  # fmt: skip
    assert placements(job(4, linked()), doc) == [("Placed", {"gg": 4})]
    assert placements(job(4, linked(), name="big"), doc, cpu="1") == [("Waiting", {})]


def test_pods_of_a_job_that_is_no_gang_stay_in_one_domain() -> None:
    # W-222, W-224
    doc = workload(gg(gangMode="Off"), topologyRequest={"required": "rack"})
    assert placements(job(8, linked(), 16), doc) == [("Placed", {"gg": 4})]


def test_an_initializer_and_a_trainer_start_on_their_own() -> None:
    # W-225, W-227
    groups = [{"name": name, "minCount": pods, "maxCount": pods, "rankMode": "Off", "eqGroups": [eq("t")]}
              for name, pods in (("initializer", 1), ("trainer", 10))]  # fmt: skip
    assert placements(workload(*groups)) == [("Placed", {"initializer": 1}), ("Waiting", {})]


def test_one_replica_runs_while_the_next_one_waits() -> None:
    # W-229, W-172
    shapes = rg(eq("leader", count=1), eq("worker", count=1))
    doc = workload(gg(gangMode="Gang", rankedGroups=[shapes]), replicaMode="ReplicatedGangs")
    one = {"gg[0]/leader": 1, "gg[0]/worker": 1}
    assert placements(lws(2, 2, linked()), doc, nodes=3, cpu="1") == [("Placed", one), ("Waiting", {})]


def test_two_shapes_of_a_jobset_are_one_gang() -> None:
    # W-230
    doc = workload(gg(gangMode="Gang", rankedGroups=[rg(eq("worker", count=3), eq("leader", count=1))]))
    made = placements(jobset(worker=(1, 3, linked()), leader=(1, 1, linked())), doc, nodes=2)
    assert made == [("Placed", {"gg/worker": 3, "gg/leader": 1})]


def test_a_rev1_workload_means_the_same_when_levels_are_added() -> None:
    # W-006
    rev1, revn = gg(minCount=4), gg(minCount=4, rankedGroups=[{"name": "rg", "rankMode": "Off"}])
    assert found(job(4, linked()), workload(rev1)).requests == found(job(4, linked()), workload(revn)).requests


# -- anything at all ---------------------------------------------------------------------------------------------


FIELDS = [
    "name", "count", "minCount", "maxCount", "gangMode", "policy", "kind", "gang", "basic", "replicas", "rankedGroups",
    "eqGroups", "gangGroups", "podGroups", "topologyRequest", "required", "level", "podRank", "rankMode", "template",
    "spec", "maxTemplate", "replicaMode", "controllerRef", "topologySpread", "rankPlacement", "scheduleTimeoutSeconds",
]  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers(-2, 5) | st.sampled_from(["a", "b", "Off", "Gang", "rack", "2 X 3", ""])
)
ANYTHING = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), below, max_size=5)
)
GROUPS = st.lists(st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=6), max_size=3)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=5), GROUPS)
def test_anything_ends_in_requests_or_problems(spec: dict[str, Any], groups: list[Any]) -> None:
    doc = workload(**{**spec, "gangGroups": groups})
    for given_ in ([doc], [job(2, linked("a")), doc], [workload(**spec)]):
        for item in read_workloads(given_, AROUND).items:
            assert isinstance(item, (Request, Invalid))


def test_a_list_nested_ten_thousand_deep_is_a_problem() -> None:
    deep: Any = "x"
    for _ in range(10_000):
        deep = [deep]
    for name in ("topologyRequest", "rankedGroups", "template"):
        read_workloads([job(2, linked()), workload(gg(**{name: deep}), topologyRequest={"required": deep})], AROUND)
