"""Trees from node labels: whole paths, missing labels, uneven branches, distances, and names of levels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.model import sketch
from phalanx.model.problems import Problem
from phalanx.model.topology import HOSTNAME, MissingLabel, Topology, Tree, grow

BLOCK_RACK = Topology.of("t", ["cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"])


def labels(block: str | None, rack: str | None) -> dict[str, str]:
    found = {"cloud.provider.com/topology-block": block, "cloud.provider.com/topology-rack": rack}
    return {key: value for key, value in found.items() if value is not None}


def domains(tree: Tree, level: int) -> list[tuple[tuple[str, ...], list[str]]]:
    """Paths of a level's domains with the names of their nodes."""
    return [(tree.path(level, d), [tree.names[n] for n in tree.nodes(level, d)]) for d in range(tree.count(level))]


# --------------------------------------------------------------------------------------------------------- shape


def test_four_labelled_nodes_make_a_tree_of_blocks_and_racks() -> None:  # K-001, K-024
    tree = sketch.tree("b1: r1=1 r2=1 | b2: r1=1 r2=1")
    assert [path for path, _ in domains(tree, 1)] == [("b1",), ("b2",)]
    assert [path for path, _ in domains(tree, 2)] == [("b1", "r1"), ("b1", "r2"), ("b2", "r1"), ("b2", "r2")]
    assert tree.count(tree.host) == 4


def test_a_domain_is_its_whole_path_so_equal_rack_names_in_two_blocks_are_two_racks() -> None:  # K-029
    tree = grow(
        BLOCK_RACK,
        {
            "node-1": labels("block-1", "rack-1"),
            "node-2": labels("block-1", "rack-2"),
            "node-3": labels("block-2", "rack-1"),
            "node-4": labels("block-2", "rack-3"),
        },
    )
    assert domains(tree, 2) == [
        (("block-1", "rack-1"), ["node-1"]),
        (("block-1", "rack-2"), ["node-2"]),
        (("block-2", "rack-1"), ["node-3"]),
        (("block-2", "rack-3"), ["node-4"]),
    ]
    one, three = tree.index["node-1"], tree.index["node-3"]
    assert tree.domain[2][one] != tree.domain[2][three]


def test_a_node_that_lacks_a_label_is_outside_and_listed_with_the_label_it_lacks() -> None:  # K-030
    tree = grow(BLOCK_RACK, {"a": labels("b1", "r1"), "b": labels("b1", None), "c": labels(None, None)})
    assert tree.missing == (
        MissingLabel("b", "cloud.provider.com/topology-rack"),
        MissingLabel("c", "cloud.provider.com/topology-block"),
    )
    assert [tree.names[i] for i in np.flatnonzero(tree.inside)] == ["a"]
    assert tree.names == ("a", "c", "b")  # the outside comes last
    assert tree.count(1) == 3  # each node outside is alone in a domain of every level


def test_a_missing_hostname_label_is_no_reason_to_be_outside() -> None:
    tree = grow(Topology.of("t", ["rack", HOSTNAME]), {"n": {"rack": "r"}})
    assert not tree.missing
    assert tree.path(2, 0) == ("r", "n")


def test_branches_may_be_uneven() -> None:
    tree = sketch.tree("b1: r1=1*5 | b2: r1=1 r2=1,1 r3=1*3")
    assert [len(nodes) for _, nodes in domains(tree, 1)] == [5, 6]
    assert [len(nodes) for _, nodes in domains(tree, 2)] == [5, 1, 2, 3]
    assert list(tree.within(1, 1, 2)) == [1, 2, 3]
    assert list(tree.children[1]) == [0, 1, 4]


def test_the_order_of_input_does_not_matter() -> None:
    nodes = {f"n{i}": labels(f"b{i % 2}", f"r{i % 3}") for i in range(12)}
    backwards = dict(reversed(nodes.items()))
    assert grow(BLOCK_RACK, nodes).names == grow(BLOCK_RACK, backwards).names


def test_one_cluster_has_a_tree_for_each_topology() -> None:  # KA-031, K-007
    nodes = {"a": {"rack": "r1", "rail": "x"}, "b": {"rack": "r2", "rail": "x"}}
    racks, rails = grow(Topology.of("racks", ["rack"]), nodes), grow(Topology.of("rails", ["rail"]), nodes)
    assert (racks.count(1), rails.count(1)) == (2, 1)


def test_a_cluster_without_nodes_has_an_empty_tree() -> None:
    tree = grow(BLOCK_RACK, {})
    assert [tree.count(level) for level in range(tree.host + 1)] == [0, 0, 0, 0]


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), st.tuples(*[st.sampled_from(["x", "y", None])] * 3)))
def test_every_level_cuts_the_nodes_into_ranges_that_refine_the_level_above(
    nodes: dict[str, tuple[str | None, ...]],
) -> None:  # KA-048
    topology = Topology.of("t", ["l1", "l2", "l3"])
    written = {
        name: {f"l{i}": value for i, value in enumerate(path, 1) if value is not None} for name, path in nodes.items()
    }
    tree = grow(topology, written)
    for level in range(tree.host + 1):
        covered = [n for d in range(tree.count(level)) for n in tree.nodes(level, d)]
        assert covered == list(range(tree.size))
        for d in range(tree.count(level)):
            assert all(int(tree.domain[level][n]) == d for n in tree.nodes(level, d))
            assert level == 0 or len({int(tree.domain[level - 1][n]) for n in tree.nodes(level, d)}) == 1
    assert {m.node for m in tree.missing} == {n for n, path in nodes.items() if None in path}


# --------------------------------------------------------------------------------------------------- seed 002

SEED_002 = """
    a( a1=2,2,2  a2=4  a3=2,2,2 )
    b( b1=4,4  b2=2 )
    c( c1=2,4 )
"""


def test_sums_over_the_tree_of_the_kai_design() -> None:  # KA-031, KA-034
    nodes, topology = sketch.nodes(SEED_002)
    tree = grow(topology, {n.name: n.labels for n in nodes})
    units = {n.name: n.allocatable.get(sketch.GPU) // 10**9 for n in nodes}
    sums = [[sum(units[n] for n in names) for _, names in domains(tree, level)] for level in range(3)]
    assert sums == [[32], [16, 10, 6], [6, 4, 6, 8, 2, 6]]


def find(tree: Tree, *path: str) -> tuple[int, int]:
    level = len(path)
    return level, next(d for d in range(tree.count(level)) if tree.path(level, d) == path)


def test_distances_over_the_tree_of_the_kai_design() -> None:  # KA-039
    tree = sketch.tree(SEED_002)
    c1, c2 = find(tree, "c", "c1", "c-c1-1"), find(tree, "c", "c1", "c-c1-2")
    assert tree.distance(c1, c2) == 2
    assert tree.distance(find(tree, "b", "b1"), find(tree, "a", "a1", "a-a1-1")) == 5
    assert tree.distance(c1, c1) == 0
    assert tree.distance(c1, find(tree, "c", "c1")) == 1


def test_same_rack_is_closer_than_same_block_and_that_than_another_block() -> None:  # K-002
    tree = sketch.tree("b1: r1=1,1 r2=1 | b2: r1=1")
    here = find(tree, "b1", "r1", "b1-r1-1")
    there = [("b1", "r1", "b1-r1-2"), ("b1", "r2", "b1-r2-1"), ("b2", "r1", "b2-r1-1")]
    assert [tree.distance(here, find(tree, *path)) for path in there] == [2, 4, 6]


# ------------------------------------------------------------------------------------------------ names of levels

ZONES = Topology.of(
    "net", ["topology/zone", "cloud.provider.com/topology-block", "topology/rack"], ["zone", "block", None]
)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("topology/zone", 1), ("zone", 1),
        ("block", 2), ("cloud.provider.com/topology-block", 2), ("topology-block", 2),
        ("topology/rack", 3), ("rack", 3),
        ("host", 4), (HOSTNAME, 4), ("hostname", 4),
        ("auto", 3),  # K-018: the narrowest level above the node
    ],
)  # fmt: skip
def test_a_level_is_named_by_key_alias_or_the_part_after_the_slash(text: str, number: int) -> None:
    assert ZONES.level_number(text, "x") == number


def test_an_unknown_level_is_a_problem_that_lists_the_levels() -> None:  # K-036, K-037, X-05
    problem = ZONES.level_number("rak", "spec.topology.required")
    assert isinstance(problem, Problem)
    assert problem.allowed == ("zone", "block", "rack", "host")
    assert problem.path == "spec.topology.required"
    assert problem.value == "rak"


def test_a_short_name_that_two_levels_share_names_neither() -> None:
    topology = Topology.of("t", ["a.com/rack", "b.com/rack"])
    assert isinstance(topology.level_number("rack", "x"), Problem)
    assert topology.level_names() == ("a.com/rack", "b.com/rack", "host")
    assert topology.level_number("b.com/rack", "x") == 2


def test_auto_on_a_topology_of_nodes_only_is_the_node() -> None:
    assert Topology.of("t", [HOSTNAME]).level_number("auto", "x") == 1


def test_the_node_is_the_last_level_listed_or_not() -> None:
    assert Topology.of("t", ["rack"]).levels == Topology.of("t", ["rack", HOSTNAME]).levels
    assert Topology.of("t", ["rack", HOSTNAME], [None, "server"]).level_number("host", "x") == 2
    assert Topology.of("t", ["x.com/host"]).level_names() == ("x.com/host", "host")


@pytest.mark.parametrize(
    ("text", "close"), [("rak", "rack"), ("Rack", "rack"), ("hots", "host"), ("example.com/rak", "example.com/rack")]
)
def test_an_unknown_level_that_is_much_like_one_is_asked_about(text: str, close: str) -> None:
    found = Topology.of("t", ["example.com/block", "example.com/rack"]).level_number(text, "")
    assert isinstance(found, Problem) and found.message.endswith(f"; did you mean {close}?")


def test_an_unknown_level_that_is_like_none_is_not_guessed() -> None:
    found = Topology.of("t", ["example.com/block", "example.com/rack"]).level_number("aisle", "")
    assert isinstance(found, Problem) and "did you mean" not in found.message
