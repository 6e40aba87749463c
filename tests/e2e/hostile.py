"""Hostile traffic: what anybody may send to a server, from odd arguments down to bytes that are no HTTP."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

__all__ = ["BODY_LIMIT", "LEGACY", "TOOLS", "Shot", "cuts", "is_text", "lines", "request", "spoken", "volleys"]

TOOLS = ("get_documentation", "list_documents", "search_documents")
BODY_LIMIT = 100_000
"""The largest body that the server under attack takes, in bytes."""

LEGACY, MODERN = "2025-11-25", "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}

PARAMETERS = ("path", "query", "limit", "prefix", "doc_type", "doc_types", "mode", "project")
PROTOTYPES = ("__proto__", "constructor", "__class__", "__init__", "toString", "self", "params", "$ref", "", "_meta")
ODD_NAMES = (*PROTOTYPES, "tools/call", "get_documentation ", "GET_DOCUMENTATION", "get_documentation\x00", "x" * 5_000)
ODD_TEXT = (
    "guide/intro.mdx",
    "guide/intro.md",
    "GUIDE/INTRO",
    "outside.md",
    "../" * 40 + "etc/passwd",
    "/etc/passwd",
    "guide/../../secret/plan.md",
    "guide/\x00intro.mdx",
    "%2e%2e%2fsecret",
    "C:\\windows\\win.ini",
    "file:///etc/passwd",
    "con.md",
    "." * 3_000,
    "/" * 2_000,
    "a" * 20_000,
    '"open',
    "NEAR(a b, 99999999999999999999)",
    "title:* OR content:*",
    "{title} : x",
    "'; DROP TABLE documents; --",
    "((((((((((" * 50,
    "* AND NOT *" * 50,
    "{{7*7}} ${7*7} %s %n {0.__class__}",
    "\u202efdp.exe",
    "\x1b[31m\r\n\x07",
    "\ufeff\uffff\U0010ffff",
    "e\u0301" * 500,
)
ODD_NUMBERS = ("NaN", "-Infinity", "1e999", "-0", "0.1e-400", "9" * 400, "9" * 5_000, "1E+0", "1.0")


@dataclass(frozen=True)
class Shot:
    """One HTTP request. `plain` says that nothing but its arguments is odd, so that it has to reach its tool."""

    body: bytes
    headers: dict[str, str]
    verb: str = "POST"
    path: str = "/mcp"
    request_id: Any = 1
    tool: str | None = None
    plain: bool = False


text = st.one_of(st.sampled_from(ODD_TEXT), st.text(max_size=40), st.text(st.characters(), max_size=10))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 200),
    st.integers(),
    st.integers(10**20, 10**60),
    st.floats(),
    text,
    st.sampled_from(["md", "mdx", "document", "guide", "lexical", "semantic"]),
)
keys = st.one_of(st.sampled_from(PARAMETERS), st.sampled_from(PROTOTYPES), text)
trees = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=8,
)
odd_arguments = st.dictionaries(keys, st.one_of(scalars, trees), max_size=4)
fitting_arguments = {
    "get_documentation": st.fixed_dictionaries({"path": text}),
    "list_documents": st.fixed_dictionaries({}, optional={"prefix": text, "doc_type": text, "limit": scalars}),
    "search_documents": st.fixed_dictionaries(
        {"query": text}, optional={"limit": st.integers(-1, 120), "doc_types": st.lists(text, max_size=2)}
    ),
}
metas = st.dictionaries(
    st.sampled_from(["progressToken", "traceparent", "dev.failsoft/context", "dev.failsoft/idempotency-key"]),
    scalars,
    max_size=2,
)


dice = st.integers(0, 2**32).map(random.Random)
"""One number in place of a drawing of every piece, which is dear."""


@st.composite
def spoken(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Return the name of a tool and arguments for it, either of them odd."""
    name = draw(st.sampled_from(TOOLS))
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(st.one_of(st.sampled_from(ODD_NAMES), text)), draw(odd_arguments)
    return name, draw(fitting_arguments[name] if kind < 6 else odd_arguments)


def request(name: str, arguments: Any, *, request_id: Any = 1, meta: dict[str, Any] | None = None) -> bytes:
    """Return a call as JSON."""
    params = {"name": name, "arguments": arguments, **({"_meta": meta} if meta else {})}
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}).encode()


def is_text(tree: Any) -> bool:
    """Return whether no lone surrogate is in it, which the SDK's parser refuses."""
    try:
        return bool(json.dumps(tree, ensure_ascii=False).encode())
    except UnicodeEncodeError:
        return False


@st.composite
def volleys(draw: st.DrawFn) -> list[Shot]:
    """Return one call in four forms: to each era of the protocol, broken below its arguments, and with odd headers.

    Only the call itself is drawn piece by piece.
    """
    name, arguments = draw(spoken())
    meta = draw(metas)
    rng = draw(dice)
    request_id = rng.choice([rng.randrange(-5, 2**60), "", "a", "\u00e9" * 50, "1"])
    token = meta.get("progressToken", "")
    plain = name in TOOLS and is_text([arguments, meta]) and type(token) in {str, int}
    old = request(name, arguments, request_id=request_id, meta=meta)
    new = request(name, arguments, request_id=request_id, meta={**meta, **ENVELOPE})
    old_headers = {"mcp-protocol-version": LEGACY}
    new_headers = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": name}
    if name not in TOOLS:
        new_headers["mcp-name"] = "nameless"  # a header cannot hold every name
    body, headers = rng.choice([(old, old_headers), (new, new_headers)])
    verb, path = rng.choice(ODD_TARGETS) if rng.random() < 0.2 else ("POST", "/mcp")
    return [
        Shot(old, old_headers, request_id=request_id, tool=name, plain=plain),
        Shot(new, new_headers, request_id=request_id, tool=name, plain=plain),
        Shot(rng.choice(MUTATIONS)(rng, body), headers),
        Shot(body, {**headers, **rng.choice(ODD_HEADERS)}, verb=verb, path=path),
    ]


def _cut(rng: random.Random, body: bytes) -> bytes:
    return body[: rng.randrange(len(body))]


def _flip(rng: random.Random, body: bytes) -> bytes:
    at = rng.randrange(len(body))
    return body[:at] + bytes([rng.randrange(256)]) + body[at + 1 :]


def _number(rng: random.Random, body: bytes) -> bytes:
    number = rng.choice(ODD_NUMBERS).encode()
    return body.replace(b'"arguments": {', b'"arguments": {"limit": ' + number + b', "ratio": ' + number + b", ", 1)


def _deep(rng: random.Random, body: bytes) -> bytes:
    opening, closing = rng.choice([(b"[", b"]"), (b'{"a":', b"}")])
    levels = rng.choice([50, 180, 199, 200, 5_000])
    tree = opening * levels + b"1" + closing * levels
    return body.replace(b'"arguments": {', b'"arguments": {"deep": ' + tree + b", ", 1)


def _twice(rng: random.Random, body: bytes) -> bytes:
    key = rng.choice(["arguments", "name", "jsonrpc", "id", "params", "method"])
    value = rng.choice(['{"limit": 1}', '"nope"', "null", "[]", "-1", "true"])
    return body.replace(f'"{key}":'.encode(), f'"{key}": {value}, "{key}":'.encode(), 1)


def _padded(rng: random.Random, body: bytes) -> bytes:
    return body.ljust(BODY_LIMIT + rng.choice([-1, 0, 1, 50_000]))


def _wrapped(rng: random.Random, body: bytes) -> bytes:
    start, end = rng.choice([("[", "]"), ("\ufeff", ""), ("", "}"), ("", " null"), ("/**/", ""), ("\x00", "")])
    return start.encode() + body + end.encode()


def _other(rng: random.Random, body: bytes) -> bytes:
    recoded = body.decode().encode("utf-16"), body.replace(b"a", b"\xff"), body.replace(b'"', b"'")
    return rng.choice([*recoded, b"", b"null", b"[]", b"7", b"NaN", b"\x1f\x8b\x08"])


def _field(rng: random.Random, body: bytes) -> bytes:
    message = json.loads(body)
    holder = rng.choice([message, message["params"]])
    key = rng.choice(list(holder))
    odd = [
        None,
        True,
        1.5,
        [],
        {},
        "",
        "tools/list",
        "ping",
        "initialize",
        "notifications/cancelled",
        [[]] * 99,
        10**400,
    ]
    holder[key] = rng.choice(odd)
    if rng.random() < 0.3:
        del holder[key]
    return json.dumps(message).encode()


MUTATIONS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _cut,
    _flip,
    _number,
    _deep,
    _twice,
    _padded,
    _wrapped,
    _other,
    _field,
)

ODD_HEADERS: tuple[dict[str, str], ...] = (
    {"content-type": "text/plain"},
    {"content-type": "application/json; charset=utf-16"},
    {"content-type": "multipart/form-data; boundary=x"},
    {"content-encoding": "gzip"},
    {"accept": "text/html"},
    {"accept": "application/json"},
    {"accept": "*/*;q=0, application/json;q=nan"},
    {"mcp-protocol-version": "banana"},
    {"mcp-protocol-version": "2024-11-05"},
    {"mcp-method": "tools/list"},
    {"mcp-name": "list_documents"},
    {"mcp-name": "=?base64?%%%?="},
    {"mcp-session-id": "x" * 500},
    {"last-event-id": "-1"},
    {"authorization": "Bearer wrong"},
    {"authorization": "Basic Og=="},
    {"authorization": "Bearer " + "x" * 8_000},
    {"host": "evil.example"},
    {"host": "127.0.0.1:1@evil.example"},
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"x-forwarded-host": "evil.example", "forwarded": "host=evil.example", "x-forwarded-for": "::1"},
    {"x-http-method-override": "DELETE"},
    {"traceparent": "00-" + "g" * 32 + "-x-01", "tracestate": "a=" + "b" * 3_000, "baggage": "a=b," * 500},
    {"expect": "100-continue"},
    {"range": "bytes=0-1"},
    {"connection": "upgrade", "upgrade": "h2c"},
    {"cookie": "a=" + "b" * 20_000},
)
ODD_PATHS = (
    "/mcp/",
    "//mcp",
    "/MCP",
    "/%6dcp",
    "/mcp?x=%00",
    "/mcp/../status.json",
    "/..%2f..%2fetc/passwd",
    "/status.json",
    "/metrics",
    "/" + "a" * 9_000,
)
ODD_VERBS = ("PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "BREW")
ODD_TARGETS = (*((verb, "/mcp") for verb in ODD_VERBS), *(("POST", path) for path in ODD_PATHS))


@st.composite
def lines(draw: st.DrawFn) -> tuple[bytes, str | None]:
    """Return a line for a server on stdio, and the name of the tool that has to answer it, if one has to.

    The call's id is to be put in the place of `"@"`.
    """
    name, arguments = draw(spoken())
    rng = draw(dice)
    body = request(name, arguments, request_id="@")
    if rng.random() < 0.3:
        return rng.choice(MUTATIONS)(rng, body).replace(b"\n", b" "), None
    return body, name if name in TOOLS and is_text(arguments) else None


@st.composite
def cuts(draw: st.DrawFn, token: str) -> tuple[bytes, bool]:
    """Return what is written to a connection before it is closed, and whether it is closed with a reset."""
    shot = draw(volleys())[draw(st.integers(0, 2))]
    rng = draw(dice)
    headers = {"host": "127.0.0.1", "authorization": f"Bearer {token}", **shot.headers}
    headers |= {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    right = len(shot.body)
    headers["content-length"] = str(rng.choice([*[right] * 6, right - 1, right + 50, 10**12, -1, "x"]))
    if rng.random() < 0.1:
        headers["transfer-encoding"] = rng.choice(["chunked", "chunked, chunked", "gzip"])
    written = [f"{name}: {value}" for name, value in headers.items()]
    sent = "\r\n".join(["POST /mcp HTTP/1.1", *written, "", ""]).encode() + shot.body
    sent *= rng.choice([1, 1, 1, 3])
    return sent[: rng.choice([len(sent), rng.randrange(len(sent))])], rng.random() < 0.5
