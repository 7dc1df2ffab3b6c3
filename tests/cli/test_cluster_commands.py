"""explain, queue, get, tree and snapshot, from files: manifests, and objects as a cluster has them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from phalanx.cli import main
from tests.cli.living import MADE, SAVED, living, pod, snapshot
from tests.cluster import docs
from tests.cluster.docs import Doc

Captured = pytest.CaptureFixture[str]
Write = Callable[..., str]
EXAMPLES = Path(__file__).parents[2] / "examples"


def run(*tokens: str) -> int:
    return int(main.run(tokens))


def printed(capsys: Captured) -> Any:
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No cluster is to be found by accident."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def cluster(write: Write) -> str:
    """``llm`` runs in b1/r1, ``big`` waits for a rack of three, ``late`` has no pods yet, ``odd`` is wrong."""
    wrong = docs.gang("odd", docs.workers(2, required="rak"))
    gangs = [living(docs.gang("llm")), living(docs.gang("big", docs.workers(3))), living(docs.gang("late"))]
    pods = [pod("llm", 0, "b1-r1-1"), pod("llm", 1, "b1-r1-2"), *(pod("big", i) for i in range(3))]
    foreign = living({**docs.job("foreign"), "metadata": {"name": "foreign", "namespace": "serving"}})
    everything = [*docs.cluster(), *gangs, living(wrong), *pods, foreign]
    return write(snapshot(*everything), name="cluster.yaml")


# -- explain -----------------------------------------------------------------------------------------------------


def test_a_waiting_gang_is_explained_with_ways_out_and_is_3(cluster: str, capsys: Captured) -> None:
    assert run("explain", "-f", cluster, "gang/big") == 3
    out = capsys.readouterr().out
    assert "Gang serving/big: Waiting" in out and "TooLarge" in out
    assert "workers.topology.required: block" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_running_gang_is_told_where_it_is(cluster: str, capsys: Captured) -> None:
    assert run("explain", "-f", cluster, "llm") == 0
    out = capsys.readouterr().out
    assert "Gang serving/llm: Running, 2 of 2 pods bound, 2 ready" in out
    assert "workers: 2 pods in rack b1/r1" in out


def test_pods_that_a_cluster_does_not_have_are_missing(cluster: str, capsys: Captured) -> None:
    assert run("explain", "-f", cluster, "late") == 3
    assert "PodsMissing" in capsys.readouterr().out


def test_a_wrong_gang_is_told_what_is_wrong_and_is_4(cluster: str, capsys: Captured) -> None:
    assert run("explain", "-f", cluster, "odd") == 4
    out = capsys.readouterr().out
    assert "Invalid" in out and "rak" in out and "allowed: " in out


def test_a_finished_gang_is_said_to_be(write: Write, capsys: Captured) -> None:
    ended = [pod("llm", i, "b1-r1-1", 4) for i in range(2)]
    for one in ended:
        one["status"] = {"phase": "Succeeded"}
    file = write(snapshot(*docs.cluster(), living(docs.gang()), *ended))
    assert run("explain", "-f", file, "llm") == 0
    assert "Gang serving/llm: Finished" in capsys.readouterr().out


def test_a_gang_is_found_by_one_of_its_pods(cluster: str, capsys: Captured) -> None:
    assert run("explain", "-f", cluster, "pod/big-1", "-o", "name") == 3
    assert capsys.readouterr().out == "gang/big\n"


@pytest.mark.parametrize("name", ["big", "gang/big", "Gang/big", "gangs.phalanx.dev/big", "serving/big"])
def test_a_gang_goes_by_several_names(name: str, cluster: str, capsys: Captured) -> None:
    assert run("explain", "-f", cluster, name, "-o", "name") == 3


def test_a_wrong_gang_is_found_by_one_of_its_pods(write: Write, capsys: Captured) -> None:
    wrong = living(docs.gang("odd", docs.workers(2, required="rak"), queue="team"))
    file = write(snapshot(*docs.cluster(), wrong, pod("odd", 0), living(docs.gang()), pod("llm", 0)))
    assert run("explain", "-f", file, "pod/odd-0") == 4
    assert "Gang serving/odd: Invalid" in capsys.readouterr().out
    assert run("explain", "-f", file, "pod/odd-0", "-n", "elsewhere") == 1
    assert run("explain", "-f", file, "pod/llm-0") == 3


def test_a_wrong_job_is_found_by_a_pod_that_its_child_made(write: Write, capsys: Captured) -> None:
    marks = {"phalanx.dev/topology-required": "rak"}
    owner = living({**docs.job("train"), "metadata": {"name": "train", "namespace": "serving", "annotations": marks}})
    made = pod("train", 0)
    made["metadata"]["labels"] = {}
    about = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "uid-train", "controller": True}
    made["metadata"]["ownerReferences"] = [about]
    file = write(snapshot(*docs.cluster(), owner, made))
    assert run("explain", "-f", file, "pod/train-0", "-o", "name") == 4
    assert capsys.readouterr().out == "job/train\n"


def test_a_wrong_gang_has_the_same_keys_for_programs_as_any_other(write: Write, capsys: Captured) -> None:
    said = {"type": "Scheduled", "status": "False", "reason": "Invalid", "message": "what it was before"}
    wrong = living(docs.gang("odd", docs.workers(2, required="rak"), queue="team"), conditions=[said])
    file = write(snapshot(*docs.cluster(), queue_doc("team", 8), wrong, living(docs.gang())))
    assert run("explain", "-f", file, "llm", "-o", "json") == 3
    good = printed(capsys)["decisions"][0]
    assert run("explain", "-f", file, "odd", "-o", "json") == 4
    found = printed(capsys)["decisions"][0]
    assert {"state", "queue", "schedulerSays"} <= found.keys() & good.keys()
    assert (found["state"], found["queue"], found["schedulerSays"]) == ("Invalid", "team", "what it was before")


def test_a_name_that_stands_for_nothing_is_looked_for_in_the_cluster_or_among_the_files(
    write: Write, capsys: Captured
) -> None:
    gang = docs.gang(priorityClassName="high")
    file = write(snapshot(*docs.cluster(), living(gang), pod("llm", 0), pod("llm", 1)))
    assert run("explain", "-f", file, "llm", "-o", "json") == 3  # nobody has said that it starts
    (warning,) = printed(capsys)["decisions"][0]["warnings"]
    assert "PriorityClass 'high' is not in the cluster" in warning["message"]
    assert run("place", "-f", write(*docs.cluster(), gang)) == 0
    assert "PriorityClass 'high' is not among the given objects" in capsys.readouterr().err


def test_a_name_that_is_not_there_is_1_with_what_was_meant(cluster: str, capsys: Captured) -> None:
    assert run("explain", "-f", cluster, "bigg") == 1
    assert "Did you mean serving/big?" in capsys.readouterr().err
    assert run("explain", "-f", cluster, "big", "-n", "elsewhere") == 1
    assert "in namespace elsewhere\nDid you mean serving/big?" in capsys.readouterr().err


def test_a_workload_of_another_scheduler_is_not_explained(cluster: str, capsys: Captured) -> None:
    assert run("explain", "-f", cluster, "job/foreign") == 1
    assert "not handed to phalanx" in capsys.readouterr().err


def test_what_the_scheduler_wrote_is_told_where_it_differs(write: Write, capsys: Captured) -> None:
    line = "waiting: it was released and is tried again later. Next try at 2026-11-16T09:00:05Z."
    said = {"type": "Scheduled", "status": "False", "reason": "BackingOff", "message": line}
    gang = living(docs.gang("big", docs.workers(3)), conditions=[said])
    file = write(snapshot(*docs.cluster(), gang, *(pod("big", i) for i in range(3))))
    assert run("explain", "-f", file, "big") == 3
    assert f"the scheduler says: {line}" in " ".join(capsys.readouterr().out.split())
    assert run("explain", "-f", file, "big", "-o", "json") == 3
    found = printed(capsys)["decisions"][0]
    assert found["schedulerSays"] == line
    said["message"] = "waiting: " + found["message"].partition("waiting: ")[2].partition(". ")[0] + "."
    file = write(snapshot(*docs.cluster(), gang, *(pod("big", i) for i in range(3))))
    assert run("explain", "-f", file, "big") == 3
    assert "the scheduler says" not in capsys.readouterr().out


def test_what_the_scheduler_wrote_of_the_same_reason_is_not_repeated(write: Write, capsys: Captured) -> None:
    """Neither with what would help behind it, as it stands on a Gang, nor cut short, as on a pod."""
    gang, pods = living(docs.gang("big", docs.workers(3))), [pod("big", i) for i in range(3)]
    assert run("explain", "-f", write(snapshot(*docs.cluster(), gang, *pods)), "big", "-o", "json") == 3
    line = printed(capsys)["decisions"][0]["message"]
    assert ". Block " in line
    for own, ofpod in (line, ""), ("", f"Gang big: {line[:40]}..."):
        conditions = {"conditions": [{"type": "Scheduled", "status": "False", "message": own}]}
        pods[0]["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "message": ofpod}]
        assert run("explain", "-f", write(snapshot(*docs.cluster(), {**gang, "status": conditions}, *pods)), "big") == 3
        assert "the scheduler says" not in capsys.readouterr().out


@pytest.fixture
def growing(write: Write) -> str:
    """``llm`` runs in b1/r1 with two of at least one pod; a third came, and its rack is full."""
    gang = living(docs.gang("llm", docs.workers(3, minCount=1)))
    pods = [pod("llm", 0, "b1-r1-1"), pod("llm", 1, "b1-r1-2"), pod("llm", 2)]
    return write(snapshot(*docs.cluster(), gang, *pods), name="growing.yaml")


def test_pods_that_wait_while_their_gang_runs_are_told_with_their_reason(growing: str, capsys: Captured) -> None:
    # M-025
    assert run("explain", "-f", growing, "llm") == 3
    out = " ".join(capsys.readouterr().out.split())
    assert "Gang serving/llm: Running, 2 of 3 pods bound, 2 ready" in out
    assert 'WAITS 1 pod: group "workers" needs 1 pod' in out
    assert run("explain", "-f", growing, "llm", "-o", "json") == 3
    found = printed(capsys)["decisions"][0]
    assert (found["state"], found["lack"]["group"], found["lack"]["needed"]) == ("Running", "workers", 1)


def test_pods_that_wait_behind_their_gates_are_told_of_as_well(write: Write, capsys: Captured) -> None:
    gang = living(docs.gang("llm", docs.workers(3, minCount=1), enforcement="Gate"))
    pods = [pod("llm", 0, "b1-r1-1"), pod("llm", 1, "b1-r1-2"), pod("llm", 2)]
    for one in pods:
        del one["spec"]["schedulerName"]
        if "nodeName" in one["spec"]:
            one["metadata"]["annotations"] = {"phalanx.dev/pinned": "", "phalanx.dev/node": one["spec"]["nodeName"]}
        else:
            one["spec"]["schedulingGates"] = [{"name": "phalanx.dev/topology"}]
    assert run("explain", "-f", write(snapshot(*docs.cluster(), gang, *pods)), "llm") == 3
    assert "WAITS     1 pod: " in capsys.readouterr().out


def test_nobody_is_late_where_all_have_their_places(cluster: str, capsys: Captured) -> None:
    assert run("explain", "-f", cluster, "llm", "-o", "json") == 0
    assert printed(capsys)["decisions"][0]["lack"] is None


EXPLAINED = [path for path in sorted(EXAMPLES.iterdir()) if path.is_dir() and path.name != "01-required-rack"]

SHARED = ("kind", "namespace", "name", "unit", "status", "ranks")  # and how many have a place: see test_agreement


@pytest.mark.parametrize("folder", EXPLAINED, ids=lambda path: path.name)
def test_explain_says_of_every_example_what_place_says(folder: Path, capsys: Captured) -> None:
    """Manifests without pods are decided as if they had them. (01 names a queue that is not among its files.)"""
    expected = json.loads((folder / "expected.json").read_text())["decisions"]
    for name in dict.fromkeys(one["name"] for one in expected):
        wanted = [one for one in expected if one["name"] == name]
        code = run("explain", "-f", str(folder), name, "-o", "json")
        found = printed(capsys)["decisions"]
        for one, asked in zip(found, wanted, strict=True):
            assert [one[key] for key in SHARED if key in asked] == [asked[key] for key in SHARED if key in asked]
            for key in ("podSets", "domains", "levelReached"):  # those that matter to the example
                assert {**one[key], **asked.get(key, {})} == one[key]
        waits = any(one["status"] == "Waiting" or one["leftOut"] for one in found)
        assert code == (4 if "Invalid" in str(wanted) else 3 if waits else 0)


def test_a_queue_that_is_not_there_is_the_reason(capsys: Captured) -> None:
    assert run("explain", "-f", str(EXAMPLES / "01-required-rack"), "job/train") == 3
    assert 'queue "team-a" is not there' in " ".join(capsys.readouterr().out.split())


# -- queue -------------------------------------------------------------------------------------------------------


def queue_doc(name: str, gpus: int) -> Doc:
    spec = {"quota": [{"resources": [{"name": docs.GPU, "nominal": gpus}]}]}
    return {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def test_the_queue_tells_who_waits_and_what_is_held(cluster: str, capsys: Captured) -> None:
    assert run("queue", "-f", cluster) == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines()]
    assert ["default", "-", docs.GPU, "16", "-"] in rows
    assert ["1", "default", "serving/big", "3/3", "1h", "TooLarge"] in rows
    assert ["-", "default", "serving/late", "0/2", "1h", "PodsMissing"] in rows
    assert 'group "workers" needs 3 pods in one rack' in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_quota_of_a_queue_is_told_with_what_is_used(write: Write, capsys: Captured) -> None:
    mine = [docs.gang(name, docs.workers(1), queue="team") for name in ("a", "b")]
    file = write(*docs.cluster(), queue_doc("team", 8), *mine)
    assert run("queue", "-f", file, "-o", "json") == 0
    found = printed(capsys)
    assert found["schema"] == "phalanx.dev/queues/v1"
    used = {"queue": "team", "flavor": None, "resource": docs.GPU, "used": "8", "quota": "8"}
    assert used in found["queues"]
    assert [(one["name"], one["position"], one["reason"]) for one in found["waiting"]] == [("b", 1, "OverQuota")]


def test_who_came_first_stands_first_in_line(write: Write, capsys: Captured) -> None:
    gangs = [living(docs.gang(name, docs.workers(1), queue="team")) for name in ("a", "b", "c")]
    gangs[2]["metadata"]["creationTimestamp"] = "2026-11-16T07:59:00Z"
    pods = [pod(name, 0) for name in ("a", "b", "c")]
    file = write(snapshot(*docs.cluster(), queue_doc("team", 0), *gangs, *pods))
    assert run("queue", "-f", file, "-o", "json") == 0
    assert [(one["position"], one["name"]) for one in printed(capsys)["waiting"]] == [(1, "c"), (2, "a"), (3, "b")]
    assert run("queue", "-f", file, "-o", "name") == 0
    assert capsys.readouterr().out.split() == ["gang/c", "gang/a", "gang/b"]


def test_when_nobody_waits_it_says_so(write: Write, capsys: Captured) -> None:
    assert run("queue", "-f", write(*docs.cluster(), docs.gang())) == 0
    assert "nobody waits" in capsys.readouterr().out


def test_a_gang_that_runs_while_pods_of_it_wait_is_listed_as_waiting(growing: str, capsys: Captured) -> None:
    # M-025
    assert run("queue", "-f", growing) == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines()]
    assert "nobody waits" not in out and "Running, without 1 pod: group" in out
    assert ["-", "default", "serving/llm", "3/3", "1h"] in [row[:5] for row in rows]
    assert run("queue", "-f", growing, "-o", "json") == 0
    (found,) = printed(capsys)["waiting"]
    assert (found["state"], found["position"], found["late"]) == ("Running", None, 1)
    assert found["reason"] is not None


def test_who_is_wrong_is_listed_in_the_queue_it_would_wait_in(write: Write, capsys: Captured) -> None:
    wrong = living(docs.gang("odd", docs.workers(2, required="rak"), queue="team"))
    file = write(snapshot(*docs.cluster(), queue_doc("team", 8), wrong))
    assert run("queue", "-f", file) == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines()]
    assert "nobody waits" in out and ["QUEUE", "INVALID", "SINCE"] in rows
    assert ["team", "serving/odd", "1h"] in rows and "'rak'" in out
    assert max(map(len, out.splitlines())) <= 80
    assert run("queue", "-f", file, "-o", "json") == 0
    (found,) = printed(capsys)["invalid"]
    assert (found["name"], found["queue"], found["since"], found["state"]) == ("odd", "team", MADE, "Invalid")
    assert run("queue", "-f", file, "-n", "elsewhere") == 0
    assert "odd" not in capsys.readouterr().out


# -- get ---------------------------------------------------------------------------------------------------------


def test_gangs_are_listed_with_how_far_they_are(cluster: str, capsys: Captured) -> None:
    assert run("get", "-f", cluster) == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["GANG", "QUEUE", "STATE", "PODS", "DOMAIN", "AGE"]
    assert ["serving/llm", "default", "Running", "2/2", "b1/r1", "1h"] in rows
    assert ["serving/big", "default", "TooLarge", "0/3", "-", "1h"] in rows
    assert ["serving/odd", "default", "Invalid", "-", "-", "1h"] in rows


def test_gangs_can_be_listed_for_programs(cluster: str, capsys: Captured) -> None:
    assert run("get", "gangs", "-f", cluster, "-o", "json") == 0
    found = {one["name"]: one for one in printed(capsys)["gangs"]}
    assert found["llm"]["pods"] == {"wanted": 2, "seen": 2, "bound": 2, "ready": 2}
    assert found["llm"]["domain"] == ["b1", "r1"] and found["llm"]["since"] == MADE
    assert found["odd"].keys() == found["llm"].keys() and found["odd"]["since"] == MADE
    assert run("get", "-f", cluster, "-o", "yaml") == 0
    assert {one["name"]: one for one in yaml.safe_load(capsys.readouterr().out)["gangs"]} == found
    assert run("get", "-f", cluster, "-o", "name") == 0
    assert sorted(capsys.readouterr().out.split()) == ["gang/big", "gang/late", "gang/llm", "gang/odd"]


def test_long_names_do_not_make_a_table_wider_than_80(write: Write, capsys: Captured) -> None:
    long = docs.gang("a-gang-whose-name-goes-on-and-on-and-on-until-nobody-reads-it", queue="q" * 40)
    queue = queue_doc("q" * 40, 1)
    for command in ("get", "queue"):
        assert run(command, "-f", write(*docs.cluster(), queue, long)) == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_a_namespace_without_gangs_has_none(cluster: str, capsys: Captured) -> None:
    assert run("get", "-f", cluster, "-n", "empty") == 0
    assert capsys.readouterr() == ("", "no gangs in namespace empty\n")


# -- tree --------------------------------------------------------------------------------------------------------


def test_a_running_gang_of_a_snapshot_is_drawn_where_it_is(cluster: str, capsys: Captured) -> None:
    assert run("tree", "-f", cluster, "llm") == 0
    out = capsys.readouterr().out
    assert "b1-r1-1 AAAAAAAA" in out and "A workers: 2 pods in b1/r1" in out


@pytest.mark.parametrize("name", ["llm", "gang/llm", "big", "odd", "pod/llm-0"])
def test_the_tree_finds_a_gang_of_another_namespace_no_sooner_than_explain_does(
    name: str, cluster: str, capsys: Captured
) -> None:
    """A gang that runs is never planned anew because it was looked for in the wrong place."""
    assert run("explain", name, "-f", cluster, "-n", "elsewhere") == 1
    told = capsys.readouterr()
    assert run("tree", name, "-f", cluster, "-n", "elsewhere") == 1
    assert capsys.readouterr() == told and "there is no workload" in told.err


def test_a_gang_of_another_namespace_is_drawn_where_it_is_named_with_it(cluster: str, capsys: Captured) -> None:
    assert run("tree", "serving/llm", "-f", cluster, "-n", "elsewhere") == 0
    assert "b1-r1-1 AAAAAAAA" in capsys.readouterr().out


def test_a_wrong_gang_of_a_cluster_is_explained_instead_of_drawn(cluster: str, capsys: Captured) -> None:
    assert run("explain", "odd", "-f", cluster) == 4
    told = capsys.readouterr().out
    assert run("tree", "odd", "-f", cluster) == 4
    assert capsys.readouterr().out == told


def test_a_workload_of_another_scheduler_is_not_planned_by_drawing_it(cluster: str, capsys: Captured) -> None:
    assert run("tree", "job/foreign", "-f", cluster) == 1
    assert "not handed to phalanx" in capsys.readouterr().err


# -- snapshot ----------------------------------------------------------------------------------------------------

TOLD: Doc = {
    "env": [{"name": "TOKEN", "value": "hunter2"}], "command": ["run", "--password=hunter2"], "args": ["hunter2"],
    "livenessProbe": {"httpGet": {"path": "/", "httpHeaders": [{"name": "Authorization", "value": "hunter2"}]}},
}  # fmt: skip


def chatty(doc: Doc) -> Doc:
    """A pod with secrets wherever people leave them."""
    container = {**doc["spec"]["containers"][0], **TOLD}
    last = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(TOLD)}
    about = {**doc["metadata"], "annotations": last, "managedFields": [{"manager": "kubectl"}]}
    return {**doc, "metadata": about, "spec": {**doc["spec"], "containers": [container]}}


@pytest.fixture
def secretive(write: Write) -> str:
    gang = docs.gang("llm")
    gang["spec"]["podGroups"][0]["template"]["spec"]["containers"][0].update(TOLD)
    pods = [chatty(pod("llm", 0, "b1-r1-1")), chatty(pod("llm", 1, "b1-r1-2"))]
    return write(snapshot(*docs.cluster(), living(gang), *pods), name="given.yaml")


@pytest.mark.parametrize("name", ["kept.json", "kept.yaml"])
def test_a_snapshot_holds_no_secrets_and_gives_the_same_answers(
    name: str, secretive: str, tmp_path: Path, capsys: Captured
) -> None:
    kept = str(tmp_path / name)
    assert run("snapshot", "save", kept, "-f", secretive) == 0
    assert "were left out; --whole keeps them" in " ".join(capsys.readouterr().err.split())
    text = Path(kept).read_text()
    assert "hunter2" not in text and "managedFields" not in text
    for command in (("explain", "llm"), ("get",), ("queue",), ("tree", "llm"), ("tree",)):
        assert run(*command, "-f", secretive) == 0
        before = capsys.readouterr()
        assert run(*command, "-f", kept) == 0
        assert capsys.readouterr() == before


def test_a_whole_snapshot_keeps_what_containers_are_told(secretive: str, tmp_path: Path, capsys: Captured) -> None:
    kept = tmp_path / "kept.yaml"
    assert run("snapshot", "save", str(kept), "-f", secretive, "--whole") == 0
    text = kept.read_text()
    assert "--password=hunter2" in text and "managedFields" not in text and "last-applied" not in text
    assert "left out" not in capsys.readouterr().err


def test_the_same_objects_in_any_order_are_the_same_bytes(write: Write, tmp_path: Path) -> None:
    objects = [*docs.cluster(), living(docs.gang()), pod("llm", 0), pod("llm", 1)]
    for name, given in (("a", objects), ("b", objects[::-1])):
        assert run("snapshot", "save", str(tmp_path / f"{name}.json"), "-f", write(snapshot(*given))) == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_a_snapshot_that_cannot_be_written_leaves_nothing(secretive: str, tmp_path: Path, capsys: Captured) -> None:
    assert run("snapshot", "save", str(tmp_path / "no" / "such.json"), "-f", secretive) == 1
    taken = tmp_path / "folder"
    taken.mkdir()
    assert run("snapshot", "save", str(taken), "-f", secretive) == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == ["folder", "given.yaml"]


def test_loading_says_what_is_in_a_snapshot(cluster: str, capsys: Captured) -> None:
    assert run("snapshot", "load", cluster) == 4  # one of its gangs is wrong
    out, err = capsys.readouterr()
    assert f"saved at {SAVED}" in out
    rows = [line.split() for line in out.splitlines()]
    assert ["8", "Node"] in rows and ["4", "Gang.phalanx.dev"] in rows and ["3", "gangs", "of", "phalanx"] in rows
    assert "Gang serving/odd" in err


def test_a_file_that_is_no_snapshot_is_1(write: Write, tmp_path: Path, capsys: Captured) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("kind: [")
    assert run("snapshot", "load", str(broken)) == 1
    assert "broken.yaml, document 1, line 2: " in capsys.readouterr().err


# -- no cluster --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tokens", [("get",), ("queue",), ("explain", "x"), ("tree",), ("snapshot", "save", "x")])
def test_without_files_and_cluster_it_says_how_to_name_them(
    tokens: tuple[str, ...], nobody: None, capsys: Captured
) -> None:
    assert run(*tokens) == 1
    out, err = capsys.readouterr()
    assert not out and "no such file" in err and "--kubeconfig" in err and "-f" in err


def test_a_cluster_that_does_not_answer_is_1(nobody: None, write: Write, capsys: Captured) -> None:
    where = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "c", "context": {"cluster": "c"}}
    config = write({"clusters": [where], "contexts": [context], "current-context": "c"}, name="config")
    assert run("get", "--kubeconfig", config) == 1
    assert "cannot reach http://127.0.0.1:1" in capsys.readouterr().err
    assert run("get", "--kubeconfig", config, "--context", "other") == 1
    assert "'other' is not among the contexts: c" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["get", "run"])
def test_a_kubeconfig_that_cannot_be_used_is_1_whichever_command_is_told_of_it(
    command: str, nobody: None, write: Write, tmp_path: Path, capsys: Captured
) -> None:
    config = write({"clusters": [], "contexts": [], "current-context": "gone"}, name="config")
    for tokens in (("--kubeconfig", str(tmp_path / "none")), ("--kubeconfig", config), ()):
        assert run(command, *tokens) == 1
        out, err = capsys.readouterr()
        assert not out and err.startswith("error: ") and "--kubeconfig" in err


@pytest.mark.parametrize("command", ["get", "run"])
def test_a_configuration_that_cannot_be_used_is_the_same_to_every_command(
    command: str, nobody: None, write: Write, tmp_path: Path, capsys: Captured
) -> None:
    objects = ("-f", write(*docs.cluster(), name="all.yaml")) if command == "get" else ()
    assert run(command, *objects, "--configuration", write({"kind": "Nope"}, name="config.yaml")) == 2
    assert run(command, *objects, "--configuration", str(tmp_path / "none.yaml")) == 1
    assert "no such file" in capsys.readouterr().err


def test_files_and_a_cluster_at_once_are_wrong_usage(cluster: str, capsys: Captured) -> None:
    assert run("get", "-f", cluster, "--context", "prod") == 2


def test_a_configuration_says_which_workloads_are_ours(cluster: str, write: Write, capsys: Captured) -> None:
    own = {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Configuration", "schedulerNames": ["default-scheduler"]}
    plain = docs.job("foreign")
    plain["spec"]["template"]["spec"]["schedulerName"] = "default-scheduler"
    file = write(snapshot(*docs.cluster(), living(plain)))
    assert run("get", "-f", file, "-o", "name") == 0
    assert capsys.readouterr().out == ""
    assert run("get", "-f", file, "-o", "name", "--configuration", write(own, name="config.yaml")) == 0
    assert capsys.readouterr().out == "job/foreign\n"
    assert run("get", "-f", file, "--configuration", write({"kind": "Nope"}, name="config.yaml")) == 2
    assert "config.yaml" in capsys.readouterr().err
