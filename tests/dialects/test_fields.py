"""Reading untrusted documents field by field."""

from typing import Any

import pytest

from phalanx.dialects.fields import LIST_MAX, PROBLEMS_MAX, WORK_MAX, Field, Notes
from phalanx.model.objects import ObjectKey
from tests.dialects.manifests import field


def noted(at: Field) -> list[tuple[str, str]]:
    return [(problem.path, problem.message) for problem in at.notes.problems]


def test_a_path_names_plain_keys_entries_and_odd_keys() -> None:
    doc = field({"spec": {"groups": [{"labels": {"a.b/c": 1}}]}, "x": {"'": 1}})
    assert doc.at("spec").at("groups").items()[0].at("labels", "a.b/c").path == "spec.groups[0].labels['a.b/c']"
    assert doc.at("metadata", "annotations", "phalanx.dev/gang-mode").path == (
        "metadata.annotations['phalanx.dev/gang-mode']"
    )


def test_a_problem_says_which_object_its_path_is_in() -> None:
    node = ObjectKey("", "Node", "default", "n1")
    at = Field.of({}, about=node).at("spec", "taints")
    at.wrong("is wrong")
    (problem,) = at.notes.problems
    assert (problem.path, problem.field, problem.about) == ("Node/n1: spec.taints", "spec.taints", node)
    assert problem.told_on(node).path == "spec.taints"
    assert problem.told_on(ObjectKey("", "Node", "default", "n2")) == problem


LABEL = "phalanx.dev/topology-required"


def told(made: object, *keys: str | int) -> tuple[str, object]:
    """Path and value of a note about a place in a document that nobody wrote."""
    at = Field.of(made, made=True)
    for key in keys:
        at = at.items()[key] if isinstance(key, int) else at.at(key)
    at.wrong("is wrong")
    (problem,) = at.notes.problems
    return problem.path, problem.value


def test_what_nobody_wrote_is_told_of_at_what_was_written_of_it() -> None:
    user = Field.of({"metadata": {"annotations": {LABEL: "rack"}}, "spec": {"workers": {"count": 2, "name": "w"}}})
    level = user.at("metadata", "annotations", LABEL)
    workers = user.at("spec", "workers")
    group = {"name": "", "count": workers.at("count"), "template": workers.at("name"), "none": workers.at("none")}
    made = {"spec": {"topology": {"preferred": None, "required": level}, "groups": [group]}}
    assert told(made, "spec", "topology") == (f"metadata.annotations['{LABEL}']", "rack")
    assert told(made, "spec", "groups", 0, "count") == ("spec.workers.count", 2)
    assert told(made, "spec", "groups", 0, "name") == ("spec.workers", ""), "the innermost place around all of it"
    assert told({"spec": {"groups": []}}, "spec", "groups") == ("", "a list"), "all of the object"


def test_what_was_made_of_what_was_made_is_told_of_at_what_was_written() -> None:
    count = Field.of({"spec": {"count": 2}}).at("spec", "count")
    between = Field.of({"jobs": [{"count": count, "name": "a"}]}, made=True).at("jobs").items()[0]
    assert told({"spec": {"group": {"count": between.at("count")}}}, "spec", "group") == ("spec.count", 2)
    assert told({"spec": {"group": {"name": between.at("name")}}}, "spec", "group") == ("spec.count", "a")


def test_a_place_around_values_of_two_objects_is_in_the_first() -> None:
    other = Field.of({"spec": {"b": 1}}, about=ObjectKey("", "Job", "default", "other")).at("spec", "b")
    own = Field.of({"spec": {"a": 1}}).at("spec", "a")
    assert told({"group": {"a": own, "b": other}}, "group", "name")[0] == "spec.a"


@pytest.mark.parametrize(
    ("read", "value", "message"),
    [
        (lambda f: f.text("d"), 5, "5 is not a text; put it in quotes"),
        (lambda f: f.text("d"), [], "'a list' is not a text"),
        (lambda f: f.text("d"), "\ud800", "'?' has characters that no text can have"),
        (lambda f: f.integer("d"), "5", "'5' is not a whole number"),
        (lambda f: f.integer("d"), 5.0, "5.0 is not a whole number"),
        (lambda f: f.integer("d"), True, "True is not a whole number"),
        (lambda f: f.integer("d", low=1), 0, "0 is less than 1"),
        (lambda f: f.integer("d", low=1, high=3), 4, "4 is not between 1 and 3"),
        (lambda f: f.flag("d"), "true", "'true' is neither true nor false"),
        (lambda f: f.choice("d", "Gang", "Basic"), "gang", "'gang' is not one of Gang, Basic; did you mean Gang?"),
        (lambda f: f.choice("d", "Gang", "Basic"), "zzz", "'zzz' is not one of Gang, Basic"),
    ],
)
def test_a_wrong_value_gives_the_default_and_a_problem(read: Any, value: object, message: str) -> None:
    at = field({"x": value}).at("x")
    assert read(at) == "d"
    assert noted(at) == [("x", message)]


@pytest.mark.parametrize("value", ["", "a b", "a/b", "a[0]", "x" * 254, "a#b", "a\nb", "a'b"])
def test_a_name_is_short_and_free_of_signs_that_mean_something(value: str) -> None:
    at = field({"x": value}).at("x")
    assert at.name(None) is None
    assert len(at.notes.problems) == 1


def test_nothing_written_gives_the_default_and_no_problem() -> None:
    at = field({"x": None})
    for one in (at.at("x"), at.at("y"), at.at("y", "z")):
        assert (one.text("d"), one.integer(7), one.flag(None), one.choice("a", "b")) == ("d", 7, None, "a")
        assert (one.items(), one.entries(), one.pairs(), one.mapping()) == ([], [], (), False)
    assert not at.notes.problems


def test_an_unknown_field_is_a_problem_that_suggests_the_known_one() -> None:
    at = field({"topologyname": 1, "zzzzzz": 2, "queue": 3})
    assert at.known("topologyName", "queue")
    assert noted(at) == [
        ("topologyname", "there is no field 'topologyname' here; did you mean topologyName?"),
        ("zzzzzz", "there is no field 'zzzzzz' here"),
    ]


def test_a_field_that_sounds_like_a_known_one_is_a_warning_elsewhere() -> None:
    at = field({"nodeselector": 1, "toleration": 2, "image": 3})
    at.typos("nodeSelector", "tolerations")
    assert [w.allowed for w in at.notes.warnings] == [("nodeSelector",), ("tolerations",)]
    assert not at.notes.problems


def test_lists_and_mappings_of_the_wrong_kind_are_problems() -> None:
    at = field({"a": "x", "b": [1], "c": {1: "x", "k": 2}})
    assert at.at("a").items() == []
    assert at.at("b").pairs() == ()
    assert at.at("c").pairs() == (("k", ""),)
    assert [p.path for p in at.notes.problems] == ["a", "b", "c", "c.k"]


def test_a_list_that_is_too_long_is_one_problem() -> None:
    at = field({"x": [0] * (LIST_MAX + 1)}).at("x")
    assert at.items() == []
    assert "at most" in noted(at)[0][1]


def test_a_document_that_never_ends_is_one_problem() -> None:
    inner = [0] * LIST_MAX
    at = field([inner] * LIST_MAX)
    read = sum(len(one.items()) for one in at.items())
    assert read <= WORK_MAX
    assert len(at.notes.problems) == 1


def test_the_number_of_problems_is_bounded_and_none_is_told_twice() -> None:
    at = field([0] * 1000)
    for one in at.items() + at.items():
        one.text("")
    assert len(at.notes.problems) == PROBLEMS_MAX
    assert len({p.path for p in at.notes.problems}) == PROBLEMS_MAX


# --------------------------------------------------------------------------------------------- documents made by us


def test_a_borrowed_field_is_complained_about_where_it_was_written() -> None:
    source = Field.of({"metadata": {"annotations": {"x/level": 3}}}, Notes())
    made = Field.of({"topology": {"required": source.at("metadata", "annotations", "x/level")}}, Notes())
    made.at("topology", "required").text("")
    assert [note.path for note in source.notes.problems] == ["metadata.annotations['x/level']"]
    assert made.notes.problems == []


def test_a_borrowed_field_is_found_in_lists_and_among_entries_too() -> None:
    source = Field.of({"a": {"b": "text"}}, Notes())
    made = Field.of({"list": [source.at("a", "b")], "labels": {"k": source.at("a", "b")}}, Notes())
    assert [item.path for item in made.at("list").items()] == ["a.b"]
    assert made.at("labels").pairs() == (("k", "text"),)


def test_a_borrowed_field_that_holds_nothing_is_absent() -> None:
    made = Field.of({"suspend": Field.of({}, Notes()).at("spec", "suspend")}, Notes())
    assert not made.at("suspend").present
    assert made.at("suspend").flag(False) is False


def test_a_field_can_mean_another_value_in_the_same_place() -> None:
    at = Field.of({"size": "4"}, Notes()).at("size").meaning(4)
    assert (at.integer(0), at.path) == (4, "size")


@pytest.mark.parametrize(
    ("value", "bounds", "allowed"),
    [(0, {"low": 1}, "1 or more"), ("4", {}, "0 or more"), (9, {"high": 8}, "0 to 8"), (True, {"low": 1}, "1 or more")],
)
def test_a_number_that_is_wrong_is_answered_with_those_that_are_right(
    value: object, bounds: dict[str, int], allowed: str
) -> None:
    at = Field.of({"count": value}).at("count")
    assert at.integer(7, **bounds) == 7
    assert at.notes.problems[0].allowed == (allowed,)


def test_a_place_told_to_another_document_keeps_its_path_under_its_title() -> None:
    here, notes = field({"spec": {"list": [{"a.b/c": {"d": 1}}]}}), Notes()
    told = here.at("spec", "list").items()[0].at("a.b/c").told_to(notes, ObjectKey("batch", "Job", "default", "train"))
    told.at("d").wrong("is wrong")
    assert [problem.path for problem in notes.problems] == ["Job/train: spec.list[0]['a.b/c'].d"]
    assert here.notes.problems == []
    here.told_to(notes, ObjectKey("batch", "Job", "default", "train")).at("spec").warn("at the root")
    assert [warning.path for warning in notes.warnings] == ["Job/train: spec"]
