"""Streamable HTTP to a server: statuses kept, bodies bounded."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp_types as types
from mcp.client.streamable_http import streamable_http_client

from failsoft.client.faults import fault_data

_CONNECT_S = 10.0
_KEPT_HEADERS = ("retry-after", "x-ratelimit-remaining", "x-ratelimit-reset", "ratelimit-reset", "ratelimit-remaining")
_OK, _FAILED = 200, 300
_SESSION_GONE = 404


@asynccontextmanager
async def http_streams(url: str, *, headers: Mapping[str, str], limit_bytes: int) -> AsyncIterator[tuple[Any, Any]]:
    """Yield the streams of a streamable HTTP endpoint, as the SDK's transports do.

    Args:
        url: The endpoint.
        headers: Headers of every request.
        limit_bytes: The largest body, and the largest event, that is read.
    """
    transport = _Bounded(httpx2.AsyncHTTPTransport(), limit_bytes)
    timeout = httpx2.Timeout(None, connect=_CONNECT_S)
    async with (
        httpx2.AsyncClient(
            transport=transport, headers=dict(headers), timeout=timeout, follow_redirects=True
        ) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=limit_bytes) as streams,
    ):
        yield streams


class _Bounded(httpx2.AsyncBaseTransport):
    """Turns failed statuses into JSON-RPC errors that keep the status, and ends bodies that are too large.

    The SDK's client would answer each of them with the same internal error. Redirects to another host count as failed:
    they would take headers with credentials along.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, limit_bytes: int) -> None:
        self._inner = inner
        self._limit = limit_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request and return its response, or an error in the place of its answer."""
        response = await self._inner.handle_async_request(request)
        if response.has_redirect_location and _is_same_origin(request, response):
            return response
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        if not is_stream and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Cut(response.stream, self._limit)
        request_id = _id_of(request)
        if request_id is None:
            return response
        if response.status_code < _FAILED:
            unusable = self._unusable(response)
            return response if unusable is None else await _in_place_of(response, request, request_id, unusable)
        if response.status_code == _SESSION_GONE and "mcp-session-id" in request.headers:
            return response  # the SDK knows what it means: the session has ended
        body = await _read_bounded(response)
        if _is_json_rpc_error(body):
            return httpx2.Response(response.status_code, headers=response.headers, content=body, request=request)
        headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
        data = fault_data("http", status=response.status_code, headers=headers)
        return await _in_place_of(response, request, request_id, data)

    def _unusable(self, response: httpx2.Response) -> dict[str, Any] | None:
        """Return what is wrong with a successful response, judged by its headers."""
        kind = response.headers.get("content-type", "").lower()
        if response.status_code == _OK and not kind.startswith(("application/json", "text/event-stream")):
            return fault_data("malformed")
        size = response.headers.get("content-length", "")
        if size.isdecimal() and int(size) > self._limit:
            return fault_data("too_large", size_bytes=int(size), limit_bytes=self._limit)
        return None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


class _Cut(httpx2.AsyncByteStream):
    """A body that ends with an error once it is larger than the limit."""

    def __init__(self, inner: httpx2.AsyncByteStream, limit_bytes: int) -> None:
        self._inner = inner
        self._left = limit_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self._left -= len(chunk)
            if self._left < 0:
                msg = "the body is larger than the limit"
                raise httpx2.StreamError(msg)
            yield chunk

    async def aclose(self) -> None:
        """Close the body."""
        await self._inner.aclose()


async def _in_place_of(
    response: httpx2.Response, request: httpx2.Request, request_id: Any, data: dict[str, Any]
) -> httpx2.Response:
    """Return a JSON-RPC error in the place of a response, which is closed unread."""
    await response.aclose()
    error = {"code": types.INTERNAL_ERROR, "message": "The server sent an unusable answer", "data": data}
    return httpx2.Response(200, json={"jsonrpc": "2.0", "id": request_id, "error": error}, request=request)


async def _read_bounded(response: httpx2.Response) -> bytes:
    try:
        return await response.aread()
    except httpx2.StreamError:
        return b""
    finally:
        await response.aclose()


def _is_same_origin(request: httpx2.Request, response: httpx2.Response) -> bool:
    there = request.url.join(response.headers["location"])
    return (there.scheme, there.host, there.port) == (request.url.scheme, request.url.host, request.url.port)


def _id_of(request: httpx2.Request) -> Any:
    """Return the JSON-RPC id of a request's body, or None for a notification or anything else."""
    if request.method != "POST":
        return None
    try:
        tree = json.loads(request.content)
    except (ValueError, httpx2.RequestNotRead):
        return None
    return tree.get("id") if isinstance(tree, Mapping) and "method" in tree else None


def _is_json_rpc_error(body: bytes) -> bool:
    try:
        tree = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(tree, Mapping) and tree.get("jsonrpc") == "2.0" and isinstance(tree.get("error"), Mapping)
