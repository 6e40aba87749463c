"""A connection to the probed server: raw answers, time limits, and a new process where one has ended."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self, cast

import mcp_types as types
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage

from failsoft.client.faults import FAULT_KEY, all_pages, is_closed, is_made_here
from failsoft.client.http import http_streams
from failsoft.client.stdio import stdio_streams
from failsoft.framework.errors import Unavailable
from failsoft.framework.text import bounded
from failsoft.proxy.targets import UpstreamTarget

_START_S = 60.0
"""`npx` may have to download the server."""
_MESSAGE_BYTES = 16_000_000
_PAGES_AT_MOST = 100
_ALIVE_S = 3.0
_LEAVE_S = 10.0
_STARTS_AT_MOST = 100


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """What a server answered.

    Args:
        kind: `result`, `error` (of JSON-RPC), `malformed` (also too large), `crash` (the connection ended) or `hang`.
        text: The text of a result, or the message of an error.
        structured: `structuredContent` of a result, or `data` of an error.
        failed: Whether the caller is told that the call failed.
        code: The code of a JSON-RPC error.
        size: The size of the answer in bytes.
    """

    kind: str
    text: str
    structured: Any = None
    failed: bool = True
    code: int | None = None
    size: int = 0

    @property
    def whole(self) -> str:
        """The text, and the structured content as JSON."""
        tree = "" if self.structured is None else json.dumps(self.structured, ensure_ascii=False, default=str)
        return f"{self.text}\n{tree}"


class ServerEnded(Exception):
    """The server has ended and cannot be reached again."""


class Connection:
    """A connection to one server, from any task.

    Args:
        target: The server.
        timeout_s: How long an answer may take, in seconds.
    """

    def __init__(self, target: UpstreamTarget, *, timeout_s: float) -> None:
        self._target = target
        self._timeout_s = timeout_s
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._starts = 0
        self._mode = "legacy"
        self._starting = asyncio.Lock()
        self.is_changed = False
        """Whether the server may list other tools than before: it says so, or was started again."""
        self.name = target.name
        self.version = ""

    @property
    def takes_surrogates(self) -> bool:
        """Whether a lone surrogate can be sent: the HTTP client writes UTF-8."""
        return not self._target.url

    @property
    def given(self) -> list[str]:
        """What the server was started with: whoever asks knows it."""
        return [*self._target.command[1:], self._target.folder or "", self._target.url]

    async def open(self, *, within_s: float = _START_S) -> list[Any]:
        """Connect and return the tools as they are listed.

        Raises:
            UNAVAILABLE: The server cannot be started or reached, or does not answer in time.
        """
        self._starts += 1
        try:
            async with asyncio.timeout(within_s):
                try:
                    await self._connect()
                except (MCPError, ExceptionGroup):
                    if self._mode == "auto":
                        raise
                    await self.close()
                    self._mode = "auto"  # it knows the current era of the protocol alone
                    await self._connect()
                return await self._listed()
        except BaseException as error:
            await self.close()
            if isinstance(error, asyncio.CancelledError):
                raise
            raise Unavailable(message=f"The server '{self._target.name}' {_why(error, within_s)}.") from error

    async def close(self) -> None:
        """Disconnect, and end the server's process."""
        self._stop.set()
        task, self._task = self._task, None
        is_connected, self._client = self._client is not None, None
        if task is None:
            return
        if not is_connected:  # it waits for the server, and not for `_stop`
            task.cancel()
        try:
            await asyncio.wait([task], timeout=_LEAVE_S)
        finally:
            task.cancel()

    async def call(self, name: str, arguments: Mapping[str, Any], *, within_s: float = math.inf) -> ServerAnswer:
        """Call a tool; a server that has ended, or answers nothing else, is started again.

        Raises:
            ServerEnded: It cannot be reached again.
        """
        params = {"name": name, "arguments": dict(arguments)}
        answer = await self._answer("tools/call", params, min(self._timeout_s, within_s))
        if answer.kind in {"crash", "hang"}:
            async with self._starting:
                if not await self.is_alive():
                    await self._again()
        return answer

    async def cancel(self, name: str, arguments: Mapping[str, Any], *, after_s: float) -> bool:
        """Cancel a call soon after it was sent; return whether the server answers others afterwards."""
        sent = asyncio.create_task(
            self._answer("tools/call", {"name": name, "arguments": dict(arguments)}, self._timeout_s)
        )
        await asyncio.wait([sent], timeout=after_s)
        sent.cancel()
        await asyncio.wait([sent])  # a cancellation of this task stays one
        if await self.is_alive():
            return True
        await self._again()
        return False

    async def is_alive(self) -> bool:
        """Return whether the server answers a request that runs none of its code."""
        answer = await self._answer("tools/list", {}, min(_ALIVE_S, 2 * self._timeout_s))
        return answer.kind in {"result", "error"}

    async def _again(self) -> None:
        await self.close()
        if self._starts >= _STARTS_AT_MOST:
            raise ServerEnded
        for pause_s in (0.0, 0.5, 2.0):
            await asyncio.sleep(pause_s)
            with suppress(Unavailable):
                await self.open(within_s=max(self._timeout_s, _ALIVE_S))
                self.is_changed = True
                return
        raise ServerEnded

    async def _connect(self) -> None:
        self._stop = asyncio.Event()
        ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold(ready, self._stop))
        self._client = await ready
        about = self._client.server_info
        self.name, self.version = (about.name, about.version) if about is not None else (self._target.name, "")

    async def _hold(self, ready: asyncio.Future[Client], stop: asyncio.Event) -> None:
        """Keep the connection in one task, to which the scopes of the SDK's client belong."""
        about = types.Implementation(name="failsoft-probe", version="1")
        try:
            async with Client(
                self._transport(), cache=None, client_info=about, mode=self._mode, message_handler=self._notice
            ) as client:
                ready.set_result(client)
                await stop.wait()
        except BaseException as error:  # noqa: BLE001 - told to the one who waits
            if not ready.done():
                ready.set_exception(error)

    async def _notice(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.is_changed = True

    async def listed_again(self) -> list[Any]:
        """Return the tools as they are listed now.

        Raises:
            ServerEnded: It does not list them any more.
        """
        self.is_changed = False
        try:
            return await self._listed()
        except ServerEnded:
            raise
        except Exception as error:  # whatever the transport raises
            raise ServerEnded from error

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[tuple[Any, Any]]:
        target = self._target
        if target.url:
            async with http_streams(target.url, headers=target.headers, limit_bytes=_MESSAGE_BYTES) as pair:
                yield pair
            return
        streams = stdio_streams(
            target.command,
            environment=target.environment,
            folder=target.folder,
            limit_bytes=_MESSAGE_BYTES,
            name=target.name,
        )
        async with streams as (incoming, outgoing):
            yield incoming, _Escaped(outgoing)

    async def _listed(self) -> list[Any]:
        tools: list[Any] = []

        async def page_at(cursor: str | None) -> dict[str, Any]:
            return await self._request("tools/list", {} if cursor is None else {"cursor": cursor}, self._timeout_s)

        async for page in all_pages(page_at, server=self._target.name, at_most=_PAGES_AT_MOST):
            listed = page.get("tools")
            tools += listed if isinstance(listed, list) else []
        return tools

    async def _request(self, method: str, params: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        if self._client is None:
            raise ServerEnded
        session: Any = self._client.session
        message: dict[str, Any] = {"method": method, "params": params}
        options: dict[str, Any] = {"timeout": timeout_s}
        session._stamp(message, options)  # noqa: SLF001 - the metadata of the current era
        found: dict[str, Any] = await session._dispatcher.send_raw_request(method, message["params"], options)  # noqa: SLF001 - it checks nothing
        return found

    async def _answer(self, method: str, params: dict[str, Any], timeout_s: float) -> ServerAnswer:
        try:
            async with asyncio.timeout(timeout_s + 1):
                return _of_result(await self._request(method, params, timeout_s))
        except MCPError as error:
            return _of_error(error)
        except TimeoutError:
            return ServerAnswer("hang", "")
        except ServerEnded:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the transport raises
            return ServerAnswer("crash", f"{type(error).__name__}: {bounded(str(error))}")


def _of_result(result: Any) -> ServerAnswer:
    if not isinstance(result, Mapping):
        return ServerAnswer("malformed", "the result is not an object")
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [
        str(block.get("text", "")) for block in blocks if isinstance(block, Mapping) and block.get("type") == "text"
    ]
    parts = [{**result, "structuredContent": None}, result.get("structuredContent")]  # a caller reads one of them
    size = max(len(json.dumps(part, default=str)) for part in parts)
    return ServerAnswer(
        "result", "\n".join(texts), result.get("structuredContent"), failed=result.get("isError") is True, size=size
    )


def _of_error(error: MCPError) -> ServerAnswer:
    code, text, data = error.error.code, error.error.message, error.error.data
    if is_closed(error):
        return ServerAnswer("crash", text, code=code)
    if code == types.REQUEST_TIMEOUT and "timed out" in text.lower():
        return ServerAnswer("hang", "")
    if is_made_here(error):
        fault = data[FAULT_KEY]
        is_http = isinstance(fault, Mapping) and fault.get("kind") == "http"
        kind = "error" if is_http else "malformed"
        size = fault.get("size_bytes", 0) if isinstance(fault, Mapping) else 0  # of one that is too large to be read
        return ServerAnswer(kind, f"{text} {json.dumps(fault, default=str)}", code=code, size=size)
    return ServerAnswer("error", text, data, code=code, size=len(text) + len(json.dumps(data, default=str)))


def _why(error: BaseException, within_s: float) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"did not answer the first requests within {within_s:g} s"
    if isinstance(error, FileNotFoundError):
        return f"cannot be started: there is no program '{bounded(str(error.filename))}'"
    return f"cannot be reached: {bounded(str(error) or type(error).__name__)}"


class _Escaped:
    """A stream whose messages may hold lone surrogates, which JSON can say and UTF-8 cannot."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def send(self, item: Any) -> None:
        """Send a message, in ASCII if it needs to be."""
        message = item.message
        try:
            message.model_dump_json()
        except (ValueError, UnicodeError):
            item = SessionMessage(cast("JSONRPCMessage", _Ascii(message)), item.metadata)
        await self._stream.send(item)

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *about: object) -> None:
        await self._stream.__aexit__(*about)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Ascii:
    """A message that is written in ASCII."""

    def __init__(self, message: Any) -> None:
        self._message = message

    def model_dump_json(self, **_options: Any) -> str:
        """Return the message with everything beyond ASCII escaped."""
        return json.dumps(self._message.model_dump(by_alias=True, exclude_unset=True))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._message, name)
