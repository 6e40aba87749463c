"""Clients that read little or nothing of a stream of progress, or leave it: places, memory and outcomes."""

from __future__ import annotations

import json
import socket
import struct
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

import httpx2

from tests.server.http.process.test_crowded import ENVELOPE, TOKENS, connected, headers_of, raw
from tests.server.processes import BOUND_S
from tests.slow.soak.test_slow_callers import BEARER, assert_served, counted
from tests.slow.soak.test_slow_connections import Cold

GROWTH_KB = 30_000


def _nothing(_: socket.socket) -> None:
    """Read nothing, and close at the end."""


def _drip(client: socket.socket) -> None:
    client.recv(1)


def _half_close(client: socket.socket) -> None:
    client.shutdown(socket.SHUT_WR)


def _reset(client: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def test_readers_that_lag_or_leave_cost_their_own_calls_alone() -> None:
    tokens = ",".join(f"{name}:{token}" for name, token in TOKENS.items())
    server = Cold("http", "tools=polite", FAILSOFT_AUTH_TOKENS=tokens, FAILSOFT_SHUTDOWN_GRACE_S="0")
    body = _body()
    with ExitStack() as stack:
        stack.callback(server.close)
        url = server.wait_for("ready")
        assert_served(url)
        before = _memory_kb(server)
        readers = [*product(("2025-06-18", "2026-07-28"), (_nothing, _drip, _half_close, _reset))] * 3
        clients = [stack.enter_context(connected(url)) for _ in readers]
        for client, (version, _) in zip(clients, readers, strict=True):
            headers = {**headers_of("count", "ada"), "content-length": str(len(body)), "mcp-protocol-version": version}
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
            client.sendall(raw(url, headers, body))
            client.recv(1)  # its call has begun
        for client, (_, behave) in zip(clients, readers, strict=True):
            behave(client)
        assert_served(url)
        assert _memory_kb(server) - before < GROWTH_KB
        for client in clients:
            client.close()
        while counted(_scrape(url), "count", "cancelled") < len(readers):
            assert counted(_scrape(url), "count", "ok") == 0
        assert len(server.errors) < 10


def _body() -> bytes:
    meta: dict[str, Any] = {**ENVELOPE, "progressToken": 1}
    params = {"name": "count", "arguments": {"steps": 10_000_000}, "_meta": meta}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


def _scrape(url: str) -> str:
    return httpx2.get(f"{url}/metrics", headers=BEARER, timeout=BOUND_S).text


def _memory_kb(server: Cold) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])
