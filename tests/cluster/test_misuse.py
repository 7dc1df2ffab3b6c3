"""The Python door used wrongly: each way gives an error that says what is allowed, or does what was meant."""

import copy
import io
from collections import ChainMap, UserDict
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import phalanx
from phalanx.cli import files
from tests.cluster import docs

EXAMPLES = sorted(path for path in (Path(__file__).parents[2] / "examples").iterdir() if path.is_dir())
MAPPINGS = "expected a list of mappings, such as list(yaml.safe_load_all(text)), not "
DECISIONS = "commit takes decisions as place() returns them, not "


def here() -> phalanx.Cluster:
    return phalanx.Cluster.from_manifests(docs.cluster())


def used_up() -> Iterator[docs.Doc]:
    generator = (doc for doc in docs.cluster())
    list(generator)
    return generator


def read(given: Any) -> Callable[[], object]:
    return lambda: phalanx.Cluster.from_manifests(given)


def asked(given: Any, **more: Any) -> Callable[[], object]:
    return lambda: here().place(given, **more)


def committed(given: Any) -> Callable[[], object]:
    return lambda: here().commit(given)


def released(given: Any) -> Callable[[], object]:
    return lambda: with_gangs().release(given)


def by(policy: Any) -> Callable[[], object]:
    return lambda: phalanx.Cluster.from_manifests(docs.cluster(), policy)


def choosing(**values: Any) -> Callable[[], object]:
    return lambda: phalanx.Policy(**values)


def with_gangs() -> phalanx.Cluster:
    cluster = here()
    cluster.commit(cluster.place([docs.gang("llm"), docs.gang("other")]))
    return cluster


def set_policy() -> None:
    cluster: Any = here()
    cluster.policy = {"candidates": "pack"}


def commit_twice() -> None:
    cluster = here()
    decisions = cluster.place([docs.gang()])
    cluster.commit(decisions)
    cluster.commit(decisions)


def commit_one_twice_at_once() -> None:
    cluster = here()
    (one,) = cluster.place([docs.gang()])
    cluster.commit([one, one])


def commit_what_another_cluster_decided() -> None:
    labels = {"topology/block": "b", "topology/rack": "r"}
    elsewhere = phalanx.Cluster.from_manifests([docs.topology(), docs.node("x", labels), docs.node("y", labels)])
    here().commit(elsewhere.place([docs.gang()]))


def commit_what_no_longer_fits() -> None:
    cluster = here()
    earlier = cluster.place([docs.gang("earlier")])
    cluster.commit(cluster.place([docs.gang("later")]))
    cluster.commit(earlier)


def release_twice() -> None:
    cluster = with_gangs()
    cluster.release("serving/llm")
    cluster.release("serving/llm")


def change_a_decision() -> None:
    (decision,) = here().place([docs.gang()])
    decision.ways_out = ()  # type: ignore[misc]


WRONG: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    # documents
    "nothing as documents": (read(None), TypeError, "documents: " + MAPPINGS + "None; files are not opened here"),
    "a path's text as documents": (read("cluster.yaml"), TypeError, "documents: " + MAPPINGS + "'cluster.yaml'"),
    "a path as documents": (read(Path("cluster.yaml")), TypeError, "files are not opened here"),
    "YAML's text as documents": (read("kind: Node\nmetadata: {name: a}\n"), TypeError, MAPPINGS),
    "bytes as documents": (read(b"kind: Node"), TypeError, MAPPINGS + "a value of type bytes"),
    "an open file as documents": (read(io.StringIO("kind: Node")), TypeError, MAPPINGS + "a value of type StringIO"),
    "a number as documents": (read(3), TypeError, MAPPINGS + "3"),
    "a used-up generator as a cluster": (read(used_up()), ValueError, "used up before and gives nothing more"),
    "nothing as workloads": (asked(None), TypeError, "documents: " + MAPPINGS + "None"),
    "a path's text as workloads": (asked("train.yaml"), TypeError, MAPPINGS + "'train.yaml'"),
    "a used-up generator as workloads": (asked(used_up()), ValueError, "used up before and gives nothing more"),
    "a listener that cannot be called": (asked([docs.gang()], on_decision=3), TypeError, "on_decision: 3 cannot be"),
    "the constructor with documents": (
        lambda: phalanx.Cluster(docs.cluster()),  # type: ignore[arg-type]
        TypeError, "made of documents by phalanx.Cluster.from_manifests(documents)",
    ),
    # policies
    "a word as policy": (by("spread"), TypeError, "policy: 'spread' is no Policy; one is made by phalanx.Policy("),
    "no policy": (by(None), TypeError, "policy: None is no Policy"),
    "a mapping as policy, later": (set_policy, TypeError, "policy: a value of type dict is no Policy"),
    "an unknown candidate": (
        choosing(candidates="tight"), ValueError, "Policy.candidates: 'tight' is not one of pack, spread, balance",
    ),
    "a candidate in capitals": (choosing(candidates="Pack"), ValueError, "'Pack' is not one of pack, spread, balance"),
    "no candidate": (choosing(candidates=None), TypeError, "None is not one of pack, spread, balance"),
    "a list of candidates": (choosing(candidates=["pack"]), TypeError, "'a list' is not one of pack, spread, balance"),
    "unknown nodes": (choosing(nodes="pack"), ValueError, "Policy.nodes: 'pack' is not one of compact, reuse"),
    "a negative budget": (choosing(budget=-1), ValueError, "-1 is not a whole number from 0 to 1000000000000"),
    "an endless budget": (choosing(budget=float("inf")), TypeError, "is not a whole number from 0 to 1000000000000"),
    "an absurd budget": (choosing(budget=10**400), ValueError, "a number of more than 77 digits is not a whole number"),
    "half a budget": (choosing(budget=1.5), TypeError, "1.5 is not a whole number"),
    "a budget in words": (choosing(budget="1000"), TypeError, "'1000' is not a whole number"),
    "yes as a budget": (choosing(budget=True), TypeError, "True is not a whole number"),
    # asking what is free
    "a resource's last part": (lambda: here().free("gpu"), ValueError, "any gpu; did you mean nvidia.com/gpu?"),
    "a misspelt resource": (lambda: here().free("memroy"), ValueError, "did you mean memory?"),
    "an unknown resource": (
        lambda: here().free("example.com/fpga"), ValueError, "(nodes have cpu, memory, nvidia.com/gpu, pods)",
    ),
    "no resource": (lambda: here().free(None), TypeError, "resource: None is not a text such as 'cpu'"),  # type: ignore[arg-type]
    # taking and giving back
    "nothing committed": (committed(None), TypeError, DECISIONS + "None"),
    "a name committed": (committed("serving/llm"), TypeError, DECISIONS + "'serving/llm'"),
    "JSON committed": (
        lambda: here().commit(here().place([docs.gang()])[0].to_dict()), TypeError, DECISIONS + "a value of type dict",
    ),
    "manifests committed": (committed([docs.gang()]), TypeError, DECISIONS + "a value of type dict"),
    "committed twice": (commit_twice, ValueError, "serving/llm holds room already; release it first"),
    "committed twice at once": (commit_one_twice_at_once, ValueError, "serving/llm holds room already"),
    "another cluster's decision": (commit_what_another_cluster_decided, ValueError, "node 'x', which is not known"),
    "a decision of before": (commit_what_no_longer_fits, ValueError, "serving/earlier no longer fits as it was placed"),
    "nobody released": (released(None), TypeError, "(the id of a decision): None is not a text such as"),
    "a decision released": (
        lambda: with_gangs().release(here().place([docs.gang()])[0]),  # type: ignore[arg-type]
        TypeError, "(the id of a decision): a value of type Decision is not a text such as 'serving/llm'",
    ),
    "an empty name released": (released(""), ValueError, "such as 'serving/llm'"),
    "a stranger released": (released("a/b"), KeyError, "a/b holds no room (room is held by serving/llm, ser"),
    "a name released without its namespace": (released("llm"), KeyError, "llm holds no room; did you mean ser"),
    "released twice": (release_twice, KeyError, "serving/llm holds no room (room is held by serving/other)"),
    "a stranger released of nobody": (lambda: here().release("a/b"), KeyError, "a/b holds no room (nobody does)"),
    # what is no part of it
    "a decision that is changed": (change_a_decision, AttributeError, "cannot assign to field 'ways_out'"),
    "a name the package lacks": (lambda: phalanx.Clustr, AttributeError, "'phalanx' has no attribute 'Clustr'"),  # type: ignore[attr-defined]
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_call_says_what_is_allowed(wrong: str) -> None:
    call, error, sentence = WRONG[wrong]
    with pytest.raises(error) as found:
        call()
    assert sentence in str(found.value)


def statuses(decisions: phalanx.Decisions) -> list[str]:
    return [d.status for d in decisions]


def place_after_commit() -> list[str]:
    cluster = with_gangs()
    return statuses(cluster.place([docs.gang("llm"), docs.gang("third")]))


def commit_a_generator() -> list[str]:
    cluster = here()
    cluster.commit(d for d in cluster.place([docs.gang("a"), docs.gang("b")]))
    return sorted({str(pod.gang) for pod in cluster.snapshot.pods})


def commit_on_a_twin() -> list[str]:
    twin = here()
    twin.commit(here().place([docs.gang("a")]))
    return sorted({str(pod.gang) for pod in twin.snapshot.pods})


def frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType({key: frozen(inner) for key, inner in value.items()})
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def of_mappings(kind: Callable[[Any], Mapping[str, object]]) -> list[str]:
    cluster = phalanx.Cluster.from_manifests(map(kind, docs.cluster()))
    return [*map(str, cluster.problems), *statuses(cluster.place([kind(docs.gang())]))]


WORKS: dict[str, tuple[Callable[[], object], object]] = {
    "one workload without a list": (lambda: statuses(here().place(docs.gang())), ["Placed"]),
    "one node without a list": (lambda: phalanx.Cluster.from_manifests(docs.node("a")).free("cpu"), {"a": (64, 64)}),
    "a tuple": (lambda: statuses(here().place((docs.gang("a"), docs.gang("b")))), ["Placed", "Placed"]),
    "empty documents among others": (lambda: statuses(here().place([None, docs.gang(), None])), ["Placed"]),
    "no documents": (lambda: statuses(here().place([])), []),
    "a cluster of nothing": (lambda: phalanx.Cluster.from_manifests([]).free("cpu"), {}),
    "mappings that cannot be changed": (lambda: of_mappings(MappingProxyType), ["Placed"]),
    "mappings that cannot be changed, all through": (lambda: of_mappings(frozen), ["Placed"]),
    "mappings of other makers": (lambda: of_mappings(UserDict), ["Placed"]),
    "mappings in layers": (lambda: of_mappings(ChainMap), ["Placed"]),
    "places asked for after a commit": (place_after_commit, ["Placed", "Placed"]),
    "decisions committed one by one": (commit_a_generator, ["serving/a", "serving/b"]),
    "a decision on a twin of its cluster": (commit_on_a_twin, ["serving/a"]),
    "nothing to commit": (lambda: here().commit([]), None),
    "no budget at all": (
        lambda: statuses(phalanx.Cluster.from_manifests(docs.cluster(), phalanx.Policy(budget=0)).place([docs.gang()])),
        ["Waiting"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WORKS)
def test_what_looks_wrong_and_is_not_does_what_was_meant(case: str) -> None:
    call, expected = WORKS[case]
    assert call() == expected


def test_what_is_no_document_among_documents_is_named() -> None:
    cluster = phalanx.Cluster.from_manifests(["cluster.yaml", *docs.cluster()])  # type: ignore[list-item]
    assert [note.path for note in cluster.problems] == ["documents[0]"]
    assert statuses(cluster.place([[docs.gang()], docs.gang()])) == ["Invalid", "Placed"]  # type: ignore[list-item]


def test_a_generator_handed_to_both_doors_is_told_and_a_list_is_not() -> None:
    pile = [*docs.cluster(), docs.gang()]
    generator = (doc for doc in pile)
    cluster = phalanx.Cluster.from_manifests(generator)
    with pytest.raises(ValueError, match="make a list of it first"):
        cluster.place(generator)
    assert statuses(cluster.place(pile)) == ["Placed"]


def test_a_failed_commit_takes_nothing_though_the_first_of_it_was_good() -> None:
    cluster = here()
    (one,) = cluster.place([docs.gang()])
    for junk in ([one, None], [one, one]):
        with pytest.raises((TypeError, ValueError)):
            cluster.commit(junk)  # type: ignore[arg-type]
        assert cluster.snapshot.pods == ()
    cluster.commit(one)


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_documents_that_are_changed_afterwards_change_nothing(folder: Path) -> None:
    whole = files.load([str(folder)])
    expected = told(phalanx.Cluster.from_manifests(whole), whole)
    given = copy.deepcopy(whole)
    cluster = phalanx.Cluster.from_manifests(given)
    spoil(given)
    asked_of = copy.deepcopy(whole)
    decisions = cluster.place(asked_of)
    spoil(asked_of)
    assert [d.to_dict() for d in decisions] == expected
    assert all(d.explain() and d.message for d in decisions)
    cluster.commit(decisions)


def told(cluster: phalanx.Cluster, workloads: list[Any]) -> list[dict[str, Any]]:
    return [d.to_dict() for d in cluster.place(workloads)]


def spoil(value: Any) -> None:
    """Empties every mapping and list, the inner ones first."""
    for inner in list(value.values() if isinstance(value, dict) else value):
        if isinstance(inner, (dict, list)):
            spoil(inner)
    value.clear()


def test_documents_are_not_changed_by_reading_them() -> None:
    given = [*docs.cluster(), docs.gang(), docs.job(topology_required="rack")]
    before = copy.deepcopy(given)
    cluster = phalanx.Cluster.from_manifests(given)
    cluster.commit(cluster.place(given))
    assert given == before


def test_what_a_decision_hands_out_may_be_changed_without_harm() -> None:
    cluster = here()
    (d,) = cluster.place([docs.gang()])
    d.pod_sets["workers"].clear()
    d.domains.clear()
    d.ranks.clear()
    spoil(d.to_dict())
    cluster.commit(d)
    assert sum(d.pod_sets["workers"].values()) == 2 and d.domains == {"workers": ("b1", "r1")}


def test_amounts_are_decimals_in_plain_units() -> None:
    odd = docs.node("odd")
    odd["status"]["allocatable"] |= {"cpu": "232500m", "memory": "1Ti", "example.com/share": "3"}
    cluster = phalanx.Cluster.from_manifests([odd, docs.running("p", "odd", 3)])
    assert cluster.free("cpu") == {"odd": (Decimal("232.5"), Decimal("232.5"))}
    assert cluster.free("memory")["odd"][1] == Decimal(2**40)
    assert cluster.free(docs.GPU) == {"odd": (Decimal(5), Decimal(8))}
    assert all(isinstance(part, Decimal) for part in cluster.free("pods")["odd"])
    assert str(cluster.free("cpu")["odd"][0]) == "232.5"


def test_a_node_on_which_more_runs_than_it_has_is_below_nothing() -> None:
    cluster = phalanx.Cluster.from_manifests(
        [docs.node("full", gpus=8), docs.running("a", "full", 8), docs.running("b", "full", 4)]
    )
    assert cluster.free(docs.GPU) == {"full": (Decimal(-4), Decimal(8))}


def test_what_is_looked_at_at_a_prompt_fits_a_line() -> None:
    cluster = phalanx.Cluster.from_manifests([*docs.cluster(), {"kind": "Node"}])
    decisions = cluster.place([docs.gang("llm"), docs.job(topology_required="rak")])
    cluster.commit(decisions)
    assert repr(cluster) == "<Cluster, nodes: 8, topologies: 1, pods: 2, problems: 1>"
    assert repr(decisions[0]) == "<Decision serving/llm: placed: 2 pods on 2 nodes in rack b1/r1>"
    assert repr(decisions[1]).startswith("<Decision default/train: invalid: metadata.annotations[")
