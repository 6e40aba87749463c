"""Over real connections, too, the lane answers as the SDK does: pipelined, in pieces, in any framing."""

from __future__ import annotations

import io
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPResponse
from typing import Any
from urllib.parse import urlsplit

from hypothesis import HealthCheck, given, settings, strategies as st

from tests.server.http.lane_requests import Answer, Request, answer_of, plain, requests
from tests.server.processes import BOUND_S, Served
from tests.thorough import examples

CONVERSATIONS = examples(100)
FRAMING = {b"content-length", b"transfer-encoding", b"expect", b"connection"}
LAST = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
TARGETS = ("{path}", "{path}?a=1&b=%20", "http://127.0.0.1:8321{path}", "/%6dcp", "{path}#x", "/%2e/mcp")
EXTRA = (b"", b"", b"", b"Expect: 100-continue\r\n", b"Connection: keep-alive\r\n", b"X:\ta \r\n")
CLOSE = b"Connection: close\r\n"


@dataclass(frozen=True)
class Conversation:
    """What a client sends through one connection, the pieces in which it does, and the methods of its requests."""

    pieces: tuple[bytes, ...]
    methods: tuple[str, ...]


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    """Generate pipelined requests; the last one, generated or not, ends the connection."""
    *asked, last = draw(st.lists(requests(), min_size=1, max_size=4))
    sent = b"".join([draw(wire_forms(request)) for request in asked])
    sent += draw(st.just(LAST) | wire_forms(last, is_last=True))
    cuts = sorted(draw(st.lists(st.integers(0, len(sent)), max_size=3)))
    pieces = [sent[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(sent)], strict=True)]
    return Conversation(tuple(filter(None, pieces)), (*(request.method for request in asked), last.method))


@st.composite
def wire_forms(draw: st.DrawFn, request: Request, *, is_last: bool = False) -> bytes:
    """Generate the bytes of a request, its body framed by its length or in chunks."""
    target = draw(st.sampled_from(TARGETS)).format(path=request.path)
    version = draw(st.sampled_from(["1.1", "1.0"])) if is_last else "1.1"
    head = f"{request.method} {target} HTTP/{version}\r\n".encode() + b"".join(
        name + b": " + value + b"\r\n" for name, value in request.headers if name not in FRAMING
    )
    head += draw(st.sampled_from(EXTRA)) + (CLOSE if is_last else b"")
    body = b"".join(request.chunks)
    if version == "1.1" and draw(st.booleans()):
        return head + b"Transfer-Encoding: chunked\r\n\r\n" + _chunked(request.chunks)
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def _chunked(chunks: Sequence[bytes]) -> bytes:
    return b"".join(b"%x;a=b\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks if chunk) + b"0\r\nX: y\r\n\r\n"


def held(url: str, conversation: Conversation) -> list[Answer] | None:
    """Send all of it, and return the answers until the server closes the connection.

    None if it refused a request and closed before it had read the next one: what arrives is then a matter of time.
    """
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=BOUND_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for piece in conversation.pieces:
                connection.sendall(piece)
            received = b"".join(iter(lambda: connection.recv(65_536), b""))
        except (BrokenPipeError, ConnectionResetError):
            return None
    return [*_responses(received, conversation.methods)]


class _Unclosed(io.BytesIO):
    def close(self) -> None:
        """Stay open for the next response."""

    def makefile(self, *_: Any) -> io.BytesIO:
        """Return itself, as a socket would return its file."""
        return self


def _responses(received: bytes, methods: Sequence[str]) -> Iterator[Answer]:
    stream = _Unclosed(received)
    for method in methods:
        if stream.tell() == len(received):
            return
        response = HTTPResponse(stream, method=method)  # type: ignore[arg-type]  # of a socket only `makefile` is used
        response.begin()
        body = response.read()
        headers = {name.lower().encode(): value.encode("latin-1") for name, value in response.getheaders()}
        for framing in (b"date", b"transfer-encoding", *((b"content-length",) if method == "HEAD" else ())):
            headers.pop(framing, None)
        yield answer_of(response.status, headers, body)
    assert stream.read() == b""


def test_generated_conversations_are_answered_alike(served: Callable[..., Served]) -> None:
    servers = [
        served("http", f"way={way}", FAILSOFT_MAX_REQUEST_BYTES="4000", FAILSOFT_LOG_LEVEL="CRITICAL")
        for way in ("lane", "sdk")
    ]
    fast, slow = (server.wait_for("ready") for server in servers)
    known = Conversation((b"".join([_sent(plain("facts")), LAST]),), ("POST", "GET"))
    assert [answer.status for answer in held(fast, known)] == [200, 200]

    @settings(max_examples=CONVERSATIONS, database=None, deadline=None, suppress_health_check=[*HealthCheck])
    @given(conversations())
    def compare(conversation: Conversation) -> None:
        ways = [held(url, conversation) for url in (fast, slow)]
        if None not in ways:
            compared.append(ways[0])
            assert ways[0] == ways[1]

    compared: list[Any] = []
    compare()
    assert len(compared) > CONVERSATIONS / 2


def _sent(request: Request) -> bytes:
    head = b"".join(name + b": " + value + b"\r\n" for name, value in request.headers)
    body = b"".join(request.chunks)
    return b"POST /mcp HTTP/1.1\r\n" + head + b"Content-Length: %d\r\n\r\n" % len(body) + body
