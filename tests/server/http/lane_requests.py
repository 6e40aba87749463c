"""Generated `tools/call` requests, valid, odd and hostile, and what both ways of serving them have to agree on."""

from __future__ import annotations

import asyncio
import codecs
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import anyio
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.types import ASGIApp

from tests.doors import DirectAnswers
from tests.server.served_tools import RAISED, RETURNED

__all__ = ["VALID", "Answer", "Post", "Request", "answer_of", "plain", "requests", "the_sdks_way"]

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HEADERS = {
    "host": "127.0.0.1:8321",
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
}
_VOLATILE = (
    (re.compile(rb'(execution_time_ms\\*":)[0-9.e+-]+'), rb"\g<1>0"),
    (re.compile(rb"((?:[Ee]rror|request)[_ ]id[\\\": ]+)[0-9a-f]{16}"), rb"\g<1>0"),
    (re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"), rb"now"),
)


def the_sdks_way(app: Starlette) -> Starlette:
    """Return the app without its lane and its middleware that answers instead of the SDK."""
    server = app.state.assembly.server
    server.middleware[:] = [one for one in server.middleware if not isinstance(one, DirectAnswers)]
    app.router.lifespan_context = lambda _: server.session_manager.run()
    return app


@dataclass(frozen=True)
class Request:
    """One request as ASGI messages."""

    headers: tuple[tuple[bytes, bytes], ...]
    chunks: tuple[bytes, ...]
    method: str = "POST"
    path: str = "/mcp"


@dataclass(frozen=True)
class Answer:
    """What a client sees, without times and random ids."""

    status: int
    headers: dict[bytes, bytes]
    bodies: tuple[Any, ...]


class Post:
    """A request to an app, message by message; the client stays until `closed` is set."""

    def __init__(self, app: ASGIApp, request: Request) -> None:
        self._app = app
        self._request = request
        self._left = list(request.chunks)
        self.closed = asyncio.Event()
        self.sent: list[Any] = []

    async def receive(self) -> dict[str, Any]:
        """Return the next piece of the body, then wait for the disconnect."""
        if self._left:
            chunk = self._left.pop(0)
            return {"type": "http.request", "body": chunk, "more_body": bool(self._left)}
        await self.closed.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        """Keep what the app sends."""
        self.sent.append(message)

    async def run(self) -> None:
        """Let the app serve the request."""
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self._request.method,
            "scheme": "http",
            "path": self._request.path,
            "raw_path": self._request.path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": list(self._request.headers),
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8321),
        }
        with anyio.fail_after(30):
            await self._app(scope, self.receive, self.send)

    @property
    def answer(self) -> Answer:
        """What was sent."""
        start, *rest = self.sent
        body = b"".join(message.get("body", b"") for message in rest)
        return answer_of(start["status"], dict(start["headers"]), body)


def answer_of(status: int, headers: dict[bytes, bytes], body: bytes) -> Answer:
    """Return a response without what differs from one to the next."""
    headers = dict(headers)
    assert int(headers.pop(b"content-length", len(body))) == len(body)
    for pattern, stand_in in _VOLATILE:
        body = pattern.sub(stand_in, body)
    is_stream = b"event-stream" in headers.get(b"content-type", b"")
    events = body.split(b"event: message\r\ndata: ") if is_stream else [body]
    return Answer(status, headers, tuple(_parsed(event) for event in events))


def _parsed(body: bytes) -> Any:
    """Return JSON as text in which an integer and a float, and a key and its absence, differ."""
    try:
        return json.dumps(json.loads(body), sort_keys=True)
    except ValueError:
        return body


def plain(
    tool: str, arguments: dict[str, Any] | None = None, *, headers: dict[str, str] | None = None, **meta: Any
) -> Request:
    """Return a request as the SDK's client sends it."""
    tree = _tree(tool, arguments, meta)
    return _request({**HEADERS, "mcp-name": tool, **(headers or {})}, json.dumps(tree).encode())


def _tree(tool: Any, arguments: Any, meta: dict[str, Any]) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments, "_meta": {**META, **meta}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def _request(headers: dict[str, str], *chunks: bytes) -> Request:
    return Request(tuple((name.encode(), value.encode("latin-1")) for name, value in headers.items()), chunks)


TEXTS = st.text(max_size=8) | st.sampled_from(["here", "moved", "gone", "\ud800", "x\udcff", "é", "a\x00b", "\u2028"])
NUMBERS = (
    st.integers()
    | st.sampled_from([0, -0.0, 1.0, 2**63, -(2**64), 10**400, 1e16, 1e-7, 5e-324, 1e308])
    | st.floats(allow_nan=True)
)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)
VALID = st.one_of(
    st.tuples(st.just("find"), st.fixed_dictionaries({"name": TEXTS})),
    st.tuples(st.just("double"), st.fixed_dictionaries({"number": st.integers() | VALUES})),
    st.tuples(st.just("count"), st.fixed_dictionaries({"steps": st.integers(0, 3)})),
    st.tuples(st.just("text_of"), st.fixed_dictionaries({"length": st.integers(0, 300)})),
    st.tuples(st.just("raise_it"), st.fixed_dictionaries({"kind": st.sampled_from(RAISED)})),
    st.tuples(
        st.just("return_it"), st.fixed_dictionaries({"kind": st.sampled_from([*set(RETURNED) - {"huge", "deep"}])})
    ),
    st.tuples(st.sampled_from(["facts", "picture", "odd_progress", "cancel_a_child", "nothing", "finds"]), st.just({})),
    st.tuples(st.sampled_from(["find", "double", "facts"]), VALUES),
)
IDS = st.one_of(st.integers(), TEXTS, st.sampled_from([0, 2**70, 1.0, 1.5, None, True, "", [], {}]))
METAS = st.dictionaries(
    st.sampled_from(
        [
            *("progressToken", "progress_token", "traceparent", "tracestate", "dev.failsoft/x", "x", *META),
            *("io.modelcontextprotocol/logLevel", "io.modelcontextprotocol/related-task"),
        ]
    ),
    st.sampled_from([*META.values(), "2025-06-18", "debug", {"roots": 1}, {"name": 1}, {"experimental": {"a": {}}}])
    | SCALARS,
    max_size=2,
)
MEMBERS = st.dictionaries(
    st.sampled_from(["jsonrpc", "id", "method", "params", "result", "extra"]),
    st.sampled_from(["2.0", "1.0", 2.0, "tools/list", "tools/call", "ping", {}, []]) | SCALARS,
    max_size=1,
)
PARAMS = st.dictionaries(
    st.sampled_from(["name", "arguments", "_meta", "task", "inputResponses", "requestState", "extra", "cursor"]),
    st.sampled_from(["find", "facts", {}, {"ttl": 1}, [], {"name": "here"}]) | SCALARS,
    max_size=1,
)
HEADER_VALUES = st.sampled_from(
    [
        *(*HEADERS.values(), "find", "facts", "=?base64?ZmluZA==?=", "=?base64?!?=", "2025-06-18", "2099-01-01", ""),
        *("*/*", "application/json", "text/event-stream;q=0.5, application/*", "text/html", "APPLICATION/JSON"),
        *("application/json; charset=utf-16", "text/plain", "tools/list", "evil.example", "localhost:1", "LOCALHOST:2"),
        *(
            "http://localhost:3",
            "http://evil.example",
            "null",
            "12",
            "-1",
            "99999999999",
            "1" * 30,
            "1e3",
            "gzip",
            "\xe9",
        ),
    ]
)
HEADER_NAMES = st.sampled_from(
    [
        *(*HEADERS, "mcp-name", "origin", "content-length", "content-encoding", "mcp-session-id", "mcp-param-name"),
        *("transfer-encoding", "authorization", "last-event-id", "x-forwarded-host", "cookie", "expect"),
    ]
)
MUTATIONS: list[Callable[[bytes], bytes]] = [
    lambda body: body[:-1],
    lambda body: body[: len(body) // 2],
    lambda _body: b"",
    lambda body: b" \r\n\t" + body + b"\n ",
    lambda body: codecs.BOM_UTF8 + body,
    lambda body: body.decode().encode("utf-16"),
    lambda body: body.decode().encode("utf-32-le"),
    lambda body: b"[" + body + b"]",
    lambda body: body + body,
    lambda body: body.replace(b'"jsonrpc"', b'"jsonrpc": "1.0", "jsonrpc"', 1),
    lambda body: body.replace(b'"arguments"', b'"arguments": {"name": 1}, "arguments"', 1),
    lambda body: body.replace(b'"name"', b'"name": "facts", "name"', 1),
    lambda body: body.replace(b'"id": 1', b'"id": 1e0', 1).replace(b'"id": "', b'"id": "\\u0041', 1),
    lambda body: body.replace(b'"id": ', b'"id": -', 1),
    lambda body: body.replace(b": ", b":\x0c", 1),
    lambda body: body.replace(b"here", b"he\xff\xfe", 1).replace(b"test", b"te\xed\xa0\x80", 1),
    lambda body: body.replace(b'"test"', b'"te\tst"', 1),
    lambda body: body.replace(b'"extra"', b'"extra\\ud83d\\ude00"', 1),
    lambda body: body.replace(b'"arguments": {', b'"arguments": {"n": ' + b"9" * 4_400 + b", ", 1),
    lambda body: body.replace(b'"arguments": {', b'"arguments": {"n": ' + b"[" * 250 + b"]" * 250 + b", ", 1),
    lambda body: body.replace(b'"arguments": {', b'"arguments": {"n": ' + b"[" * 90 + b"]" * 90 + b", ", 1),
    lambda body: body.replace(b'"arguments": {', b'"arguments": {"n": ' + b"[" * 5_000 + b"]" * 5_000 + b", ", 1),
    lambda body: body.replace(b'"arguments": {', b'"arguments": {"n": "' + b"x" * 5_000 + b'", ', 1),
]


KINDS = ("plain", "plain", "id", "meta", "members", "params", "body", "chunks", "headers", "http")
PATHS = ("/mcp", "/mcp/", "/MCP", "//mcp", "/x/mcp")


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """Generate requests; some are plain, and the others differ from those in one thing."""
    tool, arguments = draw(VALID)
    kind = draw(st.sampled_from(KINDS))
    body = json.dumps(_changed(draw, kind, _tree(tool, arguments, {}))).encode()
    if kind == "body":
        body = draw(st.sampled_from(MUTATIONS))(body)
    request = _request({**HEADERS, "mcp-name": tool}, body)
    if kind == "chunks":
        cuts = sorted(draw(st.lists(st.integers(0, len(body)), max_size=3)))
        request = replace(request, chunks=tuple(body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)))
    elif kind == "headers":
        request = replace(request, headers=draw(_altered(request.headers)))
    elif kind == "http":
        method = draw(st.sampled_from(["GET", "DELETE", "PUT", "POST"]))
        request = replace(request, method=method, path=draw(st.sampled_from(PATHS)))
    return request


def _changed(draw: st.DrawFn, kind: str, tree: dict[str, Any]) -> dict[str, Any]:
    """Change members of the request, of its parameters or of its metadata."""
    if kind == "id":
        return {**tree, "id": draw(IDS)}
    params = tree["params"]
    places = {"meta": (params["_meta"], METAS), "members": (tree, MEMBERS), "params": (params, PARAMS)}
    if kind in places:
        members, changes = places[kind]
        members |= draw(changes)
        for name in draw(st.sets(st.sampled_from([*members]), max_size=1)):
            del members[name]
    return tree


def _altered(headers: tuple[tuple[bytes, bytes], ...]) -> st.SearchStrategy[tuple[tuple[bytes, bytes], ...]]:
    """Drop, replace, repeat or add a header."""
    name = HEADER_NAMES.map(str.encode)
    value = HEADER_VALUES.map(lambda text: text.encode("latin-1"))
    added = st.tuples(name, value).map(lambda header: (*headers, header))
    first = st.tuples(name, value).map(lambda header: (header, *headers))
    dropped = name.map(lambda gone: tuple(header for header in headers if header[0] != gone))
    replaced = st.tuples(name, value).map(lambda new: (*(header for header in headers if header[0] != new[0]), new))
    return st.one_of(added, first, dropped, replaced)
