"""A client that costs next to nothing: raw HTTP over kept connections, so that the server is what is measured."""

from __future__ import annotations

import asyncio
import json
from typing import Any, BinaryIO, Self

__all__ = ["Clients", "body_of", "message", "request", "request_for"]

_VERSION = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": _VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(tool: str, arguments: dict[str, Any], *, port: int) -> bytes:
    """Return one `tools/call` as the SDK's client sends it."""
    return request_for("tools/call", {"name": tool, "arguments": arguments}, port=port)


def request_for(method: str, params: dict[str, Any], *, port: int) -> bytes:
    """Return one request of the modern era over HTTP."""
    body = message(method, params | {"_meta": _META})
    name = f"MCP-Name: {params['name']}\r\n" if "name" in params else ""
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json, text/event-stream\r\n"
        f"Content-Type: application/json\r\nMCP-Protocol-Version: {_VERSION}\r\nMCP-Method: {method}\r\n"
        f"{name}Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def message(method: str, params: dict[str, Any], *, number: int = 1) -> bytes:
    """Return one request as JSON, on one line without its end."""
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def body_of(answer: BinaryIO) -> bytes:
    """Return the body of an HTTP response that has a Content-Length or is chunked."""
    length = None
    while line := answer.readline().strip().lower():
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    if length is not None:
        return answer.read(length)
    body = b""
    while size := int(answer.readline() or b"0", 16):
        body += answer.read(size)
        answer.readline()
    return body


class Clients:
    """Several clients of one server, each with one connection and one call at a time.

    Args:
        port: Where the server listens.
        count: How many clients.
        sent: What each of them sends, over and over.
    """

    def __init__(self, port: int, count: int, sent: bytes) -> None:
        self._port = port
        self._count = count
        self._sent = sent
        self._connections: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def __aenter__(self) -> Self:
        for _ in range(self._count):
            self._connections.append(await asyncio.open_connection("127.0.0.1", self._port))
        return self

    async def __aexit__(self, *_exception: object) -> None:
        for _, writer in self._connections:
            writer.close()
            await writer.wait_closed()

    async def calls(self, times: int) -> list[float]:
        """Make this many calls, shared among the clients, and return how long each took, in seconds."""
        each = max(1, times // self._count)
        latencies = await asyncio.gather(*(self._one(*connection, each) for connection in self._connections))
        return [latency for own in latencies for latency in own]

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, times: int) -> list[float]:
        clock = asyncio.get_running_loop().time
        latencies = []
        for _ in range(times):
            began = clock()
            writer.write(self._sent)
            body = await _response(reader)
            latencies.append(clock() - began)
            if b'"result"' not in body:
                msg = f"the server did not answer the call: {body[:500]!r}"
                raise RuntimeError(msg)
        return latencies


async def _response(reader: asyncio.StreamReader) -> bytes:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if b"content-length: " in head:
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return await reader.readexactly(length)
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body
