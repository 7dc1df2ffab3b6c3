"""How many pods fit, per domain: sums, limits, slices, and empty clusters."""

import numpy as np
import pytest

from phalanx.model.nodes import PodShape
from phalanx.model.resources import NANO, Resources
from phalanx.model.sketch import GPU, snapshot
from phalanx.model.snapshot import Snapshot
from phalanx.place import fit
from phalanx.place.draft import Draft
from phalanx.place.fit import Layers

BLOCK, RACK, HOST = 1, 2, 3


def counted(drawing: str, gpus: int = 1, units: Layers = (), limits: Layers = ()) -> list[list[int]]:
    """Capacities from the cluster down to the nodes."""
    draft = Draft.of(snapshot(drawing), "sketch")
    pod = PodShape(Resources.of({GPU: gpus * NANO}))
    assert draft.accommodate([pod.requests], "test") is None
    return [level.tolist() for level in fit.capacity(draft, draft.shape(pod, bound=True), units, limits).levels]


def test_a_domain_holds_what_its_children_hold_together() -> None:
    assert counted("b1: r1=4,3 r2=5", 2) == [[5], [5], [3, 2], [2, 1, 2]]


def test_whole_slices_only_count_where_they_must_share_a_domain() -> None:
    assert counted("b1: r1=4,3 r2=5", units=((RACK, 4),)) == [[8], [8], [4, 4], [4, 3, 5]]


def test_slices_in_two_layers_round_down_twice() -> None:
    assert counted("b1: r1=5 r2=5 | b2: r1=3", units=((BLOCK, 6), (RACK, 3))) == [[6], [6, 0], [3, 3, 3], [5, 5, 3]]


def test_a_limit_caps_every_domain_of_its_level() -> None:
    assert counted("b1: r1=4,3 r2=5", limits=((RACK, 6), (HOST, 4))) == [[10], [10], [6, 4], [4, 3, 4]]


def test_a_pod_that_asks_for_nothing_fits_everywhere() -> None:
    draft = Draft.of(snapshot("b1: r1=0,0"), "sketch")
    found = fit.capacity(draft, draft.shape(PodShape(Resources()), bound=True))
    assert (found.levels[HOST] >= 10**6).all()


def test_an_empty_cluster_has_no_domains() -> None:
    world = snapshot("b1: r1=1")
    draft = Draft.of(Snapshot((), world.topologies), "sketch")
    found = fit.capacity(draft, draft.shape(PodShape(Resources()), bound=True), ((RACK, 2),), ((HOST, 1),))
    assert [len(level) for level in found.levels] == [0, 0, 0, 0]


def test_sums_count_a_node_that_owes_as_empty() -> None:
    draft = Draft.of(snapshot("b1: r1=4,4 r2=4"), "sketch")
    pod = PodShape(Resources.of({GPU: NANO}))
    assert draft.accommodate([pod.requests], "test") is None
    row = draft.row[GPU]
    assert fit.sums(draft, RACK)[row].tolist() == [8, 4]
    draft.take(draft.shape(pod, bound=True), np.array([0]), np.array([9]))
    assert fit.sums(draft, RACK)[row].tolist() == [4, 4]
    assert fit.capacity(draft, draft.shape(pod, bound=True)).levels[RACK].tolist() == [4, 4]


@pytest.mark.parametrize("seed", range(5))
def test_spans_are_the_ranges_in_a_row(seed: int) -> None:
    chance = np.random.default_rng(seed)
    first = chance.integers(0, 50, size=6)
    last = first + chance.integers(0, 5, size=6)
    indices, starts = fit.spans(first, last)
    assert indices.tolist() == [i for a, b in zip(first, last, strict=True) for i in range(a, b)]
    assert starts.tolist() == [int(sum((last - first)[:i])) for i in range(6)]
