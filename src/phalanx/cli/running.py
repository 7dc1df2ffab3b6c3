"""``phalanx run``: the scheduler for a real cluster."""

import sys
from pathlib import Path

from phalanx.cli.errors import Exit, Failed
from phalanx.kube import configuration, process
from phalanx.kube.configuration import BadConfiguration, Configuration
from phalanx.kube.doors import CannotListen
from phalanx.kube.recorder import CannotRecord
from phalanx.wire import incluster, kubeconfig
from phalanx.wire.access import Access, BadConfig
from phalanx.wire.errors import WireError


def run(file: str | None, path: str | None, context: str | None) -> int:
    """Schedules until it is told to stop."""
    wanted = _configuration(file)
    try:
        process.run(_access(path, context), wanted, sys.stderr)
    except WireError as error:
        raise Failed(f"the API server cannot be used: {error}") from error
    except CannotRecord as error:
        raise Failed(str(error), code=Exit.USAGE) from error
    except CannotListen as error:
        raise Failed(str(error)) from error
    return Exit.PLACED


def show(file: str | None) -> int:
    """Prints the configuration that a run would use."""
    print(configuration.written(_configuration(file)), end="")
    return Exit.PLACED


def _configuration(file: str | None) -> Configuration:
    if file is None:
        return Configuration()
    try:
        return configuration.load(Path(file).read_text(encoding="utf-8"), file)
    except BadConfiguration as error:
        raise Failed(str(error), "\n".join(error.lines()), Exit.USAGE) from error
    except (OSError, UnicodeDecodeError) as error:
        raise Failed(f"cannot read {file}: {error}", code=Exit.USAGE) from error


def _access(path: str | None, context: str | None) -> Access:
    """As kubectl chooses: a kubeconfig, and inside a pod without one the pod's own account."""
    try:
        return kubeconfig.load(path or "", context=context or "")
    except BadConfig as error:
        if path is None and context is None and incluster.present():
            return incluster.load()
        raise Failed(str(error), code=Exit.USAGE) from error
