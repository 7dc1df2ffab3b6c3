"""The figures, samples and stories of the requirements, as cases. The ids are those of docs/requirements.md."""

from collections import Counter
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.model import sketch
from phalanx.model.nodes import Node, PodShape
from phalanx.model.placement import Placement
from phalanx.model.policy import Policy
from phalanx.model.request import Group, Ranks, Request, Slice
from phalanx.model.resources import NANO, PODS, Resources
from phalanx.model.snapshot import Snapshot
from phalanx.model.topology import HOSTNAME, Topology, Tree
from phalanx.place import fit, solve, verdicts
from phalanx.place.draft import Draft
from phalanx.place.verify import verify
from tests.cases.drawn import BLOCK, HOST, RACK, at, decide, gang, group, needs, placed, pods, running, under, workers

PACK, SPREAD, BALANCE = Policy("pack"), Policy("spread"), Policy("balance")

# --------------------------------------------------------------------------------------- the datacenter of 32 GPUs

ZONE = 1  # the drawing's levels are zone, rack, host
DATACENTER = {
    "zone-a": {
        "rack-a1": {"node-a1": 2, "node-a2": 2, "node-a3": 2},
        "rack-a2": {"node-a4": 4},
        "rack-a3": {"node-a5": 2, "node-a6": 2, "node-a7": 2},
    },
    "zone-b": {"rack-b1": {"node-b1": 4, "node-b2": 4}, "rack-b2": {"node-b3": 2}},
    "zone-c": {"rack-c1": {"node-c1": 2, "node-c2": 4}},
}
WHERE = {node: (zone, rack) for zone, racks in DATACENTER.items() for rack, found in racks.items() for node in found}


def datacenter() -> Snapshot:
    nodes = [
        Node(
            node,
            {"topology/zone": zone, "topology/rack": rack, HOSTNAME: node},
            Resources.of({sketch.GPU: gpus * NANO, PODS: 100 * NANO}),
        )
        for zone, racks in DATACENTER.items()
        for rack, found in racks.items()
        for node, gpus in found.items()
    ]
    return Snapshot(tuple(nodes), (Topology.of("sketch", ["topology/zone", "topology/rack"]),))


def by_domain(placement: Placement, level: int) -> dict[str, int]:
    """Pods by zone (1) or rack (2) of the datacenter."""
    total: Counter[str] = Counter()
    for node, number in at(placement).items():
        total[WHERE[node][level - 1]] += number
    return dict(sorted(total.items()))


def sums(draft: Draft, resource: str = sketch.GPU) -> list[list[int]]:
    """Free units of a resource in every domain, level by level from the cluster down to the nodes."""
    tree, free = draft.tree, draft.free_nano(resource)
    return [
        [sum(free[n] for n in tree.nodes(level, domain)) // NANO for domain in range(tree.count(level))]
        for level in range(tree.host + 1)
    ]


def counts(draft: Draft, gpu: int) -> list[list[int]]:
    """How many pods of so many GPUs fit in every domain, level by level."""
    wanted = PodShape(needs(gpu))
    assert draft.accommodate([wanted.requests], "") is None
    found = fit.capacity(draft, draft.shape(wanted, bound=True))
    return [level.tolist() for level in found.levels]


def domain(tree: Tree, name: str) -> tuple[int, int]:
    """A domain by the last word of its path."""
    hits = [
        (level, number)
        for level in range(1, tree.host + 1)
        for number in range(tree.count(level))
        if tree.path(level, number)[-1] == name
    ]
    assert len(hits) == 1
    return hits[0]


def test_the_tree_of_the_datacenter_sums_up_to_32_gpus() -> None:  # KA-031
    draft = Draft.of(datacenter(), "sketch")
    assert [draft.tree.count(level) for level in range(4)] == [1, 3, 6, 12]
    assert sums(draft)[:3] == [[32], [16, 10, 6], [6, 4, 6, 8, 2, 6]]


def test_sums_follow_every_event_at_every_level() -> None:  # KA-034
    draft = Draft.of(datacenter(), "sketch")
    first, second = workers(8, required=RACK), workers(3, gpu=2, required=RACK)
    for request in (first, second):
        answer = solve.place(draft, request)
        assert answer.status == verdicts.PLACED
        solve.commit(draft, answer)
    # 8 pods fill rack-b1; 3 pods of 2 GPUs fill rack-a1, the first of the tightest
    assert sums(draft)[:3] == [[18], [10, 2, 6], [0, 4, 6, 0, 2, 6]]
    draft.undo(0)
    assert sums(draft)[:3] == [[32], [16, 10, 6], [6, 4, 6, 8, 2, 6]]


@pytest.mark.parametrize(
    ("gpu", "total", "zones", "racks"),
    [
        (1, 32, [16, 10, 6], [6, 4, 6, 8, 2, 6]),
        (2, 16, [8, 5, 3], [3, 2, 3, 4, 1, 3]),
        (3, 4, [1, 2, 1], [0, 1, 0, 2, 0, 1]),
        (4, 4, [1, 2, 1], [0, 1, 0, 2, 0, 1]),
        (5, 0, [0, 0, 0], [0, 0, 0, 0, 0, 0]),
    ],
)
def test_pods_that_fit_are_counted_on_the_nodes_and_summed_upwards(
    gpu: int, total: int, zones: list[int], racks: list[int]
) -> None:  # KA-035
    assert counts(Draft.of(datacenter(), "sketch"), gpu)[:3] == [[total], zones, racks]


@pytest.mark.parametrize(
    ("request_", "rack"),
    [
        (workers(8, required=RACK), "rack-b1"),  # the only one
        (workers(2, gpu=3, required=RACK), "rack-b1"),  # 8 GPUs are not two pods of 3 everywhere
        (workers(1, gpu=4, required=RACK), "rack-a2"),  # the tightest, first in the tree
        (workers(6, required=RACK), "rack-a1"),
        (workers(2, required=RACK), "rack-b2"),
        (workers(3, gpu=2, required=RACK), "rack-a1"),
        (workers(4, gpu=2, required=RACK), "rack-b1"),
    ],
)
def test_the_rack_that_fits_best_is_chosen(request_: Request, rack: str) -> None:  # KA-036, K-076, W-194, KA-066, M-005
    assert set(by_domain(placed(datacenter(), request_), 2)) == {rack}


@pytest.mark.parametrize("wish", [{}, {"preferred": RACK}])
@pytest.mark.parametrize("policy", [PACK, SPREAD, BALANCE], ids=lambda policy: policy.candidates)
def test_a_cohesive_rack_goes_before_many_single_nodes(wish: dict[str, int], policy: Policy) -> None:  # KA-037
    crumbs = " ".join(f"r{i}=1" for i in range(1, 9))
    drawing = f"b1: {crumbs} | b2: r1=1,1,1,1 | b3: r1=1,1,1,1"
    assert len(under(placed(drawing, workers(4, **wish), policy), 2)) == 1


def test_overflow_goes_to_the_nearer_of_two_equal_racks() -> None:  # KA-038, K-002
    # b1-r2 is at distance 2 from b1-r1, b2-r1 at distance 4
    assert under(placed("b1: r1=4 r2=2 | b2: r1=2", workers(6, preferred=RACK)), 2) == {"b1-r1": 4, "b1-r2": 2}
    assert under(placed("b1: r1=2 | b2: r1=4 r2=2", workers(6, preferred=RACK)), 2) == {"b2-r1": 4, "b2-r2": 2}


def test_distances_run_through_the_nearest_common_domain() -> None:  # KA-039
    tree = Draft.of(datacenter(), "sketch").tree
    for first, second, edges in [
        ("node-c1", "node-c2", 2),
        ("rack-b1", "node-a1", 5),
        ("node-a1", "node-a4", 4),
        ("node-a1", "node-b1", 6),
        ("rack-a1", "node-a1", 1),
        ("node-b3", "node-b3", 0),
    ]:
        assert tree.distance(domain(tree, first), domain(tree, second)) == edges
        assert tree.distance(domain(tree, second), domain(tree, first)) == edges


def test_a_preference_no_rack_can_meet_takes_the_largest_rack_and_its_nearest_sibling() -> None:  # KA-041
    placement = placed(datacenter(), workers(10, preferred=RACK))
    assert by_domain(placement, 2) == {"rack-b1": 8, "rack-b2": 2}
    assert placement.level_reached["workers"] == "zone"


def test_overflow_goes_to_a_sibling_rack_before_another_zone() -> None:  # KA-042
    # the other zone has the same rack and more; the sibling alone keeps all pods together
    drawing = "b1: r1=2,2 r2=8 | b2: r1=8 r2=2 | b3: r1=8"
    placement = placed(drawing, workers(12, preferred=RACK))
    assert under(placement, 2) == {"b1-r1": 4, "b1-r2": 8}


def test_overflow_beyond_the_largest_zone_fills_it_and_stays_together_in_the_next() -> None:  # KA-042
    # no zone holds eight: the largest rack first, then its sibling, then the other zone
    placement = placed("b1: r1=2 r2=2 | b2: r1=4 r2=2 | b3: r1=1", workers(8, preferred=RACK))
    assert under(placement, 2) == {"b1-r1": 2, "b2-r1": 4, "b2-r2": 2}


@pytest.mark.parametrize(
    ("policy", "zone"), [(PACK, "zone-c"), (BALANCE, "zone-c"), (SPREAD, "zone-a")], ids=["pack", "balance", "spread"]
)
def test_packing_takes_the_least_free_zone_and_spreading_the_most_free(
    policy: Policy, zone: str
) -> None:  # KA-008, KA-045, KA-052
    assert by_domain(placed(datacenter(), workers(6, required=ZONE), policy), 1) == {zone: 6}


def test_a_zone_of_ten_is_kept_whole_while_one_of_six_is_enough() -> None:  # KA-052
    draft = Draft.of(datacenter(), "sketch")
    solve.commit(draft, solve.place(draft, workers(6, required=ZONE)))
    assert sums(draft)[1] == [16, 10, 0]
    solve.commit(draft, solve.place(draft, workers(10, required=ZONE)))
    assert sums(draft)[1] == [16, 0, 0]


# --------------------------------------------------------------------------------------- trying out and going back


def test_what_is_taken_in_a_trial_is_given_back_level_by_level() -> None:  # KA-032, KA-065
    draft = Draft.of(datacenter(), "sketch")
    before, fitting = sums(draft), counts(draft, 2)
    outer = draft.mark()
    solve.commit(draft, solve.place(draft, workers(8, required=RACK)))
    assert sums(draft)[1] == [16, 2, 6]
    middle, inner = sums(draft), draft.mark()
    solve.commit(draft, solve.place(draft, workers(6, required=RACK)))
    assert sums(draft)[:2] == [[18], [10, 2, 6]]
    draft.undo(inner)
    assert sums(draft) == middle
    draft.undo(outer)
    assert sums(draft) == before
    assert counts(draft, 2) == fitting


STEPS = st.lists(
    st.one_of(
        st.just("mark"),
        st.just("undo"),
        st.tuples(st.integers(0, 11), st.integers(1, 4), st.integers(1, 4)),  # node, GPUs per pod, pods
        st.tuples(st.integers(1, 12), st.sampled_from([ZONE, RACK])),  # a whole request
    ),
    max_size=25,
)


@given(STEPS)
def test_nested_checkpoints_restore_every_sum_whatever_happened_inside(
    steps: list[str | tuple[int, ...]],
) -> None:  # KA-033, K-056
    draft = Draft.of(datacenter(), "sketch")
    assert draft.accommodate([needs(1)], "") is None
    open_: list[tuple[int, list[list[int]], list[list[int]]]] = []
    for step in steps:
        match step:
            case "mark":
                open_.append((draft.mark(), sums(draft), counts(draft, 2)))
            case "undo" if open_:
                mark, before, fitting = open_.pop()
                draft.undo(mark)
                assert (sums(draft), counts(draft, 2)) == (before, fitting)
            case (node, gpu, number):
                if draft.free_nano(sketch.GPU)[node] >= gpu * number * NANO:
                    shape = draft.shape(PodShape(needs(gpu)), bound=True)
                    draft.take(shape, np.array([node]), np.array([number]))
            case (number, level):
                solve.commit(draft, solve.place(draft, workers(number, required=level)))
        free = sums(draft)
        assert free[0] == [sum(free[1])] == [sum(free[2])] == [sum(free[3])]
        assert min(free[3]) >= 0
    while open_:
        mark, before, fitting = open_.pop()
        draft.undo(mark)
        assert (sums(draft), counts(draft, 2)) == (before, fitting)


# --------------------------------------------------------------------------------------- whole nodes, whole blocks


def test_thirty_two_pods_fill_four_whole_nodes_of_one_rack() -> None:  # KA-003
    drawing = "b1: r1=8*3,4,4 r2=8,8 | b2: r1=8*2,4*4 r2=8*4,4"
    placement = placed(drawing, workers(32, slices=(Slice(HOST, 8),), required=RACK))
    assert at(placement) == {f"b2-r2-{i}": 8 for i in range(1, 5)}


def test_whole_nodes_come_from_near_racks_of_one_block_when_no_rack_has_four() -> None:  # KA-003
    drawing = "b1: r1=8*2 r2=8,4 | b2: r1=8*3,4*4 r2=8,4 | b3: r1=8*3"
    placement = placed(drawing, workers(32, slices=(Slice(HOST, 8),), preferred=RACK))
    assert set(at(placement).values()) == {8}
    assert under(placement, 2) == {"b2-r1": 24, "b2-r2": 8}


def test_a_job_is_cut_into_blocks_of_eight_that_each_stay_in_one_rack() -> None:  # KA-061, KA-015
    drawing = "b1: r1=4*5 r2=4*3 r3=4*2 r4=4*3,2"  # 20, 12, 8 and 14 GPUs: two, one, one and one block
    sliced = (Slice(RACK, 8),)
    assert decide(drawing, workers(48, slices=sliced)).status == verdicts.IMPOSSIBLE  # 54 GPUs, yet only five blocks
    placement = placed(drawing, workers(32, slices=sliced))
    racks = under(placement, 2)
    assert all(number % 8 == 0 for number in racks.values())
    assert sum(racks.values()) == 32


# ----------------------------------------------------------------------------------------- the table of four nodes


def four_nodes(slots: int = 1) -> Snapshot:
    block, rack = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"
    table = [("node-1", "block-1", "rack-1"), ("node-2", "block-1", "rack-2"),
             ("node-3", "block-2", "rack-1"), ("node-4", "block-2", "rack-3")]  # fmt: skip
    nodes = tuple(
        Node(name, {block: b, rack: r}, Resources.of({sketch.GPU: slots * NANO, PODS: 10 * NANO}))
        for name, b, r in table
    )
    return Snapshot(nodes, (Topology.of("sketch", [block, rack]),))


def test_racks_of_one_name_in_two_blocks_are_two_racks() -> None:  # K-029
    tree = Draft.of(four_nodes(), "sketch").tree
    assert [tree.path(RACK, d) for d in range(tree.count(RACK))] == [
        ("block-1", "rack-1"), ("block-1", "rack-2"), ("block-2", "rack-1"), ("block-2", "rack-3"),
    ]  # fmt: skip
    first, third = tree.index["node-1"], tree.index["node-3"]
    assert tree.domain[RACK][first] != tree.domain[RACK][third]


@pytest.mark.parametrize("policy", [PACK, SPREAD, BALANCE], ids=lambda policy: policy.candidates)
def test_two_pods_of_one_rack_are_never_split_over_racks_of_one_name(policy: Policy) -> None:  # K-029
    assert decide(four_nodes(), workers(2, required=RACK), policy).status == verdicts.IMPOSSIBLE
    assert len(at(placed(four_nodes(slots=2), workers(2, required=RACK), policy))) == 1


def test_a_preference_climbs_to_the_first_level_that_holds_all_pods() -> None:  # K-004, K-033, K-058, KA-016
    drawing = "b1: r1=2 r2=2 | b2: r1=3 r2=3"
    assert placed(drawing, workers(3, preferred=RACK)).level_reached["workers"] in ("rack", "host")
    placement = placed(drawing, workers(5, preferred=RACK))
    assert decide(drawing, workers(5, required=RACK)).status == verdicts.IMPOSSIBLE
    assert placement.level_reached["workers"] == "block"
    assert under(placement, 1) == {"b2": 5}


def test_a_preference_no_block_can_meet_spans_the_blocks() -> None:  # K-034, K-078, X-28
    placement = placed("b1: r1=3 r2=3 | b2: r1=2 r2=2", workers(10, preferred=RACK))
    assert under(placement, 1) == {"b1": 6, "b2": 4}
    assert decide("b1: r1=3 r2=3 | b2: r1=2 r2=2", workers(11, preferred=RACK)).status == verdicts.IMPOSSIBLE  # K-079


def test_a_rack_that_an_earlier_workload_took_part_of_is_not_given_again() -> None:  # K-051
    draft = Draft.of(sketch.snapshot("b1: r1=4,4 r2=4,4 r3=4,4"), "sketch")
    first = solve.place(draft, workers(4, gpu=4, required=BLOCK))
    assert first.placement is not None
    taken = under(first.placement, 2)
    assert len(taken) == 2
    solve.commit(draft, first)
    second = solve.place(draft, workers(2, gpu=4, required=RACK))
    assert second.placement is not None
    assert not set(at(first.placement)) & set(at(second.placement))
    assert set(under(second.placement, 2)) == {"b1-r1", "b1-r2", "b1-r3"} - set(taken)
    solve.commit(draft, second)
    assert solve.place(draft, workers(1, required=RACK)).status == verdicts.IMPOSSIBLE


def test_two_halves_of_a_node_are_not_a_node() -> None:  # K-059
    snapshot = cpu_racks({"r1": (3, 3)})
    assert decide(snapshot, workers(1, gpu=0, cpu=4)).status == verdicts.IMPOSSIBLE
    draft = Draft.of(snapshot, "sketch")
    assert draft.accommodate([needs(0, 4)], "") is None
    capacity = fit.capacity(draft, draft.shape(PodShape(needs(0, 4)), bound=True))
    assert capacity.flat.tolist() == [0] * len(capacity.flat)
    assert at(placed(snapshot, workers(2, gpu=0, cpu=3))) == {"b1-r1-1": 1, "b1-r1-2": 1}


def cpu_racks(racks: dict[str, tuple[int, ...]]) -> Snapshot:
    """One block of racks whose nodes have so much cpu."""
    drawing = "b1: " + " ".join(f"{rack}={','.join(map(str, cpus))}" for rack, cpus in racks.items())
    return sketch.snapshot(drawing, "cpu")


def test_ten_pods_of_four_cpus_go_to_the_rack_of_forty() -> None:  # K-014
    for racks in ({"r1": (8,) * 5, "r2": (8, 8, 8, 8, 4)}, {"r1": (8, 8, 8, 8, 4), "r2": (8,) * 5}):
        placement = placed(cpu_racks(racks), workers(10, gpu=0, cpu=4, required=RACK))
        home = next(rack for rack, cpus in racks.items() if sum(cpus) == 40)
        assert under(placement, 2) == {f"b1-{home}": 10}


def test_a_leader_and_workers_share_a_block_of_two_small_racks() -> None:  # K-015
    leader = group("leader", pods("leader", 1), required=RACK)
    crew = group("workers", pods("workers", 4), preferred=RACK)
    for order in permutations((leader, crew)):
        placement = placed("b1: r1=1,1,1 r2=1,1,1", gang(group("jobset", *order)))
        assert len(under(placement, 2, "leader")) == 1
        assert sum(under(placement, 2, "workers").values()) == 4
        assert len(under(placement, 2, "workers")) == 2
        assert placement.level_reached["workers"] == "block"


# ----------------------------------------------------------------------------------------------------- the stories


def test_a_training_that_needs_one_rack_waits_until_one_is_free() -> None:  # K-009
    empty = sketch.snapshot("b1: r1=4,4 r2=4,4")
    split = replace(empty, pods=(running("b1-r1-1", 4), running("b1-r2-2", 4)))
    training = workers(2, gpu=4, required=RACK)
    assert decide(split, training).status == verdicts.IMPOSSIBLE
    assert decide(split, workers(2, gpu=4)).status == verdicts.PLACED  # room enough, in two pieces
    freed = replace(empty, pods=(running("b1-r1-1", 4),))
    assert under(placed(freed, training), 2) == {"b1-r2": 2}


def test_a_training_that_prefers_one_rack_starts_scattered_over_the_fewest_blocks() -> None:  # K-010
    drawing = "b1: r1=1 r2=1 | b2: r1=2 r2=2 | b3: r1=1 r2=1 | b4: r1=2 r2=1"
    placement = placed(drawing, workers(7, preferred=RACK))
    assert under(placement, 1) == {"b2": 4, "b4": 3}
    assert len(under(placed(drawing, workers(8, preferred=RACK)), 1)) == 3


def test_every_replica_of_a_jobset_has_a_rack_of_its_own() -> None:  # K-011
    jobs = [group(f"job-{i}", pods(f"job-{i}", 4), required=RACK) for i in range(2)]
    placement = placed("b1: r1=1*4 r2=1*4", gang(group("jobset", *jobs)))
    assert {next(iter(under(placement, 2, f"job-{i}").items())) for i in range(2)} == {("b1-r1", 4), ("b1-r2", 4)}
    assert all(len(under(placement, 2, f"job-{i}")) == 1 for i in range(2))


def test_workers_share_a_rack_while_the_whole_workload_shares_a_block() -> None:  # K-012
    crew = group("workers", pods("workers", 4), required=RACK)
    whole = group("workload", pods("leader", 1), crew, required=BLOCK)
    # b1 has the only rack of four and nothing else; in b2 the leader finds room beside
    placement = placed("b1: r1=4 r2=0 | b2: r1=4 r2=1", gang(whole))
    assert under(placement, 2, "workers") == {"b2-r1": 4}
    assert under(placement, 1) == {"b2": 5}
    assert decide("b1: r1=4 r2=0 | b2: r1=3 r2=2", gang(whole)).status == verdicts.IMPOSSIBLE


# ------------------------------------------------------------------------------------------------- the two samples


def sample1(a: int = 2, b: int = 3) -> Request:
    first = group("subgroup-a", pods("subgroup-a", a), required=RACK)
    second = group("subgroup-b", pods("subgroup-b", b), required=RACK)
    return gang(group("sample1", first, second))


@pytest.mark.parametrize("drawing", ["b1: r1=1,1 r2=1,1,1", "b1: r1=1,1,1 r2=1,1", "b1: r1=1,1,1 | b2: r1=1,1"])
def test_independent_subgroups_each_have_one_rack(drawing: str) -> None:  # M-012
    placement = placed(drawing, sample1())
    assert list(under(placement, 2, "subgroup-a").values()) == [2]
    assert list(under(placement, 2, "subgroup-b").values()) == [3]


def test_a_subgroup_without_a_home_keeps_the_other_from_starting() -> None:  # M-012 M-004
    answer = decide("b1: r1=1,1 r2=1,1 r3=1", sample1())
    assert answer.status == verdicts.IMPOSSIBLE
    assert answer.placement is None


ZONE4, BLOCK4, RACK4 = 1, 2, 3  # levels of a drawing of zones, blocks and racks
ONE_WAY = """
    z1( b1: r1=3 r2=4 | b2: r1=5 r2=2 )
    z2( b1: r1=3 r2=5 | b2: r1=0 r2=1 )
"""  # only in z2 a block has a rack of 3 beside one of 5, and the last GPU is for the server


def sample2(api: Group | None = None) -> Request:
    prefill = group("prefill", pods("prefill", 3), required=RACK4)
    decode = group("decode", pods("decode", 5), required=RACK4)
    crew = group("workers", prefill, decode, required=BLOCK4)
    return gang(group("sample2", api or group("api-server", pods("api-server", 1)), crew, required=ZONE4))


# K-095, KA-007, KA-062, M-001, M-002, M-011, X-17, X-38
def test_the_nested_sample_finds_its_only_combination() -> None:  # M-014 M-015
    placement = placed(ONE_WAY, sample2())
    assert at(placement, "prefill") == {"z2-b1-r1-1": 3}
    assert at(placement, "decode") == {"z2-b1-r2-1": 5}
    assert at(placement, "api-server") == {"z2-b2-r2-1": 1}


def test_the_nested_sample_is_refused_when_its_zone_lacks_one_gpu() -> None:  # M-014
    assert decide(ONE_WAY.replace("r2=1 )", "r2=0 )"), sample2()).status == verdicts.IMPOSSIBLE


def test_constraints_of_all_ancestors_hold_together() -> None:  # M-017, W-055, W-197, M-008
    drawing = "z1( b1: r1=4,4 r2=4,4 | b2: r1=8 r2=8 ) z2( b1: r1=2,2,2 r2=5 | b2: r1=1 r2=3,3 )"
    placement = placed(drawing, sample2())
    assert len(under(placement, 1)) == 1
    assert len(under(placement, 2, "prefill", "decode")) == 1
    assert len(under(placement, 3, "prefill")) == len(under(placement, 3, "decode")) == 1


def test_the_prose_sample_keeps_a_and_b_under_one_spine_and_c_in_a_rack_elsewhere() -> None:  # M-016, X-17
    api = group("api-server", pods("api-server", 2), required=RACK4)
    drawing = "z1( b1: r1=3 r2=5 | b2: r1=1 r2=1 ) z2( b1: r1=5 r2=3 | b2: r1=1 r2=2 )"  # z1 has no rack of 2 left
    placement = placed(drawing, sample2(api))
    assert under(placement, 3, "api-server") == {"z2-b2-r2": 2}
    assert under(placement, 2, "prefill", "decode") == {"z2-b1": 8}


def test_a_pod_beyond_the_minimum_joins_the_rack_of_its_subgroup_or_waits_alone() -> None:  # M-025
    prefill = group("prefill", pods("prefill", 4, least=3), required=RACK)
    decode = group("decode", pods("decode", 5), required=RACK)
    request = gang(group("sample", prefill, decode, required=BLOCK))
    assert under(placed("b1: r1=4 r2=5", request), 2, "prefill") == {"b1-r1": 4}
    tight = placed("b1: r1=3 r2=5 | b2: r1=1", request)
    assert under(tight, 2, "prefill") == {"b1-r1": 3}
    assert under(tight, 2, "decode") == {"b1-r2": 5}


def test_a_preferred_rack_of_a_subgroup_falls_back_within_the_required_block() -> None:  # M-026, KA-023
    prefill = group("prefill", pods("prefill", 3), preferred=RACK)
    decode = group("decode", pods("decode", 5), required=RACK)
    request = gang(group("sample", prefill, decode, required=BLOCK))
    # the only free rack of three is in the block that has no rack of five
    placement = placed("b1: r1=3 r2=4 | b2: r1=5 r2=2 r3=1", request)
    assert under(placement, 2, "prefill") == {"b2-r2": 2, "b2-r3": 1}
    assert under(placement, 2, "decode") == {"b2-r1": 5}


# ----------------------------------------------------------------------------------------------------------- ranks


def ranked(count: int, ranks: Ranks, slices: tuple[Slice, ...] = (), **levels: int) -> Request:
    return workers(count, ranks=ranks, slices=slices, **levels)


def racks_of(placement: Placement, name: str = "workers") -> list[str]:
    """The rack of every rank."""
    return [node.split("-")[1] for node in placement.ranks[name]]


TWO_FULL_RACKS = "b1: r1=2,2 r2=2,2"
TWO_WIDE_RACKS = "b1: r1=4,4 r2=4,4"


@pytest.mark.parametrize("drawing", [TWO_FULL_RACKS, TWO_WIDE_RACKS])
def test_balanced_ranks_are_four_and_four(drawing: str) -> None:  # W-199
    placement = placed(drawing, ranked(8, Ranks("Balance", across=RACK), required=BLOCK))
    assert under(placement, 2) == {"b1-r1": 4, "b1-r2": 4}
    assert racks_of(placement) == ["r1"] * 4 + ["r2"] * 4


@pytest.mark.parametrize("drawing", [TWO_FULL_RACKS, TWO_WIDE_RACKS])
def test_striped_ranks_alternate_between_the_racks(drawing: str) -> None:  # W-199
    placement = placed(drawing, ranked(8, Ranks("Stripe", across=RACK), required=BLOCK))
    assert racks_of(placement) == ["r1", "r2"] * 4


def test_ranks_without_a_wish_are_packed() -> None:  # W-199
    placement = placed(TWO_WIDE_RACKS, ranked(8, Ranks(), required=BLOCK))
    assert len(under(placement, 2)) == 1
    assert len(at(placement)) == 2
    assert set(under(placed(TWO_FULL_RACKS, ranked(8, Ranks(), required=BLOCK)), 2).values()) == {4}


def test_consecutive_ranks_follow_the_tree_node_by_node() -> None:  # W-173, K-101
    placement = placed("b1: r1=2,2 r2=1,3", ranked(8, Ranks(), required=BLOCK))
    assert list(placement.ranks["workers"]) == [
        "b1-r1-1", "b1-r1-1", "b1-r1-2", "b1-r1-2", "b1-r2-1", "b1-r2-2", "b1-r2-2", "b1-r2-2",
    ]  # fmt: skip


def test_ranks_of_one_slice_stay_in_one_rack() -> None:  # W-173
    placement = placed("b1: r1=3,2 r2=2,1,3", ranked(8, Ranks(), slices=(Slice(RACK, 4),), required=BLOCK))
    racks = racks_of(placement)
    assert [len(set(racks[i : i + 4])) for i in (0, 4)] == [1, 1]


def test_every_rank_has_a_node_and_every_pod_a_rank() -> None:  # W-173
    for order in ("Consecutive", "Stripe", "Balance"):
        across = None if order == "Consecutive" else RACK
        placement = placed("b1: r1=3,1 r2=2,2 r3=4", ranked(10, Ranks(order, across=across), required=BLOCK))
        assert dict(Counter(placement.ranks["workers"])) == at(placement)


@pytest.mark.parametrize(("level", "words"), [(RACK, 2), (HOST, 3)])
def test_equal_ranks_of_two_groups_share_a_domain(level: int, words: int) -> None:  # W-200
    trainers = group("trainers", pods("trainers", 4, 3), ranks=Ranks())
    samplers = group("samplers", pods("samplers", 4, 1), ranks=Ranks(with_same_rank_of="trainers", level=level))
    for order in permutations((trainers, samplers)):
        request = gang(group("both", *order))
        # each node holds one trainer with one sampler; four more GPUs lure the samplers away
        snapshot = sketch.snapshot("b1: r1=4,4 | b2: r1=4,4 r2=1*4")
        answer = solve.place(Draft.of(snapshot, "sketch"), request)
        assert answer.placement is not None
        assert verify(snapshot, request, answer.placement) == ()
        ranks = answer.placement.ranks
        assert len(ranks["trainers"]) == len(ranks["samplers"]) == 4
        for first, second in zip(ranks["trainers"], ranks["samplers"], strict=True):
            assert first.split("-")[:words] == second.split("-")[:words]


def test_equal_ranks_that_cannot_meet_are_refused() -> None:  # W-200
    trainers = group("trainers", pods("trainers", 2, 4), ranks=Ranks())
    samplers = group("samplers", pods("samplers", 2, 1), ranks=Ranks(with_same_rank_of="trainers", level=HOST))
    assert decide("b1: r1=4,4 r2=1,1", gang(group("both", trainers, samplers))).status == verdicts.IMPOSSIBLE


def test_parts_each_in_a_rack_find_some_block_for_the_whole() -> None:  # W-056, W-196
    parts = [group(f"part-{i}", pods(f"part-{i}", 3), required=RACK) for i in range(2)]
    drawing = "b1: r1=3 r2=2 | b2: r1=2 r2=2 r3=2 | b3: r1=3 r2=3 | b4: r1=3"
    placement = placed(drawing, gang(group("whole", *parts, required=BLOCK)))
    assert under(placement, 2) == {"b3-r1": 3, "b3-r2": 3}
    assert {next(iter(under(placement, 2, f"part-{i}"))) for i in range(2)} == {"b3-r1", "b3-r2"}
    # nobody asks for a block: the parts are still put near each other if a wish says so
    assert under(placed(drawing, gang(group("whole", *parts, preferred=BLOCK))), 1) == {"b3": 6}
