"""The process around the scheduler: signals, log lines and doors."""

import asyncio
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TextIO

from structlog.typing import FilteringBoundLogger

import phalanx
from phalanx.decider import Outcome
from phalanx.engine.gangs import Gang
from phalanx.kube import doors, lacking, logs
from phalanx.kube.configuration import Configuration
from phalanx.kube.journal import Journal
from phalanx.kube.metrics import Metrics
from phalanx.kube.recorder import Recorder
from phalanx.kube.scheduler import Scheduler
from phalanx.kube.watching import Kept
from phalanx.model.mistakes import Mishap
from phalanx.wire.access import Access
from phalanx.wire.client import Client, Timeouts
from phalanx.wire.mirror import Mirror


def run(access: Access, configuration: Configuration, stream: TextIO) -> None:
    """Schedules until SIGTERM or SIGINT; what is under way then is ended first."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_run(access, configuration, stream))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster event loop, where it is installed (the extra ``fast``): a tenth to a fifth less processor time."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _run(access: Access, configuration: Configuration, stream: TextIO) -> None:
    logger = logs.start(configuration.logs, stream)
    wanted = configuration.client
    timeouts = Timeouts(request_seconds=wanted.request_seconds)
    client = Client(access, connections=wanted.connections, timeouts=timeouts)
    recorder = Recorder(configuration.records.file, logger.warning)
    with recorder:
        async with client:
            await _schedule(client, configuration, recorder, logger)
    logger.info("ended")


async def _schedule(
    client: Client, configuration: Configuration, recorder: Recorder, logger: FilteringBoundLogger
) -> None:
    def mirrors() -> list[Mirror[Kept]]:
        return list(scheduler.watching.mirrors.values())

    def note(outcome: Outcome) -> None:
        journal.note(outcome)

    def gangs() -> Iterable[Gang]:
        return scheduler.decider.engine.book.gangs.values()

    def quiet() -> float | None:
        return journal.settle()

    def waits() -> list[str]:
        return [*scheduler.watching.lacks(), *scheduler.hearing.lacks()]

    def unseen() -> Mapping[str, str]:
        return scheduler.watching.unseen()

    def mistake(about: str, mishap: Mishap) -> None:
        logger.error("tripped", about=about, error=mishap.line, traceback=mishap.trace)

    health = doors.Health(mirrors, waits=waits)
    figures = Metrics(phalanx.__version__, mirrors, time.monotonic, unseen)

    def following() -> None:
        held = {mirror.resource.group_resource: len(mirror.store) for mirror in mirrors()}
        logger.info("following", objects=sum(held.values()), **{name: held[name] for name in ("nodes", "pods")})
        counts = {(one.resource.group, one.resource.kind): len(one.store) for one in mirrors()}
        for line in lacking.told(counts):
            logger.warning(line)

    scheduler = Scheduler(
        client,
        configuration,
        figures,
        stepped=note,
        problem=logger.warning,
        beat=health.beat,
        following=following,
        quiet=quiet,
        on_decision=recorder.on_decision,
        mistake=mistake,
    )
    journal = Journal(logs.GangLog(logger), figures, gangs, time.monotonic)
    stop = asyncio.Event()
    _on_signals(lambda: _end(stop, health))
    async with doors.opened(configuration.listen, health, figures) as opened:
        logger.info("started", server=client.access.server, address=opened.address, port=opened.port)
        if configuration.listen.is_public:
            logger.warning("the doors are open to other machines", address=opened.address)
        await scheduler.run(stop)


def _on_signals(end: Callable[[], None]) -> None:
    for one in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(one, end)


def _end(stop: asyncio.Event, health: doors.Health) -> None:
    health.is_ending = True
    stop.set()
