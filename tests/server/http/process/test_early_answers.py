"""Connections whose answer was complete before their request, and pipelined headers that never end."""

from __future__ import annotations

import functools
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
import uvicorn

from tests.doors import ConnectionLimits, LimitedProtocol, Passed
from tests.server.processes import BOUND_S, Served

SOON_S = 3
"""How long a test waits for what may never come; what works takes a fraction of it."""
LOCAL = b" HTTP/1.1\r\nHost: 127.0.0.1\r\n"
PROBE = b"GET /healthz" + LOCAL + b"\r\n"
BODY_TO_COME = b"Content-Length: 1\r\n\r\n"
ANSWERED_EARLY = {
    "401": b"POST /mcp" + LOCAL + BODY_TO_COME,
    "404": b"POST /nowhere" + LOCAL + BODY_TO_COME,
    "421": b"POST /mcp HTTP/1.1\r\nHost: elsewhere.example\r\n" + BODY_TO_COME,
    "200": b"GET /healthz" + LOCAL + BODY_TO_COME,
}


def answered(url: str, sent: bytes, status: str) -> socket.socket:
    """Return a connection whose first answer has come."""
    parts = urlsplit(url)
    made = socket.create_connection((parts.hostname, parts.port), timeout=SOON_S)
    made.sendall(sent)
    assert made.recv(65_536).split()[1:2] == [status.encode()]
    return made


def is_closed(made: socket.socket) -> bool:
    """Return whether the server ends the connection within the connection's time limit."""
    try:
        while made.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize(("status", "sent"), ANSWERED_EARLY.items(), ids=ANSWERED_EARLY)
def test_requests_that_are_answered_before_their_body_leave_room_for_others(
    served: Callable[..., Served], status: str, sent: bytes
) -> None:
    url = served(
        "http", "tools=polite", FAILSOFT_AUTH_TOKEN="correct horse battery staple", FAILSOFT_MAX_CONNECTIONS="8"
    ).wait_for("ready")
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(answered(url, sent, status)).sendall(b"x")
        for _ in range(3):
            assert httpx2.get(f"{url}/healthz", timeout=SOON_S).status_code == 200


@pytest.mark.parametrize(
    ("sent", "status", "then"),
    [(PROBE + b"G", "200", b""), (ANSWERED_EARLY["404"], "404", b"xG")],
    ids=["after a request", "after a late body"],
)
def test_a_pipelined_header_has_the_time_of_any_other(
    served: Callable[..., Served], sent: bytes, status: str, then: bytes
) -> None:
    url = served("http", "tools=polite", FAILSOFT_HEADER_TIMEOUT_S="0.5").wait_for("ready")
    with answered(url, sent, status) as made:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if then:
            made.sendall(then)
            time.sleep(0.1)  # so that it does not come together with the rest
        made.sendall(b"E")
        assert is_closed(made)


@asynccontextmanager
async def serving(slow_s: float) -> AsyncIterator[int]:
    """Serve with a keep-alive limit of one second; a GET is answered after some seconds, a POST at once."""

    async def app(scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        if scope["method"] == "GET":
            await anyio.sleep(slow_s)
        await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"no"})

    protocol = functools.partial(LimitedProtocol, ConnectionLimits())
    server = uvicorn.Server(
        uvicorn.Config(app, http=protocol, port=0, lifespan="off", log_level="error", timeout_keep_alive=1)
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server._serve)
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await anyio.sleep(0.01)
        yield server.servers[0].sockets[0].getsockname()[1]
        server.should_exit = True


@pytest.mark.anyio
async def test_a_connection_is_kept_alive_for_its_time_after_a_late_body() -> None:
    async with serving(0) as port, await anyio.connect_tcp("127.0.0.1", port) as made:
        await made.send(ANSWERED_EARLY["404"])
        assert (await made.receive()).startswith(b"HTTP/1.1 404")
        await made.send(b"x")
        with anyio.fail_after(SOON_S), pytest.raises(anyio.EndOfStream):
            await made.receive()


@pytest.mark.anyio
async def test_a_request_that_comes_with_the_end_of_a_late_body_is_answered() -> None:
    """However long it takes: the limit of an idle connection is not its own."""
    async with serving(1.5) as port, await anyio.connect_tcp("127.0.0.1", port) as made:
        await made.send(ANSWERED_EARLY["404"])
        assert (await made.receive()).startswith(b"HTTP/1.1 404")
        await made.send(b"x" + PROBE)
        with anyio.fail_after(BOUND_S):
            assert (await made.receive()).startswith(b"HTTP/1.1 404")


def test_long_headers_are_not_remembered() -> None:
    passed = Passed()
    passed.add((b"127.0.0.1", None, b"x" * 60_000))
    passed.add((b"127.0.0.1", None, b"*/*"))
    assert [*passed] == [(b"127.0.0.1", None, b"*/*")]
