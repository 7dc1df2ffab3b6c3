"""A site: a real control plane with our kinds and role on it, nodes played by kwok, and ``phalanx run`` beside it.

Everything is asked as the administrator and with nothing of Phalanx in between: our client is not to judge itself::

    with Site(bed, folder) as site:
        site.nodes("r1=4 r2=4")
        with site.phalanx():
            site.apply(MANIFEST)
            site.until(lambda: site.bound("train") == 8, "the gang is bound")
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from testbed.bed import Bed
from tests.kube.clerk import Clerk

Object = dict[str, Any]
ROOT = Path(__file__).parents[2]
_HEAD = """\
apiVersion: phalanx.dev/v1alpha1
kind: Configuration
listen: {port: 0}
logs: {format: json, level: info}
"""
ACCOUNT = "system:serviceaccount:phalanx-system:phalanx-scheduler"
PATIENCE = float(os.environ.get("PHALANX_PATIENCE", "120"))  # seconds; the machine may be slow, no test waits longer

# Kinds whose conditions are waited for, and where they are.
_LOOKED_AT = {
    "gang": ("phalanx.dev/v1alpha1", "gangs"),
    "podgroup": ("scheduling.k8s.io/v1alpha3", "podgroups"),
    "compositepodgroup": ("scheduling.k8s.io/v1alpha3", "compositepodgroups"),
}


def with_us(bed: Bed) -> None:
    """Our kinds and our role on a server."""
    for folder in ("crds", "rbac"):
        for path in sorted((ROOT / "deploy" / folder).glob("*.yaml")):
            bed.apply(path.read_text())
    bed.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")


class Site:
    """One namespace of a bed for one test. ``account``: whom ``phalanx run`` acts for, with that role and no more."""

    def __init__(self, bed: Bed, folder: Path, namespace: str, account: str = ACCOUNT) -> None:
        self.bed, self.folder, self.namespace, self.account = bed, folder, namespace, account
        self._made: list[Object] = []
        self.running: list[Running] = []
        self._clerk = Clerk(bed.admin_kubeconfig, namespace)
        self._clerk.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        if "controllers" in bed.parts:
            accounts = f"api/v1/namespaces/{namespace}/serviceaccounts"
            self.until(lambda: self.read(accounts), "pods can be created in the namespace")

    # -- objects -------------------------------------------------------------------------------------------------

    def apply(self, manifests: str | list[Object]) -> None:
        """Creates or changes objects in the site's namespace, or in none. All of them go with the site."""
        docs = list(yaml.safe_load_all(manifests)) if isinstance(manifests, str) else manifests
        for doc in (doc for doc in docs if doc):
            self._made.append(doc)
            self._clerk.apply(doc)

    def create(self, docs: list[Object]) -> None:
        """Creates objects with the status they say; applying them would drop it. All of them go with the site."""
        for doc in docs:
            self._made.append(doc)
            self._clerk.create(doc)

    def get(self, kind: str, name: str = "") -> Any:
        """An object, or a list of all of a kind."""
        words = ["get", kind, *([name] if name else []), "-n", self.namespace, "-o", "json", "--ignore-not-found"]
        text = self.bed.kubectl(*words)
        found = json.loads(text) if text.strip() else None
        return found if name else (found or {"items": []})["items"]

    def delete(self, kind: str, name: str, *more: str) -> None:
        self.bed.kubectl("delete", kind, name, "-n", self.namespace, "--ignore-not-found", "--wait=false", *more)

    def nodes(self, drawn: str, cpu: int = 8, gpu: int = 0, **labels: str) -> list[str]:
        """Nodes from a drawing: ``r1=4 r2=4`` is two racks of four. Their names begin with the site's namespace."""
        made: list[str] = []
        for block in drawn.split("|"):
            name, _, racks = block.partition(":") if ":" in block else ("b1", "", block)
            for rack, _, count in (one.partition("=") for one in racks.split()):
                made += [f"{self.namespace}-{name.strip()}-{rack}-{i}" for i in range(int(count))]
        self.create([self._node(name, cpu, gpu, labels) for name in made])
        self.until(lambda: self.is_settled(made), "the nodes are ready")
        return made

    def is_settled(self, names: Iterable[str]) -> bool:
        """Whether the server has these nodes, and no taint of a beginning is on them any more."""
        found = {one["metadata"]["name"]: one["spec"].get("taints", []) for one in self.read("api/v1/nodes")}
        return all(
            name in found and not any(taint["key"].startswith("node.kubernetes.io/") for taint in found[name])
            for name in names
        )

    def _node(self, name: str, cpu: int, gpu: int, labels: dict[str, str]) -> Object:
        block, rack = name.removeprefix(f"{self.namespace}-").split("-")[:2]
        amounts = {"cpu": str(cpu), "memory": f"{cpu * 4}Gi", "pods": "110"}
        amounts |= {"nvidia.com/gpu": str(gpu)} if gpu else {}
        own = {"kubernetes.io/hostname": name, f"{self.namespace}/block": block, f"{self.namespace}/rack": rack}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {**own, "site": self.namespace, **labels},
                "annotations": {"kwok.x-k8s.io/node": "fake"},
            },
            "status": {
                "allocatable": amounts,
                "capacity": amounts,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }

    def topology(self, name: str | None = None) -> str:
        """A Topology over block and rack of this site's nodes; its name."""
        named = name or self.namespace
        levels = [
            {"nodeLabel": f"{self.namespace}/block", "name": "block"},
            {"nodeLabel": f"{self.namespace}/rack", "name": "rack"},
            {"nodeLabel": "kubernetes.io/hostname"},
        ]
        self.apply(
            [
                {
                    "apiVersion": "phalanx.dev/v1alpha1",
                    "kind": "Topology",
                    "metadata": {"name": named},
                    "spec": {"levels": levels},
                }
            ]
        )
        return named

    # -- looking -------------------------------------------------------------------------------------------------

    def read(self, path: str, **query: str) -> list[Object]:
        """The objects of a list."""
        return self._clerk.listed(path, **query)

    def pods(self, selector: str = "") -> list[Object]:
        query = {"labelSelector": selector} if selector else {}
        return self.read(f"api/v1/namespaces/{self.namespace}/pods", **query)

    def events(self, name: str, kind: str = "") -> list[Object]:
        """What was told about an object of the namespace."""
        found = self.read(f"apis/events.k8s.io/v1/namespaces/{self.namespace}/events")
        about = [(one, one.get("regarding", {})) for one in found]
        return [one for one, of in about if of.get("name") == name and kind in ("", of.get("kind"))]

    def where(self, selector: str = "") -> dict[str, str]:
        """The node of each pod that has one."""
        found = self.pods(selector)
        return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in found if pod["spec"].get("nodeName")}

    def racks(self, selector: str = "") -> set[tuple[str, str]]:
        """The racks that the bound pods are in."""
        names = [node.removeprefix(f"{self.namespace}-").split("-") for node in self.where(selector).values()]
        return {(parts[0], parts[1]) for parts in names}

    def condition(self, kind: str, name: str, of: str) -> Object | None:
        """A condition in the status of an object."""
        root = _LOOKED_AT.get(kind)
        if root is None:
            found = self.get(kind, name) or {}
        else:
            group, plural = root
            every = self.read(f"apis/{group}/namespaces/{self.namespace}/{plural}")
            found = next((one for one in every if one["metadata"]["name"] == name), {})
        listed = found.get("status", {}).get("conditions", [])
        return next((one for one in listed if one["type"] == of), None)

    def until(self, holds: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
        """Waits until it holds, and gives what it gave. AssertionError with all logs' ends when it does not in time, or
        at once when ``phalanx run`` has ended though nobody told it to."""
        end = time.monotonic() + seconds
        while True:
            found = holds()
            if found:
                return found
            for one in self.running:
                assert not one.has_died(), f"phalanx run ended by itself, so not: {what}\n{self.story()}"
            if time.monotonic() > end:
                raise AssertionError(f"not in {seconds:.0f} s: {what}\n{self.story()}")
            time.sleep(0.1)  # between two questions to the server; nothing hangs on its length

    def story(self) -> str:
        """What helps to understand a failure."""
        pods = self.bed.kubectl("get", "pods", "-n", self.namespace, "-o", "wide")
        events = self.bed.kubectl("get", "events", "-n", self.namespace)
        logs = [path.read_text()[-3000:] for path in sorted(self.folder.glob("phalanx-*.log"))]
        return "\n".join([pods, events, *logs])

    # -- phalanx -------------------------------------------------------------------------------------------------

    @contextmanager
    def phalanx(self, configuration: str = "", kubeconfig: Path | None = None) -> Iterator["Running"]:
        """``phalanx run`` as the site's account, or by another kubeconfig, until the block ends."""
        running = Running(self, configuration, kubeconfig)
        self.running.append(running)
        try:
            running.start()
            yield running
        finally:
            self.running.remove(running)
            running.stop()

    def clear(self) -> None:
        """Takes away what was made, pods without grace. Its nodes are gone when it returns; others go by and by."""
        for doc in reversed(self._made):
            self._clerk.delete(doc)
        self._clerk.delete_pods()
        self._clerk.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        self._clerk.close()


class Process(subprocess.Popen[bytes]):
    """Remembers whether a test has told it to end, in whatever way."""

    was_told = False

    def send_signal(self, sig: int) -> None:
        self.was_told = self.was_told or sig in (signal.SIGTERM, signal.SIGKILL)
        super().send_signal(sig)


class Running:
    """One process of ``phalanx run``."""

    def __init__(self, site: Site, configuration: str, kubeconfig: Path | None = None) -> None:
        self.site = site
        self._kubeconfig = kubeconfig or site.bed.kubeconfig(site.account)
        self._starts = 0
        self.process: Process | None = None
        self._file = site.folder / "phalanx.yaml"
        self._file.write_text(f"{_HEAD}{configuration}")

    def start(self) -> None:
        self._starts += 1
        log = self.site.folder / f"phalanx-{self._starts}.log"
        with open(log, "wb") as stream:
            words = ["run", "--kubeconfig", str(self._kubeconfig), "--configuration", str(self._file)]
            command = [str(Path(sys.executable).parent / "phalanx"), *words]
            self.process = Process(command, stdout=stream, stderr=stream, cwd=ROOT)
        self.site.until(lambda: "following" in log.read_text(), "phalanx run follows the cluster")

    def has_died(self) -> bool:
        """Whether it has ended, and no test told it to."""
        return self.process is not None and not self.process.was_told and self.process.poll() is not None

    def kill(self) -> None:
        """As the machine does that takes the power away."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """As a kubelet does: asks it to end, and gives it time. Its exit code."""
        if self.process is None or self.process.poll() is not None:
            return 0 if self.process is None else self.process.returncode
        self.process.terminate()
        try:
            return self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
