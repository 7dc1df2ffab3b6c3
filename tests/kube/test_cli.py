"""The commands that look at a cluster, against a real server and as a user who may only read."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from phalanx.cli import main
from testbed.bed import Bed
from tests.cluster import docs

ROOT = Path(__file__).parents[2]
PLURALS = ("flavors", "gangs", "queues", "topologies")
HERE = "cli"
READER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: cli-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: phalanx-cluster-reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: anna}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: cli-view, namespace: cli}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:aggregate-to-view"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ben}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: cli-view-ours, namespace: cli}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: phalanx-view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ben}]
"""
Captured = pytest.CaptureFixture[str]
Manifest = dict[str, Any]


def pod(gang: str, number: int, node: str = "") -> Manifest:
    container = {"name": "main", "image": "busybox", "env": [{"name": "TOKEN", "value": "hunter2"}]}
    sized = {**docs.template()["spec"]["containers"][0], **container}
    sized["resources"] = {"requests": sized["resources"]["requests"], "limits": sized["resources"]["requests"]}
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": f"{gang}-{number}", "namespace": HERE,
            "labels": {"phalanx.dev/gang": gang, "phalanx.dev/group": "workers"},
        },
        "spec": {"schedulerName": "phalanx", "containers": [sized], **({"nodeName": node} if node else {})},
    }  # fmt: skip


def objects() -> list[Manifest]:
    """The cluster of the documents; ``llm`` runs in a rack, ``big`` wants three nodes of one rack."""
    gangs = [docs.gang("llm"), docs.gang("big", docs.workers(3))]
    for gang in gangs:
        gang["metadata"]["namespace"] = HERE
    running = [pod("llm", 0, "b1-r1-1"), pod("llm", 1, "b1-r1-2")]
    return [*docs.cluster(), *gangs, *running, *(pod("big", i) for i in range(3))]


@pytest.fixture(scope="module")
def server(bare_bed: Bed) -> Iterator[Bed]:
    """The server with our kinds and one cluster; what was made is taken away again."""
    for path in sorted((ROOT / "deploy" / "crds").glob("*.yaml")):
        bare_bed.apply(path.read_text())
    names = [f"crd/{plural}.phalanx.dev" for plural in PLURALS]
    bare_bed.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)
    bare_bed.kubectl("create", "namespace", HERE)
    bare_bed.apply((ROOT / "deploy" / "rbac" / "people.yaml").read_text())
    bare_bed.apply(READER)
    made = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects()})
    bare_bed.kubectl("create", "-f", "-", input=made)
    status = json.dumps({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})
    for name in ("llm-0", "llm-1"):
        bare_bed.kubectl("patch", "pod", name, "-n", HERE, "--subresource=status", "--type=merge", "-p", status)
    yield bare_bed
    bare_bed.kubectl("delete", "-f", "-", "--force", "--wait=false", input=made)


@pytest.fixture
def reader(server: Bed) -> str:
    return str(server.kubeconfig("anna"))


def versions(bed: Bed) -> dict[str, str]:
    """Every object of the kinds that are read, with its version: a write would change one."""
    kinds = ",".join(("nodes", "pods", *(f"{plural}.phalanx.dev" for plural in PLURALS)))
    found = json.loads(bed.kubectl("get", kinds, "-A", "-o", "json"))["items"]
    return {one["metadata"]["uid"]: one["metadata"]["resourceVersion"] for one in found}


def run(*tokens: str) -> int:
    return int(main.run(tokens))


def test_everything_is_read_from_a_cluster_and_nothing_is_written(
    server: Bed, reader: str, tmp_path: Path, capsys: Captured
) -> None:
    before = versions(server)
    assert run("explain", "big", "--kubeconfig", reader, "-n", HERE) == 3
    out, err = capsys.readouterr()
    assert "TooLarge" in out and "workers.topology.required: block" in out
    assert not err  # her role shows all that there is to see

    assert run("explain", "gang/llm", "--kubeconfig", reader, "-A") == 0
    assert "workers: 2 pods in rack b1/r1" in capsys.readouterr().out

    assert run("get", "--kubeconfig", reader, "-n", HERE, "-o", "json") == 0
    gangs = {one["name"]: one for one in json.loads(capsys.readouterr().out)["gangs"]}
    assert gangs["llm"]["pods"]["bound"] == 2 and gangs["big"]["reason"] == "TooLarge"

    assert run("queue", "--kubeconfig", reader) == 0
    assert f"{HERE}/big" in capsys.readouterr().out

    assert run("tree", "llm", "--kubeconfig", reader, "-n", HERE) == 0
    assert "b1-r1-1 AAAAAAAA" in capsys.readouterr().out

    kept = str(tmp_path / "kept.yaml")
    assert run("snapshot", "save", kept, "--kubeconfig", reader) == 0
    capsys.readouterr()
    assert "hunter2" not in Path(kept).read_text()
    assert run("explain", "big", "-f", kept) == 3
    assert "TooLarge" in capsys.readouterr().out
    assert versions(server) == before


def test_manifests_are_checked_against_what_is_free_on_a_cluster(
    server: Bed, reader: str, tmp_path: Path, capsys: Captured
) -> None:
    """``llm`` runs in a rack of two; another like it and one for a block fill the rest, and the last finds no room."""
    before = versions(server)
    file = tmp_path / "new.yaml"
    wide = docs.gang("wide", docs.workers(4, required="block"))
    file.write_text(yaml.safe_dump_all([docs.gang("second"), wide, docs.gang("third")]))
    assert run("check", "-f", str(file), "--kubeconfig", reader) == 3
    out, _ = capsys.readouterr()
    assert out.splitlines()[:3] == ["PROBLEMS", "  none", "FITS NOW"]
    assert "Gang serving/second: yes: 2 pods on 2 nodes in rack b1/r2" in out
    assert "Gang serving/wide: yes: 4 pods on 4 nodes in block b2" in out
    assert "Gang serving/third: no: " in out
    assert versions(server) == before


def test_the_namespace_of_the_context_is_meant_unless_another_is_named(reader: str, capsys: Captured) -> None:
    assert run("get", "--kubeconfig", reader, "-o", "name") == 0  # default
    assert "gang/llm" not in capsys.readouterr().out
    assert run("get", "--kubeconfig", reader, "-A", "-o", "name") == 0
    assert {"gang/llm", "gang/big"} <= set(capsys.readouterr().out.split())


def test_who_may_view_a_namespace_is_told_what_the_scheduler_says_there(server: Bed, capsys: Captured) -> None:
    """Ben has what the role ``view`` is made of in the namespace, ours among it, and nothing else."""
    viewer = str(server.kubeconfig("ben"))
    assert run("get", "--kubeconfig", viewer, "-n", HERE) == 0
    out, err = capsys.readouterr()
    assert f"{HERE}/llm" in out and f"{HERE}/big" in out
    assert err.count("warning: ") == 2 and "nodes" in err  # what was passed over, and that nothing was decided anew
    assert run("explain", "big", "--kubeconfig", viewer, "-n", HERE) == 3
    assert "no scheduler has said anything of it" in capsys.readouterr().out  # none runs here
    assert run("tree", "--kubeconfig", viewer, "-n", HERE) == 1


def test_who_may_not_read_pods_is_told_so(server: Bed, capsys: Captured) -> None:
    assert run("get", "--kubeconfig", str(server.kubeconfig("nobody"))) == 1
    out, err = capsys.readouterr()
    assert not out and err.startswith("error: not allowed: ") and 'User "nobody" cannot list resource' in err
    assert "warning" not in err
