"""Turns of callers: of many requests that come together, one a round of the event loop begins, one of each caller."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable

_FEW = 8
_LARGE_BYTES = 50_000
"""A response above this takes milliseconds to encode."""


class Turns:
    """Lets requests begin one by one, so that the requests of one caller do not delay those of another.

    Without turns all requests that have come are begun before the event loop looks at anything else: the answer of a
    caller with one request then takes as long as the requests of one with hundreds.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        self._is_taken = False

    async def take(self, caller: Callable[[], Hashable], *, among: int) -> None:
        """Return when a request may begin; at once if none has begun in this round of the loop, or there are few.

        Args:
            caller: Returns the caller of the request.
            among: The requests in flight.
        """
        if among <= _FEW and not self._is_taken:
            return
        loop = asyncio.get_running_loop()
        if not self._is_taken:
            self._is_taken = True
            loop.call_soon(self._next, loop)
            return
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.setdefault(caller(), deque()).append(turn)
        await turn

    def charge(self, size: int) -> None:
        """Let no other request begin in this round after a response of that many bytes, if they are many.

        A request that waited for nothing was never in flight beside others, however long it has taken.
        """
        if size > _LARGE_BYTES and not self._is_taken:
            self._is_taken = True
            loop = asyncio.get_running_loop()
            loop.call_soon(self._next, loop)

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin a round: the next caller's first request."""
        if not self._waiting:
            self._is_taken = False
            return
        caller, line = self._waiting.popitem(last=False)
        turn = line.popleft()
        if line:
            self._waiting[caller] = line
        if not turn.done():  # its client may have left
            turn.set_result(None)
        loop.call_soon(self._next, loop)
