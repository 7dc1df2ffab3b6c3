"""Traces: one small reader per format, and clusters to run them on."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from phalanx.model.resources import NANO
from phalanx.sim import generate, traces, worlds
from phalanx.sim.rows import BadRow
from phalanx.sim.simulate import room
from phalanx.sim.submission import Submission
from phalanx.sim.traces import muri, openb, own, philly
from phalanx.sim.traces.asking import GPU, Asking

SHARED = Path(__file__).parents[3] / "shared" / "traces"
SITE = worlds.drawn("b1: r1=8*4 r2=8*4")
ASKING = Asking(SITE)
RACK = 2
PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster\n"


def pods(one: Submission) -> list[tuple[int, int]]:
    """Count and GPUs of each pod set."""
    return [(s.count, s.shape.requests.get(GPU) // NANO) for s in one.request.root.pod_sets()]


def philly_job(gpus: int, asking: Asking = ASKING) -> Submission:
    return philly.read([PHILLY, f"2017-10-09 07:01:55,66.0,{gpus},66.0,vc\n"], asking)[0]


# -- philly ------------------------------------------------------------------------------------------------------


def test_philly_jobs_come_in_order_of_time_from_zero() -> None:
    lines = [PHILLY, "2017-10-09 07:01:55,66.0,1,66.0,vc1\n", "2017-10-09 07:00:55,5.5,4,22.0,vc2\n"]
    first, second = philly.read(lines, ASKING)
    assert (first.at, first.duration, first.request.id) == (0.0, 5.5, "vc2/job-3")
    assert (second.at, second.duration, second.request.id) == (60.0, 66.0, "vc1/job-2")


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [(1, [(1, 1)]), (8, [(1, 8)]), (12, [(2, 6)]), (13, [(1, 8), (1, 5)]), (16, [(2, 8)]), (128, [(16, 8)])],
)
def test_gpus_become_pods_of_up_to_eight(gpus: int, expected: list[tuple[int, int]]) -> None:
    assert pods(philly_job(gpus)) == expected


def test_nearness_follows_the_rule_that_is_given() -> None:
    def wish(gpus: int, asking: Asking) -> tuple[int | None, int | None]:
        root = philly_job(gpus, asking).request.root
        return root.required, root.preferred

    assert wish(8, ASKING) == (None, None)  # one pod is near itself
    assert wish(32, ASKING) == (RACK, None)
    assert wish(64, ASKING) == (None, RACK)
    assert wish(32, Asking(SITE, required_up_to=16)) == (None, RACK)
    assert wish(32, Asking(worlds.drawn("16"))) == (None, None)  # a cluster without levels


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("yesterday,66,1,66,vc", "line 2: timestamp: 'yesterday' is not a time such as 2017-10-09 07:01:55"),
        ("2017-10-09 07:01:55,-1,1,66,vc", "line 2: duration: '-1' is not a number from 0 up"),
        ("2017-10-09 07:01:55,nan,1,66,vc", "line 2: duration: 'nan' is not a number from 0 up"),
        ("2017-10-09 07:01:55,66,1.5,66,vc", "line 2: num_gpus: '1.5' is not a whole number from 1 up"),
        ("2017-10-09 07:01:55,66,,66,vc", "line 2: num_gpus: is missing"),
        ("2017-10-09 07:01:55,66,1", "line 2: has 3 values for 5 columns"),
    ],
)
def test_a_bad_row_is_told_with_its_line_and_column(row: str, message: str) -> None:
    with pytest.raises(BadRow) as caught:
        philly.read([PHILLY, row], ASKING)
    assert str(caught.value) == message


def test_a_missing_column_is_named() -> None:
    with pytest.raises(BadRow, match="line 1: there is no column num_gpus, cluster"):
        philly.read(["timestamp,duration\n"], ASKING)


# -- muri, openb -------------------------------------------------------------------------------------------------


def test_muri_counts_in_milliseconds_and_has_priorities() -> None:
    lines = ["job_id,num_gpu,submit_time,duration,priority\n", "7,16,1500,61000,0\n", "8,1,2500,1000,1\n"]
    first, second = muri.read(lines, ASKING)
    assert (first.at, first.duration, first.request.id, pods(first)) == (0.0, 61.0, "muri/job-7", [(2, 8)])
    assert (second.at, second.request.priority) == (1.0, 1)


def test_openb_pods_ask_for_parts_of_a_gpu_and_run_from_their_start_to_their_end() -> None:
    header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time\n"
    ran, never_ran = openb.read([header, "a,6000,1024,1,460,10,100,30\n", "b,500,1,2,1000,20,80,\n"], ASKING)
    (pod,) = ran.request.root.pod_sets()
    assert dict(pod.shape.requests) == {
        "cpu": 6 * NANO, GPU: 460 * NANO // 1000, "memory": 2**30 * NANO, "pods": NANO
    }  # fmt: skip
    assert (ran.at, ran.duration) == (0.0, 70.0)
    assert (never_ran.duration, pods(never_ran)) == (60.0, [(1, 2)])


# -- our own -----------------------------------------------------------------------------------------------------


def test_our_table_says_what_it_wants_and_nothing_more() -> None:
    lines = [
        "at,duration,pods,gpus,cpu,memory,required,preferred,queue,priority,namespace,name\n",
        "5,60,4,8,500m,1Gi,rack,,team,3,ml,train\n",
        "2,60,,,,,,block,,,,\n",
    ]
    plain, train = own.read(lines, ASKING)
    assert (train.at, train.duration, train.request.id) == (5.0, 60.0, "ml/train")
    assert (train.request.queue, train.request.priority, train.request.root.required) == ("team", 3, RACK)
    assert pods(train) == [(4, 8)]
    assert (plain.request.id, plain.request.queue, plain.request.root.preferred) == ("default/job-3", "default", 1)
    assert pods(plain) == [(1, 0)]


def test_a_json_line_is_the_short_form_or_a_manifest() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "whole"}, "spec": {
        "parallelism": 2, "completions": 2, "suspend": True, "template": {
            "metadata": {"annotations": {"phalanx.dev/topology-required": "rack"}},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {GPU: "8"}}}]}}}}  # fmt: skip
    lines = ['{"at": 1, "duration": 2, "pods": 2, "gpus": 4}\n', json.dumps({"at": 3, "duration": 4, "manifest": job})]
    short, whole = own.read(lines, ASKING)
    assert (short.request.id, pods(short)) == ("default/job-1", [(2, 4)])
    assert (whole.at, whole.duration, whole.request.id, pods(whole)) == (3.0, 4.0, "default/whole", [(2, 8)])
    assert not whole.request.suspended  # the trace submits it: who holds it back is not simulated


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("at,duration,colour\n1,2,red\n", "line 2: 'colour' is not known"),
        ("at,duration,required\n1,2,rak\n", "line 2: required: 'rak' is not a level of topology"),
        ("at,duration,memory\n1,2,100GB\n", "line 2: memory: '100GB' has an unknown suffix"),
        ("at,duration,name\n1,2,a\n1,2,a\n", "line 3: default/a is submitted in line 2 already"),
        ("at,duration,at\n", "line 1: two columns have one name"),
        ("", "line 1: there is nothing in it"),
        ('{"at": 1, "duration": 2}\n[1]\n', "line 2: is no JSON object"),
        ('{"at": 1, "duration": 2}\n{"at"\n', "line 2: is no JSON object"),
        ('{"at": 1, "duration": 2, "manifest": {"kind": "Job"}}\n', "line 1: "),
        ('{"at": 1, "duration": 2, "manifests": 7}\n', "line 1: manifests: is not a list"),
    ],
)
def test_what_is_wrong_with_our_trace_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(BadRow) as caught:
        own.read(text.splitlines(keepends=True), ASKING)
    assert str(caught.value).startswith(message)


def test_the_format_is_told_by_the_columns() -> None:
    assert traces.format_of([PHILLY]) == "philly"
    assert traces.format_of(["job_id,num_gpu,submit_time,iterations,duration\n"]) == "muri"
    assert traces.format_of(["at,duration\n"]) == traces.format_of(['{"at": 1}\n']) == traces.format_of([]) == "own"


# -- generated ---------------------------------------------------------------------------------------------------


def test_a_seed_generates_the_same_gangs_again_and_more_begin_with_the_same() -> None:
    few, again, more = (generate.submissions(count, 7, ASKING) for count in (50, 50, 80))
    assert few == again == more[:50]
    assert generate.submissions(50, 8, ASKING) != few


def test_generated_gangs_have_every_size_and_every_wish() -> None:
    made = generate.submissions(500, 1, ASKING)
    wishes = {
        (one.request.root.required, one.request.root.preferred) for one in made if sum(n for n, _ in pods(one)) > 1
    }
    assert wishes == {(RACK, None), (None, RACK), (None, None)}
    assert {sum(n * g for n, g in pods(one)) for one in made} == set(generate.SIZES)
    assert [one.at for one in made] == sorted(one.at for one in made)


def test_a_generated_gang_that_is_larger_than_a_rack_does_not_ask_for_one() -> None:
    made = generate.submissions(100, 1, ASKING, generate.Mix(sizes={64: 1}))  # racks have 32
    assert all(one.request.root.required is None for one in made)
    assert {one.request.root.preferred for one in made} == {RACK, None}


def test_generated_gangs_have_the_sizes_that_the_named_trace_has() -> None:
    made = generate.submissions(6000, 4, ASKING)
    found = Counter(sum(n * g for n, g in pods(one)) for one in made)
    for size, thousandth in generate.SIZES.items():
        assert abs(found[size] / 6 - thousandth) < 60  # sets of ten have one size: about 600 are drawn


@pytest.mark.parametrize("seed", range(8))
def test_generated_work_is_as_much_as_the_load_says(seed: int) -> None:
    made = generate.submissions(2000, seed, ASKING)
    later = [one for one in made if one.at > 0]
    work = sum(sum(n * g for n, g in pods(one)) * one.duration for one in later)
    assert work / (room(SITE).total * later[-1].at) == pytest.approx(generate.LOAD, abs=0.03)  # the last round is cut


@pytest.mark.parametrize("seed", range(4))
def test_a_generated_world_is_full_from_its_first_moment(seed: int) -> None:
    site = worlds.drawn("2x4x16")
    at_first = [one for one in generate.submissions(None, seed, Asking(site)) if one.at == 0]
    assert 0.85 <= sum(sum(n * g for n, g in pods(one)) for one in at_first) / room(site).total < 0.89


def test_only_what_is_free_is_filled() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
            "status": {"allocatable": {GPU: "64", "cpu": "9", "pods": "99"}}}  # fmt: skip

    def asking(used: int) -> Asking:
        spec = {"nodeName": "n", "containers": [{"name": "c", "resources": {"requests": {GPU: str(used)}}}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "old", "namespace": "x"}, "spec": spec}
        return Asking(worlds.documents([node, pod]))

    mix = generate.Mix(sizes={1: 1})
    at_first = [sum(one.at == 0 for one in generate.submissions(99, 0, asking(used), mix)) for used in (0, 40)]
    assert at_first == [55, 21]  # 85 % of 64, and of 24
    with pytest.raises(ValueError, match="held by pods that stay"):
        generate.submissions(5, 0, asking(64))


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published traces are not here")
def test_generated_sizes_and_sets_are_those_of_the_published_traces() -> None:
    sizes = Counter(sum(n * g for n, g in pods(one)) for one in _published("muri-trace2.csv", muri.read))
    assert {size: round(1000 * count / sizes.total()) for size, count in sizes.items()} == generate.SIZES
    sets: dict[tuple[str, int], list[list[float]]] = {}
    for one in _published("philly-jobs.csv", philly.read):
        alike = sets.setdefault((one.request.namespace, sum(n * g for n, g in pods(one))), [])
        if alike and one.at - alike[-1][-1] <= 30:
            alike[-1].append(one.at)
        else:
            alike.append([one.at])
    together = [len(one) for alike in sets.values() for one in alike]
    assert sum(number for number in together if number >= 16) / sum(together) == pytest.approx(0.55, abs=0.02)
    ends = 1 - 1 / generate.TOGETHER  # whoever is in a set of 16 or more, of those that a geometric number makes
    assert ends**15 * (1 + 15 / generate.TOGETHER) == pytest.approx(0.51, abs=0.01)


def _published(name: str, read: Callable[[list[str], Asking], list[Submission]]) -> list[Submission]:
    return read((SHARED / name).read_text().splitlines(keepends=True), ASKING)


# -- clusters ----------------------------------------------------------------------------------------------------


def test_a_shape_is_a_cluster_of_equal_parts() -> None:
    site = worlds.drawn("2x3x4")
    assert len(site.snapshot.nodes) == 24
    assert site.topology is not None and site.topology.level_names() == ("block", "rack", "host")
    assert {node.allocatable.get(GPU) for node in site.snapshot.nodes} == {8 * NANO}


def test_a_shape_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="from 1 to 1000000 nodes"):
        worlds.drawn("9999x9999")


def test_a_table_of_nodes_has_levels_amounts_and_labels() -> None:
    site = worlds.nodes(["node,zone,rack,gpus,cpu,label:pool\n", "n1,z1,r1,4,96,gold\n", "n2,z1,,,,\n"])
    first, second = site.snapshot.nodes
    assert site.topology is not None and site.topology.level_names() == ("zone", "rack", "host")
    assert (first.labels["topology/zone"], first.labels["pool"]) == ("z1", "gold")
    assert (first.allocatable.get(GPU), first.allocatable.get("cpu")) == (4 * NANO, 96 * NANO)
    assert "topology/rack" not in second.labels and second.allocatable.get(GPU) == 8 * NANO


def test_leaf_names_of_lingjun_may_repeat_under_other_groups() -> None:
    lines = ["ip,DSW,PSW,ASW\n", "a,G6,P10,S1\n", "b,G6,P12,S1\n"]
    topology = worlds.nodes(lines).topology
    assert topology is not None and topology.level_names() == ("core", "aggregation", "leaf", "host")


def test_one_node_twice_is_an_error() -> None:
    with pytest.raises(BadRow, match="node 'n1' stands there twice"):
        worlds.nodes(["node\n", "n1\n", "n1\n"])


# -- the real ones -----------------------------------------------------------------------------------------------


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published traces are not here")
@pytest.mark.parametrize(
    ("name", "jobs", "gpus"),
    [
        ("philly-jobs.csv", 82_247, 128),
        ("muri-trace1.csv", 1_494, 32),
        ("muri-trace2.csv", 5_755, 32),
        ("openb-pods.csv", 8_152, 8),
    ],
)
def test_published_traces_are_read_whole(name: str, jobs: int, gpus: int) -> None:
    lines = (SHARED / name).read_text().splitlines(keepends=True)
    found = traces.READERS[traces.format_of(lines)](lines, ASKING)
    assert len(found) == len({one.request.id for one in found}) == jobs
    assert max(sum(n * g for n, g in pods(one)) for one in found) == gpus


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published traces are not here")
def test_published_clusters_are_read_whole() -> None:
    texts = [(SHARED / name).read_text() for name in ("lingjun-topology.csv", "openb-gpu-nodes.csv")]
    lingjun, flat = (worlds.nodes(text.splitlines(keepends=True)) for text in texts)
    assert (len(lingjun.snapshot.nodes), len(flat.snapshot.nodes)) == (847, 1_213)
    assert flat.topology is None
