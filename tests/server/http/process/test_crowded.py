"""One principal's slow calls lock nobody out, and what comes after a body is no header."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.server.processes import Served

SOON_S = 3
"""How long a test waits for what may never come; what works takes a fraction of it."""
TOKENS = {"ada": "correct horse battery staple", "bob": "another horse battery staple"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def headers_of(tool: str, principal: str = "") -> dict[str, str]:
    known = {"authorization": f"Bearer {TOKENS[principal]}"} if principal else {}
    return {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": tool,
        **known,
    }


def body_of(tool: str, **arguments: Any) -> bytes:
    params = {"name": tool, "arguments": arguments, "_meta": ENVELOPE}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


def raw(url: str, headers: dict[str, str], body: bytes) -> bytes:
    """Return a request as bytes, whose body is as long as it says or in chunks already."""
    lines = [f"POST /mcp HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\n", *(f"{n}: {v}\r\n" for n, v in headers.items())]
    return "".join(lines).encode() + b"\r\n" + body


def connected(url: str) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=SOON_S)


def statuses_of(response: Callable[[], httpx2.Response]) -> set[int | None]:
    """Return the statuses of three equal requests, the first of which may come before the calls; None: no answer."""
    found: set[int | None] = set()
    for _ in range(3):
        try:
            found.add(response().status_code)
        except httpx2.HTTPError:
            found.add(None)
    return found


@pytest.fixture
def crowded(served: Callable[..., Served]) -> Any:
    """Return the address of a server where one principal's calls hang, as many as there may be connections."""
    with ExitStack() as stack:
        tokens = ",".join(f"{name}:{token}" for name, token in TOKENS.items())
        server = served(
            "http",
            "tools=polite",
            FAILSOFT_AUTH_TOKENS=tokens,
            FAILSOFT_MAX_CONNECTIONS="8",
            FAILSOFT_SHUTDOWN_GRACE_S="0",
        )
        url = server.wait_for("ready")
        for number in range(8):
            body = body_of("hang", key=str(number))
            headers = {**headers_of("hang", "ada"), "content-length": str(len(body))}
            stack.enter_context(connected(url)).sendall(raw(url, headers, body))
        yield url


@pytest.mark.parametrize("route", ["/healthz", "/readyz", "/metrics"])
def test_probes_and_metrics_answer_however_many_calls_are_in_flight(crowded: str, route: str) -> None:
    headers = {"authorization": f"Bearer {TOKENS['bob']}"}
    assert statuses_of(lambda: httpx2.get(f"{crowded}{route}", headers=headers, timeout=SOON_S)) == {200}


def test_the_open_connections_are_counted(crowded: str) -> None:
    scraped = httpx2.get(f"{crowded}/metrics", headers={"authorization": f"Bearer {TOKENS['bob']}"}, timeout=SOON_S)
    found = [line.split()[1] for line in scraped.text.splitlines() if line.startswith("mcp_connections ")]
    assert [1 <= float(number) <= 8 for number in found] == [True]


def test_another_principal_is_served_however_many_calls_of_one_are_in_flight(crowded: str) -> None:
    headers, body = headers_of("process_id", "bob"), body_of("process_id")
    assert statuses_of(lambda: httpx2.post(f"{crowded}/mcp", headers=headers, content=body, timeout=SOON_S)) == {200}


def test_a_token_in_a_trailer_authorizes_nothing(served: Callable[..., Served]) -> None:
    tokens = ",".join(f"{name}:{token}" for name, token in TOKENS.items())
    url = served("http", "tools=polite", FAILSOFT_AUTH_TOKENS=tokens).wait_for("ready")
    body = body_of("process_id")
    chunks = b"%x\r\n%b\r\n0\r\nauthorization: Bearer %b\r\n\r\n" % (len(body), body, TOKENS["ada"].encode())
    with connected(url) as connection:
        connection.sendall(raw(url, {**headers_of("process_id"), "transfer-encoding": "chunked"}, chunks))
        answer = connection.recv(65_536)
    assert answer.split()[1:2] == [b"401"]
