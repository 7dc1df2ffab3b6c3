"""Node filters: single readings one by one, then the arrays against a plain reading node by node."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.model.nodes import Node, NodeFilter, Requirement, Taint, Term, Toleration
from phalanx.model.resources import Resources
from phalanx.place import filters
from phalanx.place.nodetable import ABSENT, FEW, NodeTable

# ------------------------------------------------------------------------------------------------ small helpers


def table(*labels: dict[str, str], taints: tuple[Taint, ...] = ()) -> NodeTable:
    """Nodes n0, n1, ... with these labels, all with the same taints."""
    return NodeTable([Node(f"n{i}", found, Resources(), taints) for i, found in enumerate(labels)])


def tainted(*taints: tuple[Taint, ...]) -> NodeTable:
    return NodeTable([Node(f"n{i}", {}, Resources(), found) for i, found in enumerate(taints)])


def need(key: str, operator: str, *values: str) -> NodeFilter:
    return NodeFilter(required=((Term((Requirement(key, operator, values),)),),))


def named(operator: str, *values: str) -> NodeFilter:
    return NodeFilter(required=((Term((Requirement("metadata.name", operator, values, on_name=True),)),),))


def admitted(nodes: NodeTable, node_filter: NodeFilter) -> list[int]:
    return np.flatnonzero(filters.admits(nodes, node_filter)).tolist()


# --------------------------------------------------------------------------------------------------- the columns


def test_a_column_numbers_values_in_sorted_order_and_marks_where_the_label_is_absent() -> None:
    codes, values = table({"zone": "c"}, {}, {"zone": "a"}, {"zone": "c"}, {"zone": ""}).column("zone")
    assert values == ("", "a", "c")
    assert codes.tolist() == [2, ABSENT, 1, 2, 0]
    assert codes.dtype == np.int64


def test_the_codes_of_a_column_do_not_depend_on_the_order_of_the_nodes() -> None:
    labels = [{"zone": value} for value in "bdaca"]
    forward, backward = table(*labels).column("zone"), table(*reversed(labels)).column("zone")
    assert forward[1] == backward[1]
    assert forward[0].tolist() == backward[0].tolist()[::-1]


def test_a_column_is_made_once_and_only_when_asked_for() -> None:
    class Watched(dict[str, str]):
        asked = 0

        def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]
            Watched.asked += 1
            return super().get(key, default)

    nodes = NodeTable([Node("n0", Watched(zone="a", rack="r"), Resources())])
    assert Watched.asked == 0
    assert nodes.column("zone")[0] is nodes.column("zone")[0]
    assert Watched.asked == 1


def test_nobody_can_write_to_the_columns_of_a_table() -> None:
    nodes = table({"zone": "a"})
    for codes in (nodes.column("zone")[0], nodes.taints[0], nodes.names.codes):
        with pytest.raises(ValueError, match="read-only"):
            codes[0] = 7


def test_equal_lists_of_taints_share_a_code_and_codes_follow_their_order() -> None:
    gpu, slow = Taint("gpu", "yes", "NoSchedule"), Taint("slow", "", "NoExecute")
    codes, lists = tainted((slow,), (), (gpu, slow), (Taint("slow", "", "NoExecute"),)).taints
    assert lists == ((), (gpu, slow), (slow,))
    assert codes.tolist() == [2, 0, 1, 2]


def test_a_cluster_without_nodes_admits_none() -> None:
    empty = NodeTable([])
    wish = NodeFilter(selector=(("zone", "a"),), required=need("rack", "Gt", "1").required)
    assert filters.admits(empty, wish).shape == (0,)
    assert filters.score(empty, wish).shape == filters.dislikes(empty, ()).shape == (0,)
    assert filters.why_not(empty, wish)[0].shape == (0,)


# --------------------------------------------------------------------------------------- selector and affinity


def test_an_empty_filter_admits_every_untainted_node() -> None:
    assert admitted(table({}, {"zone": "a"}), NodeFilter()) == [0, 1]


def test_every_selector_pair_must_be_on_the_node() -> None:
    nodes = table({"zone": "a", "disk": "ssd"}, {"zone": "a"}, {"disk": "ssd"}, {"zone": "b", "disk": "ssd"})
    assert admitted(nodes, NodeFilter(selector=(("zone", "a"), ("disk", "ssd")))) == [0]


def test_a_selector_value_that_no_node_carries_admits_none_not_even_nodes_without_the_label() -> None:
    assert admitted(table({"zone": "a"}, {}), NodeFilter(selector=(("zone", "x"),))) == []


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        ("In", ("a", "c"), [0]),
        ("In", (), []),
        ("NotIn", ("a", "c"), [1, 2]),  # also where the label is absent
        ("Exists", (), [0, 1]),
        ("DoesNotExist", (), [2]),
        ("Near", ("a",), []),  # an operator nobody knows
    ],
)
def test_operators_on_labels(operator: str, values: tuple[str, ...], expected: list[int]) -> None:
    assert admitted(table({"zone": "a"}, {"zone": "b"}, {}), need("zone", operator, *values)) == expected


def test_a_long_list_of_values_reads_like_a_short_one() -> None:
    nodes = table({}, *({"rack": str(i)} for i in range(FEW + 2)))
    wanted = tuple(str(i) for i in range(1, FEW + 2))  # the last value too: absent labels must not look like it
    assert admitted(nodes, need("rack", "In", *wanted, "nowhere")) == list(range(2, FEW + 3))
    assert admitted(nodes, need("rack", "NotIn", *wanted)) == [0, 1]


def test_gt_and_lt_compare_as_integers_and_never_match_what_is_none() -> None:
    texts = ["9", "10", "-3", "ten", "", "1_0", "10.0", " 11", "٣", "+12", "9223372036854775808", "9" * 5000]
    nodes = table(*({"cores": text} for text in texts), {})
    assert [texts[i] for i in admitted(nodes, need("cores", "Gt", "9"))] == ["10", "+12"]
    assert [texts[i] for i in admitted(nodes, need("cores", "Lt", "10"))] == ["9", "-3"]


@pytest.mark.parametrize("bounds", [(), ("x",), ("1", "2")])
def test_gt_with_anything_but_one_integer_matches_nothing(bounds: tuple[str, ...]) -> None:
    assert admitted(table({"cores": "5"}), need("cores", "Gt", *bounds)) == []


def test_requirements_on_the_name_read_the_name_and_not_a_label() -> None:
    nodes = table({"metadata.name": "n1"}, {}, {})
    assert admitted(nodes, named("In", "n1", "n9")) == [1]
    assert admitted(nodes, named("NotIn", "n1")) == [0, 2]
    assert admitted(nodes, named("Exists")) == []


def test_one_term_of_each_required_entry_is_enough_and_each_entry_counts() -> None:
    a, b = Term((Requirement("zone", "In", ("a",)),)), Term((Requirement("zone", "In", ("b",)),))
    ssd = Term((Requirement("disk", "Exists"),))
    nodes = table({"zone": "a"}, {"zone": "b", "disk": "x"}, {"zone": "c", "disk": "x"}, {"zone": "a", "disk": "x"})
    assert admitted(nodes, NodeFilter(required=((a, b),))) == [0, 1, 3]
    assert admitted(nodes, NodeFilter(required=((a, b), (ssd,)))) == [1, 3]


def test_all_requirements_of_a_term_must_hold() -> None:
    both = Term((Requirement("zone", "In", ("a",)), Requirement("disk", "Exists")))
    assert admitted(
        table({"zone": "a"}, {"disk": "x"}, {"zone": "a", "disk": "x"}), NodeFilter(required=((both,),))
    ) == [2]


def test_a_term_without_requirements_matches_nothing_and_spoils_nothing() -> None:
    a = Term((Requirement("zone", "In", ("a",)),))
    nodes = table({"zone": "a"}, {})
    assert admitted(nodes, NodeFilter(required=((Term(()),),))) == []
    assert admitted(nodes, NodeFilter(required=((),))) == []
    assert admitted(nodes, NodeFilter(required=((Term(()), a),))) == [0]


# ---------------------------------------------------------------------------------------------------------- taints


def test_noschedule_and_noexecute_taints_keep_pods_away_unless_tolerated() -> None:
    one, two = Taint("gpu", "yes", "NoSchedule"), Taint("down", "", "NoExecute")
    soft = Taint("slow", "", "PreferNoSchedule")
    nodes = tainted((), (one,), (two,), (one, two), (soft,))
    gpu, down = Toleration("gpu", "Equal", "yes", ""), Toleration("down", "Exists", "", "NoExecute")
    assert admitted(nodes, NodeFilter()) == [0, 4]
    assert admitted(nodes, NodeFilter(tolerations=(gpu,))) == [0, 1, 4]
    assert admitted(nodes, NodeFilter(tolerations=(gpu, down))) == [0, 1, 2, 3, 4]


def test_a_toleration_of_another_value_or_effect_does_not_help() -> None:
    nodes = tainted((Taint("gpu", "yes", "NoSchedule"),))
    assert admitted(nodes, NodeFilter(tolerations=(Toleration("gpu", "Equal", "no", ""),))) == []
    assert admitted(nodes, NodeFilter(tolerations=(Toleration("gpu", "Exists", "", "NoExecute"),))) == []
    assert admitted(nodes, NodeFilter(tolerations=(Toleration("", "Exists", "", ""),))) == [0]


def test_many_distinct_refused_lists_of_taints_read_like_few() -> None:
    many = [(Taint(f"pool{i}", "", "NoSchedule"),) for i in range(FEW + 2)]
    nodes = tainted(*many, (), many[0])
    assert admitted(nodes, NodeFilter()) == [FEW + 2]
    assert admitted(nodes, NodeFilter(tolerations=(Toleration("pool0", "Exists", "", ""),))) == [0, FEW + 2, FEW + 3]


def test_dislikes_count_untolerated_soft_taints_only() -> None:
    slow, old, hard = (Taint(key, "", effect) for key, effect in
                       (("slow", "PreferNoSchedule"), ("old", "PreferNoSchedule"), ("gpu", "NoSchedule")))  # fmt: skip
    nodes = tainted((), (slow, old), (hard,), (slow,))
    assert filters.dislikes(nodes, ()).tolist() == [0, 2, 0, 1]
    assert filters.dislikes(nodes, (Toleration("slow", "Exists", "", ""),)).tolist() == [0, 1, 0, 0]


# --------------------------------------------------------------------------------------------------- preferences


def test_the_score_is_the_sum_of_the_weights_of_the_terms_that_match() -> None:
    ssd, a = Term((Requirement("disk", "Exists"),)), Term((Requirement("zone", "In", ("a",)),))
    nodes = table({"disk": "x", "zone": "a"}, {"disk": "x"}, {"zone": "a"}, {})
    wish = NodeFilter(preferred=((10, ssd), (3, a), (100, Term(()))))
    assert filters.score(nodes, wish).tolist() == [13, 10, 3, 0]


def test_preferences_turn_no_node_away() -> None:
    wish = NodeFilter(preferred=((10, Term((Requirement("disk", "Exists"),))),))
    assert admitted(table({"disk": "x"}, {}), wish) == [0, 1]


# ------------------------------------------------------------------------------------------------------- obstacles


def reasons(nodes: NodeTable, node_filter: NodeFilter) -> list[tuple[str, str] | None]:
    first, pairs = filters.why_not(nodes, node_filter)
    return [None if number < 0 else pairs[number] for number in first.tolist()]


def test_the_first_obstacle_is_a_taint_then_the_selector_then_affinity() -> None:
    gpu = (Taint("gpu", "yes", "NoSchedule"),)
    nodes = NodeTable([
        Node("n0", {}, Resources(), gpu), Node("n1", {}, Resources()),
        Node("n2", {"zone": "a"}, Resources()), Node("n3", {"zone": "a", "cores": "16"}, Resources()),
    ])  # fmt: skip
    wish = NodeFilter(selector=(("zone", "a"),), required=need("cores", "Gt", "8").required)
    assert reasons(nodes, wish) == [("taint", "gpu"), ("selector", "zone=a"), ("affinity", "cores > 8"), None]


def test_an_obstacle_that_is_no_nodes_first_is_not_listed() -> None:
    wish = NodeFilter(selector=(("zone", "a"), ("disk", "x")))
    first, pairs = filters.why_not(table({}, {"zone": "a", "disk": "x"}), wish)
    assert pairs == (("selector", "zone=a"),)
    assert first.tolist() == [0, -1]


def test_a_taint_is_named_by_the_first_one_not_tolerated_and_equal_keys_share_a_number() -> None:
    soft, gpu = Taint("slow", "", "PreferNoSchedule"), Taint("gpu", "a", "NoSchedule")
    other, down = Taint("gpu", "b", "NoSchedule"), Taint("down", "", "NoExecute")
    nodes = tainted((soft, gpu, down), (other,), (down,), ())
    first, pairs = filters.why_not(nodes, NodeFilter(tolerations=(Toleration("x", "Exists", "", ""),)))
    assert sorted(pairs) == [("taint", "down"), ("taint", "gpu")]
    assert [pairs[number] for number in first[:3].tolist()] == [("taint", "gpu"), ("taint", "gpu"), ("taint", "down")]
    assert first[3] == -1


def test_affinity_names_the_requirement_that_fails_on_that_node() -> None:
    both = Term((Requirement("zone", "In", ("a", "b")), Requirement("gpu", "DoesNotExist")))
    wish = NodeFilter(required=((Term(()), both, Term((Requirement("rack", "Exists"),))),))
    nodes = table({}, {"zone": "a", "gpu": "x"}, {"zone": "a"}, {"rack": "r"})
    expected = [("affinity", "zone in (a, b)"), ("affinity", "gpu does not exist"), None, None]
    assert reasons(nodes, wish) == expected


@pytest.mark.parametrize("entry", [(), (Term(()),)])
def test_an_affinity_nobody_can_satisfy_is_named_as_such(entry: tuple[Term, ...]) -> None:
    assert reasons(table({}), NodeFilter(required=(entry,))) == [("affinity", filters.NOTHING)]


@pytest.mark.parametrize(
    ("wish", "shown"),
    [
        (need("zone", "NotIn", "a"), "zone not in (a)"),
        (need("gpu", "Exists"), "gpu exists"),
        (need("cores", "Lt", "1"), "cores < 1"),
        (need("zone", "In", "b", "c", "d", "e", "f"), "zone in (b, c, d, +2)"),
        (named("In", "n7"), "node name in (n7)"),
        (need("zone", "Near", "a"), "zone Near (a)"),
    ],
)
def test_a_failing_requirement_is_shown_short(wish: NodeFilter, shown: str) -> None:
    assert reasons(table({"zone": "a", "cores": "4"}), wish) == [("affinity", shown)]


# ----------------------------------------------------------------------------- against a reading node by node

KEYS = ("zone", "rack", "cores")
VALUES = ("a", "b", "7", "-2", "12", "", "1_0")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")

some_values = st.lists(st.sampled_from(VALUES), max_size=7).map(tuple)
some_taints = st.lists(
    st.builds(Taint, st.sampled_from(("t", "u")), st.sampled_from(("", "x")), st.sampled_from(EFFECTS)), max_size=3
).map(tuple)
some_labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
some_tables = st.lists(st.tuples(some_labels, some_taints), max_size=12).map(
    lambda rows: NodeTable([Node(f"n{i}", labels, Resources(), taints) for i, (labels, taints) in enumerate(rows)])
)
on_labels = st.builds(
    Requirement,
    st.sampled_from(KEYS),
    st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")),
    some_values,
)
on_names = st.builds(
    Requirement, st.just("metadata.name"), st.sampled_from(("In", "NotIn")),
    st.lists(st.sampled_from(("n0", "n1", "n5", "x"))).map(tuple), st.just(True),
)  # fmt: skip
some_terms = st.lists(on_labels | on_names, max_size=3).map(lambda found: Term(tuple(found)))
some_tolerations = st.lists(
    st.builds(
        Toleration, st.sampled_from(("", "t", "u")), st.sampled_from(("Equal", "Exists")),
        st.sampled_from(("", "x")), st.sampled_from(("", *EFFECTS)),
    ), max_size=3,
).map(tuple)  # fmt: skip
some_filters = st.builds(
    NodeFilter,
    st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES)), max_size=1).map(tuple),
    st.lists(st.lists(some_terms, max_size=3).map(tuple), max_size=2).map(tuple),
    some_tolerations,
    st.lists(st.tuples(st.integers(1, 100), some_terms), max_size=3).map(tuple),
)


def plainly_holds(node: Node, wish: Requirement) -> bool:
    value = node.name if wish.on_name else node.labels.get(wish.key)
    if wish.operator in ("Gt", "Lt"):
        numbers = {"7": 7, "-2": -2, "12": 12}
        if len(wish.values) != 1 or value not in numbers or wish.values[0] not in numbers:
            return False
        difference = numbers[value] - numbers[wish.values[0]]
        return difference > 0 if wish.operator == "Gt" else difference < 0
    truth = {"In": value in wish.values, "NotIn": value not in wish.values, "Exists": value is not None}
    return truth.get(wish.operator, value is None)


def plainly_matches(node: Node, term: Term) -> bool:
    return bool(term.requirements) and all(plainly_holds(node, wish) for wish in term.requirements)


def plainly_feared(node: Node, wish: NodeFilter, effects: tuple[str, ...]) -> list[Taint]:
    return [t for t in node.taints if t.effect in effects and not any(it.tolerates(t) for it in wish.tolerations)]


def plainly_admitted(node: Node, wish: NodeFilter) -> bool:
    return (
        not plainly_feared(node, wish, ("NoSchedule", "NoExecute"))
        and all(node.labels.get(key) == value for key, value in wish.selector)
        and all(any(plainly_matches(node, term) for term in entry) for entry in wish.required)
    )


@given(some_tables, some_filters)
def test_admits_equals_a_reading_node_by_node(nodes: NodeTable, wish: NodeFilter) -> None:
    assert filters.admits(nodes, wish).tolist() == [plainly_admitted(node, wish) for node in nodes.nodes]


@given(some_tables, some_filters)
def test_score_and_dislikes_equal_a_reading_node_by_node(nodes: NodeTable, wish: NodeFilter) -> None:
    weights = [sum(weight for weight, term in wish.preferred if plainly_matches(node, term)) for node in nodes.nodes]
    feared = [len(plainly_feared(node, wish, ("PreferNoSchedule",))) for node in nodes.nodes]
    assert filters.score(nodes, wish).tolist() == weights
    assert filters.dislikes(nodes, wish.tolerations).tolist() == feared


@given(some_tables, some_filters)
def test_why_not_names_an_obstacle_of_the_right_kind_exactly_where_a_node_is_refused(
    nodes: NodeTable, wish: NodeFilter
) -> None:
    first, pairs = filters.why_not(nodes, wish)
    assert sorted(set(first.tolist()) - {-1}) == list(range(len(pairs)))
    assert len(set(pairs)) == len(pairs)
    for node, number in zip(nodes.nodes, first.tolist(), strict=True):
        kind = None if number < 0 else pairs[number][0]
        assert kind == plain_kind(node, wish)


def plain_kind(node: Node, wish: NodeFilter) -> str | None:
    if plainly_feared(node, wish, ("NoSchedule", "NoExecute")):
        return "taint"
    if any(node.labels.get(key) != value for key, value in wish.selector):
        return "selector"
    return None if plainly_admitted(node, wish) else "affinity"
