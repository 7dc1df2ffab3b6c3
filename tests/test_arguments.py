"""Documents from Python: any mapping becomes what YAML would have given, and a copy is nobody else's."""

import copy
import json
from collections import UserDict
from types import MappingProxyType
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phalanx import arguments

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)
DOCS = st.dictionaries(st.text(max_size=3), VALUES, max_size=4)


def frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType({key: frozen(inner) for key, inner in value.items()})
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def spoil(value: Any) -> None:
    for inner in list(value.values() if isinstance(value, dict) else value):
        if isinstance(inner, (dict, list)):
            spoil(inner)
    value.clear()


@given(DOCS)
def test_a_frozen_document_is_read_as_the_one_it_was_made_of(doc: dict[str, Any]) -> None:
    assert arguments.documents([frozen(doc), UserDict(doc)]) == [doc, doc]
    assert json.dumps(arguments.documents(frozen(doc))) == json.dumps([doc])


@given(DOCS)
def test_a_copy_stays_when_its_original_is_spoilt(doc: dict[str, Any]) -> None:
    before, made = copy.deepcopy(doc), arguments.copied(doc)
    spoil(doc)
    assert made == before


def test_a_dict_is_handed_on_and_not_copied() -> None:
    doc = {"kind": "Node"}
    assert arguments.documents([doc])[0] is doc and arguments.documents(doc)[0] is doc


def test_aliases_without_end_are_copied_once_each() -> None:
    """As YAML's ``&a`` and ``*a`` make them: forty lists of two, each twice the one before."""
    value: list[Any] = ["x"]
    for _ in range(40):
        value = [value, value]
    made: Any = arguments.copied({"spec": value})
    assert made["spec"][0] is made["spec"][1] and made["spec"] is not value


def test_a_document_that_holds_itself_is_copied() -> None:
    doc: dict[str, Any] = {"kind": "Node"}
    doc["spec"] = {"same": [doc["kind"]]}
    doc["spec"]["same"].append(doc["spec"])
    made: Any = arguments.copied(doc)
    assert made["spec"]["same"][1] is made["spec"] and made["spec"] is not doc["spec"]


def test_a_document_nested_without_end_is_copied_as_far_as_anybody_reads() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    assert list(arguments.copied({"spec": value})) == ["spec"]
