"""The clients of a proxy, as recipients of its upstreams' notifications and requests."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import mcp_types as types
import pydantic_core
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from failsoft.framework.call import ProgressReporter
from failsoft.framework.safe.author_reports import logger

_SILENCE_S = 3.0
"""How long a client may be silent; then the upstreams are connected, and none of them may ask it anything."""
_PASSING_BYTES_AT_MOST = 1_000_000
"""Above this, notifications that wait for clients to read them are joined by no others."""
_TASK_BYTES = 5_000
"""What a waiting notification takes beside its content."""
_UNSUPPORTED = "The client of this proxy cannot be asked: it speaks another era of the protocol, or has no such feature"

_KNOWN_LATE = {"capabilities", "instructions"}
_OF_MANY = types.ClientCapabilities(elicitation=types.ElicitationCapability(form=types.FormElicitationCapability()))


class Latest:
    """Passes on the progress of one request: while the client reads a report, of those that follow the last one waits.

    The SDK's own callback would run in a task for each, and its connection ends with a number beyond a float.

    Args:
        reporter: What sends a report to the client.
    """

    def __init__(self, reporter: ProgressReporter) -> None:
        self._reporter = reporter
        self._waiting: types.ProgressNotificationParams | None = None
        self._is_busy = False

    async def report(self, params: types.ProgressNotificationParams) -> None:
        """Pass a report on, now or once the one before it has been read."""
        self._waiting = params
        if self._is_busy:
            return
        self._is_busy = True
        try:
            while (now := self._waiting) is not None:
                self._waiting = None
                await self._reporter(now.progress, now.total, now.message)
        finally:
            self._is_busy = False


class Front:
    """Sends to the clients whose calls are in flight what an upstream sends without being asked.

    Args:
        asks: Whether upstreams may ask (sampling, elicitation, roots) what a single client declares, over stdio: they
            are connected once it has said so. Of many clients they may ask the person behind a call.
    """

    def __init__(self, *, asks: bool) -> None:
        self._asks = asks
        self._sessions: Counter[ServerSession] = Counter()
        self._last: ServerSession | None = None
        self._declared: types.ClientCapabilities | None = None if asks else _OF_MANY
        self._waiting: list[Callable[[], Awaitable[None]]] = []
        self._meeting = asyncio.Lock()
        self._silence: asyncio.Task[None] | None = None
        self._passing_bytes = 0
        self.is_older = False
        """Whether the single client speaks the older era, in which a server logs without being asked to."""
        self.refused = 0
        """Requests of upstreams that could not be sent to a client."""

    @property
    def is_awaited(self) -> bool:
        """Whether the client has yet to say what it can be asked."""
        return self._declared is None

    def when_known(self, connect: Callable[[], Awaitable[None]]) -> None:
        """Call and await a function once the client has said what it can be asked, before it is answered."""
        self._waiting.append(connect)
        if self._silence is None:
            self._silence = asyncio.create_task(self._wait_in_vain())

    def attend(self, server: Server[Any]) -> None:
        """Learn from the client of this server what it can be asked."""
        if self._asks:
            server.middleware.insert(0, partial(self._meet, server))

    async def _meet(self, server: Server[Any], ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
        if ctx.request_id is not None and ctx.method != "ping":
            if self.is_awaited and (declared := _declared_in(ctx)) is not None:
                self.is_older = ctx.method == "initialize"
                await self._learn(declared)
            async with self._meeting:  # a slow server is still being started
                pass
        result = await call_next(ctx)
        if ctx.method == "initialize" and isinstance(result, dict):
            # Its options were made before the upstreams were connected.
            changes = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
            offered = server.create_initialization_options(changes)
            known = offered.model_dump(by_alias=True, mode="json", exclude_none=True, include=_KNOWN_LATE)
            result = {**result, **known}
        return result

    async def _wait_in_vain(self) -> None:
        await asyncio.sleep(_SILENCE_S)
        await self._learn(types.ClientCapabilities())

    async def _learn(self, declared: types.ClientCapabilities) -> None:
        """Connect the upstreams; requests that come meanwhile wait for it."""
        async with self._meeting:
            if self._declared is None:
                self._declared = declared
                await asyncio.gather(*(connect() for connect in self._waiting))

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

    def callbacks(self, elicit: Any) -> dict[str, Any]:
        """Return the SDK client's callbacks for what upstreams ask: those that the client has declared.

        Args:
            elicit: Puts a question to the person.
        """
        declared = self._declared or types.ClientCapabilities()
        callbacks: dict[str, Any] = {}
        if declared.sampling is not None:
            callbacks |= {"sampling_callback": self._sample, "sampling_capabilities": declared.sampling}
        if declared.elicitation is not None:
            callbacks["elicitation_callback"] = elicit
        if declared.roots is not None:
            callbacks["list_roots_callback"] = self._list_roots
        return callbacks

    async def notify(self, notification: Any) -> None:
        """Pass a notification on to the clients with calls in flight, or to the one that is connected."""
        if not isinstance(notification, types.Notification):
            return
        if self._passing_bytes > _PASSING_BYTES_AT_MOST:
            logger.debug("A notification was left out: an upstream sends them faster than clients read them")
            return
        size = len(pydantic_core.to_json(notification, serialize_unknown=True)) + _TASK_BYTES
        self._passing_bytes += size
        try:
            for session in list(self._sessions) or ([self._last] if self._asks and self._last else []):
                try:
                    await session.send_notification(notification)  # type: ignore[arg-type]  # one of the server's
                except Exception as error:  # noqa: BLE001 - that client has left
                    logger.opt(exception=error).debug("A notification could not be passed on")
        finally:
            self._passing_bytes -= size

    async def _sample(self, _ctx: Any, params: types.CreateMessageRequestParams) -> Any:
        return await self._ask(types.CreateMessageRequest(params=params), types.CreateMessageResult)

    async def _list_roots(self, _ctx: Any) -> Any:
        return await self._ask(types.ListRootsRequest(), types.ListRootsResult)

    async def _ask(self, request: Any, result_type: Any) -> Any:
        if self._last is None:
            return self.refusal()
        try:
            return await self._last.send_request(request, result_type)
        except MCPError as error:
            logger.bind(code=error.error.code).debug("A question of an upstream was not answered")
            return self.refusal()

    def refusal(self) -> types.ErrorData:
        """Return the answer to a question that the client cannot be asked, and count it."""
        self.refused += 1
        return types.ErrorData(code=types.METHOD_NOT_FOUND, message=_UNSUPPORTED)


def _declared_in(ctx: ServerRequestContext[Any, Any]) -> types.ClientCapabilities | None:
    """Return what a client declares with a request: in its handshake, or with each request of the modern era."""
    if ctx.method != "initialize":
        return ctx.session.client_capabilities
    try:
        return types.ClientCapabilities.model_validate((ctx.params or {}).get("capabilities") or {}, by_name=False)
    except ValidationError:  # the SDK refuses the handshake
        return None
