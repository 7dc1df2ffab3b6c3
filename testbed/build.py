"""The binaries of the bed, built from the pinned modules into the cache and stamped with what they were built from."""

import fcntl
import hashlib
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testbed import folders, golang

KUBERNETES_VERSION = "v1.37.1"
# A report every so often while a package tree compiles: a silent minute looks like a hang.
REPORT_SECONDS = 15.0


def _version_flags() -> str:
    """Linker settings that put the version where the programs look: kubectl compares its own with the server's."""
    values = {"gitVersion": KUBERNETES_VERSION, "gitMajor": "1", "gitMinor": "37", "gitTreeState": "clean"}
    places = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(f"-X {place}.{name}={value}" for place in places for name, value in values.items())


@dataclass(frozen=True, slots=True)
class Binary:
    """One program: the folder under ``modules`` that pins it and its main package."""

    name: str
    module: str
    package: str

    @property
    def path(self) -> Path:
        return _given(self.name) or folders.cache() / "bin" / self.name

    @property
    def flags(self) -> tuple[str, ...]:
        link = f"-s -w {_version_flags()}" if self.module == "kubernetes" else "-s -w"
        return ("-trimpath", "-buildvcs=false", "-ldflags", link)

    def built(self) -> bool:
        """Whether the program is there and was built from the pins and flags of today."""
        if _given(self.name):
            return True
        stamp = _stamp_file(self)
        return self.path.exists() and stamp.exists() and stamp.read_text() == stamp_of(self)


BINARIES = (
    Binary("etcd", "kubernetes", "go.etcd.io/etcd/server/v3"),
    Binary("kube-apiserver", "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver"),
    Binary("kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl"),
    Binary("kube-controller-manager", "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    Binary("kube-scheduler", "kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler"),
    Binary("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok"),
    Binary("jobset", "jobset", "sigs.k8s.io/jobset"),
    Binary("lws", "lws", "sigs.k8s.io/lws/cmd"),
)
_BY_NAME = {binary.name: binary for binary in BINARIES}


class BuildFailed(Exception):
    """Go said no; its words are printed above."""


def path(name: str) -> str:
    """The program to start, as an argument; ``build`` must have been run."""
    return str(_BY_NAME[name].path)


def missing(names: tuple[str, ...] = tuple(_BY_NAME)) -> tuple[str, ...]:
    """Which of ``names`` are absent or were built from other pins."""
    return tuple(name for name in names if not _BY_NAME[name].built())


def build(names: tuple[str, ...] = tuple(_BY_NAME)) -> None:
    """All of ``names`` built; says how far it is. At most one build runs in a cache folder at a time."""
    if not missing(names):
        return
    with _alone():
        wanted = missing(names)
        go = golang.find() if wanted else None
        for number, name in enumerate(wanted, start=1):
            assert go is not None
            _build_one(go, _BY_NAME[name], f"{name} ({number} of {len(wanted)})")


def sources(binary: str, module: str) -> Path:
    """The folder of the sources that ``binary`` was built from: its manifests are read there."""
    return golang.module_folder(golang.find(), folders.MODULES / _BY_NAME[binary].module, module)


def stamp(name: str) -> str:
    """What changes when the pins or flags of the program do."""
    return stamp_of(_BY_NAME[name])


def stamp_of(binary: Binary) -> str:
    """A digest of everything that decides what is built: pins, sums, package, flags."""
    folder = folders.MODULES / binary.module
    parts = [(folder / name).read_bytes() for name in ("go.mod", "go.sum")]
    parts += [word.encode() for word in (binary.package, *binary.flags)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _build_one(go: Path, binary: Binary, label: str) -> None:
    began = time.monotonic()
    target = folders.cache() / "bin" / binary.name
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_suffix(".new")
    command = [str(go), "build", "-v", *binary.flags, "-o", str(fresh), binary.package]
    print(f"testbed: building {label}; the first time takes minutes, later runs reuse it", flush=True)
    _run(command, folders.MODULES / binary.module, label, began)
    # A program that runs cannot be overwritten, but it can be replaced.
    os.replace(fresh, target)
    _stamp_file(binary).write_text(stamp_of(binary))
    print(f"testbed: built {label} in {time.monotonic() - began:.0f} s", flush=True)


def _run(command: list[str], folder: Path, label: str, began: float) -> None:
    """The command done; its output is one line per download or compiled package, shown only if it fails."""
    said: list[str] = []
    due = began + REPORT_SECONDS
    running = subprocess.Popen(
        command, cwd=folder, env=golang.environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert running.stdout is not None
    with running.stdout as lines:
        for line in lines:
            said.append(line)
            if time.monotonic() >= due:
                due = time.monotonic() + REPORT_SECONDS
                print(f"testbed: {label}: {_done(said)} after {time.monotonic() - began:.0f} s", flush=True)
    if running.wait():
        print("".join(said[-40:]), flush=True)
        raise BuildFailed(f"go build of {label} failed with exit code {running.returncode}")


def _done(said: list[str]) -> str:
    fetched = sum(line.startswith("go: downloading") for line in said)
    return f"{fetched} modules fetched, {len(said) - fetched} packages compiled"


def _stamp_file(binary: Binary) -> Path:
    return folders.cache() / "bin" / f"{binary.name}.stamp"


def _given(name: str) -> Path | None:
    """The program from ``KUBEBUILDER_ASSETS``, if that is set and holds it."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    found = Path(assets) / name if assets else None
    return found if found and found.exists() else None


@contextmanager
def _alone() -> Iterator[None]:
    lock = folders.cache() / "build.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("testbed: another build is under way in this folder, waiting for it", flush=True)
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
