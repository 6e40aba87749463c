"""Slow clients do not keep others from being served; connections are capped before authentication."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.doors import ConnectionLimits, Connections
from tests.server.processes import BOUND_S, Served

BEGUN = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
WITH_BODY = BEGUN + b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"


def connected(url: str, sent: bytes = b"") -> socket.socket:
    parts = urlsplit(url)
    made = socket.create_connection((parts.hostname, parts.port), timeout=BOUND_S)
    made.sendall(sent)
    return made


def is_closed(made: socket.socket) -> bool:
    """Return whether the server ends the connection; waits for that, within the bound."""
    try:
        while made.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize("sent", [b"", BEGUN, WITH_BODY], ids=["nothing", "half a header", "half a body"])
def test_an_unfinished_request_is_given_up(served: Callable[..., Served], sent: bytes) -> None:
    server = served("http", "tools=polite", FAILSOFT_HEADER_TIMEOUT_S="0.3", FAILSOFT_BODY_TIMEOUT_S="0.3")
    with connected(server.wait_for("ready"), sent) as made:
        assert is_closed(made)


@pytest.mark.parametrize("first", [b"", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"], ids=["first", "second"])
def test_the_limits_of_header_and_body_may_differ(served: Callable[..., Served], first: bytes) -> None:
    """The body's limit holds although the header's, which was counted before, ends much later."""
    server = served("http", "tools=polite", FAILSOFT_HEADER_TIMEOUT_S="600", FAILSOFT_BODY_TIMEOUT_S="0.3")
    with connected(server.wait_for("ready"), first) as made:
        if first:
            assert made.recv(65_536).startswith(b"HTTP/1.1 200")
        made.sendall(WITH_BODY)
        assert is_closed(made)


def test_a_header_is_given_up_however_often_a_byte_of_it_comes(served: Callable[..., Served]) -> None:
    server = served("http", "tools=polite", FAILSOFT_HEADER_TIMEOUT_S="0.5")
    with connected(server.wait_for("ready"), BEGUN) as made:
        made.settimeout(0.05)
        deadline = time.monotonic() + BOUND_S
        while time.monotonic() < deadline:
            try:
                made.sendall(b"X")
                if made.recv(100):
                    return
            except TimeoutError:
                continue
            except OSError:
                return
    pytest.fail("the server waited for the header all the time")


def test_a_body_may_take_its_time_as_long_as_it_comes(served: Callable[..., Served]) -> None:
    server = served("http", "tools=polite", FAILSOFT_BODY_TIMEOUT_S="5", FAILSOFT_HEADER_TIMEOUT_S="0.5")
    with connected(server.wait_for("ready"), WITH_BODY.replace(b"1000", b"8")) as made:
        made.settimeout(0.2)
        for _ in range(7):
            with pytest.raises(TimeoutError):
                made.recv(1)
            made.sendall(b" ")
        made.settimeout(BOUND_S)
        assert made.recv(100).startswith(b"HTTP/1.1 ")


@pytest.mark.parametrize(
    "sent", [BEGUN + b"X: " + b"x" * 200_000, BEGUN + b"X: x\r\n" * 500 + b"\r\n"], ids=["one line", "many lines"]
)
def test_an_endless_header_is_refused(http_url: str, sent: bytes) -> None:
    with connected(http_url) as made:
        try:
            made.sendall(sent)
            assert made.recv(100).startswith(b"HTTP/1.1 431")
        except (ConnectionResetError, BrokenPipeError):
            pass
        assert is_closed(made)


def test_what_the_protocol_refuses_is_counted_as_well(served: Callable[..., Served]) -> None:
    url = served("http", "tools=polite", FAILSOFT_BODY_TIMEOUT_S="0.3").wait_for("ready")
    for sent in (WITH_BODY, BEGUN + b"X: x\r\n" * 500 + b"\r\n", b"no HTTP\r\n\r\n"):
        with connected(url, sent) as made:
            assert is_closed(made)
    text = httpx2.get(f"{url}/metrics").text
    for status in (400, 408, 431):
        assert f'mcp_http_refused_total{{status="{status}"}} 1.0' in text


@pytest.mark.parametrize("sent", [b"", BEGUN, WITH_BODY], ids=["nothing", "half a header", "half a body"])
def test_more_slow_connections_than_allowed_leave_room_for_others(served: Callable[..., Served], sent: bytes) -> None:
    server = served(
        "http",
        "tools=polite",
        FAILSOFT_MAX_CONNECTIONS="60",
        FAILSOFT_HEADER_TIMEOUT_S="600",
        FAILSOFT_BODY_TIMEOUT_S="600",
    )
    url = server.wait_for("ready")
    with ExitStack() as stack:
        slow = [stack.enter_context(connected(url, sent)) for _ in range(120)]
        for _ in range(5):
            assert httpx2.get(f"{url}/healthz", timeout=BOUND_S).status_code == 200
        assert is_closed(slow[0])
    reported = [line for line in server.errors if "Connections were dropped" in line]
    assert len(reported) <= 1


class Fake:
    """A connection that notes whether it was dropped."""

    loop = None

    def __init__(self, claim: int) -> None:
        self.held, self.is_dropped = claim, False

    def claim(self) -> int:
        return self.held

    def drop(self) -> None:
        self.is_dropped = True


class Quiet(Connections):
    """A registry without an event loop to report from."""

    def count(self, reason: str, loop: object) -> None:
        self._dropped[reason] += 1  # type: ignore[index] # a plain text will do here


def test_the_oldest_connection_without_a_complete_request_makes_room_then_one_that_is_not_read() -> None:
    known = Quiet(ConnectionLimits(connections=4))
    nothing, unread, busy = range(3)
    opened = [Fake(claim) for claim in (busy, unread, nothing, nothing)]
    assert all(known.admit(one) for one in opened)
    for expected in ([2], [2, 3], [1, 2, 3]):
        assert known.admit(Fake(busy))
        assert [index for index, one in enumerate(opened) if one.is_dropped] == expected
    late = Fake(nothing)
    assert not known.admit(late)
    assert late.is_dropped
    assert len(known) == 4


@pytest.mark.parametrize("first", [b"GET /mcp", b"GET /metrics"], ids=["events", "metrics"])
def test_streams_and_probes_of_one_client_leave_room_for_others(served: Callable[..., Served], first: bytes) -> None:
    """Older clients hold a stream of events open; it carries nothing here."""
    url = served("http", "tools=polite", FAILSOFT_MAX_CONNECTIONS="8").wait_for("ready")
    accepts = b"Accept: text/event-stream, */*\r\nMCP-Protocol-Version: 2025-11-25\r\n\r\n"
    with ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(connected(url, first + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n" + accepts))
            assert httpx2.get(f"{url}/readyz", timeout=BOUND_S).status_code == 200


PIPELINED = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 1_000


def flood(made: socket.socket) -> Iterator[int]:
    """Send pipelined requests until the connection is closed, and yield how many bytes were taken."""
    made.setblocking(False)
    sent = 0
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        while True:
            with contextlib.suppress(BlockingIOError):
                sent += made.send(PIPELINED[sent % len(PIPELINED) :])
            yield sent


def test_pipelined_requests_are_taken_no_faster_than_they_are_answered(http_url: str) -> None:
    """The buffers of the system take some 10 MB; what the server takes is in its memory, many times as large."""
    answers, deadline = b"", time.monotonic() + BOUND_S
    with connected(http_url) as made:
        for taken in flood(made):
            assert taken < 20_000_000
            with contextlib.suppress(BlockingIOError):
                answers += made.recv(1 << 20)
            if answers.count(b"HTTP/1.1 200") > 3_000:
                break
            assert time.monotonic() < deadline
    assert answers.count(b"HTTP/1.1 200") > 3_000


def test_a_client_that_does_not_read_its_answers_is_closed(served: Callable[..., Served]) -> None:
    with connected(served("http", "tools=polite", FAILSOFT_BODY_TIMEOUT_S="0.1").wait_for("ready")) as made:
        watched = select.poll()
        watched.register(made, select.POLLHUP)
        for _taken in flood(made):
            if watched.poll(10):
                break


def test_a_client_that_pauses_while_it_reads_gets_all_of_its_answers(served: Callable[..., Served]) -> None:
    asked = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with connected(served("http", "tools=polite", FAILSOFT_BODY_TIMEOUT_S="1").wait_for("ready")) as made:
        made.sendall(asked * 99 + asked.replace(b"Host", b"Connection: close\r\nHost"))
        answers = made.recv(65_536)
        time.sleep(1)
        while part := made.recv(65_536):
            answers += part
    assert answers.count(b"HTTP/1.1 200") == 100
