"""The command line: outputs, exit codes, errors. In process where possible, as a real process where it matters."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from phalanx.cli import main
from tests.cluster import docs

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def cluster(write) -> str:
    return write(*docs.cluster(), name="cluster.yaml")


def run(*tokens: str) -> int:
    return int(main.run(tokens))


def process(*tokens: str, given: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", "from phalanx.cli.main import main; main()", *tokens]
    return subprocess.run(command, check=False, input=given, capture_output=True, env={**os.environ, **env})


# -- exit codes and outputs --------------------------------------------------------------------------------------


def test_all_placed_is_0_and_a_table(write, cluster: str, capsys: Captured) -> None:
    assert run("place", "-f", cluster, "-f", write(docs.gang())) == 0
    out, err = capsys.readouterr()
    assert [line.split() for line in out.splitlines()] == [
        ["NAME", "STATUS", "GROUP", "PODS", "WHERE", "NODES"],
        ["serving/llm", "Placed", "workers", "2", "b1/r1", "b1-r1-1", "b1-r1-2"],
    ]
    assert err == ""


def test_something_waits_is_3_and_explained(write, cluster: str, capsys: Captured) -> None:
    assert run("place", "-f", cluster, "-f", write(docs.gang("a"), docs.gang("big", docs.workers(3)))) == 3
    out = capsys.readouterr().out
    assert "TooLarge" in out and "workers.topology.required: block" in out


DEPLOYMENT = {
    "apiVersion": "apps/v1", "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"phalanx.dev/queue": "default"}},
    "spec": {"replicas": 1000, "selector": {"matchLabels": {"app": "web"}}, "template": docs.template()},
}  # fmt: skip
ELASTIC = docs.gang("elastic", docs.workers(4, minCount=1))
GROUPS = docs.gang(
    "groups", *({"name": name, "count": count, "template": docs.template()} for name, count in (("a", 2), ("b", 9))),
    minGroups=1,
)  # fmt: skip


@pytest.mark.parametrize(
    ("doc", "counts", "left_out"),
    [(DEPLOYMENT, (1000, 8), {"main": 992}), (ELASTIC, (4, 2), {"workers": 2}), (GROUPS, (11, 2), {"b": 9})],
    ids=("a deployment with room for a few", "a gang above its minimum", "a group that was not needed"),
)
def test_what_is_placed_in_part_is_3_and_says_who_is_left_out_in_every_command(
    doc: docs.Doc, counts: tuple[int, int], left_out: dict[str, int], write, cluster: str, capsys: Captured
) -> None:
    given, name = ("-f", cluster, "-f", write(doc)), doc["metadata"]["name"]
    rest = ", ".join(f"{pods} of {who}" for who, pods in left_out.items())
    for command in (("place",), ("explain", name)):
        assert run(*command, *given) == 3
        out = capsys.readouterr().out
        assert f"Placed in part, {counts[1]} of {counts[0]} pods" in out and "LEFT OUT" in out
        assert run(*command, *given, "-o", "json") == 3
        (found,) = json.loads(capsys.readouterr().out)["decisions"]
        assert (found["status"], found["wanted"], found["placed"]) == ("Placed", *counts)
        assert found["leftOut"] == left_out
    assert run("check", *given) == 3
    assert f"in part: {counts[1]} of {counts[0]} pods on " in capsys.readouterr().out
    assert run("tree", name, *given) == 3
    assert f"left out: {rest}" in capsys.readouterr().out
    assert run("queue", *given) == 0
    assert f"without {sum(left_out.values())} pods, left out when it was placed" in capsys.readouterr().out


def test_a_group_that_is_left_out_has_a_row_of_its_own(write, cluster: str, capsys: Captured) -> None:
    run("place", "-f", cluster, "-f", write(GROUPS))
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["b", "0/9", "left", "out", "-"] in rows


def test_something_invalid_is_4_and_wins(write, cluster: str, capsys: Captured) -> None:
    wrong = docs.job(topology_required="rak")
    assert run("place", "-f", cluster, "-f", write(docs.gang("big", docs.workers(3)), wrong)) == 4
    assert "rak" in capsys.readouterr().out


def test_a_bad_node_is_4_and_on_standard_error(write, cluster: str, capsys: Captured) -> None:
    bad = docs.node("odd")
    bad["status"]["allocatable"]["memory"] = "100GB"
    assert run("place", "-f", cluster, "-f", write(bad, docs.gang())) == 4
    out, err = capsys.readouterr()
    assert "all.yaml, document 1, line 9: Node/odd: status.allocatable.memory" in err and "Placed" in out


@pytest.mark.parametrize(
    "tokens",
    [
        ("place",), ("place", "-f"), ("plac",), ("place", "-f", "x", "-o", "xml"), ("place", "-f", "x", "--nope"),
        ("explain",), ("demo", "extra"), ("place", "-f", "x", "stray"),
    ],
)  # fmt: skip
def test_wrong_usage_is_2(tokens: tuple[str, ...], capsys: Captured) -> None:
    assert run(*tokens) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and "Traceback" not in err


def test_nothing_to_place_is_1(cluster: str, capsys: Captured) -> None:
    assert run("place", "-f", cluster) == 1
    assert capsys.readouterr().err == "error: nothing to place: no workload among the documents (9)\n"


def test_help_and_version_are_0(capsys: Captured) -> None:
    for tokens in ([], ["--help"], ["place", "--help"], ["tree", "-h"], ["--version"]):
        assert run(*tokens) == 0
    assert "phalanx 0." in capsys.readouterr().out


def test_json_has_the_keys_of_the_public_page(write, cluster: str, capsys: Captured) -> None:
    wrong = docs.job("typo", topology_required="rak")
    files = ["-f", cluster, "-f", write(docs.job(topology_required="rack"), docs.gang("big", docs.workers(3)), wrong)]
    assert run("place", *files, "-o", "json") == 4
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {"schema", "decisions"} and document["schema"] == "phalanx.dev/decisions/v1"
    placed, waiting, invalid = document["decisions"]
    common = {
        "kind",
        "namespace",
        "name",
        "unit",
        "status",
        "podSets",
        "domains",
        "ranks",
        "message",
        "reason",
        "waysOut",
    }
    assert common | {"levelReached", "evictions", "problems", "warnings"} <= set(placed)
    assert (placed["kind"], placed["namespace"], placed["name"], placed["unit"]) == ("Job", "default", "train", None)
    assert placed["podSets"] == {"main": {"b1-r1-1": 1, "b1-r1-2": 1}}
    assert placed["domains"] == {"main": ["b1", "r1"]} and placed["levelReached"] == {"main": "rack"}
    assert placed["reason"] is None and placed["waysOut"] == [] and placed["evictions"] == []
    assert common | {"proved"} <= set(waiting) and waiting["proved"] is True
    assert {"type", "group", "level", "needed", "best", "causes"} <= set(waiting["reason"])
    assert set(waiting["reason"]["best"]) == {"domain", "fits"}
    assert ("workers.topology.required: block", True) in [
        (way["change"], way["verified"]) for way in waiting["waysOut"]
    ]
    assert waiting["message"].startswith("waiting: ")
    assert invalid["status"] == "Invalid"
    assert set(invalid["problems"][0]) == {"path", "value", "allowed", "message", "file", "document", "line"}


def test_yaml_says_the_same_as_json(write, cluster: str, capsys: Captured) -> None:
    files = ["-f", cluster, "-f", write(docs.gang())]
    run("place", *files, "-o", "json")
    as_json = json.loads(capsys.readouterr().out)
    run("place", *files, "-o", "yaml")
    assert yaml.safe_load(capsys.readouterr().out) == as_json


def test_name_and_wide(write, cluster: str, capsys: Captured) -> None:
    files = ["-f", cluster, "-f", write(docs.gang("llm", docs.workers(4, "block")))]
    assert run("place", *files, "-o", "name") == 0
    assert capsys.readouterr().out == "gang/llm\n"
    assert run("place", *files, "-o", "wide") == 0
    assert "b1-r1-1 b1-r1-2 b1-r2-1 b1-r2-2" in capsys.readouterr().out


def test_a_namespace_is_given_to_documents_without_one(write, cluster: str, capsys: Captured) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [docs.job("a"), docs.gang("b")]}
    assert run("place", "-f", cluster, "-f", write(listed), "-n", "team", "-o", "json") == 0
    decisions = json.loads(capsys.readouterr().out)["decisions"]
    assert [(d["namespace"], d["name"]) for d in decisions] == [("team", "a"), ("serving", "b")]


def test_tables_and_explanations_fit_80_columns(write, cluster: str, capsys: Captured) -> None:
    long = docs.workers(3) | {"name": "a-group-with-a-name-that-is-much-longer-than-anybody-would-like"}
    gangs = [docs.gang("g" * 50, long), docs.gang("h" * 50, long | {"count": 2})]
    run("place", "-f", cluster, "-f", write(*gangs))
    table = capsys.readouterr().out.split("\n\n")[0]
    assert all(len(line) <= 80 for line in table.splitlines())


def test_names_cannot_steer_the_terminal(write, cluster: str, capsys: Captured) -> None:
    run("place", "-f", cluster, "-f", write(docs.gang("a\x1b[31mb\x07"), docs.gang("llm\r", docs.workers(3))))
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err and "\x07" not in out + err and "\r" not in out + err


# -- files -------------------------------------------------------------------------------------------------------


def test_a_folder_standard_input_and_json_are_read(write, tmp_path: Path) -> None:
    write(*docs.cluster(), name="b.yaml")
    (tmp_path / "a.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [docs.gang()]}))
    (tmp_path / "notes.txt").write_text("not a manifest")
    assert run("place", "-f", str(tmp_path)) == 0
    done = process("place", "-f", str(tmp_path / "b.yaml"), "-f", "-", given=(tmp_path / "a.json").read_bytes())
    assert done.returncode == 0 and b"Placed" in done.stdout


BOMB = "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(12)
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "nothing in it"),
        (b"# only a remark\n---\n", "nothing in it"),
        (b"kind: Gang\nspec: [1\nb: 2\n", "line 3: "),
        (b"a: 1\na: 2\n", "line 2: the key 'a' stands twice"),
        (bytes(range(256)), "not text"),
        (b"kind: A\0", "not text"),
        (b"kind: \x01\n", "line 1: "),
        (b"[" * 100_000, "nested more than"),
        (b'{"a":' * 100_000, "nested too deep"),
        (b"- " * 5_000 + b"a", "nested more than"),
        (BOMB.encode(), "aliases counted"),
        (b"a: &x [*x]\n", "stands for nothing"),
        (b"- 1\n- 2\n", "document 1, line 1: not an object"),
        (b"just words\n", "document 1, line 1: not an object"),
        (b"a: !!python/object/apply:os.system [id]\n", "not understood"),
        (b"a: " + b"1" * 5000, "cannot be read as a number"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_in_one_line(content: bytes, said: str, tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    assert run("place", "-f", str(path)) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith(f"error: {path}") and said in err


def test_missing_files_and_empty_folders(tmp_path: Path, capsys: Captured) -> None:
    assert run("place", "-f", str(tmp_path / "none.yaml")) == 1
    assert capsys.readouterr().err == f"error: {tmp_path}/none.yaml: no such file\n"
    assert run("place", "-f", str(tmp_path)) == 1
    assert "the folder holds no file" in capsys.readouterr().err
    assert run("tree", "-f", "a\0b") == 1


def test_yaml_is_read_as_kubernetes_reads_it() -> None:
    from phalanx.cli.yamltext import documents

    text = "a: &a {1: x, on: yes, d: 2024-01-01, n: ~, q: '1', t: 1:30, e: 1e3}\nb: {<<: *a, d: new}\n"
    text += "---\n---\nc: [1, 2.5]\n"
    read = {"1": "x", "on": True, "d": "2024-01-01", "n": None, "q": "1", "t": "1:30", "e": "1e3"}
    assert list(documents(text)) == [{"a": read, "b": read | {"d": "new"}}, {"c": [1, 2.5]}]


# -- tree --------------------------------------------------------------------------------------------------------


def test_the_tree_has_a_bar_for_every_domain(write, cluster: str, capsys: Captured) -> None:  # K-055
    extra = write(docs.running("p", "b1-r1-1", 4), docs.node("bare"))
    assert run("tree", "-f", cluster, "-f", extra, "--free", docs.GPU) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:2] == ["t", "█░░░░░░░░░"]
    assert "├─ b1             █░░░░░░░░░    28 of 32" in lines
    assert "│  │  ├─ b1-r1-1  █████░░░░░     4 of 8" in lines
    assert lines[-1] == "outside: bare (no label topology/block)"
    assert run("tree", "-f", cluster, "--level", "block") == 0
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_a_gang_is_drawn_with_its_ranks(write, cluster: str, capsys: Captured) -> None:
    ranked = docs.workers(4, gpus=4, rank={"order": "Consecutive"})
    assert run("tree", "-f", cluster, "-f", write(docs.gang("llm", ranked)), "gang/llm") == 0
    out = capsys.readouterr().out
    assert "r1  b1-r1-1 AAAAAAAA  b1-r1-2 AAAAAAAA" in out and "ranks 0-1 b1-r1-1, 2-3 b1-r1-2" in out


def test_a_gang_in_a_large_cluster_is_drawn_without_what_is_far_from_it(write, capsys: Captured) -> None:
    labels = [{"topology/block": f"b{i // 20:02}", "topology/rack": f"r{i // 4:02}"} for i in range(100)]
    nodes = [docs.node(f"n{i:03}", labels[i]) for i in range(100)]
    assert run("tree", "-f", write(docs.topology(), *nodes, docs.gang()), "llm") == 0
    assert capsys.readouterr().out.splitlines()[:6] == [
        "t",
        "├─ b00",
        "│  ├─ r00  n000 AAAAAAAA  n001 AAAAAAAA  n002 ········  n003 ········",
        "│  └─ 4 more of level rack",
        "└─ 4 more of level block",
        "A workers: 2 pods in b00/r00",
    ]


def test_a_running_gang_is_drawn_too(write, cluster: str, capsys: Captured) -> None:
    files = ["-f", cluster, "-f", write(docs.running("p", "b2-r1-2", 4, "old"), docs.running("q", "b2-r1-2", 2))]
    assert run("tree", *files, "other/old") == 0
    out = capsys.readouterr().out
    assert "b2-r1-2 ▒▒AAAA··" in out and "p b2-r1-2" in out
    assert run("tree", *files, "nobody") == 1
    assert capsys.readouterr().err == "error: there is no workload 'nobody'\nThere are: other/old\n"


def test_a_waiting_gang_in_the_tree_is_explained(write, cluster: str, capsys: Captured) -> None:
    assert run("tree", "-f", cluster, "-f", write(docs.gang("big", docs.workers(3))), "big") == 3
    assert "TooLarge" in capsys.readouterr().out


def test_a_cluster_without_topology_is_drawn_flat(write, capsys: Captured) -> None:
    plain = write(docs.node("n1"), docs.node("n2"), docs.job("flat"))
    assert run("tree", "-f", plain) == 0
    assert run("tree", "-f", plain, "flat") == 0
    assert "n1 AAAAAAAA  n2 AAAAAAAA" in capsys.readouterr().out


@pytest.mark.parametrize("tokens", [("--free", "unobtainium"), ("--topology", "x"), ()])
def test_what_cannot_be_drawn_is_said(tokens: tuple[str, ...], write, cluster: str, capsys: Captured) -> None:
    files = ["-f", cluster] if tokens else ["-f", write(docs.gang())]
    assert run("tree", *files, *tokens) == 1
    assert capsys.readouterr().err.startswith("error: ")


def test_an_unknown_level_is_wrong_usage(cluster: str, capsys: Captured) -> None:
    assert run("tree", "-f", cluster, "--level", "shelf") == 2
    assert "block, rack, host" in capsys.readouterr().err


# -- the process -------------------------------------------------------------------------------------------------


def test_the_demo_draws_places_and_explains_in_80_columns() -> None:
    done = process("demo")
    text = done.stdout.decode()
    assert done.returncode == 0 and done.stderr == b""
    assert all(len(line) <= 80 for line in text.splitlines())
    for word in ("zone-1", "AAAA", "decode: 4 pods", "ranks ", "Fragmented", "HELPS", "wait for team-b/etl"):
        assert word in text
    assert "\x1b" not in text


def test_exit_codes_reach_the_shell(write, cluster: str) -> None:
    waits = write(docs.gang("big", docs.workers(3)))
    assert process("place", "-f", cluster, "-f", waits).returncode == 3
    assert process("place").returncode == 2
    assert process("place", "-f", "/nonexistent").returncode == 1


def test_a_locale_without_box_characters_does_not_stop_it() -> None:
    assert process("demo", PYTHONIOENCODING="ascii").returncode == 0


def test_a_closed_pipe_is_quiet() -> None:
    command = f"{sys.executable} -c 'from phalanx.cli.main import main; main()' demo | head -1"
    done = subprocess.run(["sh", "-c", command], check=False, capture_output=True)
    assert done.stderr == b""


def test_colour_on_a_terminal_only_and_never_with_no_color(monkeypatch: pytest.MonkeyPatch, cluster: str) -> None:
    def seen(**env: str) -> bytes:
        import pty

        controller, terminal = pty.openpty()
        command = [sys.executable, "-c", "from phalanx.cli.main import main; main()", "tree", "-f", cluster]
        subprocess.run(
            command, stdout=terminal, stderr=terminal, env={**os.environ, "TERM": "xterm", **env}, check=True
        )
        os.close(terminal)
        return os.read(controller, 1 << 16)

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert b"\x1b[" in seen()
    assert b"\x1b[" not in seen(NO_COLOR="1")


def test_an_internal_error_is_one_line_without_a_traceback(
    cluster: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    from phalanx.cli import placing

    def broken(*_: object) -> int:
        raise AssertionError("a rule is broken\nand much more")

    monkeypatch.setattr(placing, "run", broken)
    assert run("place", "-f", cluster) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: internal error: a rule is broken\n") and "Traceback" not in err
