"""A client that costs next to nothing: raw HTTP over kept connections, so that the server is what is measured."""

from __future__ import annotations

import asyncio
import json
import selectors
import socket
import time
from collections.abc import Sequence
from typing import Any, BinaryIO, Self

__all__ = ["META", "VERSION", "Clients", "body_of", "message", "request", "request_for"]

VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(tool: str, arguments: dict[str, Any], *, port: int) -> bytes:
    """Return one `tools/call` as the SDK's client sends it."""
    return request_for("tools/call", {"name": tool, "arguments": arguments}, port=port)


def request_for(method: str, params: dict[str, Any], *, port: int) -> bytes:
    """Return one request of the modern era over HTTP."""
    body = message(method, params | {"_meta": META})
    name = f"MCP-Name: {params['name']}\r\n" if "name" in params else ""
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json, text/event-stream\r\n"
        f"Content-Type: application/json\r\nMCP-Protocol-Version: {VERSION}\r\nMCP-Method: {method}\r\n"
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

    One thread with plain sockets serves all of them, so that a call costs the client far less than the server.

    Args:
        port: Where the server listens.
        sent: What each of them sends, over and over.
    """

    def __init__(self, port: int, sent: Sequence[bytes]) -> None:
        self._port = port
        self._sent = sent
        self._selector = selectors.DefaultSelector()
        self._connections: list[_Connection] = []

    async def __aenter__(self) -> Self:
        for sent in self._sent:
            connection = _Connection(socket.create_connection(("127.0.0.1", self._port)), sent)
            self._selector.register(connection.socket, selectors.EVENT_READ, connection)
            self._connections.append(connection)
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self._selector.close()
        for connection in self._connections:
            connection.socket.close()

    async def calls(self, times: int, *, rate: float = 0.0) -> list[float]:
        """Make this many calls, shared among the clients, and return how long each took, in seconds.

        Args:
            times: How many calls.
            rate: Calls begun in a second; 0 begins one whenever a client is free. A call that was due while no client
                was free took the time since then.
        """
        return await asyncio.to_thread(self._calls, times, rate)

    def _calls(self, times: int, rate: float) -> list[float]:
        idle = list(self._connections)
        latencies: list[float] = []
        began = time.perf_counter()
        begun = 0
        while len(latencies) < times:
            now = time.perf_counter()
            while idle and begun < times and (due := began + begun / rate if rate else now) <= now:
                idle.pop().send(due if rate and len(idle) == 0 else now)
                begun += 1
            is_waiting = bool(rate) and bool(idle) and begun < times  # the selector's clock is too coarse
            for key, _ in self._selector.select(0 if is_waiting else None):
                if key.data.receive():
                    latencies.append(time.perf_counter() - key.data.began)
                    idle.append(key.data)
        return latencies


class _Connection:
    __slots__ = ("_read", "_sent", "began", "socket")

    def __init__(self, connected: socket.socket, sent: bytes) -> None:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = connected
        self._sent = sent
        self._read = b""
        self.began = 0.0

    def send(self, began: float) -> None:
        self.began = began
        self._read = b""
        self.socket.sendall(self._sent)

    def receive(self) -> bool:
        """Read what has come, and return whether it is the whole response."""
        part = self.socket.recv(65_536)
        self._read += part
        if part and not _is_complete(self._read):
            return False
        if b'"result"' not in self._read:
            msg = f"the server did not answer the call: {self._read[:500]!r}"
            raise RuntimeError(msg)
        return True


def _is_complete(response: bytes) -> bool:
    head, end, body = response.partition(b"\r\n\r\n")
    _, found, rest = head.lower().partition(b"content-length: ")
    if not end or not found:
        return response.endswith(b"\r\n0\r\n\r\n")
    return len(body) >= int(rest.partition(b"\r\n")[0])
