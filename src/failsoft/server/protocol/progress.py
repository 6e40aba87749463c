"""Progress notifications of one call: increasing, and none after the call has ended, as MCP requires."""

from __future__ import annotations

import math

from mcp.server.session import ServerSession

from failsoft.framework.text import bounded


class Progress:
    """Sends progress to clients that sent a progress token.

    A report that cannot be sent, because the client has disconnected or its token cannot be serialized, is dropped by
    the call, which it never fails.
    """

    __slots__ = ("_last", "_session", "over")

    def __init__(self, session: ServerSession) -> None:
        self._session = session
        self._last = -math.inf
        self.over = False

    async def __call__(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Send one report, if the call is still running and the value has increased."""
        if self.over or not math.isfinite(done) or done <= self._last:
            return
        self._last = done
        known_total = total if total is not None and math.isfinite(total) else None
        await self._session.report_progress(
            float(done), known_total, None if message is None else bounded(str(message))
        )
