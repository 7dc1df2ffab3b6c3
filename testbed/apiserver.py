"""kube-apiserver: certificates, RBAC, and the scheduling API of 1.37 opened."""

import ssl
from pathlib import Path

from testbed import build, ports
from testbed.certificates import Authority, Pair
from testbed.process import Process, answers

FEATURE_GATES = ("GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup", "WorkloadWithJob")
RUNTIME_CONFIG = ("scheduling.k8s.io/v1beta1=true", "scheduling.k8s.io/v1alpha3=true")
# These two want controllers beside them: without, no pod would be accepted and no node ever lose its taint.
NEED_CONTROLLERS = ("ServiceAccount", "TaintNodesByCondition")


def gates(names: tuple[str, ...]) -> list[str]:
    """``names`` switched on, as the flag that all programs of Kubernetes understand."""
    return [f"--feature-gates={','.join(f'{name}=true' for name in names)}"] if names else []


class ApiServer:
    """One server on a port of its own, the same after a restart."""

    def __init__(
        self,
        authority: Authority,
        etcd_url: str,
        logs: Path,
        *,
        controllers: bool,
        feature_gates: tuple[str, ...],
        flags: tuple[str, ...],
    ) -> None:
        self.port = ports.free()
        self.url = f"https://127.0.0.1:{self.port}"
        self.tokens = authority.signing_key("service-account")
        self._trust = _trust(authority, authority.client("testbed-admin", ("system:masters",)))
        command = [build.path("kube-apiserver"), f"--etcd-servers={etcd_url}", *self._serving(authority)]
        command += [*self._service_accounts(), *gates(feature_gates)]
        if feature_gates:
            command.append(f"--runtime-config={','.join(RUNTIME_CONFIG)}")
        if not controllers:
            command.append(f"--disable-admission-plugins={','.join(NEED_CONTROLLERS)}")
        self.process = Process("kube-apiserver", [*command, *flags], logs / "kube-apiserver.log")

    def start(self) -> None:
        """Running and ready: bootstrap roles and priority levels are there."""
        self.process.start()
        self.process.wait_until(lambda: answers(f"{self.url}/readyz", self._trust))

    def _serving(self, authority: Authority) -> list[str]:
        pair = authority.server("kube-apiserver")
        return [
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            # Loopback is refused as an address for others; nobody asks for it as long as nothing reconciles it.
            "--advertise-address=192.0.2.1",
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={pair.certificate}",
            f"--tls-private-key-file={pair.key}",
            f"--client-ca-file={authority.file}",
            "--authorization-mode=RBAC",
            "--allow-privileged=true",
            "--service-cluster-ip-range=10.96.0.0/16",
        ]

    def _service_accounts(self) -> list[str]:
        return [
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self.tokens.certificate}",
            f"--service-account-signing-key-file={self.tokens.key}",
        ]


def _trust(authority: Authority, client: Pair) -> ssl.SSLContext:
    trust = ssl.create_default_context(cafile=str(authority.file))
    trust.load_cert_chain(str(client.certificate), str(client.key))
    return trust
