"""A type checker sees the package as its users do: installed, from a folder of their own, in the strictest mode."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PROGRAM = '''
"""A user's program."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

import phalanx
from phalanx.testing import Effect, LiveScheduler
from phalanx.testing.matchers import why_not_placed

ROOMY = phalanx.Policy(candidates="spread", nodes="reuse", budget=1_000_000)


def node(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": {"cpu": "8"}}}


def opened(docs: Iterable[Mapping[str, object]]) -> phalanx.Cluster:
    cluster = phalanx.Cluster.from_manifests(docs, policy=ROOMY)
    for note in (*cluster.problems, *cluster.warnings):
        print(note.path, note.allowed, note.message)
    return cluster


def cores(cluster: phalanx.Cluster) -> Decimal:
    return sum((free for free, _ in cluster.free("cpu").values()), Decimal(0))


def places(cluster: phalanx.Cluster, workload: Mapping[str, object]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    decisions: phalanx.Decisions = cluster.place(workload)
    for d in decisions:
        one: phalanx.Decision = d
        found.update({name: sorted(counts) for name, counts in one.pod_sets.items()})
        if one.reason is not None and one.proved:
            print(one.reason.type, one.reason.group, [way.change for way in one.ways_out])
        path, value, allowed, message = one.problems[0] if one.problems else ("", None, (), "")
        print(path, value, allowed, message, one.explain(), one.to_dict(), why_not_placed(one))
    cluster.commit(decisions)
    cluster.release(decisions[0].id)
    return found


def bound(scheduler: LiveScheduler, objects: list[dict[str, object]]) -> dict[str, str]:
    effects: tuple[Effect, ...] = scheduler.step(seen=objects, now=1.0)
    return {effect.name: effect.node for effect in effects if effect.kind == "Bind"}
'''
MISTAKES = {
    "a misspelt name": ("phalanx.Clustr", 'Module has no attribute "Clustr"'),
    "a path for documents": ('phalanx.Cluster.from_manifests("cluster.yaml")', 'incompatible type "str"'),
    "a word for a policy": ('phalanx.Cluster.from_manifests([], policy="pack")', 'expected "Policy"'),
    "nothing for documents": ("phalanx.Cluster.from_manifests([]).place(None)", 'incompatible type "None"'),
    "a name to commit": ('phalanx.Cluster.from_manifests([]).commit("a/b")', 'incompatible type "str"'),
    "an attribute that is not there": ("phalanx.Cluster.from_manifests([]).place([])[0].node", 'no attribute "node"'),
    "an unknown setting": ('phalanx.Policy(order="pack")', 'Unexpected keyword argument "order"'),
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What mypy says of the program, and of each mistake in a file of its own line."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "program.py").write_text(PROGRAM)
    (folder / "mistakes.py").write_text("\n".join(["import phalanx", *(line for line, _ in MISTAKES.values()), ""]))
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "program.py", "mistakes.py"]
    around = {key: value for key, value in os.environ.items() if key not in ("MYPYPATH", "PYTHONPATH")}
    return subprocess.run(command, cwd=folder, env=around, capture_output=True, text=True, check=False).stdout


def test_a_users_program_is_sound_in_the_strictest_mode(said: str) -> None:
    assert [line for line in said.splitlines() if not line.startswith("mistakes.py")] == []


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_users_mistake_is_told_before_it_runs(said: str, mistake: str) -> None:
    line = list(MISTAKES).index(mistake) + 2
    assert MISTAKES[mistake][1] in "\n".join(one for one in said.splitlines() if one.startswith(f"mistakes.py:{line}:"))


def test_a_wheel_holds_all_that_is_in_the_package_and_so_its_mark_of_types() -> None:
    project = Path(__file__).parents[2]
    build = tomllib.loads((project / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    assert (project / "src/phalanx/py.typed").is_file()
    assert build["targets"]["wheel"] == {"packages": ["src/phalanx"]} and set(build) == {"targets"}
