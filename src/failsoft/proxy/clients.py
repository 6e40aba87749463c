"""The clients of a proxy, as recipients of its upstreams' notifications and requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import mcp_types as types
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError

from failsoft.framework.safe.author_reports import logger

_UNSUPPORTED = "The client of this proxy cannot be asked: it speaks another era of the protocol, or has no such feature"


class Front:
    """Sends to the clients whose calls are in flight what an upstream sends without being asked.

    Args:
        asks: Whether upstreams may ask (sampling, elicitation): with a single client, over stdio.
    """

    def __init__(self, *, asks: bool) -> None:
        self._asks = asks
        self._sessions: Counter[ServerSession] = Counter()
        self._last: ServerSession | None = None
        self.refused = 0
        """Requests of upstreams that could not be sent to a client."""

    @contextmanager
    def calling(self, session: ServerSession) -> Iterator[None]:
        """Count the session's call as in flight."""
        self._last = session
        self._sessions[session] += 1
        try:
            yield
        finally:
            self._sessions[session] -= 1
            if self._sessions[session] <= 0:
                del self._sessions[session]

    def seen(self, session: ServerSession) -> None:
        """Note a client that is connected: over stdio there is one."""
        self._last = session

    def callbacks(self) -> dict[str, Any]:
        """Return the SDK client's callbacks for what upstreams ask; none where no client can be asked."""
        if not self._asks:
            return {}
        return {"sampling_callback": self._sample, "elicitation_callback": self._elicit}

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Pass a log message on."""
        await self.notify(types.LoggingMessageNotification(params=params))

    async def notify(self, notification: Any) -> None:
        """Pass a notification on to the clients with calls in flight, or to the one that is connected."""
        if not isinstance(notification, types.Notification) or isinstance(notification, types.ProgressNotification):
            return
        for session in list(self._sessions) or ([self._last] if self._asks and self._last else []):
            try:
                await session.send_notification(notification)  # type: ignore[arg-type]  # one of the server's
            except Exception as error:  # noqa: BLE001 - that client has left
                logger.opt(exception=error).debug("A notification could not be passed on")

    async def _sample(self, _ctx: Any, params: types.CreateMessageRequestParams) -> Any:
        return await self._ask(types.CreateMessageRequest(params=params), types.CreateMessageResult)

    async def _elicit(self, _ctx: Any, params: Any) -> Any:
        return await self._ask(types.ElicitRequest(params=params), types.ElicitResult)

    async def _ask(self, request: Any, result_type: Any) -> Any:
        if self._last is None:
            return self._refusal()
        try:
            return await self._last.send_request(request, result_type)
        except MCPError as error:
            logger.bind(code=error.error.code).debug("A question of an upstream was not answered")
            return self._refusal()

    def _refusal(self) -> types.ErrorData:
        self.refused += 1
        return types.ErrorData(code=types.METHOD_NOT_FOUND, message=_UNSUPPORTED)
