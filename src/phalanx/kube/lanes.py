"""Lanes: work for the same gang is done in the order given, work for different gangs side by side."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Work = TypeVar("Work")


class Lanes(Generic[Work]):
    """``do`` is handed one piece after the other of each lane. It must not raise; what it raises stops the process."""

    def __init__(self, do: Callable[[Work], Awaitable[None]]) -> None:
        self._do = do
        self._waiting: dict[str, deque[Work]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, lane: str, work: Work) -> None:
        if lane in self._waiting:
            self._waiting[lane].append(work)
            return
        self._waiting[lane] = deque([work])
        task = asyncio.get_running_loop().create_task(self._run(lane))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, lane: str) -> None:
        waiting = self._waiting[lane]
        try:
            while waiting:
                await self._do(waiting.popleft())
        finally:
            del self._waiting[lane]

    @property
    def busy(self) -> int:
        """Lanes with something under way."""
        return len(self._waiting)

    async def drained(self) -> None:
        """Returns once nothing is under way any more."""
        while self._tasks:
            await asyncio.wait(self._tasks)
