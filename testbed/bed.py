"""``Bed``: a whole control plane, or the parts of it that a test wants."""

import json
import shutil
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol, Self, get_args

from testbed import access, apiserver, build, jobset, lws, manifests
from testbed.apiserver import ApiServer
from testbed.certificates import Authority
from testbed.controllers import MANAGER_USER, SCHEDULER_USER, ControllerManager, Scheduler
from testbed.etcd import Etcd
from testbed.kwok import Kwok, Pods
from testbed.manifests import Document
from testbed.process import Process

Part = Literal["apiserver", "controllers", "scheduler", "kwok", "jobset", "lws"]
EVERYTHING: frozenset[Part] = frozenset(get_args(Part))

_BINARIES: dict[Part, tuple[str, ...]] = {
    "apiserver": ("etcd", "kube-apiserver", "kubectl"),
    "controllers": ("kube-controller-manager",),
    "scheduler": ("kube-scheduler",),
    "kwok": ("kwok",),
    "jobset": ("jobset",),
    "lws": ("lws",),
}
# The bed is thrown away, so a part that does not go when told is not waited for.
PATIENCE_SECONDS = 5.0


class Startable(Protocol):
    """A part: one program and what has to be done before it is of use."""

    process: Process

    def start(self) -> None: ...


def binaries(parts: Iterable[Part]) -> tuple[str, ...]:
    """The programs that ``parts`` consist of; the API server is always one of them."""
    chosen = {"apiserver", *parts}
    return tuple(name for part, names in _BINARIES.items() if part in chosen for name in names)


class Bed:
    """Use ``with Bed.start(...) as bed``; the programs also end when the process that started them ends.

    ``parts``: what runs beside etcd and the API server. ``folder``: certificates, data and logs; made if absent, and
    a temporary one if not given. ``pods``: whether bound pods run until deleted (``ready``) or those of Jobs succeed
    at once (``complete``). ``feature_gates`` go to all programs of Kubernetes, ``apiserver_flags`` to the server only.
    """

    def __init__(
        self,
        parts: Iterable[Part] = EVERYTHING,
        folder: Path | None = None,
        *,
        pods: Pods = "ready",
        feature_gates: tuple[str, ...] = apiserver.FEATURE_GATES,
        apiserver_flags: tuple[str, ...] = (),
    ) -> None:
        self.parts = frozenset({"apiserver", *parts})
        if unknown := sorted(self.parts - EVERYTHING):
            raise ValueError(f"parts: {', '.join(unknown)}: must be among {', '.join(sorted(EVERYTHING))}")
        self.folder = (folder or Path(tempfile.mkdtemp(prefix="phalanx-testbed-"))).resolve()
        self.logs = self.folder / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        authority = Authority(self.folder / "certificates")
        self.ca_file = authority.file
        self.etcd = Etcd(self.folder / "etcd", self.logs)
        self._apiserver = ApiServer(
            authority,
            self.etcd.url,
            self.logs,
            controllers="controllers" in self.parts,
            feature_gates=feature_gates,
            flags=apiserver_flags,
        )
        self.server = self._apiserver.url
        self._access = access.Access(self.server, authority, self.folder)
        self._others = self._make_others(authority, feature_gates, pods)

    @classmethod
    def start(
        cls,
        parts: Iterable[Part] = EVERYTHING,
        folder: Path | None = None,
        *,
        pods: Pods = "ready",
        feature_gates: tuple[str, ...] = apiserver.FEATURE_GATES,
        apiserver_flags: tuple[str, ...] = (),
    ) -> Self:
        """A bed whose parts are all ready. What is not built yet is built first; on failure nothing is left running."""
        parts = frozenset(parts)
        build.build(binaries(parts & EVERYTHING))
        bed = cls(parts, folder, pods=pods, feature_gates=feature_gates, apiserver_flags=apiserver_flags)
        try:
            bed._start()
        except BaseException:
            bed.stop()
            raise
        return bed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def admin_kubeconfig(self) -> Path:
        return self._access.admin_kubeconfig

    @property
    def processes(self) -> dict[str, Process]:
        """All programs of the bed by name, for memory and processor time."""
        every = [self.etcd.process, self._apiserver.process, *(part.process for part in self._others.values())]
        return {process.name: process for process in every}

    def part(self, name: Part) -> Startable:
        """One of the parts that run beside the API server, for those who end it and start it again."""
        return self._others[name]

    def kubeconfig(self, user: str, groups: tuple[str, ...] = ()) -> Path:
        """A kubeconfig with a client certificate for ``user``, who may do only what RBAC grants.

        ``system:serviceaccount:NAMESPACE:NAME`` speaks for that service account.
        """
        return self._access.kubeconfig(user, groups)

    def kubectl(self, *arguments: str, input: str | None = None) -> str:  # noqa: A002 (as subprocess calls it)
        """What kubectl prints, as the administrator; ``input`` is its standard input."""
        return self._access.kubectl(*arguments, input=input)

    def apply(self, text: str) -> None:
        """The manifests in ``text`` on the server, by server-side apply."""
        self._access.apply(text)

    def install(self, documents: list[Document]) -> None:
        """Manifests of others, however large, with their CRDs established."""
        manifests.apply(self._access, documents)

    def namespace(self, name: str) -> str:
        """A new namespace in which pods can be created at once.

        With controllers beside it the server refuses pods until the default service account exists, which it does
        a moment after the namespace.
        """
        self.kubectl("create", "namespace", name)
        if "controllers" in self.parts:
            self.kubectl("wait", "--for=create", "--timeout=60s", "serviceaccount/default", f"--namespace={name}")
        return name

    def finish(self, namespace: str, *pods: str, phase: Literal["Succeeded", "Failed"] = "Succeeded") -> None:
        """Lets running pods end, as their kubelet would report it."""
        patch = json.dumps({"status": {"phase": phase}})
        names = [f"pod/{pod}" for pod in pods]
        self.kubectl("patch", *names, f"--namespace={namespace}", "--subresource=status", "--type=merge", "-p", patch)

    def use_pods(self, pods: Pods) -> None:
        """Changes what becomes of bound pods from now on."""
        kwok = self._others["kwok"]
        assert isinstance(kwok, Kwok)
        kwok.use(pods)

    def kill_apiserver(self) -> None:
        """The server gone without a goodbye; ``restart_apiserver`` brings it back."""
        self._apiserver.process.kill()

    def restart_apiserver(self) -> None:
        """The server stopped, if it still runs, and ready again on the same port with the same data."""
        self._apiserver.process.stop(PATIENCE_SECONDS)
        self._apiserver.start()

    def forget_history(self) -> None:
        """Every watch and continue token from before gets its 410.

        Compacting alone is not enough: the server answers from snapshots in its own memory, so it starts again too.
        """
        self.etcd.compact()
        self.restart_apiserver()

    def stop(self) -> None:
        """Nothing runs any more and the data are gone; logs stay. The store goes last: the others still need it."""
        first = [process for name, process in self.processes.items() if name not in ("etcd", "kube-apiserver")]
        for group in (first, [self._apiserver.process], [self.etcd.process]):
            _stop_all(group)
        shutil.rmtree(self.folder / "etcd", ignore_errors=True)

    def _start(self) -> None:
        self.etcd.start()
        self._apiserver.start()
        with ThreadPoolExecutor(max_workers=len(EVERYTHING)) as together:
            starting = [together.submit(part.start) for part in self._others.values()]
            try:
                for part in starting:
                    part.result()
            except BaseException:
                self.stop()  # the rest then sees its program end, and we need not wait for it to get ready
                raise

    def _make_others(self, authority: Authority, gates: tuple[str, ...], pods: Pods) -> dict[Part, Startable]:
        found: dict[Part, Startable] = {}
        if "controllers" in self.parts:
            config = self.kubeconfig(MANAGER_USER)
            found["controllers"] = ControllerManager(authority, config, self._apiserver.tokens, self.logs, gates)
        if "scheduler" in self.parts:
            found["scheduler"] = Scheduler(authority, self.kubeconfig(SCHEDULER_USER), self.folder, self.logs, gates)
        if "kwok" in self.parts:
            found["kwok"] = Kwok(self._access, self.logs, pods)
        if "jobset" in self.parts:
            found["jobset"] = jobset.operator(self._access, self.folder, self.logs)
        if "lws" in self.parts:
            found["lws"] = lws.operator(self._access, self.folder, self.logs)
        return found


def _stop_all(processes: list[Process]) -> None:
    """All gone, told together so that the slowest alone decides how long it takes."""
    for process in processes:
        process.tell_to_stop()
    end = time.monotonic() + PATIENCE_SECONDS
    for process in processes:
        process.stop(max(0.0, end - time.monotonic()))
