"""``phalanx tree``: which nodes take no new pods, amounts and names as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.cli import amounts, main, tree
from phalanx.model import resources
from tests.cluster import docs

Captured = pytest.CaptureFixture[str]


def run(*tokens: str) -> int:
    return int(main.run(tokens))


def state(node: docs.Doc, cordoned: bool = False, **conditions: str) -> docs.Doc:
    """The node as a cluster tells of it."""
    told = [{"type": kind, "status": status} for kind, status in conditions.items()]
    return {**node, "spec": {"unschedulable": cordoned}, "status": {**node["status"], "conditions": told}}


def labelled(name: str, rack: str = "r1", **amounts: str) -> docs.Doc:
    found = docs.node(name, {"topology/block": "b1", "topology/rack": rack})
    found["status"]["allocatable"].update(amounts)
    return found


def test_the_tree_marks_nodes_that_take_no_new_pods(write, capsys: Captured) -> None:
    nodes = [
        labelled("good"),
        state(labelled("shut"), cordoned=True),
        state(labelled("lost", "r2"), Ready="Unknown"),
        state(labelled("down", "r2"), cordoned=True, Ready="False"),
        state(labelled("full", "r3"), Ready="True", DiskPressure="True"),
    ]
    tainted = labelled("own", "r3")
    tainted["spec"] = {"taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}]}
    file = write(docs.topology(), *nodes, tainted)
    assert run("tree", "-f", file) == 0
    lines = capsys.readouterr().out.splitlines()

    def ends(name: str, end: str) -> bool:
        return next(line for line in lines if f"─ {name} " in line).endswith(end)

    assert ends("good", "8 of 8") and ends("own", "8 of 8")
    assert ends("shut", "8 of 8  cordoned")
    assert ends("lost", "8 of 8  not ready")
    assert ends("down", "8 of 8  not ready and cordoned")
    assert ends("full", "8 of 8  disk pressure")
    assert ends("r1", "16 of 16")
    assert run("tree", "-f", file, "--level", "rack") == 0
    last = capsys.readouterr().out.splitlines()
    assert last[3].endswith("16 of 16  1 cordoned")
    assert last[4].endswith("16 of 16  1 cordoned, 2 not ready")


def test_a_gang_is_drawn_among_nodes_that_take_no_new_pods(write, capsys: Captured) -> None:
    nodes = [labelled("n1"), labelled("n2"), state(labelled("n3"), cordoned=True), state(labelled("n4"), Ready="False")]
    assert run("tree", "-f", write(docs.topology(), *nodes, docs.gang()), "llm") == 0
    out = capsys.readouterr().out
    assert "n1 AAAAAAAA  n2 AAAAAAAA  n3 ××××××××  n4 ××××××××" in out
    assert "\n× cordoned: n3\n× not ready: n4\n" in out


def test_amounts_of_cpu_are_told_in_plain_units(write, capsys: Captured) -> None:
    assert run("tree", "-f", write(labelled("a", cpu="116250m"), labelled("b", cpu="116250m")), "--free", "cpu") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].endswith("232.5 of 232.5") and lines[2].endswith("116.25 of 116.25")


@pytest.mark.parametrize(
    ("resource", "written", "expected"),
    [
        ("cpu", "232500m", "232.5"),
        ("cpu", "96", "96"),
        ("cpu", "1", "1"),
        ("cpu", "0", "0"),
        ("cpu", "1n", "<0.001"),
        ("cpu", "1999999u", "1.999"),
        ("memory", "1056276904Ki", "1007.3Gi"),
        ("memory", "1Ti", "1Ti"),
        ("memory", "1536Mi", "1.5Gi"),
        ("memory", "1000", "1000"),
        ("memory", "0", "0"),
        ("ephemeral-storage", "9Ei", "9Ei"),
        ("nvidia.com/gpu", "8", "8"),
    ],
)
def test_an_amount_is_plain_and_never_more_than_there_is(resource: str, written: str, expected: str) -> None:
    nano = resources.parse(written, resource)
    assert isinstance(nano, int) and amounts.plain(resource, nano) == expected


@given(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), st.integers(0, 10**28))
def test_a_plain_amount_is_close_and_not_above(resource: str, nano: int) -> None:
    text = amounts.plain(resource, nano)
    if not text.startswith("<"):
        told = resources.parse(text, resource)
        assert isinstance(told, int) and told <= nano
        assert nano - told < max(resources.NANO if resource == "memory" else resources.NANO // 1000, nano // 10)
    assert amounts.plain(resource, -nano) == (f"-{text}".replace("-<", "-") if nano else "0")


def test_long_names_are_cut_in_the_middle_and_80_columns_hold(write, capsys: Captured) -> None:
    long = "gke-production-europe-west4-a100-pool-spot-"
    nodes = [state(labelled(f"{long}{i:04}", rack=f"rack-{long}-{i // 2}"), cordoned=True) for i in range(4)]
    file = write(docs.topology(), *nodes, docs.running("p", f"{long}0000", 4, "old"))
    assert run("tree", "-f", file) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert all(any(f"spot-{i:04} " in line and "gke-prod" in line and "…" in line for line in lines) for i in range(4))
    assert len({line.index(" of ") for line in lines[1:]}) == 1
    assert run("tree", "-f", file, "other/old") == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert any("gke-pro…0-pool-spot-0000 AAAA××××" in line for line in lines)


@given(st.text("abc-", max_size=60), st.integers(4, 40))
def test_a_shortened_name_keeps_both_ends(name: str, most: int) -> None:
    found = tree.shortened(name, most)
    assert len(found) == min(len(name), most)
    head, _, tail = found.partition("…")
    assert found == name or (head and name.startswith(head) and name.endswith(tail) and len(tail) >= len(head))
