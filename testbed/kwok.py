"""kwok, which plays the kubelets: created nodes become ready, bound pods run, deleted pods go away."""

from pathlib import Path
from typing import Literal

from testbed import build, manifests, ports
from testbed.access import Access
from testbed.process import Process, answers

MODULE = "sigs.k8s.io/kwok"

Pods = Literal["ready", "complete"]

_ALWAYS = (
    "node/fast/node-initialize.yaml",
    "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "pod/fast/pod-ready.yaml",
    "pod/fast/pod-delete.yaml",
)
_STAGES: dict[Pods, tuple[str, ...]] = {
    "ready": _ALWAYS,  # a bound pod runs until someone deletes or finishes it
    "complete": (*_ALWAYS, "pod/fast/pod-complete.yaml"),  # and pods of Jobs succeed as soon as they run
}


class Kwok:
    """One kwok for all nodes, as its own service account."""

    def __init__(self, access: Access, logs: Path, pods: Pods) -> None:
        self._access = access
        self._port = ports.free()
        self._logs = logs
        self.process = self._program(pods)

    def start(self) -> None:
        manifests.apply(self._access, manifests.rendered(self._access, "kwok", MODULE, "kustomize/rbac"))
        self._run()

    def use(self, pods: Pods) -> None:
        """Starts again with other stages; pods that already run keep running or finish accordingly."""
        self.process.stop()
        # Every start has a new identity, and would wait 40 s for the leases of the one before to run out.
        self._access.kubectl("delete", "leases", "--all", "--namespace=kube-node-lease")
        self.process = self._program(pods)
        self._run()

    @property
    def _sources(self) -> Path:
        return build.sources("kwok", MODULE) / "kustomize"

    def _run(self) -> None:
        self.process.start()
        self.process.wait_until(lambda: answers(f"http://127.0.0.1:{self._port}/healthz"))

    def _program(self, pods: Pods) -> Process:
        user = "system:serviceaccount:kube-system:kwok-controller"
        command = [build.path("kwok"), f"--kubeconfig={self._access.kubeconfig(user)}"]
        command += [
            "--manage-all-nodes",
            "--node-lease-duration-seconds=40",
            f"--server-address=127.0.0.1:{self._port}",
        ]
        command += [f"--config={self._sources / 'stage' / stage}" for stage in _STAGES[pods]]
        return Process("kwok", command, self._logs / "kwok.log")
