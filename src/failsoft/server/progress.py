"""Progress notifications of one call, as the protocol wants them: they increase, and they end with the call."""

from __future__ import annotations

import math

from loguru import logger
from mcp.server.session import ServerSession

from failsoft.framework.text import bounded

__all__ = ["Progress"]


class Progress:
    """Sends progress to the client that asked for it; to any other the SDK sends nothing.

    A report that cannot be sent is dropped: progress is a courtesy, and never the reason why a call fails.
    """

    __slots__ = ("_last", "_session", "over")

    def __init__(self, session: ServerSession) -> None:
        self._session = session
        self._last = -math.inf
        self.over = False

    async def __call__(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Send one report, if the call still runs and the report is further than the last one."""
        if self.over or not math.isfinite(done) or done <= self._last:
            return
        self._last = done
        known_total = total if total is not None and math.isfinite(total) else None
        try:
            await self._session.report_progress(
                float(done), known_total, None if message is None else bounded(str(message))
            )
        except Exception as error:  # noqa: BLE001 - the client is gone, or its token cannot be written
            logger.opt(exception=error).debug("A progress report could not be sent")
