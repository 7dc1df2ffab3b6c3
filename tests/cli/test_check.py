"""``phalanx check``: problems first, then whether it fits now, then what is not looked at."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from phalanx.cli import clusters, main, screen
from phalanx.cli.clusters import Look
from tests.cli.living import living, pod
from tests.cluster import docs

Captured = pytest.CaptureFixture[str]


def check(*tokens: str) -> int:
    return int(main.run(("check", *tokens)))


def wrong() -> dict[str, Any]:
    doc = docs.gang("typo")
    doc["spec"]["podGroups"][0]["topology"] = {"required": "rak"}
    return doc


SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}


def test_a_good_manifest_that_fits_is_0_and_says_where(write, capsys: Captured) -> None:
    assert check("-f", write(*docs.cluster(), docs.gang())) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[:2] == ["PROBLEMS", "  none"]
    assert "Gang serving/llm: yes: 2 pods on 2 nodes in rack b1/r1" in out
    assert err == ""


def test_problems_come_first_with_path_value_and_what_is_allowed(write, capsys: Captured) -> None:
    assert check("-f", write(*docs.cluster(), docs.gang(), wrong(), SERVICE)) == 4
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "PROBLEMS"
    value = lines.index("    value: 'rak'")
    said = " ".join(line.strip() for line in lines[1:value])
    assert "Gang serving/typo: spec.podGroups[0].topology.required: " in said
    assert all(line.startswith("      ") for line in lines[2:value])  # the rest of that
    assert lines[value + 1].startswith("    allowed: ") and "rack" in lines[value + 1]
    assert lines.index("FITS NOW") < lines.index("NOTED OR IGNORED")
    assert any("Service/web" in line for line in lines[lines.index("NOTED OR IGNORED") :])


def test_what_does_not_fit_is_3_with_its_reason(write, capsys: Captured) -> None:
    assert check("-f", write(*docs.cluster(), docs.gang("big", docs.workers(3)))) == 3
    assert "Gang serving/big: no: " in capsys.readouterr().out


def test_without_nodes_only_the_manifest_is_judged(write, capsys: Captured) -> None:
    gang = docs.gang()
    gang["spec"]["podGroups"][0].pop("topology", None)
    assert check("-f", write(gang)) == 0
    assert "not asked: no Node is given (1 valid)" in capsys.readouterr().out


def test_the_same_as_json(write, capsys: Captured) -> None:
    assert check("-o", "json", "-f", write(*docs.cluster(), docs.gang(), wrong(), SERVICE)) == 4
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "phalanx.dev/check/v1"
    assert [one["value"] for one in found["problems"]] == ["rak"]
    assert [one["status"] for one in found["fitsNow"]] == ["Placed"]
    assert [one["path"] for one in found["ignored"]] == ["Service/web"]


def test_yaml_holds_what_json_holds(write, capsys: Captured) -> None:
    file = write(*docs.cluster(), docs.gang(), wrong(), SERVICE)
    found = []
    for form in ("json", "yaml"):
        assert check("-o", form, "-f", file) == 4
        found.append(yaml.safe_load(capsys.readouterr().out))
    assert found[0] == found[1] and found[0]["schema"] == "phalanx.dev/check/v1"


def test_a_decision_in_it_has_the_fields_that_place_gives_it(write, capsys: Captured) -> None:
    file = write(*docs.cluster(), docs.gang())
    assert main.run(("place", "-o", "yaml", "-f", file)) == check("-o", "yaml", "-f", file) == 0
    placed, checked = yaml.safe_load_all(capsys.readouterr().out.replace("schema: phalanx.dev/check", "---\nschema: x"))
    assert placed["decisions"] == checked["fitsNow"]


@pytest.mark.parametrize("columns", [40, 80, 132])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_cut(
    columns: int, write, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "WIDTH", columns)
    file = write(*docs.cluster(), docs.gang("big", docs.workers(3)), wrong(), SERVICE)
    assert check("-f", file) == 4
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= columns or len(line.split()) == 1 for line in lines)
    assert "spec.podGroups[0].topology.required:" in " ".join(lines).split()
    assert any(len(line) > columns * 0.6 for line in lines)


@given(st.text("ab-/.: ", max_size=200), st.integers(1, 120), st.integers(0, 4))
def test_wrapped_text_has_all_words_and_fits_where_its_words_do(line: str, width: int, indent: int) -> None:
    rows = screen.wrapped(line, width, indent)
    assert " ".join(rows).split() == line.split()
    assert all(row.startswith(" " * indent) or not row for row in rows)
    longest = max([width, indent + len(line) - len(line.lstrip()) + screen.ROW_LEAST])
    assert all(len(row) <= longest or len(row.split()) == 1 for row in rows)


# -- on a cluster ------------------------------------------------------------------------------------------------


@pytest.fixture
def on_cluster(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets ``--cluster`` find these objects."""

    def found(*objects: dict[str, Any]) -> None:
        look = Look([*docs.cluster(), *objects], 1_800_000_000.0, "serving")
        monkeypatch.setattr(clusters, "look", lambda source: look)

    return found


def job(name: str = "train", scheduler: str | None = None, queue: str | None = None, **spec: Any) -> dict[str, Any]:
    doc = docs.job(name, topology_required="rack")
    doc["metadata"]["labels"] = {} if queue is None else {"phalanx.dev/queue": queue}
    doc["spec"].update(spec)
    if scheduler is not None:
        doc["spec"]["template"]["spec"]["schedulerName"] = scheduler
    return doc


@pytest.mark.parametrize(
    ("scheduler", "said"),
    [
        (None, "its pod template names no scheduler, and default-scheduler starts its pods"),
        ("phalnx", "its pod template says schedulerName: phalnx"),
    ],
)
def test_who_is_not_handed_over_is_told_so_and_fits_all_the_same(
    scheduler: str | None, said: str, write, on_cluster, capsys: Captured
) -> None:
    on_cluster()
    file = write(job(scheduler=scheduler))
    assert check("-f", file, "--cluster") == 0
    out = capsys.readouterr().out
    ways = "write schedulerName: phalanx in its pod template, or suspend: true and label phalanx.dev/queue"
    assert "Job serving/train: yes: " in out
    warnings = " ".join(out[out.index("WARNINGS\n") :].split())
    assert warnings.startswith(f"WARNINGS Job serving/train: nobody hands it to Phalanx: {said}; {ways}")
    assert check("-f", file, "--cluster", "-o", "json") == 0
    (warning,) = json.loads(capsys.readouterr().out)["warnings"]
    assert (warning["object"], warning["value"], warning["allowed"]) == ("Job serving/train", scheduler, ["phalanx"])


@pytest.mark.parametrize(
    "doc",
    [job(scheduler="phalanx"), job(queue="default", suspend=True), docs.gang()],
    ids=["named", "suspended", "gang"],
)
def test_who_is_handed_over_is_not_warned(doc: dict[str, Any], write, on_cluster, capsys: Captured) -> None:
    on_cluster()
    assert check("-f", write(doc), "--cluster", "-o", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["warnings"] == [] and [one["status"] for one in found["fitsNow"]] == ["Placed"]


def test_a_gang_whose_pods_name_another_scheduler_is_warned(write, on_cluster, capsys: Captured) -> None:
    on_cluster()
    gang = docs.gang()
    del gang["spec"]["podGroups"][0]["template"]
    made = job("web", scheduler="phalnx")
    made["metadata"]["annotations"] = {}
    made["spec"]["template"]["metadata"] = {"labels": {"phalanx.dev/gang": "llm", "phalanx.dev/group": "workers"}}
    assert check("-f", write(gang, made), "--cluster", "-o", "json") == 0
    (warning,) = json.loads(capsys.readouterr().out)["warnings"]
    assert (warning["object"], warning["value"]) == ("Gang serving/llm", "phalnx")


def test_the_schedulers_own_file_says_which_names_are_ours(write, on_cluster, capsys: Captured) -> None:
    on_cluster()
    own = {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Configuration", "schedulerNames": ["hoplite"]}
    config = write(own, name="config.yaml")
    file = write(job(scheduler="hoplite"))
    assert check("-f", file, "--cluster", "--configuration", config, "-o", "json") == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []


def test_a_bare_pod_and_a_namespace_that_is_left_alone_are_warned_in_their_own_words(
    write, on_cluster, capsys: Captured
) -> None:
    on_cluster()
    alone = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "solo"}, **docs.template()}
    own = {"apiVersion": "phalanx.dev/v1alpha1", "kind": "Configuration", "namespaces": ["elsewhere"]}
    config = write(own, name="config.yaml")
    assert check("-f", write(alone), "--cluster") == 0
    assert "Pod serving/solo: nobody hands it to Phalanx: its spec names no scheduler" in capsys.readouterr().out
    assert check("-f", write(job(scheduler="phalanx")), "--cluster", "--configuration", config) == 0
    assert "Job serving/train: nobody hands it to Phalanx: its namespace is not ours" in capsys.readouterr().out


def test_a_queue_that_the_cluster_does_not_have_lets_nobody_start(write, on_cluster, capsys: Captured) -> None:
    on_cluster()
    assert check("-f", write(job(scheduler="phalanx", queue="nope")), "--cluster") == 3
    out = capsys.readouterr().out
    assert "Job serving/train: no: " in out and 'queue "nope" is not there' in out


def test_a_queue_that_is_full_on_the_cluster_lets_nobody_start(write, on_cluster, capsys: Captured) -> None:
    spec = {"quota": [{"resources": [{"name": docs.GPU, "nominal": 8}]}]}
    on_cluster({"apiVersion": "phalanx.dev/v1alpha1", "kind": "Queue", "metadata": {"name": "team"}, "spec": spec})
    assert check("-f", write(job(scheduler="phalanx", queue="team")), "--cluster", "-o", "json") == 3
    (found,) = json.loads(capsys.readouterr().out)["fitsNow"]
    assert found["reason"]["type"] == "OverQuota"


def test_who_names_a_gang_that_is_on_the_cluster_is_asked_about_with_it(write, on_cluster, capsys: Captured) -> None:
    gang = living(docs.gang("llm"))
    del gang["spec"]["podGroups"][0]["template"]
    doc = job(scheduler="phalanx")
    doc["metadata"] = {"name": "train", "namespace": "serving"}
    doc["spec"]["template"]["metadata"] = {"labels": {"phalanx.dev/gang": "llm"}}
    on_cluster()
    assert check("--cluster", "-f", write(doc)) == 4
    assert "names Gang llm (phalanx.dev), which does not exist" in " ".join(capsys.readouterr().out.split())
    on_cluster(gang)
    assert check("--cluster", "-f", write(doc)) == 0
    assert "Gang serving/llm: yes: 2 pods on 2 nodes in rack b1/r1" in capsys.readouterr().out


def test_a_document_copied_from_a_cluster_is_asked_about_anew(write, on_cluster, capsys: Captured) -> None:
    on_cluster()
    doc = job(scheduler="phalanx")
    doc["metadata"]["uid"] = "of another life"
    assert check("-f", write(doc), "--cluster") == 0
    assert "Job serving/train: yes: " in capsys.readouterr().out


def test_one_that_is_over_on_the_cluster_is_asked_about_as_if_it_were_new(write, on_cluster, capsys: Captured) -> None:
    ended = [pod("llm", i, "b1-r1-1", 4) for i in range(2)]
    for one in ended:
        one["status"] = {"phase": "Succeeded"}
    on_cluster(living(docs.gang()), *ended)
    assert check("-f", write(docs.gang()), "--cluster") == 0
    assert "Gang serving/llm: yes: 2 pods on 2 nodes in rack b1/r1" in capsys.readouterr().out


def test_who_waits_on_the_cluster_already_goes_first(write, on_cluster, capsys: Captured) -> None:
    """Four racks of two nodes: three are taken, one gang waits for its turn to start in the last, and the one asked
    about comes after it."""
    first = [living(docs.gang(name)) for name in ("a", "b", "c")]
    running = [
        pod(gang, i, f"{rack}-{i + 1}")
        for gang, rack in (("a", "b1-r1"), ("b", "b1-r2"), ("c", "b2-r1"))
        for i in (0, 1)
    ]
    on_cluster(*first, living(docs.gang("next")), *running, pod("next", 0), pod("next", 1))
    assert check("-f", write(docs.gang("late")), "--cluster") == 3
    assert "Gang serving/late: no: " in capsys.readouterr().out


def test_a_job_that_an_eviction_would_end_for_good_is_noted_and_is_no_error(write, capsys: Captured) -> None:
    train = job(scheduler="phalanx")
    train["spec"].update(parallelism=8, completions=8)
    train["metadata"]["ownerReferences"] = [
        {"apiVersion": "example.com/v1", "kind": "Pipeline", "name": "above", "uid": "1", "controller": True}
    ]
    file = write(*docs.cluster(), train)
    assert check("-f", file) == 3, "it does not fit; that is another matter"
    out = " ".join(capsys.readouterr().out.split())
    assert "Job default/train: spec.backoffLimit: 8 pods deleted with the whole gang would be more failures" in out
    assert check("-f", file, "-o", "json") == 3
    (noted,) = [one for one in json.loads(capsys.readouterr().out)["ignored"] if one["path"] == "spec.backoffLimit"]
    assert (noted["value"], noted["allowed"]) == (6, [">= 8"])


def test_of_a_job_that_would_be_suspended_meanwhile_no_limit_is_noted(write, capsys: Captured) -> None:
    train = job(scheduler="phalanx")
    train["spec"].update(parallelism=8, completions=8)
    assert check("-f", write(*docs.cluster(), train)) == 3
    assert "backoffLimit" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("phalanks", True),
        ("Phalanx", True),
        ("phalax", True),
        ("phalanx", False),
        ("phalanx-2", False),
        ("default-scheduler", False),
    ],
)
def test_a_scheduler_much_like_us_is_asked_about(name: str, close: bool, write, capsys: Captured) -> None:
    job = docs.job()
    job["spec"]["template"]["spec"]["schedulerName"] = name
    assert check("-f", write(*docs.cluster(), job), "-o", "json") == 0
    found = json.loads(capsys.readouterr().out)["warnings"]
    told = [(one["path"], one["value"], one["message"], one["document"]) for one in found]
    message = f"its pods name the scheduler {name}; did you mean phalanx?"
    number = len(docs.cluster()) + 1
    assert told == ([("spec.template.spec.schedulerName", name, message, number)] if close else [])
