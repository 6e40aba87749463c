"""One principal's slow calls lock nobody out, and what comes after a body is no header."""

from __future__ import annotations

import json
import socket
import time
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


def answer_of(url: str, tool: str, principal: str, **arguments: Any) -> dict[str, Any]:
    """Return the structured answer to a call."""
    headers, body = headers_of(tool, principal), body_of(tool, **arguments)
    answer = httpx2.post(f"{url}/mcp", headers=headers, content=body, timeout=10)
    found: dict[str, Any] = answer.json()["result"]
    return found


def threads_of(url: str) -> tuple[int, int]:
    """Return how many threads run something, and how many calls wait for one."""
    text = httpx2.get(f"{url}/metrics", headers={"authorization": f"Bearer {TOKENS['bob']}"}, timeout=10).text
    found = {line.split()[0]: float(line.split()[1]) for line in text.splitlines() if line.startswith("mcp_threads_")}
    return int(found["mcp_threads_busy"]), int(found["mcp_threads_waiting"])


@pytest.mark.parametrize(
    ("limit_s", "is_full"),
    [
        ("0", lambda busy, waiting: waiting >= 6 <= busy),
        ("0.2", lambda busy, waiting: waiting == 0 and busy >= 2),
    ],
    ids=["waiting", "given up"],
)
def test_one_principals_slow_handlers_leave_threads_to_others(
    served: Callable[..., Served], limit_s: str, is_full: Callable[[int, int], bool]
) -> None:
    """Whether its calls still wait, or were given up with their threads running on."""
    url = served(
        "http",
        "tools=polite",
        FAILSOFT_AUTH_TOKENS=",".join(f"{name}:{token}" for name, token in TOKENS.items()),
        FAILSOFT_MAX_THREADS="8",
        FAILSOFT_MAX_ABANDONED_THREADS="2",
        FAILSOFT_DEFAULT_TIMEOUT_S=limit_s,
        FAILSOFT_SHUTDOWN_GRACE_S="0",
    ).wait_for("ready")
    body = body_of("hold_a_thread")
    headers = {**headers_of("hold_a_thread", "ada"), "content-length": str(len(body))}
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(connected(url)).sendall(raw(url, headers, body))
        while not is_full(*threads_of(url)):
            time.sleep(0.02)
        answers = [answer_of(url, "double", principal, number=2) for principal in ("ada", "bob", "bob")]
    assert [answer["isError"] for answer in answers] == [True, False, False]
    assert answers[0]["_meta"]["dev.failsoft/error"]["code"] == "OVERLOADED"


def test_a_token_in_a_trailer_authorizes_nothing(served: Callable[..., Served]) -> None:
    tokens = ",".join(f"{name}:{token}" for name, token in TOKENS.items())
    url = served("http", "tools=polite", FAILSOFT_AUTH_TOKENS=tokens).wait_for("ready")
    body = body_of("process_id")
    chunks = b"%x\r\n%b\r\n0\r\nauthorization: Bearer %b\r\n\r\n" % (len(body), body, TOKENS["ada"].encode())
    with connected(url) as connection:
        connection.sendall(raw(url, {**headers_of("process_id"), "transfer-encoding": "chunked"}, chunks))
        answer = connection.recv(65_536)
    assert answer.split()[1:2] == [b"401"]
