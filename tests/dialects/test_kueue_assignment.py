"""topologyAssignment: written in three forms, and read back as it was."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.dialects.kueue import assignment
from phalanx.dialects.kueue.assignment import Assignment
from phalanx.model.topology import HOSTNAME, Topology, grow
from tests.dialects.manifests import Doc, field

BLOCK, RACK = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"
LEVELS = (BLOCK, RACK)
EXAMPLE = Assignment(LEVELS, ((("block-1", "rack-1"), 4), (("block-1", "rack-2"), 2)))
FORMS: list[Callable[[Assignment], Doc]] = [assignment.groups, assignment.domains, assignment.slices]


def read(document: object, levels: tuple[str, ...] = LEVELS) -> Assignment | None:
    at = field(document)
    found = assignment.read(at, levels)
    assert not at.notes.problems, [str(p) for p in at.notes.problems]
    return found


def wrong(document: object, levels: tuple[str, ...] = LEVELS) -> list[str]:
    at = field({"a": document}).at("a")
    assert assignment.read(at, levels) is None
    return [problem.path for problem in at.notes.problems]


# -- writing -----------------------------------------------------------------------------------------------------


def test_the_designs_form_has_a_selector_with_every_level_and_a_count() -> None:
    # K-044, K-045, K-046, K-047
    assert assignment.groups(EXAMPLE) == {
        "groups": [
            {"count": 4, "nodeLabels": {BLOCK: "block-1", RACK: "rack-1"}},
            {"count": 2, "nodeLabels": {BLOCK: "block-1", RACK: "rack-2"}},
        ]
    }


def test_the_form_of_v1beta1_names_the_levels_once() -> None:
    assert assignment.domains(EXAMPLE) == {
        "levels": [BLOCK, RACK],
        "domains": [{"values": ["block-1", "rack-1"], "count": 4}, {"values": ["block-1", "rack-2"], "count": 2}],
    }


def test_the_form_of_v1beta2_writes_what_is_common_once() -> None:
    assert assignment.slices(EXAMPLE) == {
        "levels": [BLOCK, RACK],
        "slices": [
            {
                "domainCount": 2,
                "valuesPerLevel": [{"universal": "block-1"}, {"individual": {"prefix": "rack-", "roots": ["1", "2"]}}],
                "podCounts": {"individual": [4, 2]},
            }
        ],
    }


def test_start_and_end_are_taken_off_and_never_overlap() -> None:
    hosts = Assignment((HOSTNAME,), tuple(((name,), 1) for name in ("ababa", "aba")))
    (part,) = assignment.slices(hosts)["slices"]
    assert part["valuesPerLevel"] == [{"individual": {"prefix": "aba", "roots": ["ba", ""]}}]
    assert part["podCounts"] == {"universal": 1}
    named = Assignment((HOSTNAME,), tuple(((f"n{i}.example",), 1) for i in (1, 2)))
    (part,) = assignment.slices(named)["slices"]
    assert part["valuesPerLevel"] == [{"individual": {"prefix": "n", "suffix": ".example", "roots": ["1", "2"]}}]


def test_where_the_node_is_the_lowest_level_kueue_keeps_only_that() -> None:
    whole = Assignment((RACK, HOSTNAME), ((("rack-1", "n1"), 4), (("rack-2", "n2"), 2)))
    assert assignment.groups(whole)["groups"][0]["nodeLabels"] == {RACK: "rack-1", HOSTNAME: "n1"}
    assert assignment.domains(whole)["levels"] == assignment.slices(whole)["levels"] == [HOSTNAME]
    assert read(assignment.slices(whole), whole.levels) == Assignment((HOSTNAME,), ((("n1",), 4), (("n2",), 2)))
    assert read(assignment.groups(whole), whole.levels) == whole


def test_ten_pods_over_two_racks_are_two_groups() -> None:
    # K-045, K-047: the nodes of one rack are one domain where racks are the lowest level
    labels = {f"n{i}": {BLOCK: "b", RACK: f"r{i // 2}"} for i in range(4)}
    tree = grow(Topology.of("t", LEVELS), labels)
    found = assignment.of(tree, (("n0", 3), ("n1", 3), ("n2", 2), ("n3", 2)), depth=2)
    assert found == Assignment(LEVELS, ((("b", "r0"), 6), (("b", "r1"), 4)))
    assert found.pods == 10


def test_the_same_rack_name_in_two_blocks_stays_two_domains() -> None:
    # K-029
    labels = {"n1": {BLOCK: "block-1", RACK: "rack-1"}, "n3": {BLOCK: "block-2", RACK: "rack-1"}}
    tree = grow(Topology.of("t", LEVELS), labels)
    found = assignment.of(tree, (("n1", 1), ("n3", 1)), depth=2)
    assert found.domains == ((("block-1", "rack-1"), 1), (("block-2", "rack-1"), 1))
    assert all(read(form(found)) == found for form in FORMS)


def test_an_assignment_of_hosts_has_the_hostname_level() -> None:
    tree = grow(Topology.of("t", (RACK, HOSTNAME)), {"n1": {RACK: "r"}})
    assert assignment.of(tree, (("n1", 2),), depth=2) == Assignment((RACK, HOSTNAME), ((("r", "n1"), 2),))


def test_more_domains_than_a_slice_may_have_become_two_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignment, "SLICE_MAX", 2)
    many = Assignment((RACK,), tuple(((f"rack-{i}",), i + 1) for i in range(5)))
    written = assignment.slices(many)
    assert [part["domainCount"] for part in written["slices"]] == [2, 2, 1]
    assert read(written, (RACK,)) == many


# -- reading -----------------------------------------------------------------------------------------------------


def part(**more: Any) -> Doc:
    levels = [{"universal": "b"}, {"individual": {"roots": ["1", "2"]}}]
    return {"domainCount": 2, "valuesPerLevel": levels, "podCounts": {"universal": 1}, **more}


def sliced(**more: Any) -> Doc:
    return {"levels": list(LEVELS), "slices": [part(**more)]}


def test_slices_of_others_are_read_with_every_shorthand() -> None:
    values = [
        {"individual": {"roots": ["b1", "b2"]}},
        {"individual": {"prefix": "r", "suffix": "-x", "roots": ["1", "2"]}},
    ]
    found = read(sliced(valuesPerLevel=values, podCounts={"individual": [3, 1]}))
    assert found == Assignment(LEVELS, ((("b1", "r1-x"), 3), (("b2", "r2-x"), 1)))


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ([], "a"),
        ({}, "a"),
        ({"levels": list(LEVELS)}, "a"),
        ({"groups": [], "domains": []}, "a"),
        ({"groups": []}, "a.groups"),
        ({"groups": [{"count": 1, "nodeLabels": {BLOCK: "b"}}]}, "a.groups[0].nodeLabels"),  # K-046
        ({"groups": [{"count": 1, "nodeLabels": {BLOCK: "b", RACK: "r", "c": "d"}}]}, "a.groups[0].nodeLabels"),
        ({"groups": [{"count": 0, "nodeLabels": {BLOCK: "b", RACK: "r"}}]}, "a.groups[0].count"),
        ({"groups": [{"nodeLabels": {BLOCK: "b", RACK: "r"}}]}, "a.groups[0].count"),
        ({"groups": [{"count": 1, "nodeLabels": {BLOCK: "b", RACK: "r"}}] * 2}, "a.groups"),
        ({"domains": [{"values": ["b", "r"], "count": 1}]}, "a.levels"),
        ({"levels": [RACK], "domains": [{"values": ["r"], "count": 1}]}, "a.levels"),
        ({"levels": list(LEVELS), "domains": [{"values": ["b"], "count": 1}]}, "a.domains[0].values"),
        ({"levels": list(LEVELS), "domains": [{"values": ["b", "r"]}]}, "a.domains[0].count"),
        ({"levels": list(LEVELS), "domains": [{"values": ["b", None], "count": 1}]}, "a.domains[0].values[1]"),
        ({"groups": [{"count": 1, "nodeLabels": {BLOCK: "b", RACK: None}}]}, f"a.groups[0].nodeLabels['{RACK}']"),
        ({"levels": list(LEVELS), "slices": []}, "a.slices"),
        (sliced(domainCount=0), "a.slices[0].domainCount"),
        (sliced(domainCount=None), "a.slices[0].domainCount"),
        (sliced(domainCount=100_001), "a.slices[0].domainCount"),
        (sliced(domainCount=3), "a.slices[0].valuesPerLevel[1].individual.roots"),
        (sliced(valuesPerLevel=[{"universal": "b"}]), "a.slices[0].valuesPerLevel"),
        (sliced(valuesPerLevel=[{"universal": "b"}, {}]), "a.slices[0].valuesPerLevel[1]"),
        (sliced(valuesPerLevel=[{"universal": "b"}, {"universal": "r"}]), "a.slices"),
        (sliced(podCounts={"individual": [1]}), "a.slices[0].podCounts.individual"),
        (sliced(podCounts={"individual": [1, 0]}), "a.slices[0].podCounts.individual[1]"),
        (sliced(podCounts={"universal": 1, "individual": [1, 1]}), "a.slices[0].podCounts"),
        (sliced(podCounts=None), "a.slices[0].podCounts"),
    ],
)
def test_each_mistake_in_an_assignment_is_named_by_its_path(document: object, path: str) -> None:
    assert wrong(document) == [path]


def test_a_few_words_cannot_claim_endless_domains() -> None:
    values = [{"universal": "b"}, {"universal": "r"}]
    endless = {"levels": list(LEVELS), "slices": [part(domainCount=100_000, valuesPerLevel=values)] * 1000}
    assert wrong(endless) == ["a.slices"]
    long = [{"universal": "b"}, {"individual": {"prefix": "x" * 254, "roots": ["1", "2"]}}]
    assert wrong(sliced(valuesPerLevel=long)) == ["a.slices[0].valuesPerLevel[1].individual.prefix"]


# -- for all -----------------------------------------------------------------------------------------------------

NAMES = st.text(st.sampled_from("ab-1"), min_size=1, max_size=6)
KEYS = st.sampled_from([(RACK,), LEVELS, (BLOCK, RACK, HOSTNAME), (HOSTNAME,)])


@st.composite
def assignments(draw: st.DrawFn) -> Assignment:
    levels = draw(KEYS)
    narrow = levels[-1] == HOSTNAME
    path = st.tuples(*[NAMES] * len(levels))
    paths = draw(st.lists(path, min_size=1, max_size=8, unique_by=(lambda p: p[-1:] if narrow else p)))
    counts = draw(st.lists(st.integers(1, 3), min_size=len(paths), max_size=len(paths)))
    return Assignment(levels, tuple(zip(paths, counts, strict=True)))


@given(assignments())
def test_reading_gives_back_what_was_written(whole: Assignment) -> None:
    # K-047
    assert read(assignment.groups(whole), whole.levels) == whole
    for form in (assignment.domains, assignment.slices):
        found = read(form(whole), whole.levels)
        assert found == whole.narrowed()
        assert found is not None and found.pods == whole.pods


WORDS = st.sampled_from([
    "levels", "groups", "domains", "slices", "count", "nodeLabels", "values", "domainCount", "valuesPerLevel",
    "podCounts", "universal", "individual", "roots", "prefix", "suffix", BLOCK, RACK,
])  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers(-2, 4) | st.floats() | st.text(max_size=4) | WORDS
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4))


@given(JSON, st.sampled_from(["groups", "domains", "slices"]))
def test_no_document_makes_reading_raise(value: object, form: str) -> None:
    for document in (value, {form: value, "levels": list(LEVELS)}, {form: [value], "levels": list(LEVELS)}):
        at = field(document)
        found = assignment.read(at, LEVELS)
        assert (found is None) == bool(at.notes.problems) or document is None


@given(st.data())
def test_a_written_assignment_with_one_part_replaced_is_read_or_refused(data: st.DataObject) -> None:
    document = data.draw(st.sampled_from(FORMS))(EXAMPLE)
    holder: Any = document
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(holder[key], (dict, list)) or not holder[key] or data.draw(st.booleans()):
            break
        holder = holder[key]
    holder[key] = data.draw(JSON)
    at = field(document)
    found = assignment.read(at, LEVELS)
    assert (found is None) == bool(at.notes.problems)
