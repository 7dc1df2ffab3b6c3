"""kube-controller-manager and kube-scheduler, as their own users, with clients that are not throttled."""

import ssl
from pathlib import Path

import yaml

from testbed import build, ports
from testbed.apiserver import gates
from testbed.certificates import Authority, Pair
from testbed.process import Process, answers

# Throttled to the default of 20 or 50 requests a second one measures the throttle.
REQUESTS_PER_SECOND = 5000

MANAGER_USER = "system:kube-controller-manager"
SCHEDULER_USER = "system:kube-scheduler"


class ControllerManager:
    """All controllers of Kubernetes that are on by default, each with its own service account."""

    def __init__(
        self, authority: Authority, kubeconfig: Path, tokens: Pair, logs: Path, feature_gates: tuple[str, ...]
    ) -> None:
        self._port = ports.free()
        self._trust_file = authority.file
        command = [build.path("kube-controller-manager"), *_serving(authority, "kube-controller-manager", self._port)]
        command += [*_clients(kubeconfig), *gates(feature_gates), f"--kubeconfig={kubeconfig}", "--leader-elect=false"]
        command += [f"--kube-api-qps={REQUESTS_PER_SECOND}", f"--kube-api-burst={REQUESTS_PER_SECOND}"]
        command += ["--use-service-account-credentials=true", f"--root-ca-file={authority.file}"]
        command += [f"--service-account-private-key-file={tokens.key}"]
        self.process = Process("kube-controller-manager", command, logs / "kube-controller-manager.log")

    def start(self) -> None:
        self.process.start()
        self.process.wait_until(lambda: _healthy(self._port, self._trust_file))


class Scheduler:
    """The in-tree scheduler, for pods with ``schedulerName: default-scheduler`` and for gate mode."""

    def __init__(
        self, authority: Authority, kubeconfig: Path, folder: Path, logs: Path, feature_gates: tuple[str, ...]
    ) -> None:
        self._port = ports.free()
        self._trust_file = authority.file
        config = folder / "kube-scheduler.yaml"
        config.write_text(yaml.safe_dump(_scheduler_configuration(kubeconfig)))
        command = [build.path("kube-scheduler"), *_serving(authority, "kube-scheduler", self._port)]
        command += [*_clients(kubeconfig), *gates(feature_gates), f"--config={config}"]
        self.process = Process("kube-scheduler", command, logs / "kube-scheduler.log")

    def start(self) -> None:
        self.process.start()
        self.process.wait_until(lambda: _healthy(self._port, self._trust_file))


def _scheduler_configuration(kubeconfig: Path) -> dict[str, object]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {
            "kubeconfig": str(kubeconfig),
            "qps": REQUESTS_PER_SECOND,
            "burst": REQUESTS_PER_SECOND,
        },
    }


def _serving(authority: Authority, name: str, port: int) -> list[str]:
    pair = authority.server(name)
    files = [f"--tls-cert-file={pair.certificate}", f"--tls-private-key-file={pair.key}"]
    return ["--bind-address=127.0.0.1", f"--secure-port={port}", *files]


def _clients(kubeconfig: Path) -> list[str]:
    return [f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}"]


def _healthy(port: int, ca_file: Path) -> bool:
    return answers(f"https://127.0.0.1:{port}/healthz", ssl.create_default_context(cafile=str(ca_file)))
