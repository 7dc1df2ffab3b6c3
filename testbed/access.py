"""The way in: kubeconfig files for any user, and kubectl as the administrator."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from testbed import build, certificates, kubeconfig
from testbed.certificates import Authority

ADMIN = "testbed-admin"
# Bound to everything by the server itself, past RBAC.
ADMIN_GROUPS = ("system:masters",)


class KubectlFailed(Exception):
    """kubectl ended with an error; the message is what it said."""


@dataclass(frozen=True, slots=True)
class Access:
    """One server and the authority that it trusts."""

    server: str
    authority: Authority
    folder: Path

    @property
    def admin_kubeconfig(self) -> Path:
        return self.kubeconfig(ADMIN, ADMIN_GROUPS)

    def kubeconfig(self, user: str, groups: tuple[str, ...] = ()) -> Path:
        """A kubeconfig for ``user`` in ``groups``; the same file when asked again.

        ``system:serviceaccount:NAMESPACE:NAME`` speaks for that service account, with the groups it has by itself.
        """
        groups = (*kubeconfig.service_account_groups(user), *groups)
        file = self.folder / "kubeconfig" / f"{certificates.file_name(user, groups)}.yaml"
        if file.exists():
            return file
        pair = self.authority.client(user, groups)
        return kubeconfig.write(file, self.server, self.authority.file, user, pair)

    def kubectl(self, *arguments: str, input: str | None = None) -> str:  # noqa: A002 (as subprocess calls it)
        """What kubectl prints; ``input`` is its standard input. KubectlFailed carries its complaint."""
        command = [build.path("kubectl"), f"--kubeconfig={self.admin_kubeconfig}", *arguments]
        # Discovery is remembered per address, and an earlier bed may have had the same port with other kinds.
        environment = {**os.environ, "KUBECACHEDIR": str(self.folder / "kubectl")}
        done = subprocess.run(command, input=input, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise KubectlFailed(f"kubectl {' '.join(arguments)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def apply(self, manifests: str) -> None:
        """All of ``manifests`` (YAML or JSON) on the server."""
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=manifests)
