"""``phalanx simulate``, and the short way through a trace with the real engine."""

import json
from pathlib import Path

import pytest

from phalanx.cli import main
from phalanx.model.effects import Bind, Effect, Evict
from phalanx.model.resources import NANO
from phalanx.sim import generate, report, worlds
from phalanx.sim.drive import drive
from phalanx.sim.journal import Journal
from phalanx.sim.simulate import Engine, room, simulate, sooner
from phalanx.sim.traces import own
from phalanx.sim.traces.asking import GPU, Asking

README = Path(__file__).parents[2] / "README.md"
Captured = pytest.CaptureFixture[str]


def phalanx(*tokens: object) -> int:
    return int(main.run(("simulate", *map(str, tokens))))


# -- the run -----------------------------------------------------------------------------------------------------


class Watched(Engine):
    """The real engine, with every bind it asked for written down."""

    def __init__(self) -> None:
        super().__init__()
        self.binds: list[tuple[float, Bind]] = []

    def step(self, events, now, jitter=0.0) -> tuple[Effect, ...]:  # type: ignore[no-untyped-def]
        effects = super().step(events, now, jitter)
        self.binds += [(now, effect) for effect in effects if isinstance(effect, Bind)]
        return effects


@pytest.mark.parametrize("seed", range(3))
def test_a_busy_cluster_is_never_overfull_and_starts_gangs_whole(seed: int) -> None:
    site = worlds.drawn("2x2x4")  # 128 GPUs
    given = sooner(generate.submissions(80, seed, Asking(site)), 4)
    engine, journal = Watched(), Journal(room(site))
    drive(engine, site.snapshot, given, journal, seed)

    assert all(life.finished is not None for life in journal.lives.values())
    by_gang: dict[str, list[tuple[float, str]]] = {}
    for at, bind in engine.binds:
        by_gang.setdefault(bind.gang, []).append((at, bind.node))
    moments: list[tuple[float, int, str, int]] = []  # when, whether it comes, node, GPUs
    for one in given:
        bound = by_gang[one.request.id]
        sizes = [s.shape.requests.get(GPU) // NANO for s in one.request.root.pod_sets() for _ in range(s.count)]
        assert len(bound) == len(sizes)
        assert len({at for at, _ in bound}) == 1 and bound[0][0] >= one.at
        assert len(set(sizes)) == 1
        for at, node in bound:
            moments += [(at, 1, node, sizes[0]), (at + one.duration, 0, node, -sizes[0])]
        if one.request.root.required is not None:
            assert len({node.rsplit("-", 1)[0] for _, node in bound}) == 1
    used: dict[str, int] = {}
    for _, _, node, change in sorted(moments):
        used[node] = used.get(node, 0) + change
        assert used[node] <= 8
    assert not any(used.values())


def test_the_same_seed_gives_the_same_lives() -> None:
    site = worlds.drawn("2x2x4")
    given = sooner(generate.submissions(60, 5, Asking(site)), 4)
    (_, first), (_, second) = simulate(site, given, ["pack", "pack"], 5)
    assert first.lives == second.lives
    assert first.samples == second.samples


def test_a_gang_that_can_never_start_does_not_keep_the_run_going() -> None:
    site = worlds.drawn("r1=8")
    huge = own.read(["at,duration,pods,gpus\n", "0,10,2,8\n"], Asking(site))
    ((_, journal),) = simulate(site, huge, ["pack"])
    assert [life.started for life in journal.lives.values()] == [None]


class Unkind(Engine):
    """The real engine, but at 30 seconds it takes the first gang off its nodes."""

    def step(self, events, now, jitter=0.0) -> tuple[Effect, ...]:  # type: ignore[no-untyped-def]
        effects = super().step(events, now, jitter)
        if now != 30.0 or self.book.gangs["default/job-2"].failures or not events:
            return effects
        pods = self.book.gangs["default/job-2"].pods.values()
        return (*effects, *(Evict("default/job-2", pod.key, "test") for pod in pods if pod.key.uid.endswith("/0")))


def test_a_gang_that_is_evicted_begins_again_and_what_it_did_is_lost() -> None:
    site = worlds.drawn("r1=8")
    given = own.read(["at,duration,gpus\n", "0,100,8\n", "30,1,0\n"], Asking(site))
    journal = Journal(room(site))
    drive(Unkind(), site.snapshot, given, journal)
    life = journal.lives["default/job-2"]
    assert (life.started, life.restarts, life.lost) == (0.0, 1, 8 * 30.0)
    assert life.finished == life.since + 100 >= 130  # it runs for as long as it must, from the beginning
    assert journal.room.used == 0.0


def test_many_gangs_that_take_no_time_go_through_one_place_in_one_moment() -> None:
    site = worlds.drawn("r1=8")
    given = own.read(["at,duration,gpus\n", *["0,0,8\n"] * 120], Asking(site))
    ((_, journal),) = simulate(site, given, ["pack"])
    assert {life.finished for life in journal.lives.values()} == {0.0}


# -- the command -------------------------------------------------------------------------------------------------


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.csv"
    path.write_text("at,duration,pods,gpus,required\n0,60,2,8,rack\n10,60,2,8,rack\n20,60,1,1,\n")
    return path


def test_one_line_for_each_policy_and_two_reports(trace: Path, tmp_path: Path, capsys: Captured) -> None:
    as_json, as_page = tmp_path / "r.json", tmp_path / "r.html"
    options = ("--policy", "pack", "--policy", "spread", "-o", as_json, "-o", as_page)
    assert phalanx("--cluster", "b1: r1=8,8 r2=8,8", "--trace", trace, *options) == 0
    out, err = capsys.readouterr()
    assert [line.split()[0] for line in out.splitlines()] == ["pack", "spread"]
    assert "3/3 done" in out and err == ""
    report = json.loads(as_json.read_text())
    assert [run["policy"] for run in report["runs"]] == ["pack", "spread"]
    assert as_page.read_text().startswith("<!DOCTYPE html>")


def test_the_example_of_the_readme_shows_a_full_cluster_waiting_and_policies_that_differ(
    tmp_path: Path, capsys: Captured
) -> None:
    line = next(line for line in README.read_text().splitlines() if " simulate --cluster" in line)
    _, tokens = line.split("phalanx simulate ")
    path = tmp_path / "report.html"
    assert phalanx(*tokens.replace("report.html", str(path)).split(), "-o", tmp_path / "r.json") == 0
    runs = json.loads((tmp_path / "r.json").read_text())["runs"]
    assert len(runs) == 2
    for run in runs:
        assert 0.8 <= run["utilisation"]["whileArriving"] <= 0.9
        assert run["waiting"]["all"]["p95"] > 60 and run["waiting"]["all"]["longest"] > 600
        assert all(level["mean"] > 0.05 for level in run["fragmentation"])
    pack, spread = runs
    assert pack["waiting"]["all"]["p95"] != spread["waiting"]["all"]["p95"]
    assert pack["preferred"]["reached"] != spread["preferred"]["reached"]
    assert "No gang waited" not in path.read_text()


@pytest.mark.parametrize(("shape", "seeds"), [("2x4x4", 4), ("2x4x16", 2)])
def test_generated_load_fills_a_cluster_to_about_85_percent(shape: str, seeds: int) -> None:
    site = worlds.drawn(shape)
    used = []
    for seed in range(seeds):
        ((_, journal),) = simulate(site, generate.submissions(None, seed, Asking(site)), ["pack"], seed)
        used.append(report.run(journal)["utilisation"]["whileArriving"])
    assert sum(used) / len(used) == pytest.approx(0.85, abs=0.06), used


def test_a_load_of_half_leaves_half_free(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "r.json"
    assert phalanx("--cluster", "2x4x16", "--load", 0.5, "-o", path) == 0
    assert json.loads(path.read_text())["runs"][0]["utilisation"]["whileArriving"] == pytest.approx(0.5, abs=0.06)


def test_of_gangs_that_all_come_at_once_the_mean_use_is_told(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "r.json"
    assert phalanx("--cluster", "2x4x16", "--limit", 5, "-o", path) == 0
    used = json.loads(path.read_text())["runs"][0]["utilisation"]
    assert used["whileArriving"] == used["mean"] > 0


def test_two_runs_write_the_same_bytes(tmp_path: Path, capsys: Captured) -> None:
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in paths:
        assert phalanx("--cluster", "2x2x4", "--limit", 40, "--seed", 9, "--no-timing", "-o", path) == 0
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert json.loads(paths[0].read_text())["seed"] == 9


def test_faults_come_from_the_seed_and_are_told_in_the_report(tmp_path: Path, capsys: Captured) -> None:
    paths = [tmp_path / "a.json", tmp_path / "b.json", tmp_path / "c.html"]
    options = ("--cluster", "2x2x4", "--limit", 60, "--seed", 4, "--faults", "stormy", "--no-timing")
    for path in paths:
        assert phalanx(*options, "-o", path) == 0
    assert paths[0].read_bytes() == paths[1].read_bytes()
    found = json.loads(paths[0].read_text())
    assert found["faults"] == "stormy" and found["runs"][0]["restarts"] > 0 and found["runs"][0]["lostHours"] > 0
    assert "Faults: stormy; seed 4." in paths[2].read_text() and "restarts" in capsys.readouterr().out


def test_every_decision_is_recorded_and_decided_again_the_same(tmp_path: Path, capsys: Captured) -> None:
    kept, told = tmp_path / "kept.jsonl", tmp_path / "r.json"
    options = ("--cluster", "2x2x4", "--limit", 40, "--faster", 8, "--faults", "stormy", "-o", told, "--record", kept)
    assert phalanx(*options) == 0
    lines = kept.read_text().splitlines()
    assert len(lines) == json.loads(told.read_text())["runs"][0]["work"]["decisions"] >= 40
    capsys.readouterr()
    assert main.run(("replay", str(kept))) == 0
    assert all(line.endswith(": same") for line in capsys.readouterr().out.splitlines())


def test_a_lost_node_stops_the_gang_that_needs_it_until_it_is_back() -> None:
    site = worlds.drawn("r1=8,8")
    given = own.read(["at,duration,pods,gpus\n", "0,500000,2,8\n"], Asking(site))
    engine, journal = Engine(), Journal(room(site))
    drive(engine, site.snapshot, given, journal, faults="stormy")
    (life,) = journal.lives.values()
    assert life.finished == life.since + 500000 and life.restarts > 0 and life.lost > 0
    assert journal.room.used == 0.0


def test_a_limit_takes_the_first_and_a_factor_brings_them_closer(trace: Path, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "r.json"
    assert phalanx("--cluster", "2x4", "--trace", trace, "--limit", 2, "--faster", 10, "-o", out) == 0
    assert json.loads(out.read_text())["trace"] == {"name": str(trace), "gangs": 2, "lastArrival": 1}


def test_a_gang_that_never_starts_is_3(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"at": 0, "duration": 5, "pods": 3, "gpus": 8}\n')
    assert phalanx("--cluster", "r1=8,8", "--trace", path) == 3
    assert "0/1 done" in capsys.readouterr().out


def test_manifests_and_tables_are_clusters_too(trace: Path, tmp_path: Path, capsys: Captured) -> None:
    table = tmp_path / "nodes.csv"
    table.write_text("node,rack,gpus\nn1,r1,8\nn2,r1,8\n")
    assert phalanx("--cluster", table, "--trace", trace) == 0
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
            "status": {"allocatable": {GPU: "16", "cpu": "9", "pods": "9"}}}  # fmt: skip
    manifests = tmp_path / "node.json"
    manifests.write_text(json.dumps(node))
    assert phalanx("--cluster", manifests, "--limit", 5) == 0
    assert "5/5 done" in capsys.readouterr().out


def test_a_cluster_without_gpus_needs_a_trace(tmp_path: Path, capsys: Captured) -> None:
    assert phalanx("--cluster", "r1=0,0") == 1
    assert "too few for every gang that could be made; give a --trace" in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize(
    ("tokens", "code", "message"),
    [
        (("--cluster", "nowhere.csv"), 1, "nowhere.csv: no such file"),
        (("--cluster", "what is this"), 2, "neither a file nor a shape such as 2x4x16"),
        (("--cluster", "2x2", "-o", "r.pdf"), 2, "r.pdf: a report is written to a file that ends in .html or .json"),
        (("--cluster", "2x2", "-o", "no/such/folder/r.json"), 1, "no such folder"),
        (("--cluster", "2x2", "--faster", "0"), 2, "a factor is larger than 0"),
        (("--cluster", "2x2", "--limit", "0"), 2, "at least one gang is needed"),
        (("--cluster", "2x2", "--load", "0"), 2, "--load 0.0: a share of what is free, above 0 and up to 10"),
        (("--cluster", "2x2", "--load", "nan"), 2, "--load nan: a share of what is free, above 0 and up to 10"),
        (("--cluster", "2x2", "--load", "1", "--trace", "t.csv"), 2, "--load is of generated gangs"),
        (("--cluster", "2x2", "--policy", "tight"), 2, "tight"),
    ],
)
def test_mistakes_are_told_in_one_line(tokens: tuple[str, ...], code: int, message: str, capsys: Captured) -> None:
    assert phalanx(*tokens) == code
    first = capsys.readouterr().err.splitlines()[0]
    assert first.startswith("error: ") and message in first


def test_a_bad_trace_is_4_and_names_file_and_line(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "t.csv"
    path.write_text("at,duration\n1,soon\n")
    assert phalanx("--cluster", "2x2", "--trace", path) == 4
    assert f"{path}, line 2: duration: 'soon' is not a number from 0 up" in capsys.readouterr().err.replace("\n", "")
