"""The schemas made of the models: structural, bounded, explained, and of one mind with the readers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from phalanx.dialects.gang import declared, leaf, queues, spec
from phalanx.engine.lifecycle import State
from phalanx.kube.crds import manifests, schema
from phalanx.kube.crds.kinds import KINDS, Kind
from phalanx.kube.crds.models import Flavor, Gang, Queue, Topology
from phalanx.kube.crds.models.gang import GangSpec, PodClass, PodGroup
from phalanx.model import queues as model_queues
from phalanx.model.topology import LEVELS_MAX

EXAMPLES = Path(__file__).parents[2] / "examples"
MAY_CHANGE = {
    "suspend", "queue", "scheduleTimeoutSeconds", "readyTimeoutSeconds", "recoveryTimeoutSeconds",
    "priorityClassName", "podGroups",
}  # fmt: skip

Schema = dict[str, Any]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def _below(at: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    yield path, at
    for name, one in at.get("properties", {}).items():
        yield from _below(one, f"{path}.{name}")
    for part in ("items", "additionalProperties"):
        if part in at:
            yield from _below(at[part], f"{path}[]")


def _at(model: Any, *way: str) -> Schema:
    here = schema.of(model)
    for step in way:
        here = here["items"]["properties"][step] if "items" in here else here["properties"][step]
    return here


@each_kind
def test_every_place_has_a_type(kind: Kind) -> None:
    typed = ("type", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields")
    assert not [path for path, at in _below(schema.of(kind.model)) if not any(key in at for key in typed)]


@each_kind
def test_every_field_is_explained(kind: Kind) -> None:
    common = {".apiVersion", ".kind", ".metadata"}  # the API server has its own words for these
    fields = [(path, at) for path, at in _below(schema.of(kind.model)) if not path.endswith("]") and path not in common]
    assert not [path for path, at in fields if not at.get("description", "").endswith(".")]


@each_kind
def test_every_list_and_text_has_a_limit(kind: Kind) -> None:
    """Without limits the API server assumes the worst and refuses rules over them."""
    below_spec = [(path, at) for path, at in _below(schema.of(kind.model)) if path.startswith((".spec", ".status"))]
    lists = [path for path, at in below_spec if at.get("type") == "array" and "maxItems" not in at]
    limits = ("maxLength", "enum", "format")
    texts = [path for path, at in below_spec if at.get("type") == "string" and not any(key in at for key in limits)]
    assert lists == texts == []


@each_kind
def test_every_list_says_how_it_is_merged(kind: Kind) -> None:
    lists = [(path, at) for path, at in _below(schema.of(kind.model)) if at.get("type") == "array"]
    assert not [path for path, at in lists if "x-kubernetes-list-type" not in at]


@each_kind
def test_every_rule_has_a_message_and_blames_a_field_that_exists(kind: Kind) -> None:
    for path, at in _below(schema.of(kind.model)):
        for rule in at.get("x-kubernetes-validations", ()):
            assert rule["message"], path
            here = at
            for step in rule.get("fieldPath", "").split(".")[1:]:
                here = here["properties"][step]


def test_only_parts_of_pods_are_kept_unread() -> None:
    kept = {
        path
        for kind in KINDS
        for path, at in _below(schema.of(kind.model))
        if "x-kubernetes-preserve-unknown-fields" in at
    }
    group = ".spec.podGroups[]"
    assert kept == {f"{group}{c}.template.{part}" for c in ("", ".podClasses[]") for part in ("metadata", "spec")}


def test_groups_and_conditions_are_told_apart_by_name_and_type() -> None:
    assert _at(Gang, "spec", "podGroups")["x-kubernetes-list-map-keys"] == ["name"]
    assert _at(Gang, "spec", "podGroups", "podClasses")["x-kubernetes-list-map-keys"] == ["name"]
    assert _at(Gang, "status", "conditions")["x-kubernetes-list-map-keys"] == ["type"]


def test_only_queue_and_policy_have_defaults() -> None:
    given = {
        (kind.name, path): at["default"]
        for kind in KINDS
        for path, at in _below(schema.of(kind.model))
        if "default" in at
    }
    assert given == {("Gang", ".spec.queue"): "default", ("Gang", ".spec.policy"): "Gang"}


def test_amounts_are_numbers_or_texts() -> None:
    nominal = _at(Queue, "spec", "quota", "resources", "nominal")
    assert nominal["x-kubernetes-int-or-string"] is True
    assert "type" not in nominal


# -- what may change -------------------------------------------------------------------------------------------------


def _fields(model: Any) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(model)}


def test_of_a_gang_only_what_the_page_says_may_change() -> None:
    assert _fields(GangSpec) - set(GangSpec.FIXED) == MAY_CHANGE
    assert _fields(PodGroup) - set(PodGroup.FIXED) == {"name", "count", "maxCount", "podClasses"}
    assert _fields(PodClass) - set(PodClass.FIXED) == {"name", "count"}
    assert {*GangSpec.FIXED} <= _fields(GangSpec)


# -- one mind with the readers ---------------------------------------------------------------------------------------


def test_the_reader_of_gangs_knows_the_same_fields() -> None:
    assert _fields(GangSpec) == set(spec._FIELDS)
    assert _fields(PodGroup) == {*declared._BOTH, *declared._INNER, *leaf.FIELDS}


def test_the_reader_of_queues_knows_the_same_fields_and_words() -> None:
    assert set(_at(Queue, "spec")["properties"]) == set(queues._FIELDS)
    assert _at(Queue, "spec", "order")["enum"] == sorted(model_queues.ORDERS)
    assert _at(Queue, "spec", "whenBlocked")["enum"] == sorted(model_queues.WHEN_BLOCKED)
    for part in ("within", "reclaim"):
        assert _at(Queue, "spec", "preemption", part)["enum"] == sorted(model_queues.PREEMPTION)


def test_the_readers_words_of_a_gang_are_the_models() -> None:
    assert _at(Gang, "spec", "policy")["enum"] == sorted(declared.POLICIES)
    assert _at(Gang, "spec", "podGroups", "rank", "order")["enum"] == sorted(leaf.ORDERS)
    assert _at(Gang, "status", "state")["enum"] == sorted(State)
    assert _at(Topology, "spec", "levels")["maxItems"] == LEVELS_MAX


def _ours() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(EXAMPLES.glob("*/*.yaml")):
        for doc in yaml.safe_load_all(path.read_text()):
            if doc and str(doc.get("apiVersion", "")).startswith("phalanx.dev/"):
                yield f"{path.parent.name}/{path.name}", doc


def test_the_models_read_every_example() -> None:
    models = {"Gang": Gang, "Queue": Queue, "Flavor": Flavor, "Topology": Topology}
    for where, doc in _ours():
        assert msgspec.convert(doc, models[doc["kind"]]).spec is not None, where


def test_there_are_examples_to_read() -> None:
    assert {doc["kind"] for _, doc in _ours()} >= {"Gang", "Topology"}


# -- names -------------------------------------------------------------------------------------------------------------


def test_kinds_have_the_names_that_people_type() -> None:
    names = {kind.name: manifests.definition(kind)["spec"]["names"] for kind in KINDS}
    assert {name: one.get("shortNames", []) for name, one in names.items()} == {
        "Gang": [], "Topology": ["ptopo"], "Queue": ["pq"], "Flavor": ["pfl"],
    }  # fmt: skip
    assert {tuple(one["categories"]) for one in names.values()} == {("phalanx",)}


def test_gangs_live_in_namespaces_and_the_rest_in_the_cluster() -> None:
    scopes = {kind.name: manifests.definition(kind)["spec"]["scope"] for kind in KINDS}
    assert scopes == {"Gang": "Namespaced", "Topology": "Cluster", "Queue": "Cluster", "Flavor": "Cluster"}


@each_kind
def test_status_is_written_apart_from_the_rest(kind: Kind) -> None:
    (version,) = manifests.definition(kind)["spec"]["versions"]
    assert version["subresources"] == {"status": {}}
