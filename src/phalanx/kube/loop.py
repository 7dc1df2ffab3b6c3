"""The loop: what the mirrors hear is gathered, decided about in a thread, and carried out.

::

    mirrors ──changed──▶ inbox ──▶ Decider.step (own thread) ──effects──▶ Writer, Reporter
                           ▲                                               │
                           └───────────────answered────────────────────────┘
                 nothing heard ──▶ Decider.advise ──view──▶ Reporter

While a step is under way the loop goes on hearing; what it hears is the next step's. An object that changes three
times meanwhile is looked at once. After a step there is a breath in which more may come: the pods of a gang come
one by one, and so do the answers to its binds. What comes after a longer silence is looked at at once.

While pods or nodes cannot be heard there is no step at all: what else is heard waits (``hearing``).
"""

import asyncio
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from phalanx.decider import Change, Decider, Outcome
from phalanx.engine.views import View
from phalanx.kube.anew import Anew
from phalanx.kube.hearing import Heard
from phalanx.model.events import Answered
from phalanx.model.objects import ObjectKey

LONGEST = 30.0  # seconds between two steps at most: a clock that jumped is noticed
SOON = 0.1  # seconds until a clock is looked at again that ran out before all that happened until then was heard
DEAF = 0.5  # seconds until it is asked again whether pods and nodes are heard
BREATH = 0.01  # seconds between two steps at least: what comes in a burst is decided about together


class Loop:
    """``done`` is handed every outcome, and ``advised`` gangs for which there is help, both in the loop's own thread.

    ``beat`` is called at every turn. ``quiet`` is called while no step is under way, and says in how many seconds
    it wants to be called again; None: not before the next step. ``hearing`` says before each step what is heard at
    that time. ``anew``: how it begins again after a step that failed; None: it ends.
    """

    def __init__(
        self,
        decider: Decider,
        done: Callable[[Outcome], None],
        advised: Callable[[View], None],
        clock: Callable[[], float],
        chance: random.Random,
        beat: Callable[[], None] = lambda: None,
        quiet: Callable[[], float | None] = lambda: None,
        hearing: Callable[[float], Heard] = Heard,
        anew: Anew | None = None,
    ) -> None:
        self._decider, self._done, self._advised, self._hearing = decider, done, advised, hearing
        self._clock, self._chance, self._beat, self._quiet = clock, chance, beat, quiet
        self._anew = anew
        self._changes: dict[ObjectKey, Change] = {}
        self._told: dict[ObjectKey, Change] = {}  # what was told, and is in no step that went well
        self._answers: list[Answered] = []
        self._woken = asyncio.Event()
        self.steps = 0

    def changed(self, key: ObjectKey, change: Change) -> None:
        """An object is as ``change`` says now, or gone."""
        self._changes[key] = change
        self._woken.set()

    def answered(self, event: Answered) -> None:
        self._answers.append(event)
        self._woken.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Steps until told to stop; a step that is under way then is finished, and its effects are handed on."""
        with ThreadPoolExecutor(1, thread_name_prefix="decider") as thread:
            while not stop.is_set():
                now = self._clock()
                heard = self._hearing(now)
                self._beat()
                if heard.is_deaf:
                    await _pause(DEAF, stop)
                    continue
                try:
                    outcome = await self._step(now, heard, thread)
                except Exception as error:
                    await self._fail(error, stop)
                    continue
                self._went_well(outcome)
                await _pause(BREATH, stop)
                await self._rest(outcome.next_at, thread, stop)

    async def _step(self, now: float, heard: Heard, thread: ThreadPoolExecutor) -> Outcome:
        """One step; after one that failed it is about all objects there are."""
        self._woken.clear()
        answers, self._answers = self._answers, []
        self._told |= self._changes
        self._changes, chance = {}, self._chance.random()
        if self._anew is None or self._anew.error is None:
            step = partial(self._decider.step, list(self._told.items()), answers, now, chance)
        else:
            objects = list(self._anew.objects(self._told).items())
            step = partial(self._decider.begin_anew, objects, self._anew.error, now, chance)
        step = partial(step, heard=heard.until, unheard=heard.unheard)
        return await asyncio.get_running_loop().run_in_executor(thread, step)

    def _went_well(self, outcome: Outcome) -> None:
        self._told = {}
        if self._anew is not None:
            self._anew.went_well()
        self.steps += 1
        self._done(outcome)
        self._beat()

    async def _fail(self, error: Exception, stop: asyncio.Event) -> None:
        """A pause, after which all is thought anew; or the end."""
        if self._anew is None:
            raise error
        await _pause(self._anew.fail(error), stop)

    async def _rest(self, next_at: float | None, thread: ThreadPoolExecutor, stop: asyncio.Event) -> None:
        """Waits for something to happen, for the next clock of the engine, or for the end; advises meanwhile."""
        loop = asyncio.get_running_loop()
        until = loop.time() + (LONGEST if next_at is None else min(max(next_at - self._clock(), SOON), LONGEST))
        while not (self._woken.is_set() or stop.is_set()) and (left := until - loop.time()) > 0:
            rest, again = self._decider.rest, self._quiet()
            if rest != 0.0:
                await self._wait(min(one for one in (left, rest, again) if one is not None), stop)
            elif (view := await loop.run_in_executor(thread, self._decider.advise)) is not None:
                self._advised(view)

    async def _wait(self, seconds: float, stop: asyncio.Event) -> None:
        waiting = [asyncio.ensure_future(one.wait()) for one in (self._woken, stop)]
        try:
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()


async def _pause(seconds: float, stop: asyncio.Event) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
