"""The journal and the report: figures that can be counted by hand."""

import html.parser
import itertools
import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from phalanx.model import sketch
from phalanx.sim import generate, page, plots, report, spelling, worlds
from phalanx.sim.journal import SAMPLES_MAX, Journal
from phalanx.sim.room import Room
from phalanx.sim.simulate import room, simulate
from phalanx.sim.submission import Submission
from phalanx.sim.traces import own
from phalanx.sim.traces.asking import Asking

SITE = worlds.drawn("b1: r1=8,8 r2=8,8 | b2: r1=8,8 r2=8,8")  # 64 GPUs, 4 racks of 16


def trace(*rows: str) -> list[Submission]:
    """Rows of at,duration,pods,gpus,required,preferred,name."""
    return own.read(["at,duration,pods,gpus,required,preferred,name\n", *(f"{row}\n" for row in rows)], Asking(SITE))


def ran(*rows: str) -> Journal:
    ((_, journal),) = simulate(SITE, trace(*rows), ["pack"])
    return journal


def full_report(*rows: str, policies: tuple[str, ...] = ("pack", "spread"), timing: bool = True) -> report.Document:
    given = trace(*rows)
    setting = report.Setting("drawn", "by <hand>", 3, given, room(SITE))
    return report.document(setting, simulate(SITE, given, policies, 3), timing)


# -- the room ----------------------------------------------------------------------------------------------------


def test_fragmentation_is_the_share_of_free_units_in_partly_used_domains() -> None:
    cluster = Room(SITE.snapshot, SITE.topology, sketch.GPU)
    assert cluster.levels == ("block", "rack", "host")
    assert cluster.fragmentation() == (0.0, 0.0, 0.0)
    cluster.take("b1-r1-1", 4)  # 60 are free: 28 in block b1, 12 in rack b1-r1, 4 on the node
    assert cluster.fragmentation() == pytest.approx((28 / 60, 12 / 60, 4 / 60))
    cluster.take("b1-r1-1", 4)
    cluster.take("b1-r1-2", 8)  # a rack is full: nothing of it is free, so nothing of it is torn
    assert cluster.fragmentation() == pytest.approx((16 / 48, 0.0, 0.0))


def test_a_full_cluster_has_nothing_that_could_be_torn() -> None:
    cluster = Room(SITE.snapshot, SITE.topology, sketch.GPU)
    for node in SITE.snapshot.nodes:
        cluster.take(node.name, 8)
    assert cluster.fragmentation() == (0.0, 0.0, 0.0)


def test_the_narrowest_level_is_that_of_whole_paths() -> None:
    cluster = Room(SITE.snapshot, SITE.topology, sketch.GPU)
    assert cluster.narrowest({"b1-r1-1"}) == 3
    assert cluster.narrowest({"b1-r1-1", "b1-r1-2"}) == 2
    assert cluster.narrowest({"b1-r1-1", "b1-r2-1"}) == 1
    assert cluster.narrowest({"b1-r1-1", "b2-r1-1"}) == 0  # r1 of another block is another rack


# -- waiting -----------------------------------------------------------------------------------------------------


def test_a_gang_waits_from_its_submission_until_all_of_it_runs() -> None:
    journal = ran("0,100,8,8,,,first", "10,50,1,8,,,second")
    assert (journal.lives["default/first"].started, journal.lives["default/first"].finished) == (0.0, 100.0)
    assert (journal.lives["default/second"].started, journal.lives["default/second"].finished) == (100.0, 150.0)
    assert journal.lives["default/second"].reason == "NoRoom"
    found = report.run(journal)["waiting"]
    assert found["all"] == {"gangs": 2, "p50": 0, "p95": 90, "longest": 90, "mean": 45}
    assert {row["class"]: row["p50"] for row in found["byPods"]} == {"1 pod": 90, "8-15 pods": 0}
    assert {row["class"]: row["p50"] for row in found["byUnits"]} == {"2-8": 90, "33-128": 0}


def test_who_never_starts_counts_with_what_it_has_waited() -> None:
    found = report.run(ran("0,10,9,8,,,huge", "0,100,1,1,,,small"))
    assert found["gangs"] == {"submitted": 2, "started": 1, "done": 1, "neverStarted": 1}
    assert found["waiting"]["all"]["longest"] == found["ended"] >= 100
    assert found["waitingFor"] == {"TooLarge": 1}


def test_gangs_are_told_apart_by_what_they_ask_of_the_topology() -> None:
    found = report.run(ran("0,10,2,8,rack,,a", "0,10,2,8,,rack,b", "0,10,2,8,block,,c", "0,10,1,1,,,d"))
    classes = [row["class"] for row in found["waiting"]["byTopology"]]
    assert classes == ["none", "preferred rack", "required block", "required rack"]


def test_a_preferred_level_is_reached_or_what_came_instead_is_told() -> None:
    rows = ["0,100,2,8,,rack,near", *(f"1,100,1,8,,,one{n}" for n in range(3)), "2,100,3,8,,rack,far"]
    found = report.run(ran(*rows))["preferred"]
    assert (found["groups"], found["reached"]) == (2, 1)
    assert sum(found["instead"].values()) == 1 and "rack" not in found["instead"]


def test_the_distance_within_gangs_is_told_with_and_without_a_wish() -> None:  # KA-001
    assert room(SITE).apart({"b1-r1-1": 2}) == 0.0
    assert room(SITE).apart({"b1-r1-1": 1, "b1-r1-2": 1}) == 1.0
    assert room(SITE).apart({"b1-r1-1": 2, "b1-r1-2": 1}) == pytest.approx(2 / 3)
    rows = ["0,100,2,8,rack,,near", "0,100,1,8,,,one", "0,100,4,8,,,anywhere"]
    found = report.run(ran(*rows))["apart"]
    assert found["gangs"] == 2  # of one pod there is nothing to tell
    by_wish = {row["class"]: row["mean"] for row in found["byTopology"]}
    assert by_wish["required rack"] == 1 < by_wish["none"]


# -- use ---------------------------------------------------------------------------------------------------------


def test_utilisation_is_what_was_used_over_time() -> None:
    found = report.run(ran("0,100,4,8,,,half", "100,100,1,8,,,eighth"))["utilisation"]
    assert (found["mean"], found["whileArriving"], found["peak"]) == (0.3125, 0.5, 0.5)
    assert found["usefulHours"] == pytest.approx(4000 / 3600, abs=1e-6)


def test_pods_that_ran_before_the_simulation_hold_their_places() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
            "status": {"allocatable": {sketch.GPU: "8", "cpu": "9", "pods": "9"}}}  # fmt: skip
    spec = {"nodeName": "n1", "containers": [{"name": "c", "resources": {"requests": {sketch.GPU: "4"}}}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "old", "namespace": "x"}, "spec": spec}
    site = worlds.documents([node, {**pod, "status": {"phase": "Running"}}])
    given = own.read(["at,duration,gpus\n", "0,10,4\n", "0,10,4\n"], Asking(site))
    ((_, journal),) = simulate(site, given, ["pack"])
    assert journal.peak == 8
    assert sorted(life.started or 0.0 for life in journal.lives.values()) == [0.0, 10.0]


def test_work_that_was_stopped_is_lost() -> None:
    journal = Journal(room(SITE))
    journal.submitted(0.0, trace("0,10,1,8,,,a")[0].request)
    journal.bound(5.0, "default/a", "b1-r1-1", 8.0)
    journal.started(5.0, "default/a", {"worker": {"b1-r1-1": 1}})
    journal.left(455.0, "default/a", "b1-r1-1", 8.0)
    journal.stopped(455.0, "default/a")
    journal.started(460.0, "default/a", {"worker": {"b1-r1-1": 1}})
    journal.closed(500.0)
    found = report.run(journal)
    assert (found["lostHours"], found["restarts"]) == (1, 1)
    assert found["waiting"]["all"]["p50"] == 5  # the first start is what it waited for
    assert journal.room.used == 0.0


def test_samples_are_thinned_so_that_months_and_minutes_are_told_equally_fine() -> None:
    journal = Journal(room(SITE))
    journal.submitted(0.0, trace("0,10,1,8,,,a")[0].request)
    journal.closed(1e7)
    moments = [sample.at for sample in journal.samples]
    assert SAMPLES_MAX / 2 <= len(moments) <= SAMPLES_MAX
    assert len({round(b - a) for a, b in itertools.pairwise(moments[:-1])}) == 1
    assert all(sample.waiting == 1 for sample in journal.samples[1:])


def test_percentiles_are_values_that_were_seen() -> None:
    assert [report.rank(range(1, 101), percent) for percent in (50, 95, 99)] == [50, 95, 99]
    assert (report.rank([7], 99), report.rank([1, 2], 50), report.rank([], 50)) == (7, 1, 0)


# -- the document ------------------------------------------------------------------------------------------------

ROWS = ("0,100,8,8,,,first", "10,50,2,8,rack,,second", "20,70,4,8,,rack,third", "30,10,1,1,,,fourth")


def test_the_same_trace_and_seed_give_the_same_bytes_without_the_timing() -> None:
    first, second = (report.as_json(full_report(*ROWS, timing=False)) for _ in range(2))
    assert first == second
    assert "timing" not in json.loads(first)


def test_timing_stands_under_one_key_and_nothing_else_differs() -> None:
    timed, plain = full_report(*ROWS), full_report(*ROWS, timing=False)
    assert [one["policy"] for one in timed.pop("timing")] == ["pack", "spread"]
    assert timed == plain


def test_the_document_names_schema_version_seed_and_policies() -> None:
    found = full_report(*ROWS)
    assert (found["schema"], found["seed"], found["faults"]) == ("phalanx.dev/simulation/v1", 3, "none")
    assert found["version"]
    assert [run["policy"] for run in found["runs"]] == ["pack", "spread"]
    assert found["cluster"]["levels"][1] == {"name": "rack", "domains": 4}
    over = found["runs"][0]["overTime"]
    assert len(over["at"]) == len(over["utilisation"]) == len(over["waiting"]) == len(over["fragmentation"]["rack"])


# -- the page ----------------------------------------------------------------------------------------------------


class Tags(html.parser.HTMLParser):
    """Counts what a page is made of, and whether everything that is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.count: Counter[str] = Counter()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] += 1
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing() -> None:
    text = page.page(full_report(*ROWS))
    tags = Tags()
    tags.feed(text)
    assert tags.open == [] and tags.links == [] and "http" not in text and "@import" not in text and "url(" not in text
    assert tags.count["title"] == 1 + text.count('role="img"')  # of the page, and of every plot
    assert tags.count["table"] == 1 + tags.count["figure"]  # the summary, and one beside every plot
    assert tags.count["figure"] == text.count('role="img"') + text.count('class="empty"')
    assert "nan" not in text and "inf" not in text.replace("info", "")


def test_names_from_files_cannot_put_anything_into_the_page() -> None:
    text = page.page(full_report(*ROWS))
    assert "by &lt;hand&gt;" in text and "<hand>" not in text


def test_a_report_without_timing_makes_a_page_too() -> None:
    assert "this machine" not in page.page(full_report(*ROWS, timing=False))
    assert "decision time p99, this machine" in page.page(full_report(*ROWS))


def test_the_page_of_nothing_but_a_gang_that_never_starts() -> None:
    assert "0 of 1" in page.page(full_report("0,10,99,8,,,huge"))


def empty(*rows: str) -> list[str]:
    """What stands in a page instead of plots."""
    return re.findall(r'class="empty">(.*?)</p>', page.page(full_report(*rows)))


def test_an_empty_chart_says_why_it_is_empty() -> None:
    nobody = "No gang waited: there was room for each when it came. At most 25.0% of the GPUs were in use."
    shared = "All pods of a gang shared a node."
    still = "No gang was waiting. That is so at each of the 3 moments looked at."
    unused = "Whatever was free lay in domains of which nothing was used"
    torn = [f"{unused} ({level}). That is so at each of the 3 moments looked at." for level in ("rack", "host")]
    assert empty("0,90,2,8,,,a") == [nobody, nobody, nobody, still, *torn]
    assert empty("0,90,2,4,,,a")[3] == shared
    assert empty("0,90,1,4,,,a")[3] == "No gang of several pods started."
    late = empty("0,90,8,8,,,all", "1,1,1,8,,,late", *(f"{at},1,1,8,,,x{at}" for at in range(200, 230)))
    assert late[0] == "At most one gang in twenty waited in each class, so p50 and p95 are 0; the longest 89 s."


def test_what_stands_in_one_row_is_told_in_one_unit() -> None:
    assert spelling.alike([0, 1, 540, 7300]) == ["0 h", "<0.1 h", "0.1 h", "2.0 h"]
    assert spelling.alike([0, 0.2, 42, 119]) == ["0 s", "<1 s", "42 s", "119 s"]
    assert spelling.alike([]) == []
    crowd = [f"{at},4000,8,8,,,{at}" for at in range(3)]
    rows = re.findall(r"<tr><th scope=.row.>(.*?)</th>(.*?)</tr>", page.page(full_report(*crowd)))
    for name, cells in rows:
        units = set(re.findall(r">[<&lt;\d.,]+ (s|min|h|d)<", cells))
        assert len(units) <= 1, (name, cells)
    assert any("2.2 h" in cells for _, cells in rows)


@pytest.mark.parametrize(
    ("largest", "expected"),
    [
        (1.0, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.7, [0, 0.2, 0.4, 0.6, 0.8]),
        (4.32, [0, 1, 2, 3, 4, 5]),
        (47.0, [0, 10, 20, 30, 40, 50]),
        (128.0, [0, 50, 100, 150]),
        (0.0031, [0, 0.001, 0.002, 0.003, 0.004]),
    ],
)
def test_ticks_are_round(largest: float, expected: list[float]) -> None:
    assert plots.ticks(largest) == pytest.approx(expected)


@drawn(st.floats(1e-6, 1e9), st.sampled_from([0.0, 1.0]))
def test_ticks_are_few_and_reach_from_0_to_the_largest_value(largest: float, least: float) -> None:
    found = plots.ticks(largest, least)
    assert found[0] == 0 and found[-1] >= largest * (1 - 1e-6) and 2 <= len(found) <= plots.STEPS + 1
    step = found[1]
    assert step >= least and f"{step:.0e}"[0] in "125" and step == pytest.approx(float(f"{step:.0e}"))


def test_gangs_are_counted_in_whole_numbers() -> None:
    assert plots.ticks(2, 1.0) == [0, 1, 2]


CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")
def test_nothing_of_a_report_is_wider_than_a_telephone(tmp_path: Path) -> None:
    assert CHROMIUM is not None
    site = worlds.drawn("2x4x4")
    given = generate.submissions(None, 0, Asking(site))
    setting = report.Setting("a-file-with-a-long-name/" * 4, "t", 0, given, room(site))
    (tmp_path / "r.html").write_text(
        page.page(report.document(setting, simulate(site, given, ["pack", "spread", "balance"])))
    )
    (tmp_path / "frame.html").write_text(
        '<iframe id="f" src="r.html" width="375" height="900" style="border:0"></iframe><script>onload = () => {'
        "document.title = [...f.contentDocument.querySelectorAll('details')].map((one) => one.open = true) && "
        "f.contentDocument.documentElement.scrollWidth + ' of ' + f.contentDocument.documentElement.clientWidth"
        "}</script>"
    )
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom"]
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    found = subprocess.run(
        [CHROMIUM, *options, profile, (tmp_path / "frame.html").as_uri()], capture_output=True, text=True, check=True,
        timeout=120,
    )  # fmt: skip
    wide = re.search(r"<title>(\d+) of (\d+)</title>", found.stdout)
    assert wide is not None and int(wide[1]) <= int(wide[2]) <= 375, found.stdout[:400]
