"""What the scheduler says of a gang is shown beside what a fresh look finds; where they differ, it is what counts."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from phalanx.cli import clusters, main
from phalanx.cli.clusters import Look
from tests.cli.living import MADE, living, pod, snapshot
from tests.cluster import docs
from tests.cluster.docs import Doc

Captured = pytest.CaptureFixture[str]
Write = Callable[..., str]
SINCE = "2026-11-16T08:04:00Z"
LACKING = 'waiting: group "workers" needs 2 pods; 1 of them exists yet.'
RAN = "running: its minimum is ready; 2 of 2 pods bound, 2 ready in b1/r1."


def run(*tokens: str) -> int:
    return int(main.run(tokens))


def printed(capsys: Captured) -> Any:
    return json.loads(capsys.readouterr().out)


def plain(text: str) -> str:
    return " ".join(text.split())


def condition(kind: str, status: str, reason: str, message: str = "", **more: Any) -> Doc:
    return {
        "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": SINCE, **more
    }  # fmt: skip


def holds(gang: Doc, state: str, *conditions: Doc, generation: int = 1) -> Doc:
    """The Gang in a cluster, with the status that a scheduler wrote."""
    status = {
        "state": state,
        "pods": "2/2" if state == "Running" else "0/2",
        "observedGeneration": generation,
        "conditions": list(conditions),
    }
    return living(gang, **status)


def waits(gang: Doc, generation: int = 1) -> Doc:
    queued = condition("Queued", "True", "PodsMissing", LACKING)
    return holds(gang, "Queued", queued, condition("Scheduled", "False", "PodsMissing", LACKING), generation=generation)


def event(doc: Doc, reason: str, note: str, at: str = SINCE) -> Doc:
    about = {"kind": doc["kind"], "name": doc["metadata"]["name"], "uid": doc["metadata"]["uid"]}
    return {
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": {"name": f"{reason}-{at}", "namespace": "serving"},
        "eventTime": at, "type": "Normal", "reason": reason, "note": note, "regarding": about,
        "reportingController": "phalanx.dev/scheduler",
    }  # fmt: skip


@pytest.fixture
def hangs(write: Write) -> str:
    """``llm`` has all its pods and fits; the scheduler says that a pod of it is missing."""
    return write(snapshot(*docs.cluster(), waits(docs.gang()), pod("llm", 0), pod("llm", 1)), name="hangs.yaml")


def job(**annotations: str) -> Doc:
    return living({**docs.job("train", **annotations), "metadata": {"name": "train", "namespace": "serving"}})


def member(number: int, message: str = "") -> Doc:
    """A pod of the Job, with what the scheduler wrote on it."""
    one = pod("train", number)
    one["metadata"]["labels"] = {}
    about = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "uid-train", "controller": True}
    one["metadata"]["ownerReferences"] = [about]
    if message:
        one["status"]["conditions"] = [condition("PodScheduled", "False", "PodsMissing", f"Job train: {message}")]
    return one


def of_job(*more: Doc, message: str = "") -> list[Doc]:
    doc = docs.job("train")
    doc["metadata"] = {"name": "train", "namespace": "serving"}
    doc["spec"]["template"]["spec"]["schedulerName"] = "phalanx"
    return [*docs.cluster(), living(doc), member(0, message), member(1), *more]


# -- explain -----------------------------------------------------------------------------------------------------


def test_a_gang_that_hangs_in_the_scheduler_waits_though_a_fresh_look_would_start_it(
    hangs: str, capsys: Captured
) -> None:
    assert run("explain", "llm", "-f", hangs) == 3
    out = capsys.readouterr().out
    assert out.startswith(f"Gang serving/llm: Waiting since {SINCE}\n")
    assert f"the scheduler says: {LACKING}" in plain(out)
    assert "a fresh look would start it now (placed: 2 pods on 2 nodes in rack b1/r1)" in plain(out)
    assert max(map(len, out.splitlines())) <= 80


def test_programs_are_told_what_the_scheduler_holds_beside_what_is_found(hangs: str, capsys: Captured) -> None:
    assert run("explain", "llm", "-f", hangs, "-o", "json") == 3
    found = printed(capsys)["decisions"][0]
    assert (found["status"], found["differs"], found["schedulerSays"]) == ("Placed", True, LACKING)
    assert found["scheduler"] == {
        "state": "Queued", "reason": "PodsMissing", "since": SINCE, "message": LACKING, "staleGeneration": None,
    }  # fmt: skip


def test_what_the_scheduler_holds_for_invalid_is_4(write: Write, capsys: Captured) -> None:
    said = condition("Valid", "False", "Invalid", "spec.podGroups[0].topology.required: 'rak' is no level")
    file = write(snapshot(*docs.cluster(), holds(docs.gang(), "Invalid", said), pod("llm", 0), pod("llm", 1)))
    assert run("explain", "llm", "-f", file) == 4
    out = plain(capsys.readouterr().out)
    assert f"Gang serving/llm: Invalid since {SINCE}" in out and "'rak' is no level" in out
    assert "a fresh look would start it now" in out


def test_one_that_runs_and_is_found_waiting_is_told_as_running_and_is_3(write: Write, capsys: Captured) -> None:
    """The scheduler has not seen that its pods are gone, or is away."""
    said = holds(docs.gang(), "Running", condition("Scheduled", "True", "Started", RAN))
    assert run("explain", "llm", "-f", write(snapshot(*docs.cluster(), said))) == 3
    out = plain(capsys.readouterr().out)
    assert f"Gang serving/llm: Running since {SINCE}" in out and f"the scheduler says: {RAN}" in out
    assert "a fresh look finds: waiting: " in out


def test_where_both_say_the_same_nothing_is_added(write: Write, capsys: Captured) -> None:
    said = holds(docs.gang(), "Running", condition("Scheduled", "True", "Started", RAN))
    file = write(snapshot(*docs.cluster(), said, pod("llm", 0, "b1-r1-1"), pod("llm", 1, "b1-r1-2")))
    assert run("explain", "llm", "-f", file) == 0
    out = capsys.readouterr().out
    assert "scheduler" not in out and "fresh" not in out
    assert run("explain", "llm", "-f", file, "-o", "json") == 0
    assert printed(capsys)["decisions"][0]["differs"] is False


def test_a_status_of_an_older_manifest_is_said_to_be_one(write: Write, capsys: Captured) -> None:
    doc = waits(docs.gang(), generation=1)
    doc["metadata"]["generation"] = 3
    file = write(snapshot(*docs.cluster(), doc, pod("llm", 0), pod("llm", 1)))
    assert run("explain", "llm", "-f", file) == 3
    assert "of generation 1: it has not seen the object as it is now; is it running?" in plain(capsys.readouterr().out)
    assert run("explain", "llm", "-f", file, "-o", "json") == 3
    assert printed(capsys)["decisions"][0]["scheduler"]["staleGeneration"] == 1


def test_of_a_gang_in_a_cluster_of_which_nobody_said_anything_that_is_said(write: Write, capsys: Captured) -> None:
    file = write(snapshot(*docs.cluster(), living(docs.gang()), pod("llm", 0), pod("llm", 1)))
    assert run("explain", "llm", "-f", file) == 3
    out = plain(capsys.readouterr().out)
    assert "Gang serving/llm: not started" in out
    assert "no scheduler has said anything of it; is one running?" in out


def test_a_manifest_that_is_in_no_cluster_is_nobodys_to_speak_of(write: Write, capsys: Captured) -> None:
    assert run("explain", "llm", "-f", write(*docs.cluster(), docs.gang())) == 0
    assert "scheduler" not in capsys.readouterr().out


def test_of_a_job_it_is_read_from_its_pods(write: Write, capsys: Captured) -> None:
    """Kinds of others are not written to."""
    line = 'waiting: group "train" needs 2 pods; 1 of them exists yet.'
    assert run("explain", "job/train", "-f", write(snapshot(*of_job(message=line)))) == 3
    out = plain(capsys.readouterr().out)
    assert f"Job serving/train: Waiting since {SINCE}" in out and f"the scheduler says: {line}" in out


def test_of_a_job_whose_pods_say_nothing_it_is_read_from_the_last_event_about_it(
    write: Write, capsys: Captured
) -> None:
    line = 'waiting: group "train" needs 2 pods; 1 of them exists yet.'
    everything = of_job()
    owner = next(one for one in everything if one["kind"] == "Job")
    before = event(owner, "Placed", "binding: places were found; 0 of 2 pods bound, 0 ready.", MADE)
    foreign = {**event(owner, "Placed", "running: so.", "2026-11-16T08:30:00Z"), "reportingController": "another"}
    after = event(owner, "PodsMissing", line, SINCE)
    assert run("explain", "job/train", "-f", write(snapshot(*everything, foreign, after, before))) == 3
    out = plain(capsys.readouterr().out)
    assert f"Job serving/train: Waiting since {SINCE}" in out and f"the scheduler says: {line}" in out


def test_of_a_job_that_was_placed_a_moment_ago_nothing_differs(write: Write, capsys: Captured) -> None:
    everything = of_job()
    owner = next(one for one in everything if one["kind"] == "Job")
    placed = event(owner, "Placed", "binding: places were found; 0 of 2 pods bound, 0 ready.")
    assert run("explain", "job/train", "-f", write(snapshot(*everything, placed))) == 0


def test_a_group_of_kubernetes_own_that_was_scheduled_once_tells_nothing_of_now(write: Write, capsys: Captured) -> None:
    once = condition("PodGroupInitiallyScheduled", "True", "Scheduled", "running: its minimum is ready.")
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "serving"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }  # fmt: skip
    pods = [pod("g", 0), pod("g", 1)]
    for one in pods:
        one["metadata"]["labels"] = {}
        one["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    file = write(snapshot(*docs.cluster(), living(group, conditions=[once]), *pods[:1]))
    assert run("explain", "pg/g", "-f", file, "-o", "json") == 3
    assert printed(capsys)["decisions"][0]["differs"] is False


# -- get, queue, tree --------------------------------------------------------------------------------------------


def test_a_list_shows_what_the_scheduler_holds_and_is_not_0_where_that_differs(hangs: str, capsys: Captured) -> None:
    assert run("get", "-f", hangs) == 3
    out, err = capsys.readouterr()
    assert ["serving/llm", "default", "PodsMissing", "0/2", "-", "1h"] in [line.split() for line in out.splitlines()]
    assert f"Gang serving/llm: the scheduler says since {SINCE}: {LACKING[:-1]}; a fresh look would start" in plain(err)
    assert run("get", "-f", hangs, "-o", "json") == 3
    (found,) = printed(capsys)["gangs"]
    assert (found["differs"], found["scheduler"]["state"], found["scheduler"]["reason"]) == (
        True,
        "Queued",
        "PodsMissing",
    )


def test_who_hangs_in_the_scheduler_is_listed_as_waiting(hangs: str, capsys: Captured) -> None:
    assert run("queue", "-f", hangs) == 3
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines()]
    assert ["-", "default", "serving/llm", "2/2", "1h", "PodsMissing"] in rows and "the scheduler says" in out
    assert run("queue", "-f", hangs, "-o", "json") == 3
    (found,) = printed(capsys)["waiting"]
    assert found["name"] == "llm" and "a fresh look would start it now" in found["message"]


def test_a_drawing_of_what_would_be_is_said_to_be_one(hangs: str, capsys: Captured) -> None:
    assert run("tree", "llm", "-f", hangs) == 3
    out, err = capsys.readouterr()
    assert "AAAAAAAA" in out and "the scheduler says since" in plain(err)


def test_a_snapshot_keeps_what_was_told(write: Write, tmp_path: Any, capsys: Captured) -> None:
    line = 'waiting: group "train" needs 2 pods; 1 of them exists yet.'
    everything = of_job()
    owner = next(one for one in everything if one["kind"] == "Job")
    kept = str(tmp_path / "kept.yaml")
    file = write(snapshot(*everything, event(owner, "PodsMissing", line)))
    assert run("snapshot", "save", kept, "-f", file) == 0
    capsys.readouterr()
    answers = []
    for source in (file, kept):
        assert run("explain", "job/train", "-f", source) == 3
        answers.append(capsys.readouterr())
    assert answers[0] == answers[1] and "the scheduler says" in answers[0].out


# -- check -------------------------------------------------------------------------------------------------------


def test_a_manifest_that_fits_and_hangs_in_the_cluster_is_3(
    write: Write, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    there = [*docs.cluster(), waits(docs.gang()), pod("llm", 0), pod("llm", 1)]
    monkeypatch.setattr(clusters, "look", lambda source: Look(there, 1_800_000_000.0, "serving"))
    assert run("check", "-f", write(docs.gang()), "--cluster") == 3
    out = capsys.readouterr().out
    assert "Gang serving/llm: yes: " in out and "as it is in the cluster now, the scheduler says" in out


# -- where nodes may not be seen ---------------------------------------------------------------------------------


@pytest.fixture
def without_nodes(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets commands find these objects, as somebody sees them who may not list nodes."""

    def found(*objects: Doc) -> None:
        look = Look(list(objects), 1_800_000_000.0, "serving", (), "nodes")
        monkeypatch.setattr(clusters, "look", lambda source: look)

    return found


def test_where_nodes_may_not_be_listed_it_is_told_what_the_scheduler_says(
    without_nodes: Callable[..., None], capsys: Captured
) -> None:
    without_nodes(waits(docs.gang()), pod("llm", 0), pod("llm", 1))
    assert run("explain", "llm") == 3
    out = plain(capsys.readouterr().out)
    assert f"Gang serving/llm: Waiting since {SINCE}" in out and f"the scheduler says: {LACKING}" in out
    assert "0/2 have a node" in out
    assert "nodes may not be listed with this account: nothing was decided anew" in out
    assert "NoMatchingNodes" not in out


def test_one_that_runs_is_0_also_where_nodes_may_not_be_listed(
    without_nodes: Callable[..., None], capsys: Captured
) -> None:
    said = holds(docs.gang(), "Running", condition("Scheduled", "True", "Started", RAN))
    without_nodes(said, pod("llm", 0, "b1-r1-1"), pod("llm", 1, "b1-r1-2"))
    assert run("explain", "llm") == 0
    assert RAN in plain(capsys.readouterr().out)
    assert run("get") == 0
    assert ["serving/llm", "default", "Running", "2/2"] in [
        line.split()[:4] for line in capsys.readouterr().out.splitlines()
    ]
    assert run("queue") == 0
    out, err = capsys.readouterr()
    assert "nobody waits" in out and "nodes may not be listed" in err


def test_lists_tell_what_the_scheduler_says_where_nodes_may_not_be_listed(
    without_nodes: Callable[..., None], capsys: Captured
) -> None:
    without_nodes(waits(docs.gang()), living(docs.gang("new")), pod("llm", 0))
    assert run("get") == 0
    rows = [line.split()[:4] for line in capsys.readouterr().out.splitlines()]
    assert ["serving/llm", "default", "PodsMissing", "0/2"] in rows and [
        "serving/new",
        "default",
        "Unknown",
        "-",
    ] in rows
    assert run("queue") == 0
    assert LACKING in plain(capsys.readouterr().out)


@pytest.mark.parametrize("tokens", [("tree",), ("snapshot", "save", "x"), ("check", "-f", "-", "--cluster")])
def test_what_needs_the_nodes_says_that_they_may_not_be_listed(
    tokens: tuple[str, ...], without_nodes: Callable[..., None], capsys: Captured
) -> None:
    without_nodes(waits(docs.gang()))
    assert run(*tokens) == 1
    assert "nodes may not be listed with this account" in capsys.readouterr().err
