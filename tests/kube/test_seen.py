"""What people see of a scheduler that runs: conditions, the columns of kubectl, figures, and our own commands."""

import json
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from phalanx.cli import main
from tests.kube.manifests import gang, members
from tests.kube.site import Object, Site

QUIET = 20.0  # seconds; without a change the loop turns every 30 s


def only_here(site: Site) -> str:
    return f"namespaces: [{site.namespace}]\n"


def ours(kind: str, name: str, **spec: Any) -> Object:
    return {"apiVersion": "phalanx.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def valid(site: Site, kind: str, name: str) -> tuple[str, str, str]:
    found = site.condition(f"{kind}s.phalanx.dev", name, "Valid") or {}
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


def figure(log: Path, name: str) -> float:
    """A figure of the process that wrote the log."""
    started = next(one for one in map(json.loads, log.read_text().splitlines()) if one["event"] == "started")
    with urlopen(f"http://127.0.0.1:{started['port']}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name} ")), -1.0)


def test_a_queue_that_names_what_is_not_there_says_so_until_it_comes(site: Site) -> None:
    queue, flavor = f"{site.namespace}-q", f"{site.namespace}-f"
    quota = [{"flavor": flavor, "resources": [{"name": "cpu", "nominal": 8}]}]
    with site.phalanx(only_here(site)):
        site.apply([ours("Queue", queue, parent=f"{queue}-above", quota=quota)])
        site.until(lambda: valid(site, "queue", queue)[:2] == ("True", "Inconsistent"), "it is told what it lacks")
        told = valid(site, "queue", queue)[2]
        assert f"there is no Queue '{queue}-above'" in told and f"there is no Flavor '{flavor}'" in told
        site.apply([ours("Queue", f"{queue}-above"), ours("Flavor", flavor, nodeLabels={"site": site.namespace})])
        site.until(lambda: valid(site, "queue", queue) == ("True", "Accepted", ""), "nothing is missed any more")


def test_a_wrong_gang_is_seen_wherever_gangs_are_listed(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.topology()
    wrong = gang("odd", workers={"count": 2, "topology": {"required": "rak"}})
    with site.phalanx(only_here(site)):
        site.apply([wrong, *members("odd", "workers", 2)])
        site.until(lambda: site.condition("gang", "odd", "Scheduled"), "it is told why it waits")
        row = site.bed.kubectl("get", "gangs", "-n", site.namespace, "--no-headers", "-o", "wide")
        assert row.split()[:4] == ["odd", "default", "Invalid", "Invalid"] and "rak" in row
    there = ("--kubeconfig", str(site.bed.admin_kubeconfig), "-n", site.namespace)
    assert main.run(("explain", "pod/odd-workers-0", *there)) == 4
    assert main.run(("queue", *there)) == 0
    out = capsys.readouterr().out
    assert f"Gang {site.namespace}/odd: Invalid" in out and "INVALID" in out


def test_figures_are_right_when_nothing_happens_any_more(site: Site, tmp_path: Path) -> None:
    site.nodes("r1=2")
    with site.phalanx(only_here(site)):
        site.apply([gang("crew", workers={"count": 4}), *members("crew", "workers", 4)])
        site.until(lambda: (site.condition("gang", "crew", "Ready") or {}).get("status") == "True", "it runs")
        log = tmp_path / "phalanx-1.log"
        site.until(lambda: figure(log, 'phalanx_gangs{reason="",state="Running"}') == 1, "it is counted", QUIET)


def test_a_gang_that_runs_is_not_planned_anew_where_it_is_looked_for_elsewhere(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.nodes("r1=2")
    with site.phalanx(only_here(site)):
        site.apply([gang("crew", workers={"count": 2}), *members("crew", "workers", 2, cpu=8)])
        site.until(lambda: len(site.where()) == 2, "it is bound")
    there = ("--kubeconfig", str(site.bed.admin_kubeconfig))
    assert main.run(("tree", "crew", *there)) == 1
    out, err = capsys.readouterr()
    assert not out and "there is no workload 'crew' in namespace default" in err
    assert main.run(("tree", f"{site.namespace}/crew", *there)) == 0
