"""The server under test: what `PHALANX_CONTRACT_SERVER` names, or a real one from the test bed."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.contract import pennant as flag
from tests.contract.door import Doc, Door, from_kubeconfig
from tests.contract.objects import node, unique
from tests.contract.scope import ROOTS, Scope
from tests.contract.target import SERVER, Target, lacking

if TYPE_CHECKING:
    from testbed.bed import Bed


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """One server for the whole suite; every case has a namespace of its own on it."""
    if named := os.environ.get(SERVER):
        yield Target(Path(named).resolve(), lacking())
        return
    from testbed import build
    from testbed.bed import Bed, Part
    from testbed.fixtures import skip_unless_built

    parts: tuple[Part, ...] = ("apiserver",) if "controllers" in lacking() else ("apiserver", "controllers")
    skip_unless_built(parts)
    with Bed.start(parts, tmp_path_factory.mktemp("contract")) as bed:
        yield Target(
            bed.admin_kubeconfig, lacking(), Path(build.path("kubectl")), lambda: _forget(bed), thrown_away=True
        )


def _forget(bed: "Bed") -> None:
    """Past versions gone from the store and, by a new start, from the memory of the server."""
    bed.kill_apiserver()
    bed.etcd.compact()
    bed.restart_apiserver()


@pytest.fixture(scope="session")
def door(target: Target) -> Iterator[Door]:
    opened = from_kubeconfig(target.kubeconfig)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def cluster(door: Door) -> Scope:
    """Everything that is in no namespace, and all namespaces together."""
    return Scope(door)


@pytest.fixture
def space(cluster: Scope, target: Target) -> Iterator[Scope]:
    """A namespace of its own, in which pods can be created."""
    yield from _namespace(cluster, target)


@pytest.fixture
def other_space(cluster: Scope, target: Target) -> Iterator[Scope]:
    """A second namespace, for what happens elsewhere."""
    yield from _namespace(cluster, target)


def _namespace(cluster: Scope, target: Target) -> Iterator[Scope]:
    name = unique("contract")
    cluster.made("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    space = Scope(cluster.door, name)
    _ensure_service_account(space)
    yield space
    target.clear(cluster, name)


def _ensure_service_account(space: Scope) -> None:
    """Where controllers run they make it, a moment too late for us; where none run, nobody minds one more."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    answer = space.create("serviceaccounts", account)
    assert answer.code in (201, 409, 404), answer  # 404: a server without service accounts asks pods for none


@pytest.fixture
def node_name(cluster: Scope) -> Iterator[str]:
    """A node of its own, without a kubelet."""
    name = cluster.made("nodes", node(unique("contract")))["metadata"]["name"]
    yield name
    cluster.delete("nodes", name)


@pytest.fixture(scope="session")
def pennants(cluster: Scope) -> Iterator[str]:
    """The resource of a custom kind that is defined, established and served; see `pennant.py`."""
    group = f"{unique('c')}.contract.example"
    ROOTS[flag.PLURAL] = f"/apis/{group}/v1"
    name = cluster.made("customresourcedefinitions", flag.definition(group))["metadata"]["name"]
    try:
        flag.wait_until_served(cluster, name)
        yield flag.PLURAL
    finally:
        cluster.delete("customresourcedefinitions", name)


@pytest.fixture
def pennant(pennants: str) -> Doc:
    """A valid object of the custom kind, not created yet."""
    return {
        "apiVersion": ROOTS[pennants].removeprefix("/apis/"),
        "kind": flag.KIND,
        "metadata": {"name": unique("pennant")},
        "spec": {"rack": "r1"},
    }


@pytest.fixture
def controllers(target: Target) -> None:
    """The case needs the controllers of Kubernetes beside the server."""
    target.needs("controllers")


@pytest.fixture
def rbac(target: Target) -> None:
    """The case needs a server that refuses strangers."""
    target.needs("rbac")


@pytest.fixture(scope="session")
def forget(target: Target, door: Door) -> Callable[[], None]:
    """Makes the server forget its history; only the test bed can."""
    wipe = target.forget
    if wipe is None:
        pytest.skip(f"{SERVER} is set: nobody here can make that server forget its history")

    def forgotten() -> None:
        wipe()
        door.close()  # the kept connection died with the server; the next request opens another

    return forgotten
