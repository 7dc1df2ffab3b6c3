"""A controller of others with webhooks, run beside the cluster as its own service account with its own role."""

from pathlib import Path
from shutil import copyfile

import yaml

from testbed import build, manifests, ports
from testbed.access import Access
from testbed.controllers import REQUESTS_PER_SECOND
from testbed.process import Process, answers


class Operator:
    """JobSet's and LeaderWorkerSet's controllers are twins: the same library, the same configuration file.

    ``module`` is the Go module with the manifests, ``config_api`` the group of its configuration file.
    """

    def __init__(self, name: str, module: str, config_api: str, access: Access, folder: Path, logs: Path) -> None:
        self._name = name
        self._module = module
        self._access = access
        self._webhook_port, self._health_port = ports.free(), ports.free()
        self._folder = folder / name
        self._folder.mkdir()
        config = self._folder / "config.yaml"
        config.write_text(yaml.safe_dump({"apiVersion": config_api, **self._configuration()}))
        command = [build.path(name), f"--config={config}", "--zap-log-level=info"]
        kubeconfig = {"KUBECONFIG": str(self._folder / "kubeconfig.yaml")}
        self.process = Process(name, command, logs / f"{name}.log", kubeconfig)

    def start(self) -> None:
        """Manifests applied, controller running, webhooks listening: its objects can be created from now on."""
        rendered = manifests.rendered(self._access, self._name, self._module, "config/default")
        user = manifests.service_account(rendered)
        (self._folder / "kubeconfig.yaml").write_text(self._access.kubeconfig(user).read_text())
        ca_file = self._access.authority.file
        # The controller fails without its CRDs, and creating its objects fails without its webhooks: CRDs first.
        manifests.apply(self._access, list(manifests.beside_the_cluster(rendered, self._webhook_port, ca_file)))
        self.process.start()
        self.process.wait_until(self._ready)

    def _ready(self) -> bool:
        # LeaderWorkerSet says that it is ready before its webhook server listens.
        return answers(f"http://127.0.0.1:{self._health_port}/readyz") and ports.listening(self._webhook_port)

    def _configuration(self) -> dict[str, object]:
        return {
            "kind": "Configuration",
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {"enable": False},
            "webhook": {"host": "127.0.0.1", "port": self._webhook_port, "certDir": str(self._certificates())},
            "metrics": {"bindAddress": "0"},
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self._health_port}"},
            "clientConnection": {"qps": REQUESTS_PER_SECOND, "burst": REQUESTS_PER_SECOND},
        }

    def _certificates(self) -> Path:
        """A folder with the file names that the library looks for."""
        pair = self._access.authority.server(self._name)
        folder = self._folder / "certificates"
        folder.mkdir()
        copyfile(pair.certificate, folder / "tls.crt")
        copyfile(pair.key, folder / "tls.key")
        return folder
