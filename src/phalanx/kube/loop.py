"""The loop: what the mirrors hear is gathered, thought about in a thread, and carried out.

::

    mirrors ──changed──▶ inbox ──▶ Mind.think (own thread) ──effects──▶ Writer, Reporter
                           ▲                                               │
                           └───────────────answered────────────────────────┘
                 nothing heard ──▶ Mind.advise ──view──▶ Reporter

While a step is thought about the loop goes on hearing; what it hears is the next step's. An object that changes three
times meanwhile is thought about once. After a step there is a breath in which more may come: the pods of a gang come
one by one, and so do the answers to its binds. What comes after a longer silence is thought about at once.
"""

import asyncio
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from phalanx.dialects.neighbours import Key
from phalanx.engine.views import View
from phalanx.kube.mind import Change, Mind, Thought
from phalanx.model.events import BindAnswered

LONGEST = 30.0  # seconds between two steps at most: a clock that jumped is noticed
BREATH = 0.01  # seconds between two steps at least: what comes in a burst is thought about together


class Loop:
    """``done`` is handed every thought, and ``advised`` gangs for which there is help, both in the loop's own thread.

    ``beat`` is called at every turn. ``quiet`` is called while nothing is thought about, and says in how many seconds
    it wants to be called again; None: not before the next step.
    """

    def __init__(
        self,
        mind: Mind,
        done: Callable[[Thought], None],
        advised: Callable[[View], None],
        clock: Callable[[], float],
        chance: random.Random,
        beat: Callable[[], None] = lambda: None,
        quiet: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._mind, self._done, self._advised = mind, done, advised
        self._clock, self._chance, self._beat, self._quiet = clock, chance, beat, quiet
        self._changes: dict[Key, Change] = {}
        self._answers: list[BindAnswered] = []
        self._woken = asyncio.Event()
        self.steps = 0

    def changed(self, key: Key, change: Change) -> None:
        """An object is as ``change`` says now, or gone."""
        self._changes[key] = change
        self._woken.set()

    def answered(self, event: BindAnswered) -> None:
        self._answers.append(event)
        self._woken.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Steps until told to stop; a step that is under way then is finished, and its effects are handed on."""
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, thread_name_prefix="mind") as thread:
            while not stop.is_set():
                self._woken.clear()
                changes, answers = self._changes, self._answers
                self._changes, self._answers = {}, []
                thought = await loop.run_in_executor(
                    thread, self._mind.think, changes, answers, self._clock(), self._chance.random()
                )
                self.steps += 1
                self._done(thought)
                self._beat()
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), BREATH)
                await self._rest(thought.next_at, thread, stop)

    async def _rest(self, next_at: float | None, thread: ThreadPoolExecutor, stop: asyncio.Event) -> None:
        """Waits for something to happen, for the next clock of the engine, or for the end; advises meanwhile."""
        loop = asyncio.get_running_loop()
        until = loop.time() + (LONGEST if next_at is None else min(next_at - self._clock(), LONGEST))
        while not (self._woken.is_set() or stop.is_set()) and (left := until - loop.time()) > 0:
            rest, again = self._mind.rest, self._quiet()
            if rest != 0.0:
                await self._wait(min(one for one in (left, rest, again) if one is not None), stop)
            elif (view := await loop.run_in_executor(thread, self._mind.advise)) is not None:
                self._advised(view)

    async def _wait(self, seconds: float, stop: asyncio.Event) -> None:
        waiting = [asyncio.ensure_future(one.wait()) for one in (self._woken, stop)]
        try:
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()
