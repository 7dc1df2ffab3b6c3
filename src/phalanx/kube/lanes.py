"""Lanes: batches of work. Those of one lane are done one after the other, those of different lanes side by side.

The pieces of a batch go out together, and over all lanes so many at once as there is room for. The others wait, and can
be taken back until their turn comes.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import Generic, TypeVar

Work = TypeVar("Work", bound=Hashable)


class _Batch(Generic[Work]):
    """Work that goes together: what waits, in order, and what was begun and is not done."""

    def __init__(self, work: Iterable[Work]) -> None:
        self.waiting = OrderedDict.fromkeys(work)
        self.begun: set[Work] = set()

    def __contains__(self, work: Work) -> bool:
        return work in self.waiting or work in self.begun

    async def next(self, do: Callable[[Work], Awaitable[None]]) -> None:
        """Does one piece, if any is left."""
        if not self.waiting:
            return
        work, _ = self.waiting.popitem(last=False)
        self.begun.add(work)
        try:
            await do(work)
        finally:
            self.begun.discard(work)


class Lanes(Generic[Work]):
    """``do`` is handed each piece of work. It must not raise: what it raises comes out of ``failed``."""

    def __init__(self, do: Callable[[Work], Awaitable[None]], together: int) -> None:
        self._do, self._together = do, together
        self._room = asyncio.Semaphore(together)
        self._lanes: dict[str, deque[_Batch[Work]]] = {}  # the first batch of each is under way
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def add(self, lane: str, work: Iterable[Work]) -> None:
        """One batch more, to be done after those that the lane has."""
        batch = _Batch(work)
        if lane in self._lanes:
            self._lanes[lane].append(batch)
            return
        self._lanes[lane] = deque([batch])
        task = asyncio.get_running_loop().create_task(self._run(lane))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def has(self, lane: str, work: Work) -> bool:
        """Whether it waits, or is under way."""
        return any(work in batch for batch in self._lanes.get(lane, ()))

    def ends_with(self, lane: str, work: Work) -> bool:
        """Whether nothing is to be done after it."""
        return lane in self._lanes and work in self._lanes[lane][-1]

    def take_back(self, lane: str, kinds: tuple[type, ...]) -> None:
        """What is of these kinds and was not begun is not done any more."""
        for batch in self._lanes.get(lane, ()):
            for work in [work for work in batch.waiting if isinstance(work, kinds)]:
                del batch.waiting[work]

    def left(self) -> dict[str, int]:
        """What is not done, by its kind."""
        batches = [batch for lane in self._lanes.values() for batch in lane]
        return dict(Counter(type(work).__name__ for batch in batches for work in (*batch.begun, *batch.waiting)))

    async def drained(self) -> None:
        """Returns once nothing is under way any more."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def failed(self) -> None:
        """Returns never; raises what ``do`` raised, for the rest of that lane is lost."""
        await asyncio.shield(self._failure)

    async def stop(self) -> None:
        """What is not done is left as it is."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, lane: str) -> None:
        batches = self._lanes[lane]
        try:
            while batches:
                hands = min(len(batches[0].waiting), self._together)
                await asyncio.gather(*(self._work_off(batches[0]) for _ in range(hands)))
                batches.popleft()
        finally:
            del self._lanes[lane]

    async def _work_off(self, batch: _Batch[Work]) -> None:
        """One of the hands on a batch. Between two pieces others have their turn."""
        while batch.waiting:
            async with self._room:
                await batch.next(self._do)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._failure.done():
            self._failure.set_exception(error)
