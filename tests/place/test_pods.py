"""The running pods as columns: what a selector means, who keeps whom away, and change at the price of the change."""

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.model.matching import selects
from phalanx.model.mistakes import Mistake
from phalanx.model.nodes import LabelSelector, Node, PodShape, PodTerm, Requirement, RunningPod
from phalanx.model.resources import Resources
from phalanx.place import pods as pods_module
from phalanx.place.nodetable import NodeTable
from phalanx.place.pods import PodTable

# ------------------------------------------------------------------------------------------------ small helpers

EVERY = LabelSelector()
APP_A = LabelSelector(labels=(("app", "a"),))


def nodes(*racks: str | None) -> NodeTable:
    """Nodes n0, n1, ... each in its rack; None: without the label."""
    return NodeTable([Node(f"n{i}", {"rack": rack} if rack else {}, Resources()) for i, rack in enumerate(racks)])


def pod(name: str, node: str, app: str = "a", namespace: str = "ns", anti: tuple[PodTerm, ...] = ()) -> RunningPod:
    return RunningPod(name, namespace, node, Resources(), {"app": app}, anti_affinity=anti)


def shape(app: str = "a", namespace: str = "ns") -> PodShape:
    return PodShape(Resources(), namespace=namespace, labels=(("app", app),))


def counts(table: PodTable, selector: LabelSelector, namespaces: tuple[str, ...] | None = None) -> list[int]:
    found: list[int] = table.counts_by_node(table.matching(selector, namespaces)).tolist()
    return found


def blocked(table: PodTable, wish: PodShape) -> list[int]:
    return np.flatnonzero(table.blocked_by_running(wish)).tolist()


# ------------------------------------------------------------------------------------------------ what is selected


def test_an_empty_selector_means_every_pod_and_matches_nothing_means_none() -> None:
    assert selects(EVERY, {})
    assert selects(EVERY, {"app": "a"})
    assert not selects(LabelSelector(matches_nothing=True), {"app": "a"})


def test_every_pair_and_every_requirement_of_a_selector_must_hold() -> None:
    wish = LabelSelector((("app", "a"), ("tier", "x")), (Requirement("old", "DoesNotExist"),))
    assert selects(wish, {"app": "a", "tier": "x"})
    assert not selects(wish, {"app": "a"})
    assert not selects(wish, {"app": "a", "tier": "x", "old": ""})


@pytest.mark.parametrize(
    ("operator", "values", "present", "other", "absent"),
    [
        ("In", ("a", "b"), True, False, False),
        ("NotIn", ("a", "b"), False, True, True),
        ("Exists", (), True, True, False),
        ("DoesNotExist", (), False, False, True),
        ("Gt", ("2",), False, False, False),
        ("Near", ("a",), False, False, False),
    ],
)
def test_operators_of_a_selector(
    operator: str, values: tuple[str, ...], present: bool, other: bool, absent: bool
) -> None:
    wish = LabelSelector(requirements=(Requirement("app", operator, values),))
    assert [selects(wish, found) for found in ({"app": "a"}, {"app": "z"}, {})] == [present, other, absent]


def test_a_selector_compares_integers_like_a_node_filter_does() -> None:
    wish = LabelSelector(requirements=(Requirement("app", "Gt", ("9",)),))
    assert [selects(wish, {"app": text}) for text in ("10", "9", "x")] == [True, False, False]
    table = PodTable(nodes("r"), [pod("p", "n0", app="10"), pod("q", "n0", app="9")])
    assert counts(table, wish) == [1]


def test_a_table_counts_the_pods_a_selector_means_on_their_nodes() -> None:
    table = PodTable(nodes("r", "r", "s"), [pod("p", "n0"), pod("q", "n0"), pod("r", "n2"), pod("s", "n1", app="b")])
    assert counts(table, APP_A) == [2, 0, 1]
    assert counts(table, EVERY) == [2, 1, 1]
    assert counts(table, LabelSelector(matches_nothing=True)) == [0, 0, 0]


def test_namespaces_narrow_a_selector_and_none_means_all_of_them() -> None:
    table = PodTable(nodes("r", "r"), [pod("p", "n0", namespace="x"), pod("p", "n1", namespace="y")])
    assert counts(table, APP_A, ("x",)) == [1, 0]
    assert counts(table, APP_A, ("x", "y")) == [1, 1]
    assert counts(table, APP_A, None) == [1, 1]
    assert counts(table, APP_A, ()) == [0, 0]


def test_a_table_without_pods_answers_too() -> None:
    table = PodTable(nodes("r", "s"))
    assert counts(table, EVERY) == counts(table, APP_A, ("ns",)) == [0, 0]
    assert blocked(table, shape()) == []


def test_a_pod_on_a_node_that_is_gone_counts_nowhere_blocks_nothing_and_can_leave() -> None:
    term = PodTerm("rack", APP_A, None)
    table = PodTable(nodes("r"), [pod("p", "gone", anti=(term,))])
    assert counts(table, EVERY) == [0]
    assert blocked(table, shape()) == []
    table.remove([("ns", "p")])
    assert len(table) == 0


# ------------------------------------------------------------------------------- anti-affinity of running pods


def test_a_running_pods_term_closes_all_nodes_with_the_same_value_of_its_key() -> None:
    table = PodTable(nodes("r", "r", "s", None), [pod("p", "n0", app="z", anti=(PodTerm("rack", APP_A, None),))])
    assert blocked(table, shape("a")) == [0, 1]
    assert blocked(table, shape("z")) == []


def test_a_term_on_a_node_without_the_key_closes_nothing() -> None:
    table = PodTable(nodes("r", None, None), [pod("p", "n1", anti=(PodTerm("rack", APP_A, None),))])
    assert blocked(table, shape()) == []


def test_a_term_speaks_only_of_its_namespaces() -> None:
    table = PodTable(nodes("r"), [pod("p", "n0", anti=(PodTerm("rack", APP_A, ("x", "y")),))])
    assert blocked(table, shape(namespace="y")) == [0]
    assert blocked(table, shape(namespace="ns")) == []


def test_several_pods_close_the_union_and_an_open_label_stays_open() -> None:
    term, other = PodTerm("rack", APP_A, None), PodTerm("rack", LabelSelector((("app", "b"),)), None)
    table = PodTable(
        nodes("r", "s", "t", "t"),
        [pod("p", "n0", anti=(term,)), pod("q", "n2", anti=(term,)), pod("o", "n1", anti=(other,))],
    )
    assert blocked(table, shape("a")) == [0, 2, 3]
    assert blocked(table, shape("b")) == [1]
    table.add([pod("e", "n1", anti=(PodTerm("rack", EVERY, None),))])
    assert blocked(table, shape("a")) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "selector",
    [
        EVERY,
        LabelSelector(requirements=(Requirement("app", "In", ("x", "a", "a")),)),
        LabelSelector(requirements=(Requirement("app", "Exists"), Requirement("app", "In", ("a",)))),
        LabelSelector(requirements=(Requirement("old", "DoesNotExist"),)),
        LabelSelector(requirements=(Requirement("app", "NotIn", ("b",)),)),
    ],
)
def test_terms_are_found_however_their_selector_is_spelled(selector: LabelSelector) -> None:
    table = PodTable(nodes("r", "s"), [pod("p", "n1", anti=(PodTerm("rack", selector, None),))])
    assert blocked(table, shape("a")) == [1]


def test_a_term_that_means_nothing_closes_nothing() -> None:
    nothing = LabelSelector(matches_nothing=True)
    table = PodTable(nodes("r"), [pod("p", "n0", anti=(PodTerm("rack", nothing, None),))])
    assert blocked(table, shape()) == []


def test_a_table_is_hostile_while_a_pod_with_a_term_is_there() -> None:
    table = PodTable(nodes("r"), [pod("p", "n0")])
    assert not table.hostile
    table.add([pod("q", "n0", anti=(PodTerm("rack", EVERY, None),))])
    assert table.hostile
    table.remove([("ns", "q")])
    assert not table.hostile


def test_a_closed_rack_opens_when_the_last_pod_that_closes_it_leaves() -> None:
    term = PodTerm("rack", APP_A, None)
    table = PodTable(nodes("r", "r"), [pod("p", "n0", anti=(term, term)), pod("q", "n1", app="z", anti=(term, term))])
    table.remove([("ns", "p")])
    assert blocked(table, shape()) == [0, 1]
    table.remove([("ns", "q")])
    assert blocked(table, shape()) == []


# ---------------------------------------------------------------------------------------------------------- change


def test_pods_that_come_and_go_are_counted_while_they_are_there() -> None:
    table = PodTable(nodes("r", "s"), [pod("p", "n0")])
    assert counts(table, APP_A) == [1, 0]
    table.add([pod("q", "n1"), pod("o", "n1", app="b")])
    assert counts(table, APP_A) == [1, 1]
    table.remove([("ns", "p")])
    assert counts(table, APP_A) == [0, 1]
    table.add([pod("p", "n1")])
    assert counts(table, APP_A) == [0, 2]


def test_a_row_handed_to_a_pod_of_another_kind_is_read_anew() -> None:
    table = PodTable(nodes("r"), [pod("p", "n0", app="a")])
    assert counts(table, APP_A) == [1]
    table.remove([("ns", "p")])
    table.add([pod("q", "n0", app="b")])
    assert counts(table, APP_A) == [0]
    assert counts(table, LabelSelector((("app", "b"),))) == [1]


def test_a_kind_that_returns_after_its_number_was_handed_on_is_itself_again() -> None:
    table = PodTable(nodes("r"), [pod("p", "n0", app="a")])
    table.remove([("ns", "p")])
    table.add([pod("q", "n0", app="b")])
    table.add([pod("p", "n0", app="a")])
    assert counts(table, APP_A) == counts(table, LabelSelector((("app", "b"),))) == [1]


def test_pods_with_the_same_labels_are_of_one_kind_in_whatever_order_they_are_written() -> None:
    one = RunningPod("p", "ns", "n0", Resources(), {"app": "a", "tier": "x"})
    other = RunningPod("q", "ns", "n0", Resources(), {"tier": "x", "app": "a"})
    assert PodTable(nodes("r"), [one, other])._kinds.size == 1


def test_a_mask_from_before_the_table_grew_is_not_counted_with() -> None:
    table = PodTable(nodes("r"), [pod("p", "n0")])
    stale = table.matching(EVERY, None)
    table.add([pod(f"q{i}", "n0") for i in range(2 * pods_module.ROWS_MIN)])
    with pytest.raises(Mistake, match="another version"):
        table.counts_by_node(stale)


def test_every_change_raises_the_version() -> None:
    table = PodTable(nodes("r"))
    before = table.version
    table.add([pod("p", "n0")])
    table.remove([("ns", "p")])
    assert table.version == before + 2


def test_a_mask_handed_out_stays_as_it_was_and_cannot_be_written_to() -> None:
    table = PodTable(nodes("r"), [pod("p", "n0")])
    mask = table.matching(APP_A, None)
    kept = mask.copy()
    table.remove([("ns", "p")])
    assert table.matching(APP_A, None).sum() == 0
    assert mask.tolist() == kept.tolist()
    with pytest.raises(ValueError, match="read-only"):
        mask[0] = False


def test_asking_again_without_a_change_reads_nothing_again() -> None:
    table = PodTable(nodes("r"), [pod("p", "n0")])
    assert table.matching(APP_A, None) is table.matching(APP_A, None)


def test_a_pod_is_known_by_namespace_and_name() -> None:
    table = PodTable(nodes("r", "s"), [pod("p", "n0", namespace="x"), pod("p", "n1", namespace="y")])
    table.remove([("x", "p")])
    assert counts(table, EVERY) == [0, 1]


def test_a_pod_that_is_already_here_or_not_here_is_our_mistake() -> None:
    table = PodTable(nodes("r"), [pod("p", "n0")])
    with pytest.raises(Mistake, match="ns/p is already here"):
        table.add([pod("p", "n0")])
    with pytest.raises(Mistake, match="ns/q is not here"):
        table.remove([("ns", "q")])


def test_positions_tell_the_node_of_every_row() -> None:
    table = PodTable(nodes("r", "s"), [pod("p", "n1"), pod("q", "n0"), pod("o", "n1")])
    assert Counter(table.positions[table.matching(EVERY, None)].tolist()) == {0: 1, 1: 2}


def test_a_gang_that_comes_and_goes_for_ever_leaves_nothing_behind() -> None:
    table = PodTable(nodes("r", "s"), [pod("p", "n0")])
    for turn in range(300):
        job = f"job{turn}"
        term = PodTerm("rack", LabelSelector((("app", job),)), None)
        table.add([pod(f"g{i}", f"n{i}", app=job, anti=(term,)) for i in range(2)])
        assert counts(table, LabelSelector((("app", job),))) == [1, 1]
        assert blocked(table, shape(job)) == [0, 1]
        table.remove([("ns", "g0"), ("ns", "g1")])
        assert blocked(table, shape(job)) == []
    kinds = table._kinds
    assert len(table.positions) == pods_module.ROWS_MIN
    assert kinds.size == 2
    assert not kinds._hostile
    assert kinds._column("app").values_count < 3 * pods_module.ROWS_MIN
    assert len(table._masks) <= pods_module.ROWS_MIN
    assert len(table._touched) <= pods_module.ROWS_MIN


def test_the_oldest_remembered_selector_makes_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pods_module, "MASKS_MAX", 2)
    table = PodTable(nodes("r"), [pod("p", "n0")])
    for app in "abcd":
        assert counts(table, LabelSelector((("app", app),))) == [int(app == "a")]
    assert len(table._masks) == 2


# --------------------------------------------------------------------------- against a reading pod by pod

RACKS = ("r", "r", "s", None, "t")
some_values = st.lists(st.sampled_from(("a", "b", "3", "8")), max_size=6).map(tuple)
some_operators = st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
some_requirements = st.builds(Requirement, st.sampled_from(("app", "tier")), some_operators, some_values)
some_pairs = st.tuples(st.sampled_from(("app", "tier")), st.sampled_from(("a", "b", "3")))
some_selectors = st.builds(
    LabelSelector,
    st.lists(some_pairs, max_size=1).map(tuple),
    st.lists(some_requirements, max_size=2).map(tuple),
    st.sampled_from((False, False, False, True)),
)
some_namespaces = st.none() | st.lists(st.sampled_from(("x", "y")), max_size=2).map(tuple)
some_terms = st.builds(PodTerm, st.sampled_from(("rack", "zone")), some_selectors, some_namespaces)
some_pods = st.builds(
    RunningPod,
    st.sampled_from("pqrstuvw"), st.sampled_from(("x", "y")), st.sampled_from(("n0", "n1", "n2", "n3", "n4", "gone")),
    st.just(Resources()),
    st.dictionaries(st.sampled_from(("app", "tier")), st.sampled_from(("a", "b", "3", "8"))),
    st.just(()),
    st.lists(some_terms | st.just(PodTerm("rack", APP_A, None)), max_size=2).map(tuple),
)  # fmt: skip
some_shapes = st.builds(
    PodShape, st.just(Resources()), namespace=st.sampled_from(("x", "y", "z")),
    labels=st.dictionaries(st.sampled_from(("app", "tier")), st.sampled_from(("a", "b", "3"))).map(
        lambda found: tuple(sorted(found.items()))
    ),
)  # fmt: skip


def unique(found: Iterable[RunningPod]) -> dict[tuple[str, str], RunningPod]:
    return {(it.namespace, it.name): it for it in found}


def plain_counts(found: Iterable[RunningPod], selector: LabelSelector, namespaces: tuple[str, ...] | None) -> list[int]:
    meant = [
        it.node for it in found if (namespaces is None or it.namespace in namespaces) and selects(selector, it.labels)
    ]
    return [meant.count(f"n{position}") for position in range(len(RACKS))]


def plain_blocked(found: Iterable[RunningPod], wish: PodShape) -> list[int]:
    rack_of = {f"n{position}": rack for position, rack in enumerate(RACKS)}
    closed = {
        rack_of.get(it.node)
        for it in found for term in it.anti_affinity
        if term.key == "rack" and selects(term.selector, dict(wish.labels))
        and (term.namespaces is None or wish.namespace in term.namespaces)
    } - {None}  # fmt: skip
    return [position for position, rack in enumerate(RACKS) if rack in closed]


@given(st.lists(some_pods, max_size=12), some_selectors, some_namespaces)
def test_matching_equals_a_reading_pod_by_pod(
    found: list[RunningPod], selector: LabelSelector, namespaces: tuple[str, ...] | None
) -> None:
    present = unique(found).values()
    assert counts(PodTable(nodes(*RACKS), present), selector, namespaces) == plain_counts(present, selector, namespaces)


@given(st.lists(some_pods, max_size=12), some_shapes)
def test_blocked_equals_a_reading_pod_by_pod(found: list[RunningPod], wish: PodShape) -> None:
    present = unique(found).values()
    assert blocked(PodTable(nodes(*RACKS), present), wish) == plain_blocked(present, wish)


@given(
    st.lists(st.lists(some_pods, max_size=6), max_size=10),
    st.lists(st.tuples(some_selectors, some_namespaces), min_size=1, max_size=3),
    some_shapes,
)
def test_after_any_coming_and_going_a_table_equals_one_built_anew(
    turns: list[list[RunningPod]], asked: list[tuple[LabelSelector, tuple[str, ...] | None]], wish: PodShape
) -> None:
    """Each turn a pod that is there leaves and one that is not comes; some selectors are asked on the way."""
    table = PodTable(nodes(*RACKS))
    present: dict[tuple[str, str], RunningPod] = {}
    for turn, named in enumerate(map(unique, turns)):
        table.remove([name for name in named if name in present])
        table.add([it for name, it in named.items() if name not in present])
        present = {name: it for name, it in (present | named).items() if (name in present) != (name in named)}
        again = PodTable(nodes(*RACKS), present.values())
        assert len(table) == len(again) == len(present)
        for selector, namespaces in asked[: 1 + turn % 3]:
            assert counts(table, selector, namespaces) == counts(again, selector, namespaces)
        assert blocked(table, wish) == blocked(again, wish)
