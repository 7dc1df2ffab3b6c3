"""Clusters drawn as text."""

import pytest

from phalanx.model import sketch
from phalanx.model.resources import NANO
from phalanx.model.topology import HOSTNAME


def units(text: str) -> dict[str, int]:
    nodes, _ = sketch.nodes(text)
    return {node.name: node.allocatable.get(sketch.GPU) // NANO for node in nodes}


def test_a_drawing_names_blocks_racks_and_the_units_of_their_nodes() -> None:
    assert units("b1: r1=4 r2=4,2 | b2: r1=0") == {"b1-r1-1": 4, "b1-r2-1": 4, "b1-r2-2": 2, "b2-r1-1": 0}


def test_a_star_draws_many_nodes_of_one_size() -> None:
    assert list(units("r1=8*3,1").values()) == [8, 8, 8, 1]


def test_brackets_draw_deeper_trees() -> None:
    nodes, topology = sketch.nodes("z1( b1: r1=4 | b2: r1=1 ) z2( b1( r9=2 ) )")
    assert topology.level_names() == ("zone", "block", "rack", "host")
    assert [node.name for node in nodes] == ["z1-b1-r1-1", "z1-b2-r1-1", "z2-b1-r9-1"]
    assert nodes[2].labels == {
        "topology/zone": "z2", "topology/block": "b1", "topology/rack": "r9", HOSTNAME: "z2-b1-r9-1"
    }  # fmt: skip


def test_levels_are_counted_from_the_rack() -> None:
    assert sketch.nodes("r1=1")[1].level_names() == ("rack", "host")
    assert sketch.nodes("e( z: b: r=1 )")[1].level_names() == ("region", "zone", "block", "rack", "host")


def test_only_the_drawn_resource_binds() -> None:
    (node,), _ = sketch.nodes("r1=2", resource="example.com/fpga")
    assert node.allocatable.get("example.com/fpga") == 2 * NANO
    assert min(node.allocatable.get(name) for name in ("cpu", "memory", "pods")) >= 10_000 * NANO


def test_a_drawing_is_also_a_tree_or_an_empty_cluster() -> None:
    assert sketch.tree("b1: r1=1 r2=1").count(2) == 2
    snapshot = sketch.snapshot("b1: r1=1 r2=1")
    assert (len(snapshot.nodes), len(snapshot.topologies), snapshot.pods) == (2, 1, ())


@pytest.mark.parametrize(
    "text",
    ["", "b1", "b1:", "b1: r1", "b1(r1=1", "b1=1)", "b1=x", "b1=-1", "b1=1 b1=2", "b1: r1=1 r1=1", "a=1 | b: c=1",
     "a=1;", "=", "a=1*", "a=1,", "a: b: c: d: e=1", "| a=1", "a()"],
)  # fmt: skip
def test_text_that_is_no_drawing_is_refused_with_its_position(text: str) -> None:
    with pytest.raises(ValueError, match=r"position \d+|equally deep"):
        sketch.nodes(text)
