"""Whether the server can take down what happens: it is asked every few seconds for a node, as its store has it now.

A server whose own store is away goes on ending watches politely, and has nothing to tell in them. A list without a
version is answered from the store, or not at all.
"""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Never

from phalanx.wire.client import Client
from phalanx.wire.errors import WireError
from phalanx.wire.resources import NODES

SECONDS = 5.0  # between two questions


class Pulse:
    """``heard_until``: when the last question was asked that was answered."""

    def __init__(self, client: Client, clock: Callable[[], float]) -> None:
        self._client, self._clock = client, clock
        self.heard_until = clock()

    async def run(self) -> Never:
        """Asks until cancelled."""
        while True:
            await self._ask()
            await asyncio.sleep(SECONDS)

    async def _ask(self) -> None:
        asked = self._clock()
        try:
            async with aclosing(self._client.pages(NODES, page_size=1)) as pages:
                async for _ in pages:
                    self.heard_until = asked
                    return
        except WireError:
            return  # who hears nothing says so (hearing)
