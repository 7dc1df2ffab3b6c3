"""LeaderWorkerSets: each replica a gang, leader and workers ranked together."""

from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

import phalanx
from phalanx.dialects.reading import read, read_workloads
from phalanx.model.request import Ranks
from tests.dialects.manifests import (
    AROUND,
    BLOCK,
    RACK,
    Doc,
    node,
    paths,
    pod_spec,
    problem,
    request,
    requests,
    topology,
)
from tests.dialects.shapes import broken, groups, normal, noted, notes
from tests.dialects.test_hostile import check

REQUIRED, MODE = "phalanx.dev/topology-required", "phalanx.dev/gang-mode"
KUEUE_REQUIRED, GROUP = "kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-group-name"
SLICE_LEVEL, SLICE_SIZE = "kueue.x-k8s.io/podset-slice-required-topology", "kueue.x-k8s.io/podset-slice-size"
EXCLUSIVE = "leaderworkerset.sigs.k8s.io/exclusive-topology"
SUBGROUP = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"
RANK = "metadata.labels['leaderworkerset.sigs.k8s.io/worker-index']"
KEY = "metadata.labels['leaderworkerset.sigs.k8s.io/group-index']"


def pods(annotations: Doc | None = None, **spec: Any) -> Doc:
    return {"metadata": {"annotations": annotations or {}}, "spec": pod_spec(**spec)}


def lws(
    annotations: Doc | None = None, replicas: Any = 2, size: Any = 4, leader: Doc | None = None,
    worker: Doc | None = None, inner: Doc | None = None, **spec: Any,
) -> Doc:  # fmt: skip
    leading = {"leaderTemplate": leader} if leader is not None else {}
    made = {"size": size, **leading, "workerTemplate": worker if worker is not None else pods(), **(inner or {})}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
        "metadata": {"name": "vllm", "annotations": annotations or {}},
        "spec": {"replicas": replicas, **spec, "leaderWorkerTemplate": made},
    }  # fmt: skip


def both(annotations: Doc | None = None, wish: Doc | None = None, **more: Any) -> Doc:
    """With a template of its own for the leader, both of which ask for the same."""
    return lws(annotations, leader=pods(wish), worker=pods(wish), **more)


# --------------------------------------------------------------------------------------------------------- replicas

GOLDEN = """
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: vllm
  labels: {phalanx.dev/queue: serving}
  annotations: {phalanx.dev/topology-required: rack}
spec:
  replicas: 3
  startupPolicy: LeaderCreated
  rolloutStrategy:
    type: RollingUpdate
    rollingUpdateConfiguration: {maxUnavailable: 1, maxSurge: 1}
  leaderWorkerTemplate:
    size: 4
    restartPolicy: RecreateGroupOnPodRestart
    leaderTemplate:
      metadata: {labels: {role: leader}}
      spec:
        priorityClassName: inference
        containers: [{name: vllm-leader, image: vllm, resources: {limits: {nvidia.com/gpu: 8}}}]
    workerTemplate:
      spec:
        containers: [{name: vllm-worker, image: vllm, resources: {limits: {nvidia.com/gpu: 8}}}]
"""


def test_the_golden_leader_worker_set() -> None:  # K-094, W-145, W-185
    assert normal(yaml.safe_load(GOLDEN)) == {
        "queue": "serving",
        "priorityClassName": "inference",
        "policy": "Basic",
        "disruption": "Group",
        "podGroups": [
            {
                "name": "main",
                "replicas": 3,
                "replicaKey": KEY,
                "podClasses": [{"name": "leader", "count": 1}, {"name": "worker", "count": 3}],
                "topology": {"required": "rack"},
                "rank": {"fieldPath": RANK},
            }
        ],
    }


def test_each_replica_is_a_gang_of_leader_and_workers() -> None:  # W-110, W-145, W-229, X-25
    found = requests(both(replicas=3, size=2))
    assert [one.unit for one in found] == ["main[0]", "main[1]", "main[2]"]
    assert [(s.name, s.count, s.min_count) for s in found[1].root.pod_sets()] == [
        ("main[1]/leader", 1, 1),
        ("main[1]/worker", 1, 1),
    ]


def test_without_a_leader_template_all_pods_of_a_replica_are_alike() -> None:
    found = requests(lws(size=4))
    assert [[(s.name, s.count, s.min_count) for s in one.root.pod_sets()] for one in found] == [
        [("main[0]", 4, 4)],
        [("main[1]", 4, 4)],
    ]


def test_a_replica_of_one_is_its_leader() -> None:
    assert [s.name for s in requests(both(replicas=1, size=1))[0].root.pod_sets()] == ["main[0]/leader"]


def test_leader_and_workers_have_one_numbering() -> None:  # W-177, W-178, W-179
    (one, _) = requests(both())
    assert one.root.ranks == Ranks("Consecutive")
    assert len(list(one.root.pod_sets())) == 2


def test_one_replica_more_or_less_leaves_the_others_as_they_are() -> None:  # W-172, W-220
    two, five = requests(lws(replicas=2)), requests(lws(replicas=5))
    assert five[:2] == two
    assert len(five) == 5


def test_replicas_of_a_surge_are_gangs_of_their_own() -> None:  # W-231
    rollout = {"rollingUpdateConfiguration": {"maxSurge": 1, "maxUnavailable": 1}}
    calm, rolling = both(), both(rolloutStrategy=rollout)
    assert requests(rolling) == requests(calm)
    assert noted(rolling) == []
    assert noted(both({MODE: "Gang"}, rolloutStrategy=rollout)) == [
        "spec.rolloutStrategy.rollingUpdateConfiguration.maxSurge"
    ]


def test_replicas_are_placed_one_by_one_as_room_allows() -> None:  # W-145, W-229, W-231
    nodes = [node(f"n{i}") for i in range(3)]  # 8 cpu each: 24, of which a replica of 2 x 5 takes two nodes
    doc = both(size=2)
    for one in ("leaderTemplate", "workerTemplate"):
        doc["spec"]["leaderWorkerTemplate"][one]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "5"}}
    cluster = phalanx.Cluster.from_manifests(nodes)
    first, second = cluster.place([doc])
    assert (first.unit, first.status) == ("main[0]", "Placed")
    cluster.commit([first])
    assert [one.status for one in cluster.place([doc])] == ["Waiting", "Waiting"]
    assert second.unit == "main[1]"


def test_no_replicas_are_nothing_to_place() -> None:
    assert requests(lws(replicas=0)) == ()
    assert noted(lws(replicas=0)) == ["spec.replicas"]


def test_a_replica_that_is_recreated_as_a_whole_is_disrupted_as_a_whole() -> None:  # W-059
    assert normal(lws())["disruption"] == "Group"
    assert "disruption" not in normal(lws(inner={"restartPolicy": "None"}))


def test_pods_that_name_a_gang_are_counted_there_whatever_the_set_wishes() -> None:  # W-017
    doc = both({REQUIRED: "block"}, {REQUIRED: "rack"}, size=4)
    for one in ("leaderTemplate", "workerTemplate"):
        doc["spec"]["leaderWorkerTemplate"][one]["metadata"]["labels"] = {"phalanx.dev/gang": "llm"}
    own = {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Gang", "metadata": {"name": "llm"},
           "spec": {"podGroups": [{"name": "all", "minCount": 3}]}}  # fmt: skip
    (found,) = read_workloads([doc, own], AROUND).requests
    assert sum(one.count for one in found.root.pod_sets()) == 8


# ------------------------------------------------------------------------------------------------------------ modes


def test_in_mode_gang_all_replicas_start_together() -> None:  # W-145
    found = request(both({MODE: "Gang", REQUIRED: "block"}, size=2))
    assert found.unit is None
    assert found.root.required == BLOCK
    assert sum(s.min_count for s in found.root.pod_sets()) == 4


def test_replicated_gang_is_the_default() -> None:
    assert requests(both({MODE: "ReplicatedGang"})) == requests(both())


def test_in_mode_off_one_pod_is_enough() -> None:
    one = requests(both({MODE: "Off"}))[0]
    assert [s.min_count for s in one.root.pod_sets()] == [1, 0]


def test_workers_that_come_after_their_leader_are_not_waited_for() -> None:
    doc = both(startupPolicy="LeaderReady")
    assert [[s.min_count for s in one.root.pod_sets()] for one in requests(doc)] == [[1, 0], [1, 0]]
    assert noted(doc) == ["spec.startupPolicy"]


def test_where_workers_come_later_the_leader_still_goes_where_all_have_room() -> None:
    nodes = [node("small", {"topology/rack": "r1"})]
    nodes += [node(f"n{i}", {"topology/rack": "r2"}) for i in range(2)]
    cluster = phalanx.Cluster.from_manifests([topology("topology/rack"), *nodes])
    doc = both({REQUIRED: "rack"}, replicas=1, size=10, startupPolicy="LeaderReady")
    (found,) = cluster.place([doc])
    assert found.domains["main[0]"] == ("r2",)


@pytest.mark.parametrize("mode", ["Gang", "ReplicatedGang"])
def test_a_gang_with_workers_that_wait_for_their_leader_is_a_problem(mode: str) -> None:
    found = problem(both({MODE: mode}, startupPolicy="LeaderReady"))
    assert (found.path, found.value, found.allowed) == (f"metadata.annotations['{MODE}']", mode, ("Off",))
    assert "LeaderReady" in found.message
    assert requests(both({MODE: mode}, size=1, startupPolicy="LeaderReady"))


@pytest.mark.parametrize(
    ("doc", "path"),
    [
        (lws(replicas="2"), "spec.replicas"),
        (lws(replicas=-1), "spec.replicas"),
        (lws(replicas=20_000), "spec.replicas"),
        (lws(size=0), "spec.leaderWorkerTemplate.size"),
        (lws(startupPolicy="Later"), "spec.startupPolicy"),
        (lws(groupPlacementPolicy={"type": "Colocated"}), "spec.groupPlacementPolicy"),
        (lws({MODE: "gang"}), f"metadata.annotations['{MODE}']"),
        (lws({REQUIRED: "rak"}), f"metadata.annotations['{REQUIRED}']"),
        (lws(inner={"restartPolicy": "Never"}), "spec.leaderWorkerTemplate.restartPolicy"),
        (lws(inner={"workerTemplate": None}), "spec.leaderWorkerTemplate.workerTemplate"),
        (lws(leader={"spec": {}}), "spec.leaderWorkerTemplate.leaderTemplate.spec.containers"),
        (
            lws(rolloutStrategy={"rollingUpdateConfiguration": {"maxSurge": "many"}}),
            "spec.rolloutStrategy.rollingUpdateConfiguration.maxSurge",
        ),
        (
            lws(rolloutStrategy={"rollingUpdateConfiguration": {"maxSurge": -1}}),
            "spec.rolloutStrategy.rollingUpdateConfiguration.maxSurge",
        ),
    ],
)
def test_a_wrong_leader_worker_set_is_a_problem_with_its_path(doc: Doc, path: str) -> None:
    assert paths(doc) == [path]


# ----------------------------------------------------------------------------------------------------------- levels


def test_a_level_on_the_object_bounds_each_replica() -> None:
    assert [one.root.required for one in requests(both({REQUIRED: "rack"}))] == [RACK, RACK]


def test_levels_of_object_and_templates_nest_in_each_replica() -> None:
    one = requests(both({REQUIRED: "block"}, {REQUIRED: "rack"}))[1]
    assert [(group.name, group.required) for group in one.root.groups()] == [("replica[1]", BLOCK), ("main[1]", RACK)]


def test_templates_that_ask_for_different_levels_are_pod_sets_of_their_own() -> None:
    doc = lws(leader=pods(), worker=pods({REQUIRED: "rack"}))
    found = groups(doc)
    assert found["main"] == {"name": "main", "replicas": 2, "replicaKey": KEY}
    assert [(found[name]["parent"], found[name]["count"]) for name in ("leader", "worker")] == [
        ("main", 1),
        ("main", 3),
    ]
    assert found["worker"]["topology"] == {"required": "rack"}
    assert [s.name for s in requests(doc)[0].root.pod_sets()] == ["leader[0]", "worker[0]"]


def test_kueues_levels_hold_for_leader_and_workers_apart() -> None:
    found = groups(both(wish={KUEUE_REQUIRED: "topology/rack"}))
    assert [found[name]["topology"] for name in ("leader", "worker")] == [{"required": "topology/rack"}] * 2


def test_kueues_group_holds_leader_and_workers_together() -> None:
    found = groups(both(wish={KUEUE_REQUIRED: "topology/rack", GROUP: "near"}))
    assert list(found) == ["main"]
    assert found["main"]["topology"] == {"required": "topology/rack"}


def test_kueues_group_on_one_template_is_a_problem() -> None:
    doc = lws(
        leader=pods({KUEUE_REQUIRED: "topology/rack"}), worker=pods({KUEUE_REQUIRED: "topology/rack", GROUP: "g"})
    )
    assert paths(doc) == [f"spec.leaderWorkerTemplate.workerTemplate.metadata.annotations['{GROUP}']"]


def test_of_kueues_levels_both_templates_need_one() -> None:  # K-038
    doc = lws(leader=pods(), worker=pods({KUEUE_REQUIRED: "topology/rack"}))
    assert paths(doc) == [f"spec.leaderWorkerTemplate.leaderTemplate.metadata.annotations['{KUEUE_REQUIRED}']"]


def test_an_exclusive_topology_holds_each_replica_and_says_what_it_does_not() -> None:
    doc = both({EXCLUSIVE: "topology/rack"})
    assert [one.root.required for one in requests(doc)] == [RACK, RACK]
    (only,) = notes(doc)
    assert only.path == f"metadata.annotations['{EXCLUSIVE}']"
    assert "pods of other replicas are kept out of it, those of other workloads are not" in only.message
    whole = request(both({EXCLUSIVE: "topology/rack", REQUIRED: "block", MODE: "Gang"}))
    assert [group.required for group in whole.root.groups()] == [BLOCK, RACK, RACK]
    nested = groups(both({EXCLUSIVE: "topology/rack", REQUIRED: "zone"}, {REQUIRED: "host"}))
    assert [(name, one.get("parent")) for name, one in nested.items()] == [
        ("replica", None),
        ("domain", "replica"),
        ("main", "domain"),
    ]


def test_a_field_that_no_release_has_is_answered_with_the_annotation() -> None:
    found = problem(lws(groupPlacementPolicy={"type": "Colocated"}))
    assert f"annotation {EXCLUSIVE} holds each replica" in found.message


# ------------------------------------------------------------------------------------------------- spec.scheduling

RACKS: Doc = {"schedulingConstraints": {"topology": [{"key": "topology/rack"}]}}
AS_GANG: Doc = {"schedulingPolicy": {"gang": {}}}


def least(doc: Doc) -> list[tuple[str | None, int]]:
    return [(one.unit, sum(pods.min_count for pods in one.root.pod_sets())) for one in requests(doc)]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, [("main[0]", 4), ("main[1]", 4)]),
        ({"replica": {}}, [("main[0]", 4), ("main[1]", 4)]),
        ({"replica": {"schedulingPolicy": {"gang": {"minCount": 4}}}}, [("main[0]", 4), ("main[1]", 4)]),
        ({"replica": {"schedulingPolicy": {"basic": {}}}}, [("main[0]", 1), ("main[1]", 1)]),
        (AS_GANG, [(None, 8)]),
        ({"schedulingPolicy": {"basic": {}}}, [("main[0]", 1), ("main[1]", 1)]),
    ],
)
def test_scheduling_says_which_pods_of_the_set_start_together(asked: Doc, expected: list[object]) -> None:
    assert least(lws(scheduling=asked)) == expected


def test_scheduling_bounds_the_set_or_each_replica() -> None:
    whole = request(lws(scheduling={**AS_GANG, **RACKS}))
    assert [group.required for group in whole.root.groups()] == [RACK, None, None]
    each = requests(lws(scheduling={"replica": RACKS}))
    assert [one.root.required for one in each] == [RACK, RACK]


def test_scheduling_says_who_goes_together() -> None:
    together: Doc = {"disruptionMode": {"all": {}}}
    assert normal(lws(scheduling={**AS_GANG, **together}))["disruption"] == "Gang"
    assert normal(lws(scheduling={"replica": together}, inner={"restartPolicy": "None"}))["disruption"] == "Group"


@pytest.mark.parametrize(
    ("doc", "path"),
    [
        (lws(scheduling={"replica": {"leader": {}}}), "spec.scheduling.replica.leader"),
        (lws(scheduling={**AS_GANG, "replica": {"disruptionMode": {"all": {}}}}), "spec.scheduling.schedulingPolicy"),
        (
            lws(scheduling={"replica": {"schedulingPolicy": {"gang": {"minCount": 3}}}}),
            "spec.scheduling.replica.schedulingPolicy.gang.minCount",
        ),
        (lws({EXCLUSIVE: "topology/rack"}, scheduling={}), f"metadata.annotations['{EXCLUSIVE}']"),
        (lws({MODE: "Off"}, scheduling=AS_GANG), f"metadata.annotations['{MODE}']"),
        (lws(startupPolicy="LeaderReady", scheduling=AS_GANG), "spec.scheduling.schedulingPolicy"),
        (lws(scheduling={"gang": {}}), "spec.scheduling.gang"),
        (lws(scheduling="Gang"), "spec.scheduling"),
    ],
)
def test_scheduling_that_cannot_be_is_named_by_its_path(doc: Doc, path: str) -> None:
    assert paths(doc) == [path]


# -------------------------------------------------------------------------------------------------------- subgroups


def cut(size: int, kind: str | None = None) -> Doc:
    return {"subGroupPolicy": {"subGroupSize": size, **({"subGroupPolicyType": kind} if kind else {})}}


def test_subgroups_alone_mean_nothing_to_placement() -> None:
    assert requests(both(inner=cut(2))) == requests(both())


def test_subgroups_of_equal_pods_are_slices() -> None:
    doc = lws({SUBGROUP: "topology/rack"}, size=6, inner=cut(3))
    assert groups(doc)["main"]["slices"] == [{"level": "topology/rack", "size": 3}]
    assert noted(doc) == [f"metadata.annotations['{SUBGROUP}']"]


def test_subgroups_without_the_leader_are_slices_of_the_workers() -> None:
    found = groups(both({SUBGROUP: "topology/rack"}, size=7, inner=cut(3, "LeaderExcluded")))
    assert found["worker"]["slices"] == [{"level": "topology/rack", "size": 3}]
    assert (found["leader"]["count"], found["worker"]["count"]) == (1, 6)


@pytest.mark.parametrize(("size", "first", "rest"), [(6, [1, 2], 1), (7, [1, 3], 1), (9, [1, 2], 2)])
def test_subgroups_with_a_leader_of_another_shape_are_groups(size: int, first: list[int], rest: int) -> None:
    found = groups(both({SUBGROUP: "topology/rack"}, size=size, inner=cut(3)))
    assert [one["count"] for one in found["first"]["podClasses"]] == first
    assert (found["rest"]["replicas"], found["rest"]["count"], found["rest"]["parent"]) == (rest, 3, "main")
    assert [found[name]["topology"] for name in ("first", "rest")] == [{"required": "topology/rack"}] * 2


def test_subgroups_make_up_the_whole_replica() -> None:
    for size in (2, 4, 6, 7, 9, 13):
        for part in (1, 2, 3, 6):
            if size % part and (size - 1) % part:
                continue
            for doc in (
                lws({SUBGROUP: "rack"}, size=size, inner=cut(part)),
                both({SUBGROUP: "rack"}, size=size, inner=cut(part)),
            ):
                assert [sum(s.min_count for s in one.root.pod_sets()) for one in requests(doc)] == [size, size]


def test_kais_segments_take_their_size_from_the_subgroups() -> None:
    notes = {"kai.scheduler/segment-topology-required-placement": "rack"}
    doc = lws(size=6, worker=pods(notes), inner=cut(3))
    assert groups(doc)["main"]["slices"] == [{"level": "rack", "size": 3}]
    sized = lws(size=6, worker=pods({**notes, "kai.scheduler/segment-size": "2"}))
    assert groups(sized)["main"]["slices"] == [{"level": "rack", "size": 2}]


@pytest.mark.parametrize(
    ("doc", "path"),
    [
        (lws(size=6, inner=cut(4)), "spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize"),
        (lws(size=6, inner=cut(7)), "spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize"),
        (lws(size=6, inner=cut(0)), "spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize"),
        (lws(size=6, inner=cut(3, "LeaderExcluded")), "spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize"),
        (lws(size=6, inner=cut(3, "Leader")), "spec.leaderWorkerTemplate.subGroupPolicy.subGroupPolicyType"),
        (lws({SUBGROUP: "rack"}, size=6), f"metadata.annotations['{SUBGROUP}']"),
        (
            lws({SUBGROUP: "rack"}, size=6, worker=pods({SLICE_LEVEL: "host", SLICE_SIZE: "3"}), inner=cut(3)),
            f"metadata.annotations['{SUBGROUP}']",
        ),
        (
            lws({SUBGROUP: "rack"}, size=6, leader=pods(), worker=pods({REQUIRED: "block"}), inner=cut(3)),
            f"metadata.annotations['{SUBGROUP}']",
        ),
    ],
)
def test_wrong_subgroups_are_a_problem_with_their_path(doc: Doc, path: str) -> None:
    assert paths(doc) == [path]


# ---------------------------------------------------------------------------------------------------------- garbage

RICH = [
    yaml.safe_load(GOLDEN),
    both({SUBGROUP: "topology/rack", EXCLUSIVE: "topology/rack", MODE: "Off"}, size=7, inner=cut(3))
    | {"metadata": {"name": "cut", "annotations": {SUBGROUP: "topology/rack", EXCLUSIVE: "topology/rack"}}},
    lws({MODE: "Gang"}, leader=pods(), worker=pods({REQUIRED: "rack"}), inner=cut(3, "LeaderExcluded"))
    | {"metadata": {"name": "apart", "annotations": {SUBGROUP: "rack", REQUIRED: "block", MODE: "Gang"}}},
    topology("topology/block", "topology/rack"),
]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(docs=broken(RICH))
def test_one_wrong_value_anywhere_never_raises(docs: list[Doc]) -> None:
    check(read(docs))
