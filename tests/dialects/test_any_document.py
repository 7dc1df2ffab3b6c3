"""Whatever stands in a document, of whatever kind: it is read to the end, and becomes a Request or a Problem."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.dialects import readers
from phalanx.dialects.reading import read
from phalanx.model.decision import Invalid
from phalanx.model.request import Request
from tests.examples.test_examples import FOLDERS

SCALARS = st.none() | st.booleans() | st.integers(-3, 2**40) | st.floats() | st.text(max_size=8) | st.just("1Gi")
ANY = st.recursive(SCALARS, lambda of: st.lists(of, max_size=4) | st.dictionaries(st.text(max_size=8), of, max_size=4))
VERSIONS = {
    "": "v1", "batch": "v1", "apps": "v1", "jobset.x-k8s.io": "v1alpha2", "leaderworkerset.x-k8s.io": "v1",
    "kubeflow.org": "v1", "trainer.kubeflow.org": "v1alpha1", "ray.io": "v1", "phalanx.dev": "v1alpha1",
    "kueue.x-k8s.io": "v1beta2", "scheduling.run.ai": "v2alpha2", "scheduling.k8s.io": "v1alpha3",
}  # fmt: skip


def judged(docs: list[Any]) -> None:
    found = read(docs)
    assert all(isinstance(item, (Request, Invalid)) for item in found.items)
    for item in found.invalid:
        assert item.problems


@pytest.mark.parametrize("kind", sorted(readers.ALL), ids="/".join)
@settings(max_examples=60, deadline=None)
@given(spec=ANY, metadata=ANY)
def test_any_spec_of_any_kind_is_read_to_the_end(kind: tuple[str, str], spec: Any, metadata: Any) -> None:
    group, name = kind
    api = f"{group}/{VERSIONS[group]}" if group else VERSIONS[group]
    judged([{"apiVersion": api, "kind": name, "metadata": metadata, "spec": spec}])
    judged([{"apiVersion": api, "kind": name, "metadata": {"name": "x"}, "spec": spec}])


def documents() -> list[Any]:
    from phalanx.cli import files

    return [doc for folder in FOLDERS for doc in files.load([str(folder / "workload.yaml")])]


GOOD = documents()


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, one in below for found in places(one, (*path, key)))]


def spoiled(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    """A copy with another value in one place."""
    if not path:
        return by
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = spoiled(value[path[0]], path[1:], by)
    return copied


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_a_good_manifest_with_one_thing_spoiled_is_read_to_the_end(data: st.DataObject) -> None:
    doc = data.draw(st.sampled_from(GOOD))
    where = data.draw(st.sampled_from(places(doc)))
    judged([spoiled(doc, where, data.draw(ANY)) if where else doc])
