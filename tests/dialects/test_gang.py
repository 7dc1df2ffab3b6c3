"""The native Gang: every field that placement needs, and every way to get one wrong."""

from typing import Any

import pytest

from phalanx.dialects.surroundings import Surroundings
from phalanx.model.request import Group, PodSet, Ranks, Request, Slice, Spread
from phalanx.model.resources import NANO
from phalanx.model.topology import Topology
from tests.dialects.manifests import (
    AROUND,
    BLOCK,
    HOST,
    LEVELS,
    RACK,
    ZONE,
    Doc,
    gang,
    paths,
    problem,
    request,
    requests,
    template,
    warnings,
)


def group(name: str, count: int | None = 1, parent: str | None = None, **more: Any) -> Doc:
    """A group of pods."""
    fields = {"name": name, "count": count, "parent": parent, "template": template(), **more}
    return {key: value for key, value in fields.items() if value is not None}


def inner(name: str, parent: str | None = None, **more: Any) -> Doc:
    """A group of groups."""
    return {"name": name, **({"parent": parent} if parent else {}), **more}


def drawn(part: Group | PodSet) -> str:
    """A tree as text: ``llm(api[1] workers(prefill[3..4]))``; numbers of one's own are pods."""
    if isinstance(part, PodSet):
        low = "" if part.min_count == part.count else f"{part.min_count}.."
        return f"{part.name}={low}{part.count}"
    least = "" if part.min_members is None else f"{part.min_members}of"
    return f"{part.name}{least}({' '.join(drawn(member) for member in part.members)})"


def find(root: Request, name: str) -> Group:
    return next(g for g in root.root.groups() if g.name == name)


# ------------------------------------------------------------------------------------------------------- the tree


def test_a_group_of_one_shape_holds_a_pod_set_of_its_own_name() -> None:
    found = request(gang(group("workers", 8)))
    assert drawn(found.root) == "workers(workers=8)"
    assert (found.kind, found.namespace, found.name, found.unit, found.id) == (
        "Gang", "serving", "llm", None, "serving/llm",
    )  # fmt: skip


def test_parents_make_the_tree_in_declared_order() -> None:  # M-009, M-014, M-015, W-191
    doc = gang(
        group("prefill", 3, "workers", topology={"required": "rack"}),
        group("api-server", 1),
        inner("workers", topology={"required": "block"}),
        group("decode", 5, "workers", topology={"required": "topology/rack"}),
        topology={"required": "zone"},
    )
    found = request(doc)
    assert drawn(found.root) == "llm(api-server(api-server=1) workers(prefill(prefill=3) decode(decode=5)))"
    required = {g.name: g.required for g in found.root.groups()}
    assert required == {"llm": ZONE, "api-server": None, "workers": BLOCK, "prefill": RACK, "decode": RACK}


def test_the_root_takes_another_name_where_a_group_has_the_gangs() -> None:
    assert drawn(request(gang(group("llm", 2), group("api"))).root) == "gang(llm(llm=2) api(api=1))"


def test_replicas_become_siblings_and_mark_everything_below_them() -> None:
    doc = gang(inner("server", replicas=2), group("leader", 1, "server"), group("worker", 3, "server", replicas=2))
    assert drawn(request(doc).root) == (
        "llm(server[0](leader[0](leader[0]=1) worker[0][0](worker[0][0]=3) worker[0][1](worker[0][1]=3))"
        " server[1](leader[1](leader[1]=1) worker[1][0](worker[1][0]=3) worker[1][1](worker[1][1]=3)))"
    )


def test_classes_are_pod_sets_of_one_group() -> None:
    classes = [{"name": "leader", "template": template()}, {"name": "worker", "count": 15, "template": template()}]
    doc = gang({"name": "decode", "replicas": 2, "podClasses": classes})
    assert drawn(request(doc).root) == (
        "llm(decode[0](decode[0]/leader=1 decode[0]/worker=15) decode[1](decode[1]/leader=1 decode[1]/worker=15))"
    )


def test_with_a_minimum_the_first_pods_in_class_order_are_it() -> None:
    classes = [{"name": name, "count": count} for name, count in (("leader", 1), ("worker", 15), ("spare", 2))]
    doc = gang({"name": "w", "minCount": 8, "podClasses": classes, "template": template()})
    assert drawn(request(doc).root) == "w(w/leader=1 w/worker=7..15 w/spare=0..2)"


def test_a_class_without_a_template_has_that_of_its_group() -> None:  # W-053
    classes = [{"name": "a"}, {"name": "b", "template": {}}]
    found = request(gang({"name": "w", "podClasses": classes, "template": template()}))
    assert [pods.shape.requests.get("cpu") for pods in found.root.pod_sets()] == [NANO, 0]


@pytest.mark.parametrize(
    ("fields", "pods"),
    [
        ({"count": 4}, "w=4"),
        ({"count": 4, "minCount": 3, "maxCount": 8}, "w=3..4"),
        ({"count": None, "minCount": 3}, "w=3"),
        ({"count": None}, "w=1"),
    ],
)
def test_count_and_minimum_stand_in_for_each_other(fields: Doc, pods: str) -> None:
    assert drawn(request(gang(group("w", **fields))).root) == f"w({pods})"


def test_an_empty_gang_is_fine_and_gives_nothing_to_place() -> None:  # W-188
    assert requests(gang()) == ()
    assert warnings(gang()) == ["spec.podGroups"]


def test_min_groups_says_how_many_members_must_start() -> None:
    doc = gang(group("a"), inner("b", minGroups=2), group("c", 1, "b", replicas=3), minGroups=1)
    assert drawn(request(doc).root) == "llm1of(a(a=1) b2of(c[0](c[0]=1) c[1](c[1]=1) c[2](c[2]=1)))"
    assert drawn(request(gang(group("a"), group("b"), minGroups=2)).root) == "llm(a(a=1) b(b=1))"


# ---------------------------------------------------------------------------------------------------- policy Basic


def test_under_basic_each_top_level_group_and_copy_is_a_request_of_its_own() -> None:  # X-14
    found = requests(gang(group("a"), group("b", replicas=2), policy="Basic"))
    assert [(r.unit, r.id, drawn(r.root)) for r in found] == [
        ("a", "serving/llm#a", "a(a=1)"),
        ("b[0]", "serving/llm#b[0]", "b[0](b[0]=1)"),
        ("b[1]", "serving/llm#b[1]", "b[1](b[1]=1)"),
    ]


def test_an_inner_basic_group_waits_for_none_of_its_members() -> None:
    doc = gang(group("a"), inner("extras", policy="Basic"), group("b", 1, "extras"), group("c", 1, "extras"))
    assert drawn(request(doc).root) == "llm(a(a=1) extras0of(b(b=1) c(c=1)))"


def test_at_the_top_of_its_own_request_a_basic_group_needs_at_least_one_member() -> None:
    doc = gang(inner("extras", policy="Basic"), group("b", 1, "extras"), group("c", 1, "extras"), policy="Basic")
    assert drawn(request(doc).root) == "extras1of(b(b=1) c(c=1))"


def test_independent_groups_cannot_be_promised_a_common_domain() -> None:
    assert paths(gang(group("a"), group("b"), policy="Basic", topology={"required": "zone"})) == ["spec.topology"]
    one = request(gang(group("a"), policy="Basic", topology={"required": "zone"}))
    assert (drawn(one.root), one.root.required) == ("llm(a(a=1))", ZONE)
    both = requests(gang(group("a"), group("b"), policy="Basic", topology={"preferred": "rack"}))
    assert [(drawn(r.root), r.root.preferred) for r in both] == [("llm(a(a=1))", RACK), ("llm(b(b=1))", RACK)]


def test_copies_that_come_as_their_keys_do_need_a_basic_parent() -> None:
    keyed = group("b", replicaKey="metadata.labels['jobset.sigs.k8s.io/job-index']")
    assert paths(gang(group("a"), keyed)) == ["spec.podGroups[1].replicaKey"]
    assert paths(gang(inner("p"), {**keyed, "parent": "p"}, policy="Basic")) == ["spec.podGroups[1].replicaKey"]
    basic = gang(group("a"), keyed, policy="Basic")
    assert [r.unit for r in requests(basic)] == ["a"]
    assert warnings(basic) == ["spec.podGroups[1].replicaKey"]


# ----------------------------------------------------------------------------------------------- levels and spread


def test_required_preferred_and_spread_are_level_numbers() -> None:  # W-054
    spread = {"level": "host", "maxPerDomain": 1}
    doc = gang(group("w", topology={"required": "block", "preferred": "rack", "spread": spread}))
    found = find(request(doc), "w")
    assert (found.required, found.preferred, found.spread) == (BLOCK, RACK, Spread(HOST, max_per_domain=1))


@pytest.mark.parametrize(
    ("name", "number"),
    [("zone", ZONE), ("topology/rack", RACK), ("host", HOST), ("kubernetes.io/hostname", HOST), ("auto", RACK)],
)
def test_levels_are_named_in_every_spelling(name: str, number: int) -> None:  # X-05, K-018, K-098
    assert find(request(gang(group("w", topology={"required": name}))), "w").required == number


def test_an_unknown_level_is_a_problem_with_the_levels_there_are() -> None:  # K-036
    found = problem(gang(group("w", topology={"required": "rak"})))
    assert found.path == "spec.podGroups[0].topology.required"
    assert found.value == "rak"
    assert found.allowed == ("zone", "block", "rack", "host")


@pytest.mark.parametrize(
    ("topology", "path"),
    [
        ({"required": "rack", "preferred": "block"}, "required"),  # X-26
        ({"spread": {"level": "rack"}}, "spread"),
        ({"spread": {"level": "rack", "maxSkew": 1, "minDomains": 2}}, "spread"),
        ({"spread": {"maxSkew": 1}}, "spread.level"),
        ({"spread": {"level": "rack", "maxSkew": 0}}, "spread.maxSkew"),
        ({"spread": {"level": "rak", "maxSkew": 1}}, "spread.level"),
        ({"spread": {"level": "rack", "maxskew": 1, "maxSkew": 1}}, "spread.maxskew"),
        ({"required": "rack", "spread": {"level": "block", "minDomains": 2}}, "spread.minDomains"),
        ({"Required": "rack"}, "Required"),
        ("rack", ""),
    ],
)
def test_a_wrong_topology_is_a_problem(topology: object, path: str) -> None:
    expected = ".".join(filter(None, ("spec.podGroups[0].topology", path)))
    assert paths(gang(group("w", topology=topology))) == [expected]
    assert paths(gang(group("w"), topology=topology)) == [expected.replace("podGroups[0].", "")]


def test_required_may_be_as_wide_as_preferred() -> None:  # X-26
    assert find(request(gang(group("w", topology={"required": "rack", "preferred": "rack"}))), "w").required == RACK


def test_a_required_level_wider_than_one_around_it_is_a_warning() -> None:  # M-018
    doc = gang(inner("p", topology={"required": "rack"}), group("w", 1, "p", topology={"required": "zone"}))
    assert warnings(doc) == ["spec.podGroups[1].topology.required"]


# ----------------------------------------------------------------------------------------------- choosing a topology

OTHER = Topology.of("other", ["rail"])


def test_the_topology_may_be_left_out_when_there_is_exactly_one() -> None:  # X-39
    assert request(gang(group("w"))).topology == "cluster-topology"
    assert request(gang(group("w"), topologyName="cluster-topology")).topology == "cluster-topology"


def test_with_several_topologies_one_is_named_as_soon_as_a_level_is_used() -> None:  # X-39
    both = Surroundings(topologies=(LEVELS, OTHER))
    assert request(gang(group("w")), both).topology is None
    assert request(gang(group("w", topology={"required": "rail"}), topologyName="other"), both).topology == "other"
    found = problem(gang(group("w", topology={"required": "rack", "preferred": "host"})), both)
    assert (found.path, found.allowed) == ("spec.topologyName", ("cluster-topology", "other"))


def test_without_any_topology_only_the_node_is_a_level() -> None:
    nothing = Surroundings()
    found = request(gang(group("w", topology={"required": "host"})), nothing)
    assert (found.topology, find(found, "w").required) == (None, 1)
    assert paths(gang(group("w", topology={"required": "rack"})), nothing) == ["spec.podGroups[0].topology.required"]
    assert paths(gang(group("w", topology={"required": "auto"})), nothing) == ["spec.podGroups[0].topology.required"]


def test_an_unknown_topology_is_a_problem_with_those_there_are() -> None:
    found = problem(gang(group("w"), topologyName="net"))
    assert (found.path, found.value, found.allowed) == ("spec.topologyName", "net", ("cluster-topology",))


# ---------------------------------------------------------------------------------------------------------- slices


def test_slices_run_coarse_to_fine() -> None:  # KA-015
    doc = gang(group("w", 16, slices=[{"level": "rack", "size": 8}, {"level": "host", "size": 4}]))
    (pods,) = request(doc).root.pod_sets()
    assert pods.slices == (Slice(RACK, 8), Slice(HOST, 4))


TWO_CLASSES = [{"name": "a", "count": 8}, {"name": "b", "count": 8}]


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"slices": [{"level": "host", "size": 8}, {"level": "rack", "size": 4}]}, "slices[1].level"),
        ({"slices": [{"level": "rack", "size": 8}, {"level": "rack", "size": 4}]}, "slices[1].level"),
        ({"slices": [{"level": "rack", "size": 8}, {"level": "host", "size": 3}]}, "slices[1].size"),
        ({"slices": [{"level": "rack", "size": 3}]}, "count"),
        ({"minCount": 12, "slices": [{"level": "rack", "size": 8}]}, "minCount"),
        ({"topology": {"required": "rack"}, "slices": [{"level": "block", "size": 8}]}, "slices[0].level"),
        ({"slices": [{"level": "rack"}]}, "slices[0].size"),
        ({"slices": [{"size": 1}]}, "slices[0].level"),
        ({"slices": [{"level": "rack", "size": 0}]}, "slices[0].size"),
        ({"slices": [{"level": "rack", "size": 1, "x": 1}]}, "slices[0].x"),
        ({"slices": {}}, "slices"),
        ({"podClasses": TWO_CLASSES, "slices": [{"level": "rack", "size": 8}]}, "slices"),
    ],
)  # fmt: skip
def test_wrong_slices_are_a_problem(fields: Doc, path: str) -> None:
    assert paths(gang(group("w", 16, **fields))) == [f"spec.podGroups[0].{path}"]


# ----------------------------------------------------------------------------------------------------------- ranks


def test_ranks_have_an_order_and_a_level_it_goes_over() -> None:
    path = "metadata.labels['batch.kubernetes.io/job-completion-index']"
    assert find(request(gang(group("w", rank={"fieldPath": path}))), "w").ranks == Ranks("Consecutive")
    striped = {"order": "Stripe", "across": "rack"}
    assert find(request(gang(group("w", rank=striped))), "w").ranks == Ranks("Stripe", RACK)  # W-199
    idle = gang(group("w", rank={"order": "Consecutive", "across": "rack"}))
    assert find(request(idle), "w").ranks == Ranks("Consecutive")
    assert warnings(idle) == ["spec.podGroups[0].rank.across"]


@pytest.mark.parametrize(
    ("rank", "path"),
    [
        ({"order": "stripe"}, "rank.order"),
        ({"order": "Balance"}, "rank.across"),
        ({"fieldPath": "metadata.name"}, "rank.fieldPath"),
        ({"fieldPath": "metadata.labels[x]"}, "rank.fieldPath"),
        ({"level": "rack"}, "rank.withSameRankOf"),
        ({"withSameRankOf": "v"}, "rank.level"),
        ({"withSameRankOf": "w", "level": "host"}, "rank.withSameRankOf"),
        ({"withSameRankOf": "nobody", "level": "host"}, "rank.withSameRankOf"),
        ({"withSameRankOf": "child", "level": "host"}, "rank.withSameRankOf"),  # not a sibling
        ({"withSameRankOf": "p", "level": "host"}, "rank.withSameRankOf"),  # has no pods of its own
        ({"withSameRankOf": "elastic", "level": "host"}, "rank.withSameRankOf"),
        ({"withSameRankOf": "sliced", "level": "host"}, "rank.withSameRankOf"),
        ({"withSameRankOf": "copied", "level": "host"}, "rank.withSameRankOf"),
        ({"index": 3}, "rank.index"),
    ],
)
def test_wrong_ranks_are_a_problem(rank: Doc, path: str) -> None:
    doc = gang(
        group("w", 4, rank=rank),
        group("v", 4),
        inner("p"),
        group("child", 4, "p"),
        group("elastic", 4, minCount=2),
        group("sliced", 4, slices=[{"level": "host", "size": 2}]),
        group("copied", 4, replicas=2),
    )
    assert paths(doc) == [f"spec.podGroups[0].{path}"]


def test_two_groups_sit_together_rank_by_rank() -> None:  # W-200
    found = request(gang(group("a", 4), group("b", 4, rank={"withSameRankOf": "a", "level": "host"})))
    assert find(found, "b").ranks == Ranks("Consecutive", None, "a", HOST)
    assert find(found, "a").ranks == Ranks("None")  # compared by rank, so it has ranks


def test_copy_i_sits_with_copy_i() -> None:
    doc = gang(
        inner("s", replicas=2),
        group("a", 4, "s", replicas=2),
        group("b", 4, "s", replicas=2, rank={"withSameRankOf": "a", "level": "host"}),
    )
    ranks = {g.name: g.ranks.with_same_rank_of for g in request(doc).root.groups() if g.ranks is not None}
    pairs = {name: partner for name, partner in ranks.items() if partner}
    assert pairs == {f"b[{i}][{j}]": f"a[{i}][{j}]" for i in range(2) for j in range(2)}


def test_groups_linked_through_others_share_one_level() -> None:
    def linked(name: str, partner: str, level: str) -> Doc:
        return group(name, 2, rank={"withSameRankOf": partner, "level": level})

    good = gang(
        group("a", 2), linked("b", "a", "rack"), linked("c", "b", "rack"), linked("d", "d2", "host"), group("d2")
    )
    assert len(requests(good)) == 1
    bad = gang(group("a", 2), linked("b", "a", "rack"), linked("c", "b", "host"))
    assert paths(bad) == ["spec.podGroups[2].rank.level"]


# ------------------------------------------------------------------------------------------------- wrong structure


@pytest.mark.parametrize(
    ("groups", "path"),
    [
        ([group("a"), group("a")], "spec.podGroups[1].name"),  # M-009
        ([group("a", 1, "nobody")], "spec.podGroups[0].parent"),
        ([group("a", 1, "a")], "spec.podGroups[0].parent"),
        ([{"count": 1}], "spec.podGroups[0].name"),
        ([group("a/b")], "spec.podGroups[0].name"),
        ([inner("a")], "spec.podGroups[0]"),
        ([inner("a", count=3), group("b", 1, "a")], "spec.podGroups[0].count"),  # M-007
        ([group("a", policy="Gang")], "spec.podGroups[0].policy"),
        ([group("a", minGroups=1)], "spec.podGroups[0].minGroups"),
        ([group("a", 0)], "spec.podGroups[0].count"),
        ([group("a", minCount=0)], "spec.podGroups[0].minCount"),  # X-11
        ([group("a", 2, minCount=3)], "spec.podGroups[0].minCount"),
        ([group("a", 5, maxCount=4)], "spec.podGroups[0].maxCount"),
        ([group("a", "2 X 2 X 4")], "spec.podGroups[0].count"),  # X-37
        ([group("a", replicas=0)], "spec.podGroups[0].replicas"),
        ([group("a", replicaKey="x", replicas=2)], "spec.podGroups[0].replicaKey"),
        ([group("a", mincount=3)], "spec.podGroups[0].mincount"),
        ([group("a", template={"containers": []})], "spec.podGroups[0].template.containers"),
        ([group("a", 3, podClasses=[{"name": "x", "count": 2}])], "spec.podGroups[0].count"),
        ([group("a", None, podClasses=[{"count": 2}])], "spec.podGroups[0].podClasses[0].name"),
        ([group("a", None, podClasses=[{"name": "x"}, {"name": "x"}])], "spec.podGroups[0].podClasses[1].name"),
        ([inner("a", policy="Basic", minGroups=1), group("b", 1, "a")], "spec.podGroups[0].minGroups"),
        ([inner("a", minGroups=2), group("b", 1, "a")], "spec.podGroups[0].minGroups"),
        ([inner("a", policy="gang"), group("b", 1, "a")], "spec.podGroups[0].policy"),
        (["a"], "spec.podGroups[0]"),
    ],
)
def test_a_wrong_group_is_a_problem(groups: list[Any], path: str) -> None:
    assert path in paths(gang(*groups))


def test_parents_in_a_circle_are_a_problem() -> None:  # M-009
    found = paths(gang(inner("a", "c"), inner("b", "a"), inner("c", "b"), group("d")))
    assert found == [f"spec.podGroups[{i}].parent" for i in range(3)]


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"polcy": "Gang"}, "spec.polcy"),
        ({"policy": "gang"}, "spec.policy"),
        ({"minGroups": 2}, "spec.minGroups"),
        ({"minGroups": 1, "policy": "Basic"}, "spec.minGroups"),
        ({"enforcement": "bind"}, "spec.enforcement"),
        ({"onFailure": "TerminateAll"}, "spec.onFailure"),
        ({"disruption": "All"}, "spec.disruption"),
        ({"suspend": "no"}, "spec.suspend"),
        ({"preemptible": 1}, "spec.preemptible"),
        ({"queue": ["a"]}, "spec.queue"),
        ({"priorityClassName": 5}, "spec.priorityClassName"),
        ({"scheduleTimeoutSeconds": -1}, "spec.scheduleTimeoutSeconds"),
        ({"readyTimeoutSeconds": "5m"}, "spec.readyTimeoutSeconds"),
        ({"recoveryTimeoutSeconds": 1.5}, "spec.recoveryTimeoutSeconds"),
        ({"expectedDurationSeconds": 0}, "spec.expectedDurationSeconds"),
        ({"controllerRef": {"kind": 1}}, "spec.controllerRef.kind"),
        ({"controllerRef": {"uid": "x"}}, "spec.controllerRef.uid"),
    ],
)
def test_a_wrong_field_of_the_gang_is_a_problem(spec: Doc, path: str) -> None:
    assert path in paths(gang(group("w"), **spec))


def test_an_unknown_field_suggests_the_one_that_was_meant() -> None:
    found = problem(gang(group("w"), toplogyName="x"))
    assert "did you mean topologyName?" in found.message
    assert "topologyName" in found.allowed


# ------------------------------------------------------------------------------------------------- the other fields


def test_queue_priority_and_suspension_are_carried() -> None:
    around = Surroundings(topologies=AROUND.topologies, priorities={"inference": 100}, default_priority=7)
    found = request(gang(group("w"), queue="serving", priorityClassName="inference", suspend=True), around)
    assert (found.queue, found.priority, found.suspended) == ("serving", 100, True)
    plain = request(gang(group("w")), around)
    assert (plain.queue, plain.priority, plain.suspended) == ("default", 7, False)


def test_an_unknown_priority_class_is_a_warning() -> None:
    assert warnings(gang(group("w"), priorityClassName="inference")) == ["spec.priorityClassName"]
    assert warnings(gang(group("w"), priorityClassName="system-node-critical")) == []


def test_every_documented_field_is_accepted() -> None:
    doc = gang(
        group("api-server", None, minCount=1),
        inner("workers", topology={"required": "block"}, policy="Gang", minGroups=1),
        group("prefill", 4, "workers", minCount=3, maxCount=8, topology={"required": "rack"}),
        group("decode", 16, "workers", replicas=2, replicaKey="metadata.labels['jobset.sigs.k8s.io/job-index']",
              topology={"required": "rack", "preferred": "host", "spread": {"level": "host", "maxPerDomain": 4}},
              slices=[{"level": "rack", "size": 8}, {"level": "host", "size": 4}],
              rank={"fieldPath": "metadata.annotations['x/y']", "order": "Balance", "across": "host"}),
        controllerRef={"apiGroup": "apps", "kind": "Deployment", "name": "llm"}, queue="serving", preemptible=True,
        suspend=False, enforcement="Gate", topologyName="cluster-topology", policy="Gang", minGroups=2,
        topology={"required": "zone", "preferred": "block"}, scheduleTimeoutSeconds=60, readyTimeoutSeconds=600,
        recoveryTimeoutSeconds=300, onFailure="RestartGang", disruption="Group", expectedDurationSeconds=7200,
    )  # fmt: skip
    assert len(requests(doc)) == 1
    assert warnings(doc) == []


# ---------------------------------------------------------------------------------------------------------- limits


def test_absurd_sizes_are_problems_that_name_the_limit() -> None:
    assert "10000" in problem(gang(inner("a", replicas=200), group("b", 1, "a", replicas=200))).message
    assert "1000000" in problem(gang(group("a", 600_000), group("b", 600_000))).message
    assert "1000000" in problem(gang(group("a", 10**9))).message
    assert "1000000" in problem(gang(group("a", 1000, replicas=9000))).message
    assert "10000" in problem(gang(*[group(f"g{i}") for i in range(10_001)])).message


def test_groups_nest_up_to_a_limit() -> None:
    def chain(depth: int) -> Doc:
        inners = [inner(f"g{i}", f"g{i - 1}" if i else None) for i in range(depth - 1)]
        return gang(*inners, group("leaf", 1, f"g{depth - 2}"))

    assert len(requests(chain(32))) == 1
    assert paths(chain(33)) == ["spec.podGroups[32].parent"]
    assert paths(chain(9000))


def test_ten_thousand_groups_are_still_read() -> None:
    assert len(list(request(gang(group("w", 1, replicas=9_999))).root.groups())) == 10_000


def test_an_annotation_of_ours_on_a_gang_is_not_passed_over_in_silence() -> None:
    doc = gang(group("a"))
    doc["metadata"]["annotations"] = {"phalanx.dev/topology-required": "rack"}
    assert warnings(doc) == ["metadata.annotations['phalanx.dev/topology-required']"]
