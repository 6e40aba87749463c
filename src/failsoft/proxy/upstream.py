"""One upstream server: its connection, monitoring, restarts with backoff, and requests."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Any

import anyio
import mcp_types as types
import pydantic_core
from mcp import Client
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter

from failsoft.client.faults import FAULT_KEY, all_pages, is_closed, not_connected
from failsoft.client.http import http_streams
from failsoft.client.stdio import stdio_streams
from failsoft.framework.call import ProgressReporter
from failsoft.framework.errors import Unavailable
from failsoft.framework.safe.author_reports import is_real_cancellation, logger
from failsoft.framework.text import bounded
from failsoft.proxy.clients import Front, Latest
from failsoft.proxy.questions import Questions
from failsoft.proxy.targets import UpstreamTarget

_RAW: Any = TypeAdapter(dict[str, Any])
_CONNECT_S = 60.0
"""How long one attempt to connect and to list the tools may take; `npx` may have to download the server."""
_FIRST_PAUSE_S = 0.1
_PAUSE_AT_MOST_S = 30.0
_STABLE_S = 10.0
"""A server that was up for this long is restarted without backoff."""
_PATIENCE_S = 5.0
"""How long a call waits for a server that is being started, before it fails as UNAVAILABLE."""
_PAGES_AT_MOST = 100
_RELIST_PAUSE_S = 0.1
"""Between two lists for an upstream that keeps saying that its tools have changed."""


class _Raw(types.Request[Any, str]):
    """Any request, its parameters as they are."""


class Upstream:
    """A connection that reconnects when its server restarts.

    Args:
        target: What to connect to.
        limit_bytes: The largest message that is read.
        front: Where notifications of the server go.
        questions: Where its questions go.
        on_tools: Called with the server's tools, raw, whenever they are listed anew.
    """

    def __init__(
        self,
        target: UpstreamTarget,
        *,
        limit_bytes: int,
        front: Front,
        questions: Questions,
        on_tools: Callable[[list[Any]], Awaitable[None]],
    ) -> None:
        self.name = target.name
        self._target = target
        self._limit_bytes = limit_bytes
        self._front = front
        self._questions = questions
        self._on_tools = on_tools
        self._client: Client | None = None
        self._ready = asyncio.Event()
        self._closed = anyio.Event()
        self._task: asyncio.Task[None] | None = None
        self._retry_at = 0.0
        self._tokens = itertools.count(1)
        self._progress: dict[str | int, Latest] = {}
        self._relist: asyncio.Task[None] | None = None
        self._has_changed = False
        self._began_at = 0.0
        self._is_late = False
        self.capabilities = types.ServerCapabilities()
        self.instructions: str | None = None
        self.restarts = 0

    def begin(self) -> None:
        """Connect in the background, once the client is known."""
        if self._task is None and not self._front.is_awaited:
            self._began_at = time.monotonic()
            self._task = asyncio.create_task(self._supervise(), name=f"failsoft upstream {self.name}")

    async def start(self, *, patience_s: float = _CONNECT_S) -> None:
        """Connect, and return once the tools are known, the first attempt has failed, or it takes too long.

        Args:
            patience_s: How long it may take, counted from `begin`. With a client that is awaited it begins later.
        """
        if self._front.is_awaited:
            self._front.when_known(partial(self.start, patience_s=patience_s))
            return
        self.begin()
        task = self._task
        with anyio.move_on_after(self._began_at + patience_s - time.monotonic()):
            while not self._ready.is_set() and self.restarts == 0 and task is not None and not task.done():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._ready.wait(), 0.05)
        self._is_late = not self._ready.is_set()

    async def stop(self) -> None:
        """Disconnect, and end the server's process."""
        for task in (self._relist, self._task):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task
        self._task = None

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        *,
        progress: ProgressReporter | None = None,
        patience_s: float | None = None,
        is_list: bool = False,
    ) -> dict[str, Any]:
        """Send a request and return its result as it came.

        Args:
            method: The protocol's name of the request.
            params: Its parameters, `_meta` included.
            progress: Where progress of this request goes.
            patience_s: How long to wait for a server that is being started, in seconds.
            is_list: Whether the result is a list, whose entries are checked one by one elsewhere.

        Raises:
            UNAVAILABLE: The server is down; nothing was sent.
            MCPError: The server's own JSON-RPC error, or a closed connection.
            ValidationError: Pydantic's: the result breaks the protocol.
        """
        client = await self._connected(_PATIENCE_S if patience_s is None else min(patience_s, _PATIENCE_S))
        sent = dict(params or {})
        token = next(self._tokens)
        if progress is not None:
            sent["_meta"] = {**(sent.get("_meta") or {}), "progressToken": token}
            self._progress[token] = Latest(progress)
        request = _Raw(method=method, params=None if params is None else sent)
        try:
            if is_list:
                return await _unchecked(client, method, sent)
            result: dict[str, Any] = await client.session.send_request(request, _RAW)
        except MCPError as error:
            if is_closed(error):
                self._lost(client)
            raise
        finally:
            self._progress.pop(token, None)
        return result

    def _lost(self, client: Client) -> None:
        """Give up a connection that has failed, so that later calls wait for the next one."""
        if self._client is client:
            self._client = None
            self._ready.clear()
            self._closed.set()

    async def _connected(self, patience_s: float) -> Client:
        if self._client is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ready.wait(), max(patience_s, 0.0))
        if self._client is None:
            raise self.unavailable()
        return self._client

    @property
    def is_connected(self) -> bool:
        """Whether the server answers, as far as is known."""
        return self._client is not None

    def unavailable(self) -> Unavailable:
        """Return UNAVAILABLE for a request that was not sent, with the time of the next attempt to connect."""
        return not_connected(self.name, retry_after_s=self._retry_at - time.monotonic())

    async def _supervise(self) -> None:
        """Connect again and again; whatever that raises is logged."""
        pause_s = 0.0
        while True:
            try:
                pause_s = await self._attempt(pause_s)
            except BaseException as error:
                if is_real_cancellation(error):
                    raise
                logger.bind(upstream=self.name).opt(exception=error).error("The monitoring of an upstream has failed")
                pause_s = _PAUSE_AT_MOST_S
            await asyncio.sleep(pause_s)

    async def _attempt(self, pause_s: float) -> float:
        """Serve until the connection ends, and return how long to wait for the next one, given the wait before it."""
        began = time.monotonic()
        reason = "it closed the connection"
        try:
            await self._serve_until_closed()
        except BaseException as error:
            if is_real_cancellation(error):
                raise
            reason = _reason(error)
            logger.bind(upstream=self.name).opt(exception=error).debug("The connection to an upstream failed")
        finally:
            self._client = None
            self._ready.clear()
            self.restarts += 1
        was_stable = time.monotonic() - began > _STABLE_S
        pause_s = _FIRST_PAUSE_S if was_stable or pause_s == 0 else min(pause_s * 2, _PAUSE_AT_MOST_S)
        self._retry_at = time.monotonic() + pause_s
        logger.bind(upstream=self.name, reason=reason, pause_s=pause_s).warning(
            "An upstream server is not available; it is started again"
        )
        return pause_s

    async def _serve_until_closed(self) -> None:
        self._closed = anyio.Event()
        client = Client(
            self._transport(self._closed),
            cache=None,
            log_level="debug" if self._front.is_older else None,
            message_handler=self._on_message,
            client_info=types.Implementation(name="failsoft-proxy", version="1"),
            **self._front.callbacks(self._questions.elicit),
        )
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(_CONNECT_S):
                    await stack.enter_async_context(client)
                    self.capabilities = client.server_capabilities
                    self.instructions = client.instructions
                    await self._list_tools(client)
            except TimeoutError as error:
                msg = f"no answer to the first requests within {_CONNECT_S:g} s"
                raise TimeoutError(msg) from error
            self._client = client
            self._ready.set()
            if self.restarts or self._is_late:
                await self._announce()
            await self._closed.wait()

    async def _announce(self) -> None:
        """Notify clients that the lists of this server may have changed while it was away."""
        await self._front.notify(types.ToolListChangedNotification())
        if self.capabilities.resources is not None:
            await self._front.notify(types.ResourceListChangedNotification())
        if self.capabilities.prompts is not None:
            await self._front.notify(types.PromptListChangedNotification())

    @asynccontextmanager
    async def _transport(self, closed: anyio.Event) -> AsyncIterator[tuple[Any, Any]]:
        target = self._target
        streams: AbstractAsyncContextManager[tuple[Any, Any]]
        if target.url:
            streams = http_streams(target.url, headers=target.headers, limit_bytes=self._limit_bytes)
        else:
            streams = stdio_streams(
                target.command,
                environment=target.environment,
                folder=target.folder,
                limit_bytes=self._limit_bytes,
                closed=closed,
                name=target.name,
            )
        async with streams as pair:
            yield pair

    async def _list_tools(self, client: Client) -> None:
        if self.capabilities.tools is None:
            await self._on_tools([])
            return
        tools: list[Any] = []
        size = pages = 0

        async def page_at(cursor: str | None) -> dict[str, Any]:
            return await _unchecked(client, "tools/list", {} if cursor is None else {"cursor": cursor})

        async for page in all_pages(page_at, server=self.name, at_most=_PAGES_AT_MOST):
            listed = page.get("tools")
            tools += listed if isinstance(listed, list) else [listed]
            size += len(pydantic_core.to_json(listed))
            pages += 1
            if size > self._limit_bytes or pages == _PAGES_AT_MOST:
                logger.bind(upstream=self.name, size_bytes=size, pages=pages).warning(
                    "The list of an upstream is too long; its further pages are left out"
                )
                break
        await self._on_tools(tools)

    async def roots_changed(self) -> None:
        """Notify the server that the folders of the client have changed; one of the modern era asks for them anew."""
        if self._client is not None:
            with suppress(MCPError):
                await self._client.session.send_notification(types.RootsListChangedNotification())

    async def _on_message(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._has_changed = True
            if self._relist is None or self._relist.done():
                self._relist = asyncio.create_task(self._listed_anew())
        elif isinstance(message, types.ProgressNotification):
            if (latest := self._progress.get(message.params.progress_token)) is not None:
                await latest.report(message.params)
        elif isinstance(message, Exception):
            logger.bind(upstream=self.name).debug("An upstream sent something unreadable: {}", bounded(str(message)))
        else:
            await self._front.notify(message)

    async def _listed_anew(self) -> None:
        """List the tools, and again if they have changed meanwhile; if that fails, those that are known stay listed."""
        while self._has_changed and self._client is not None:
            self._has_changed = False
            try:
                async with asyncio.timeout(_CONNECT_S):
                    await self._list_tools(self._client)
                await self._front.notify(types.ToolListChangedNotification())
            except BaseException as error:
                if is_real_cancellation(error):
                    raise
                logger.bind(upstream=self.name, reason=_reason(error)).warning(
                    "The tools of an upstream cannot be listed"
                )
            await asyncio.sleep(_RELIST_PAUSE_S)


async def _unchecked(client: Client, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a request as it came: the SDK refuses a whole list for one bad entry."""
    session: Any = client.session
    message: dict[str, Any] = {"method": method, "params": params}
    options: dict[str, Any] = {}
    session._stamp(message, options)  # noqa: SLF001 - the metadata of the current era
    result: dict[str, Any] = await session._dispatcher.send_raw_request(method, message["params"], options)  # noqa: SLF001 - it checks nothing
    return result


def _reason(error: BaseException) -> str:
    """Return why a connection failed, for the operator: the first plain exception of a group, or the HTTP status."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    data = error.error.data if isinstance(error, MCPError) else None
    if isinstance(data, Mapping) and isinstance(fault := data.get(FAULT_KEY), Mapping):
        return " ".join(str(fault[name]) for name in ("kind", "status") if name in fault)
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the class says enough, and the monitoring goes on
        text = ""
    return bounded(f"{type(error).__name__}: {text}")
