"""``phalanx run``: the scheduler for a real cluster."""

import sys

from phalanx.cli import clusters
from phalanx.cli.errors import Exit, Failed
from phalanx.kube import configuration, process
from phalanx.kube.doors import CannotListen
from phalanx.kube.recorder import CannotRecord
from phalanx.wire.errors import WireError


def run(file: str | None, path: str | None, context: str | None) -> int:
    """Schedules until it is told to stop."""
    wanted = clusters.configuration(file or "")
    try:
        process.run(clusters.access(path or "", context or ""), wanted, sys.stderr)
    except WireError as error:
        raise Failed(f"the API server cannot be used: {error}") from error
    except CannotRecord as error:
        raise Failed(str(error), code=Exit.USAGE) from error
    except CannotListen as error:
        raise Failed(str(error)) from error
    return Exit.PLACED


def show(file: str | None) -> int:
    """Prints the configuration that a run would use."""
    print(configuration.written(clusters.configuration(file or "")), end="")
    return Exit.PLACED
