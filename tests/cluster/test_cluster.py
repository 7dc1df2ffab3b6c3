"""The Python door, as public-api.md section 3 describes it."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import phalanx
from tests.cluster import docs


def cluster(*more: docs.Doc) -> phalanx.Cluster:
    return phalanx.Cluster.from_manifests([*docs.cluster(), *more])


def test_a_placed_gang_says_where_its_pods_and_groups_are() -> None:
    (d,) = cluster().place([docs.gang("llm", docs.workers(4, gpus=4, rank={"order": "Consecutive"}))])
    assert (d.kind, d.namespace, d.name, d.unit, d.status) == ("Gang", "serving", "llm", None, "Placed")
    assert d.pod_sets == {"workers": {"b1-r1-1": 2, "b1-r1-2": 2}}
    assert d.domains == {"workers": ("b1", "r1")}
    assert d.level_reached == {"workers": "rack"}
    assert d.ranks == {"workers": ["b1-r1-1", "b1-r1-1", "b1-r1-2", "b1-r1-2"]}
    assert (d.reason, d.proved, d.problems, d.warnings) == (None, None, (), ())
    assert "workers" in d.explain()


def test_a_waiting_gang_has_a_reason_a_proof_and_ways_out() -> None:
    (d,) = cluster().place([docs.gang("llm", docs.workers(3))])
    assert d.status == "Waiting" and d.proved is True
    assert d.reason is not None and d.reason.type == "TooLarge" and d.reason.group == "workers"
    assert d.pod_sets == {} and d.domains == {} and d.ranks == {} and d.level_reached == {}
    assert "workers.topology.required: block" in [way.change for way in d.ways_out]
    assert "workers.topology.required: block" in d.explain()


def test_a_gang_that_is_placed_in_part_says_how_many_of_whom_have_no_place() -> None:
    spread = docs.workers(8, gpus=8, minCount=1)
    (d,) = cluster().place([docs.gang("llm", spread)])
    assert (d.status, d.wanted, d.placed, d.left_out) == ("Placed", 8, 2, {"workers": 6})
    (whole,) = cluster().place([docs.gang("llm")])
    assert (whole.wanted, whole.placed, whole.left_out) == (2, 2, {})
    (waits,) = cluster().place([docs.gang("llm", docs.workers(3))])
    assert (waits.wanted, waits.placed, waits.left_out) == (3, 0, {"workers": 3})
    (wrong,) = cluster().place([docs.job(topology_required="rak")])
    assert (wrong.wanted, wrong.placed, wrong.left_out) == (None, 0, {})


def test_ways_out_are_not_searched_when_not_wanted() -> None:
    (d,) = cluster().place([docs.gang("llm", docs.workers(3))], ways_out=False)
    assert d.status == "Waiting" and d.ways_out == ()


def test_an_invalid_manifest_has_problems_that_unpack() -> None:
    (d,) = cluster().place([docs.job(topology_required="rak")])
    assert d.status == "Invalid" and d.reason is None and d.proved is None
    path, value, allowed, message = d.problems[0]
    assert path == "metadata.annotations['phalanx.dev/topology-required']"
    assert (value, d.problems[0].allowed) == ("rak", allowed)
    assert {"block", "rack", "host"} <= set(allowed) and "rak" in message


def test_place_changes_nothing() -> None:
    here = cluster()
    first = here.place([docs.gang("a"), docs.gang("b")])
    assert [d.to_dict() for d in here.place([docs.gang("a"), docs.gang("b")])] == [d.to_dict() for d in first]
    assert here.snapshot.pods == ()


def test_workloads_of_one_call_see_each_other() -> None:
    """Four racks of two nodes: the fifth gang of two finds none, and the four others do not share."""
    found = cluster().place([docs.gang(f"g{i}") for i in range(5)])
    assert [d.status for d in found] == ["Placed"] * 4 + ["Waiting"]
    used = [node for d in found for node in d.pod_sets.get("workers", {})]
    assert len(used) == len(set(used)) == 8


def test_the_decisions_of_one_call_can_be_committed_and_released() -> None:
    here = cluster()
    here.commit(here.place([docs.gang(f"g{i}") for i in range(4)]))
    (d,) = here.place([docs.gang("late")])
    assert d.status == "Waiting" and "wait for serving/g0" in [way.change for way in d.ways_out]
    here.release("serving/g2")
    (d,) = here.place([docs.gang("late")])
    assert d.status == "Placed" and d.domains == {"workers": ("b2", "r1")}
    assert here.free(docs.GPU)["b1-r1-1"] == (0, 8)


def test_commit_takes_one_decision_too_and_passes_over_the_rest() -> None:
    here = cluster()
    placed, waiting = here.place([docs.gang("a"), docs.gang("b", docs.workers(3))])
    here.commit(placed)
    here.commit([waiting])
    assert {pod.gang for pod in here.snapshot.pods} == {"serving/a"}


def test_a_stale_decision_is_not_committed_and_nothing_of_its_list_is() -> None:
    here = cluster()
    (first,), (second,) = here.place([docs.gang("a")]), here.place([docs.gang("b")])
    here.commit(first)
    (third,) = here.place([docs.gang("c", docs.workers(2, "block", gpus=1))])
    with pytest.raises(ValueError, match="serving/b no longer fits"):
        here.commit([third, second])
    assert {pod.gang for pod in here.snapshot.pods} == {"serving/a"}


def test_a_workload_without_wishes_may_use_a_node_outside_the_topology() -> None:
    here = phalanx.Cluster.from_manifests([docs.topology(), docs.node("bare")])
    (d,) = here.place([docs.job("plain", 1)])
    assert d.pod_sets == {"main": {"bare": 1}} and d.domains == {"main": ()}
    here.commit(d)
    assert here.free(docs.GPU)["bare"][0] == 0


def test_nobody_is_committed_twice_and_strangers_are_not_released() -> None:
    here = cluster()
    decisions = here.place([docs.gang("a")])
    here.commit(decisions)
    with pytest.raises(ValueError, match="holds room already"):
        here.commit(decisions)
    with pytest.raises(KeyError, match="serving/nobody"):
        here.release("serving/nobody")


def test_a_gang_that_ran_before_can_be_released_and_asked_about_again() -> None:
    here = cluster(docs.running("p", "b1-r1-1", gang="llm"))
    same = docs.gang("llm")
    same["metadata"]["namespace"] = "other"
    (d,) = here.place([same])
    assert d.status == "Placed" and "b1-r1-1" not in d.pod_sets["workers"]
    here.release("other/llm")
    assert here.snapshot.pods == ()


def web(kind: str, name: str = "web") -> docs.Doc:
    pods = {"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}]}}
    spec = {"replicas": 2, "template": pods}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def test_workloads_of_two_kinds_with_one_name_hold_room_side_by_side() -> None:
    board = cluster()
    both = board.place([web("Deployment"), web("StatefulSet")])
    assert [(one.id, one.name, one.status) for one in both] == [
        ("default/web", "web", "Placed"), ("StatefulSet/default/web", "web", "Placed"),
    ]  # fmt: skip
    board.commit(both)
    board.release("StatefulSet/default/web")
    with pytest.raises(KeyError):
        board.release("StatefulSet/default/web")
    board.release("default/web")


def test_a_name_that_another_kind_holds_room_by_is_not_taken_from_it_later() -> None:
    board = cluster()
    board.commit(board.place([web("Deployment")]))
    board.commit(board.place([web("StatefulSet")]))
    assert {pod.gang for pod in board.snapshot.pods} == {"default/web", "StatefulSet/default/web"}
    with pytest.raises(ValueError, match=r"^default/web holds room already"):
        board.commit(board.place([web("Deployment")]))


def test_units_of_a_basic_gang_are_decisions_of_their_own() -> None:
    groups = [docs.workers(1) | {"name": name} for name in ("a", "b")] + [docs.workers(3) | {"name": "c"}]
    here = cluster()
    found = here.place([docs.gang("llm", *groups, policy="Basic")])
    assert [(d.unit, d.status) for d in found] == [("a", "Placed"), ("b", "Placed"), ("c", "Waiting")]
    assert found[0].domains["a"][:2] == ("b1", "r1")
    here.commit(found)
    here.release("serving/llm")
    assert here.snapshot.pods == ()


def test_the_root_is_listed_only_where_it_is_declared() -> None:
    nested = docs.gang(
        "llm", {"name": "inner", "topology": {"required": "block"}}, docs.workers() | {"parent": "inner"}
    )
    nested["spec"]["topology"] = {"required": "block"}
    (d,) = cluster().place([nested])
    assert set(d.domains) == set(d.level_reached) == {"inner", "workers"}
    assert set(d.to_dict()["domains"]) == {"inner", "workers"}
    (d,) = cluster().place([docs.job(topology_required="rack")])
    assert d.domains == {"main": ("b1", "r1")} and list(d.ranks) == ["main"]


def test_bad_documents_of_the_cluster_are_named() -> None:
    bad = docs.node("odd")
    bad["status"]["allocatable"]["memory"] = "100GB"
    here = cluster(bad, docs.node("bare"), docs.running("p", "nowhere"))
    assert [note.path for note in here.problems] == ["Node/odd: status.allocatable.memory"]
    assert here.problems[0].value == "100GB" and "100G" in here.problems[0].message
    assert any("nowhere" in str(note) for note in here.warnings)
    (lost,) = here.outside["t"]
    assert (lost.node, lost.label) == ("bare", "topology/block")


def test_a_document_of_unknown_kind_is_invalid_and_an_unused_one_a_warning() -> None:
    found = cluster().place([{"metadata": {"name": "x"}}, {"apiVersion": "v1", "kind": "Service", "metadata": {}}])
    assert [d.status for d in found] == ["Invalid"]
    assert any("Service" in str(note) for note in found.warnings)


def test_documents_may_be_a_generator_and_both_piles_the_same() -> None:
    pile = [*docs.cluster(), docs.gang("llm")]
    here = phalanx.Cluster.from_manifests(doc for doc in pile)
    assert [d.status for d in here.place(doc for doc in pile)] == ["Placed"]


def test_junk_among_documents_never_raises() -> None:
    for junk in ([None], [[]], [3], {"kind": []}, [{"kind": "Gang", "spec": 3}], [{"kind": "Node"}]):
        here = phalanx.Cluster.from_manifests(junk)
        assert all(d.status == "Invalid" for d in here.place(junk))


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert phalanx.__version__ == project["version"]


def test_the_package_opens_the_door_only_when_asked() -> None:
    code = "import sys, phalanx; assert 'numpy' not in sys.modules; assert phalanx.Cluster and 'numpy' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert phalanx.__version__ and "Cluster" in dir(phalanx)
    with pytest.raises(AttributeError):
        _ = phalanx.Nothing  # type: ignore[attr-defined]
