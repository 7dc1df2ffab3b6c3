"""The normal form of a manifest as the tests of kinds look at it."""

from typing import Any

from hypothesis import strategies as st

from phalanx.dialects import outline
from phalanx.dialects.reading import read_workloads
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.problems import Problem
from tests.dialects.manifests import AROUND, Doc
from tests.dialects.test_hostile import GARBAGE, changed, places


def normal(*docs: Doc, around: Surroundings = AROUND) -> Doc:
    """The spec of the only workload among the documents, which must be good, without pod templates."""
    found = read_workloads(list(docs), around)
    assert not found.invalid, [str(p) for p in found.invalid[0].problems]
    (one,) = found.outlines
    plain: Any = _bare(outline.plain(one.spec))
    return dict(plain)


def groups(*docs: Doc, around: Surroundings = AROUND) -> dict[str, Doc]:
    """Its groups by name."""
    return {one["name"]: one for one in normal(*docs, around=around)["podGroups"]}


def _bare(value: object) -> object:
    if isinstance(value, dict):
        return {key: _bare(one) for key, one in value.items() if key != "template"}
    return [_bare(one) for one in value] if isinstance(value, list) else value


def notes(*docs: Doc, around: Surroundings = AROUND) -> list[Problem]:
    """The warnings about good workloads, each once."""
    found = read_workloads(list(docs), around)
    assert not found.invalid, [str(p) for p in found.invalid[0].problems]
    return list(dict.fromkeys(note for some in found.notes.values() for note in some))


def noted(*docs: Doc, around: Surroundings = AROUND) -> list[str]:
    """Where they stand."""
    return [note.path for note in notes(*docs, around=around)]


def broken(docs: list[Doc]) -> st.SearchStrategy[list[Doc]]:
    """The documents with one value somewhere replaced by garbage."""
    spots = [(i, path) for i, doc in enumerate(docs) for path in places(doc)]

    def with_garbage(spot: tuple[int, tuple[Any, ...]], value: object) -> list[Doc]:
        return [changed(doc, spot[1], value) if i == spot[0] else doc for i, doc in enumerate(docs)]

    return st.builds(with_garbage, st.sampled_from(spots), GARBAGE)
