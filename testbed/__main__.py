"""``python -m testbed build | up | down``: build the programs, run a bed until Ctrl-C, end one from elsewhere."""

import argparse
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import get_args

from testbed import build, folders, peers
from testbed.bed import EVERYTHING, Bed, Part, binaries
from testbed.kwok import Pods
from testbed.process import NotReady


def main() -> int:
    asked = _arguments().parse_args()
    try:
        if asked.command == "build":
            return _build(asked.parts)
        if asked.command == "up":
            return _up(asked.parts, asked.pods)
        return _down()
    except (build.BuildFailed, NotReady) as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 1


def _build(parts: frozenset[Part]) -> int:
    began = time.monotonic()
    build.build(binaries(parts))
    peers.fetch()
    print(f"testbed: {', '.join(binaries(parts))} are ready after {time.monotonic() - began:.0f} s")
    return 0


def _up(parts: frozenset[Part], pods: Pods) -> int:
    if _running() is not None:
        print("testbed: one is up already; python -m testbed down ends it", file=sys.stderr)
        return 1
    shutil.rmtree(_folder(), ignore_errors=True)
    # What ``down`` and a terminal that closes send is treated as the Ctrl-C that people press.
    for sent in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sent, signal.default_int_handler)
    try:
        build.build(binaries(parts))
        began = time.monotonic()
        with Bed.start(parts, _folder(), pods=pods) as bed:
            _pid_file().write_text(str(os.getpid()))
            _say_where(bed, time.monotonic() - began)
            signal.pause()
    except KeyboardInterrupt:
        print("\ntestbed: down")
    finally:
        _pid_file().unlink(missing_ok=True)
    return 0


def _down() -> int:
    pid = _running()
    if pid is None:
        print("testbed: none is up")
        return 0
    os.kill(pid, signal.SIGTERM)
    while _running() is not None:
        time.sleep(0.1)
    print("testbed: down")
    return 0


def _say_where(bed: Bed, seconds: float) -> None:
    memory = sum(process.resident_mib() for process in bed.processes.values())
    print(f"testbed: up after {seconds:.1f} s with {', '.join(bed.processes)}, {memory:,.0f} MiB")
    print(f"  logs     {bed.logs}")
    print(f"  kubectl  {build.path('kubectl')}")
    print(f"  export KUBECONFIG={bed.admin_kubeconfig}")
    print("Ctrl-C ends it", flush=True)


def _folder() -> Path:
    return folders.cache() / "up"


def _pid_file() -> Path:
    return _folder() / "pid"


def _running() -> int | None:
    """The process that holds the bed up, if there is one."""
    try:
        pid = int(_pid_file().read_text())
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    return pid


def _parts(text: str) -> frozenset[Part]:
    chosen = frozenset(part for part in get_args(Part) if part in text.split(","))
    if unknown := set(text.split(",")) - chosen:
        allowed = ", ".join(get_args(Part))
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: must be among {allowed}, joined by commas")
    return chosen


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m testbed", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("build", "build the programs"), ("up", "run until Ctrl-C"), ("down", "end what up started")):
        command = commands.add_parser(name, help=text)
        if name != "down":
            command.add_argument("--parts", type=_parts, default=EVERYTHING, help="all, or some joined by commas")
        if name == "up":
            command.add_argument("--pods", choices=get_args(Pods), default="ready", help="what becomes of bound pods")
    return parser


if __name__ == "__main__":
    sys.exit(main())
