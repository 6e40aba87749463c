"""Streamable HTTP to a server: statuses kept; bodies, events and headers bounded, by their decoded size."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from typing import Any

import anyio.lowlevel
import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._context_streams import ContextReceiveStream
from mcp.shared.message import SessionMessage

from failsoft.client.broken_lists import readable_body, readable_events, shortened_event, shortened_list
from failsoft.client.faults import fault_data
from failsoft.client.messages import beside_the_loop, error_message, too_many_values
from failsoft.client.questions import Unanswered

_CONNECT_S = 10.0
_KEPT_HEADERS = ("retry-after", "x-ratelimit-remaining", "x-ratelimit-reset", "ratelimit-reset", "ratelimit-remaining")
_OF_ENCODED_BODY = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})
_OK, _FAILED = 200, 300
_SESSION_GONE = 404
_DEARER = 2
"""The SDK parses bodies on the event loop, for each kind of message anew, so that half of the values are accepted."""
_HUNG_UP = "Server disconnected"
"""How httpcore reports a connection that was closed; other breaches are no HTTP, or headers above 100 kB."""
_EVENT_ENDS = (b"\n\n", b"\n\r\n", b"\r\r")


@asynccontextmanager
async def http_streams(url: str, *, headers: Mapping[str, str], limit_bytes: int) -> AsyncIterator[tuple[Any, Any]]:
    """Yield the streams of a streamable HTTP endpoint, as the SDK's transports do.

    An answer that is too large is an error in its place; other calls go on.

    Args:
        url: The endpoint.
        headers: Headers of every request.
        limit_bytes: The largest body, and the largest event, that is read, decoded.
    """
    asked = Unanswered()
    transport = _Bounded(httpx2.AsyncHTTPTransport(), limit_bytes, asked)
    timeout = httpx2.Timeout(None, connect=_CONNECT_S)
    async with (
        httpx2.AsyncClient(
            transport=transport, headers=dict(headers), timeout=timeout, follow_redirects=True
        ) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=None) as (incoming, outgoing),
    ):
        yield _Incoming(incoming, asked), outgoing


class _Incoming(ContextReceiveStream[SessionMessage | Exception]):
    """The messages of a server; of its questions, as long as few wait to be answered."""

    __slots__ = ("_asked",)

    def __init__(self, stream: Any, asked: Unanswered) -> None:
        super().__init__(stream._inner)  # noqa: SLF001 - of the same class
        self._asked = asked

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message."""
        while not self._asked.admits(item := await super().receive()):
            pass
        return item


class _Bounded(httpx2.AsyncBaseTransport):
    """Replaces what is no usable answer by a JSON-RPC error: failed statuses, and bodies that are too large.

    The SDK's client would answer each of them with the same internal error, or read them whole. Redirects to another
    host count as failed: they would take headers with credentials along.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, limit_bytes: int, asked: Unanswered) -> None:
        self._inner = inner
        self._limit = limit_bytes
        self._asked = asked

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request and return its response, or an error in the place of its answer."""
        message = _message_in(request)
        request_id = message.get("id") if "method" in message else None
        try:
            response = await self._inner.handle_async_request(request)
        except httpx2.RemoteProtocolError as error:
            if request_id is None or str(error).startswith(_HUNG_UP):
                raise
            return _in_place(request, request_id, fault_data("malformed"))
        finally:
            if "method" not in message:
                self._asked.answered(message.get("id"))
        response.request = request
        if response.has_redirect_location and _is_same_origin(request, response):
            await response.aclose()
            return httpx2.Response(response.status_code, headers=_headers(response), request=request)
        kind = response.headers.get("content-type", "").lower()
        if response.status_code < _FAILED and kind.startswith("text/event-stream"):
            events = _Events(response, request_id, self._limit, is_list=_is_list(request))
            return httpx2.Response(response.status_code, headers=_headers(response), stream=events, request=request)
        body, fault = await self._read(response, is_list=_is_list(request))
        if request_id is not None:
            if response.status_code >= _FAILED:
                fault = self._fault_of_status(request, response, body)
            elif response.status_code == _OK and not kind.startswith("application/json"):
                fault = fault_data("malformed")
            if fault is not None:
                return _in_place(request, request_id, fault)
        return httpx2.Response(response.status_code, headers=_headers(response), content=body, request=request)

    async def _read(self, response: httpx2.Response, *, is_list: bool) -> tuple[bytes, dict[str, Any] | None]:
        """Return the decoded body; an empty one, and what is wrong, for one that is too large or cannot be decoded."""
        declared = response.headers.get("content-length", "")
        size = int(declared) if declared.isdecimal() and len(declared) < 20 else 0  # noqa: PLR2004 - digits of 64 bits
        body = bytearray()
        try:
            if size <= self._limit:
                async for chunk in _decoded(response):
                    body += chunk
                    if len(body) > self._limit:
                        break
            size = max(size, len(body))
            if size > self._limit:
                return b"", fault_data("too_large", size_bytes=size, limit_bytes=self._limit)
        except httpx2.DecodingError:
            return b"", fault_data("malformed")
        finally:
            await response.aclose()
        return await beside_the_loop(partial(self._usable, is_list=is_list), bytes(body))

    def _usable(self, body: bytes, *, is_list: bool) -> tuple[bytes, dict[str, Any] | None]:
        fault = too_many_values(body, limit_bytes=self._limit // _DEARER)
        if is_list and fault is not None and (shortened := shortened_list(body)) is not None:
            body, fault = shortened, None
        return (readable_body(body) if is_list and fault is None else body), fault

    def _fault_of_status(
        self, request: httpx2.Request, response: httpx2.Response, body: bytes
    ) -> dict[str, Any] | None:
        """Return the fault of a failed status; None where the SDK knows what the answer means."""
        if response.status_code == _SESSION_GONE and "mcp-session-id" in request.headers:
            return None  # the session has ended
        if _is_json_rpc_error(body):
            return None
        headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
        return fault_data("http", status=response.status_code, headers=headers)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


class _Events(httpx2.AsyncByteStream):
    """The decoded events of a stream, each whole; an error takes the place of one that is too large, and ends it."""

    def __init__(self, response: httpx2.Response, request_id: Any, limit_bytes: int, *, is_list: bool) -> None:
        self._response = response
        self._is_list = is_list
        self._request_id = request_id
        self._limit = limit_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        rest = bytearray()
        fault: dict[str, Any] | None = None
        try:
            async for chunk in _decoded(self._response):
                searched = max(len(rest) - 2, 0)
                rest += chunk
                end = max(_end_of(rest, mark, searched) for mark in _EVENT_ENDS)
                events = bytes(rest[:end])
                del rest[:end]
                events, fault = await beside_the_loop(self._usable, events)
                if len(rest) > self._limit:
                    fault = fault_data("too_large", size_bytes=len(rest), limit_bytes=self._limit)
                if fault is not None:
                    break
                if events:
                    yield events
            else:
                if rest:
                    yield bytes(rest)
        except httpx2.DecodingError:
            fault = fault_data("malformed")
        if fault is None:
            return
        await self.aclose()
        if self._request_id is None:
            msg = "an event is larger than the limit"
            raise httpx2.StreamError(msg)
        error = error_message(self._request_id, fault)
        yield b"data: " + error.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n\n"

    def _usable(self, events: bytes) -> tuple[bytes, dict[str, Any] | None]:
        fault = too_many_values(events, limit_bytes=self._limit // _DEARER)
        if self._is_list and fault is not None and (shortened := shortened_event(events)) is not None:
            events, fault = shortened, None
        return (readable_events(events) if self._is_list and fault is None else events), fault

    async def aclose(self) -> None:
        """Close the response."""
        await self._response.aclose()


async def _decoded(response: httpx2.Response) -> AsyncIterator[bytes]:
    """Yield the decoded body in pieces of 1 MiB at most; the event loop goes on between them."""
    async with aclosing(response.aiter_bytes()) as pieces:
        async for piece in pieces:
            yield piece
            await anyio.lowlevel.checkpoint()


def _end_of(buffer: bytearray, mark: bytes, searched: int) -> int:
    found = buffer.rfind(mark, searched)
    return 0 if found < 0 else found + len(mark)


def _headers(response: httpx2.Response) -> list[tuple[bytes, bytes]]:
    """Return the headers of a response for its decoded body."""
    return [(name, value) for name, value in response.headers.raw if name.lower() not in _OF_ENCODED_BODY]


def _in_place(request: httpx2.Request, request_id: Any, fault: dict[str, Any]) -> httpx2.Response:
    """Return a response with a JSON-RPC error in the place of an answer."""
    error = error_message(request_id, fault).model_dump(by_alias=True, exclude_unset=True)
    return httpx2.Response(_OK, json=error, request=request)


def _is_same_origin(request: httpx2.Request, response: httpx2.Response) -> bool:
    there = request.url.join(response.headers["location"])
    return (there.scheme, there.host, there.port) == (request.url.scheme, request.url.host, request.url.port)


def _is_list(request: httpx2.Request) -> bool:
    with suppress(httpx2.RequestNotRead):  # it was redirected
        return request.method == "POST" and b'"tools/list"' in request.content
    return False


def _message_in(request: httpx2.Request) -> Mapping[str, Any]:
    """Return the JSON-RPC message that a request sends; an empty one where it sends none."""
    if request.method != "POST":
        return {}
    try:
        tree = json.loads(request.content)
    except (ValueError, httpx2.RequestNotRead):
        return {}
    return tree if isinstance(tree, Mapping) else {}


def _is_json_rpc_error(body: bytes) -> bool:
    try:
        tree = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(tree, Mapping) and tree.get("jsonrpc") == "2.0" and isinstance(tree.get("error"), Mapping)
