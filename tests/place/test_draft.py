"""The draft: exact amounts, units that follow what is asked, a journal that nests, a log that can be cut."""

import numpy as np
import pytest

from phalanx.model.nodes import PodShape
from phalanx.model.problems import Problem
from phalanx.model.resources import NANO, Resources
from phalanx.model.sketch import GPU, snapshot
from phalanx.place import draft as draft_module
from phalanx.place.draft import Draft, Shape


def made(drawing: str = "b1: r1=8,8,8,8") -> Draft:
    return Draft.of(snapshot(drawing), "sketch")


def shape(draft: Draft, nano: int) -> Shape:
    pod = PodShape(Resources.of({GPU: nano}))
    assert draft.accommodate([pod.requests], "test") is None
    return draft.shape(pod, bound=True)


def take(draft: Draft, of: Shape, *nodes: int) -> None:
    draft.take(of, np.array(nodes), np.ones(len(nodes), dtype=np.int64))


def free(draft: Draft) -> list[int]:
    return [amount // NANO for amount in draft.free_nano(GPU)]


def test_marks_nest_and_undo_gives_back_exactly_what_came_after() -> None:
    draft = made()
    one = shape(draft, NANO)
    outer = draft.mark()
    take(draft, one, 0, 1)
    inner = draft.mark()
    take(draft, one, 1, 2)
    assert free(draft) == [7, 6, 7, 8]
    draft.undo(inner)
    assert free(draft) == [7, 7, 8, 8]
    draft.undo(outer)
    assert free(draft) == [8, 8, 8, 8]


def test_what_was_kept_stands_until_it_is_given_back() -> None:
    draft = made()
    take(draft, shape(draft, NANO), 0, 3)
    kept = draft.keep()
    draft.undo(0)
    assert free(draft) == [7, 8, 8, 7]
    draft.give(kept)
    assert free(draft) == [8, 8, 8, 8]


def test_equal_pods_share_one_shape() -> None:  # KA-051, KA-053
    draft = made()
    assert shape(draft, NANO) is shape(draft, NANO)
    assert shape(draft, NANO) is not shape(draft, 2 * NANO)


def test_pods_that_were_asked_for_once_are_not_held_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_module, "SHAPES_KEEP", 3)
    draft, pods = made(), [PodShape(Resources.of({GPU: NANO})) for _ in range(20)]
    assert draft.accommodate([pods[0].requests], "test") is None
    assert len({id(draft.shape(pod, bound=True)) for pod in pods}) == 1
    assert sum(draft.knows(pod) for pod in pods) <= 3 and draft.knows(pods[-1])


def test_finer_units_leave_every_amount_as_it_is() -> None:
    draft = made("b1: r1=7,5")
    take(draft, shape(draft, 2 * NANO), 0)
    before = draft.free_nano(GPU)
    third = shape(draft, NANO // 3)
    assert draft.free_nano(GPU) == before
    take(draft, third, 1)
    assert draft.free_nano(GPU) == [5 * NANO, 5 * NANO - NANO // 3]
    draft.undo(0)
    assert draft.free_nano(GPU) == [7 * NANO, 5 * NANO]


def test_amounts_that_64_bits_cannot_hold_together_are_a_problem() -> None:
    found = made("b1: r1=1000000000000").accommodate([Resources.of({GPU: 1})], "spec.cpu")
    assert isinstance(found, Problem) and found.path == "spec.cpu"


def test_an_amount_larger_than_every_node_needs_no_finer_unit() -> None:
    draft = made("b1: r1=1000000000000")
    assert draft.accommodate([Resources.of({GPU: 10**12 * NANO + 1})], "test") is None


def test_the_log_names_each_touched_node_once_in_order() -> None:
    draft = made()
    one = shape(draft, NANO)
    since = draft.version
    take(draft, one, 1, 3)
    take(draft, one, 0, 1)
    touched = draft.touched_since(since)
    assert touched is not None and touched.tolist() == [0, 1, 3]
    assert draft.touched_since(draft.version).tolist() == []  # type: ignore[union-attr]


def test_a_log_that_was_cut_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_module, "LOG_KEEP", 4)
    draft = made()
    one = shape(draft, NANO)
    since = draft.version
    for _ in range(5):
        take(draft, one, 0)
    assert draft.touched_since(since) is None
    assert draft.touched_since(draft.version - 1).tolist() == [0]  # type: ignore[union-attr]
