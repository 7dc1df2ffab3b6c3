"""Tables: what the server lets `kubectl get` print."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.contract.door import TABLE, Doc
from tests.contract.objects import pod
from tests.contract.scope import ROOTS, Scope
from tests.contract.target import WITHOUT, Target


def columns(table: Doc) -> list[str]:
    return [column["name"] for column in table["columnDefinitions"]]


def test_a_list_of_pods_is_rendered_as_a_table(space: Scope) -> None:
    space.made("pods", pod("a"))
    table = space.listed("pods", accept=TABLE).expect(200)
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert columns(table)[:5] == ["Name", "Ready", "Status", "Restarts", "Age"]
    assert table["rows"][0]["cells"][:3] == ["a", "0/1", "Pending"]


def test_the_wide_columns_of_a_pod_show_its_node(space: Scope) -> None:
    space.made("pods", pod("a"))
    space.bind("a", "contract-nowhere").expect(201)
    table = space.listed("pods", accept=TABLE).expect(200)
    cells = dict(zip(columns(table), table["rows"][0]["cells"], strict=True))
    wide = {column["name"] for column in table["columnDefinitions"] if column["priority"]}
    assert cells["Node"] == "contract-nowhere" and "Node" in wide


def test_one_object_is_a_table_of_one_row(space: Scope) -> None:
    space.made("pods", pod("a"))
    assert len(space.get("pods", "a", accept=TABLE).expect(200)["rows"]) == 1


def test_rows_carry_the_metadata_of_their_objects(space: Scope) -> None:
    uid = space.made("pods", pod("a"))["metadata"]["uid"]
    (row,) = space.listed("pods", accept=TABLE).expect(200)["rows"]
    assert row["object"]["kind"] == "PartialObjectMetadata" and row["object"]["metadata"]["uid"] == uid


def test_a_table_knows_its_version_and_its_pages(space: Scope) -> None:
    for name in "ab":
        space.made("pods", pod(name))
    table = space.listed("pods", accept=TABLE, limit=1).expect(200)
    assert table["metadata"]["resourceVersion"] and table["metadata"]["continue"]


def test_a_watch_sends_tables_too(space: Scope) -> None:
    with space.watch("pods", accept=TABLE, resourceVersion=space.version("pods")) as watch:
        space.made("pods", pod("a"))
        event = watch.next()
    assert event["type"] == "ADDED" and event["object"]["kind"] == "Table"
    assert event["object"]["rows"][0]["cells"][0] == "a"


def test_custom_kinds_have_the_columns_they_define(space: Scope, pennants: str, pennant: Doc) -> None:
    name = space.made(pennants, pennant)["metadata"]["name"]
    space.merge(pennants, name, {"status": {"phase": "Waiting"}}, "status").expect(200)
    table = space.listed(pennants, accept=TABLE).expect(200)
    assert columns(table) == ["Name", "Min", "Phase", "Rack"]
    assert table["rows"][0]["cells"] == [name, 1, "Waiting", "r1"]
    assert [column["priority"] for column in table["columnDefinitions"]] == [0, 0, 0, 1]


def test_a_missing_value_is_an_empty_cell(space: Scope, pennants: str, pennant: Doc) -> None:
    name = space.made(pennants, pennant)["metadata"]["name"]
    assert space.listed(pennants, accept=TABLE).expect(200)["rows"][0]["cells"] == [name, 1, None, "r1"]


@pytest.fixture
def kubectl(target: Target, tmp_path: Path) -> list[str]:
    """kubectl of the bed or of the machine, pointed at the server."""
    target.needs("kubectl")
    program = target.kubectl or shutil.which("kubectl")
    assert program, f"there is no kubectl on the path; {WITHOUT}=kubectl excuses from it"
    return [str(program), f"--kubeconfig={target.kubeconfig}", f"--cache-dir={tmp_path}"]


def printed(command: list[str], *arguments: str) -> str:
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_kubectl_prints_pods(space: Scope, kubectl: list[str]) -> None:
    space.made("pods", pod("a"))
    head, row = printed(kubectl, "get", "pods", "-n", space.namespace).splitlines()
    assert head.split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert row.split()[:3] == ["a", "0/1", "Pending"]


def test_kubectl_prints_custom_kinds_by_their_short_name(
    space: Scope, pennants: str, pennant: Doc, kubectl: list[str]
) -> None:
    name = space.made(pennants, pennant)["metadata"]["name"]
    group = ROOTS[pennants].split("/")[2]  # the short name alone may mean what another run left on the server
    head, row = printed(kubectl, "get", f"pnt.{group}", "-n", space.namespace).splitlines()
    assert head.split() == ["NAME", "MIN", "PHASE"] and row.split() == [name, "1"]


def test_kubectl_applies_and_deletes(space: Scope, kubectl: list[str], tmp_path: Path) -> None:
    manifest = tmp_path / "lease.yaml"
    manifest.write_text("apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: a}\n")
    assert "created" in printed(kubectl, "apply", "-n", space.namespace, "-f", str(manifest))
    assert "unchanged" in printed(kubectl, "apply", "-n", space.namespace, "-f", str(manifest))
    assert "deleted" in printed(kubectl, "delete", "-n", space.namespace, "-f", str(manifest))
