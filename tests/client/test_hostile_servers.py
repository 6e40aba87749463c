"""Whatever a server answers, the client returns data or raises a typed error with usable advice."""

from __future__ import annotations

import asyncio
import copy
import json
import math
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from failsoft import BadOutput, Timeout, ToolError, Unavailable
from failsoft.client import Client
from tests.client.hostile_server import INITIALIZED, TOOL
from tests.doors import bounded, error_in, failure_in, fault_from, message_of, read_answer
from tests.thorough import examples

pytestmark = pytest.mark.anyio
SERVER = str(Path(__file__).with_name("hostile_server.py"))
BOUND_S = 60
SECRET = "hunter2hunter2hunter2"

NUMBERS = [10**400, -(10**400), 1e308, -1.0, float("nan"), float("inf"), True, "1", "0001-01-01T00:00:00+14:00", [], {}]
WORDS = ["code", "error", "retry", "retry_after", "when", "after_seconds", "next_step", "tool", "arguments", "status"]
WORDS += ["effect", "error_id", "message", "details", "violations", "path", "reason", "allowed", "line", "success"]
WORDS += ["suggestions", "retryable", "class", "retryNotBefore", "correlationId", "kind", "size_bytes", "limit_bytes"]
WORDS += ["headers", "dev.failsoft/error", "dev.failsoft/fault"]
VALUES = ["NOT_FOUND", "SYSTEM_ERROR", "OF_THEIR_OWN", "after_delay", "unknown", "too_large", "http", "transient"]
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.sampled_from(VALUES + NUMBERS))
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(st.sampled_from(WORDS), st.text()), inner, max_size=6)
    ),
    max_leaves=25,
)
OBJECTS = st.dictionaries(st.sampled_from(WORDS), TREES, max_size=8)


def check(error: ToolError) -> None:
    """Check what callers of the client rely on."""
    assert isinstance(error, ToolError)
    assert error.message
    assert len(error.message) <= 2_200
    assert bounded(error.message, 2_200) == error.message
    assert error.retry in {"never", "after_fix", "after_delay"}
    assert error.effect in {None, "none", "unknown", "applied"}
    wait_s = error.retry_after_seconds
    assert wait_s is None or (isinstance(wait_s, float) and math.isfinite(wait_s) and wait_s >= 0)
    assert len(json.dumps(error.to_dict())) < 100_000
    assert all(fault.line is None or fault.line >= 1 for fault in error.violations)
    assert copy.deepcopy(error).code == error.code


@settings(max_examples=examples(100), deadline=None)
@given(tree=OBJECTS, meta=OBJECTS, text=st.one_of(st.text(), OBJECTS.map(json.dumps)))
def test_any_failed_result_gives_a_typed_error(tree: Any, meta: Any, text: str) -> None:
    block = {"type": "text", "text": text}
    for structured in (tree, None):
        answer = read_answer({"isError": True, "structuredContent": structured, "_meta": meta, "content": [block]})
        error = failure_in(answer)
        assert error is not None
        check(error)


@settings(max_examples=examples(100), deadline=None)
@given(data=TREES, code=st.integers(), message=st.text())
def test_any_error_of_the_protocol_gives_a_typed_error(data: Any, code: int, message: str) -> None:
    from mcp.shared.exceptions import MCPError  # noqa: PLC0415 - the SDK takes a second

    check(fault_from(MCPError(code, message, data), server="shop"))


@pytest.mark.parametrize("after", [10**400, float("nan"), float("inf"), -5, True])
def test_a_wait_that_is_none_is_left_out(after: Any) -> None:
    advice = {"code": "OVERLOADED", "retry": {"when": "after_delay", "after_seconds": after}}
    answer = read_answer({"isError": True, "content": [], "_meta": {"dev.failsoft/error": advice}})
    assert error_in(answer).retry_after_seconds in {None, 0.0}


def test_details_of_a_server_are_bounded() -> None:
    body = {"code": "NOT_FOUND", "effect": "none", "error_id": "x" * 10_000, "details": {"rows": ["y" * 500] * 5_000}}
    tree, meta = {"success": False, "error": body}, {"dev.failsoft/error": {"code": "NOT_FOUND"}}
    error = error_in(read_answer({"isError": True, "structuredContent": tree, "content": [], "_meta": meta}))
    check(error)
    assert len(error.details["error_id"]) <= 300


FAULT = '"error":{"code":-32603,"message":"\\u001b[2J`delete_all`\\nNow","data":{"dev.failsoft/fault":%s}}'
ADVICE = '"result":{"isError":true,"content":[],"_meta":{"dev.failsoft/error":{"code":"OVERLOADED","retry":%s}}}'
ANSWERS: dict[str, str] = {
    "die": "UNAVAILABLE",
    '"result":{"content":"no list"}': "BAD_OUTPUT",
    '"result":[]': "BAD_OUTPUT",
    '"result":{"content":[{"type":"no such type"}]}': "BAD_OUTPUT",
    FAULT % '{"kind":"too_large"}': "BAD_OUTPUT",
    FAULT % '{"kind":"http","status":[],"headers":7}': "BAD_OUTPUT",
    ADVICE % '{"when":"after_delay","after_seconds":1e999}': "OVERLOADED",
}


@pytest.mark.parametrize("answer", ANSWERS)
async def test_an_answer_that_breaks_the_protocol_gives_a_typed_error(answer: str) -> None:
    async with asyncio.timeout(BOUND_S), Client([sys.executable, SERVER, answer], mode="legacy", attempts=2) as client:
        with pytest.raises(ToolError) as caught:
            await client.call("work", {}, timeout_s=BOUND_S)
    check(caught.value)
    assert caught.value.code == ANSWERS[answer]


@pytest.mark.parametrize("bad", ['"\\ud800"', '{"a":' * 300 + "1" + "}" * 300], ids=["no Unicode", "deep"])
def test_a_list_with_a_tool_that_cannot_be_read_costs_little_more_than_its_parsing(bad: str) -> None:
    properties = {f"p{number}": {"type": "string", "description": "x"} for number in range(12)}
    tools = [{"name": f"t{number}", "inputSchema": {"properties": properties}} for number in range(2_000)]
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "bad", "x": "BAD"}, *tools]}})
    line = text.replace('"BAD"', bad).encode()

    def cost(read: Callable[[], Any]) -> float:
        began = time.thread_time()
        assert read() is not None
        return time.thread_time() - began

    parsing = min(cost(lambda: json.loads(line)) for _ in range(5))
    assert min(cost(lambda: message_of(line, limit_bytes=10_000_000)) for _ in range(5)) < 6 * parsing


async def test_a_server_that_asks_and_reads_no_answer_fills_no_memory() -> None:
    waiting = 0
    async with Client([sys.executable, SERVER, "asks"]) as client:
        await client.tools()
        assert await client.call("work", timeout_s=BOUND_S) == "done"
        waiting = len(asyncio.all_tasks())
    assert waiting < 2_000


async def test_an_http_server_that_asks_and_takes_no_answer_fills_no_memory() -> None:
    ends = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        message = json.loads(await reader.readexactly(int(length[1]))) if length else {}
        number, method = message.get("id"), message.get("method")
        if method == "tools/call":
            asked = [{"jsonrpc": "2.0", "id": f"q{count}", "method": "roots/list"} for count in range(4_000)]
            result = {"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": "done"}]}}
            events = "".join(f"data: {json.dumps(item)}\n\n" for item in [*asked, result])
            writer.write(http("200 OK", events, **STREAM))
        elif method in LEGACY:
            body = json.dumps({"jsonrpc": "2.0", "id": number, "result": LEGACY[method]})
            writer.write(http("200 OK", body, content_type="application/json"))
        elif number is not None:
            await ends.wait()
        else:
            writer.write(http("202 x" if message else "405 x"))
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    async with server, asyncio.timeout(BOUND_S), Client(url, mode="legacy") as client:
        await client.tools()
        assert await client.call("work", timeout_s=BOUND_S) == "done"
        waiting = len(asyncio.all_tasks())
        ends.set()
    assert waiting < 2_000


@pytest.mark.parametrize(("answer", "pages"), [("endless", 1_000), ("large", 20)])
async def test_a_list_of_tools_without_end_is_refused(answer: str, pages: int) -> None:
    async with asyncio.timeout(BOUND_S), Client([sys.executable, SERVER, answer], mode="legacy") as client:
        with pytest.raises(BadOutput) as refused:
            await client.tools()
        more = await client._connected().list_tools(cursor="more")
    assert int(more.next_cursor or "") <= pages
    assert refused.value.__cause__ is not refused.value


async def test_a_server_that_never_answers_at_the_start_is_given_up() -> None:
    client = Client([sys.executable, SERVER, "never"], mode="legacy", connect_timeout_s=0.5)
    async with asyncio.timeout(BOUND_S):
        with pytest.raises(Timeout):
            await client.__aenter__()


def http(status: str, body: str = "", **headers: str) -> bytes:
    named = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *named, "", body]).encode()


LEGACY: dict[str, Any] = {"initialize": INITIALIZED, "tools/list": {"tools": [TOOL]}}
STREAM = {"content_type": "text/event-stream"}
BODIES = {
    "no HTTP": b"\x00\x01nonsense\r\n\r\n",
    "no JSON": http("200 OK", "<ht>", content_type="application/json"),
    "another type": http("200 OK", "<ht>", content_type="text/html"),
    "an empty stream": http("200 OK", **STREAM),
    "a stream of nonsense": http("200 OK", "data: no JSON\n\n", **STREAM),
    "another answer": http("200 OK", '{"jsonrpc":"2.0","id":999999,"result":{}}', content_type="application/json"),
    "a redirect": http("307 x", location="http://127.0.0.1:1/"),
    "a failure": http("500 x", "\x1b[2"),
    "no access": http("401 x"),
    "nothing": b"",
}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("body", BODIES)
async def test_an_http_server_that_talks_nonsense_is_a_typed_error_without_credentials(body: str, mode: str) -> None:
    seen: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.read(65_536))
        writer.write(BODIES[body])
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    url = f"http://agent:{SECRET}@127.0.0.1:{port}/mcp?token={SECRET}"
    patience_s = 0.5 if body == "another answer" else BOUND_S
    async with server, asyncio.timeout(2 * BOUND_S):
        with pytest.raises(ToolError) as caught:
            async with Client(url, mode=mode, connect_timeout_s=patience_s) as client:
                await client.call("work", {}, timeout_s=patience_s)
    check(caught.value)
    assert seen
    assert SECRET not in caught.value.message


async def test_a_command_with_a_secret_is_not_repeated_in_errors() -> None:
    with pytest.raises(Unavailable) as caught:
        await Client(["/nonexistent/server", "--token", SECRET]).__aenter__()
    assert SECRET not in caught.value.message
    with pytest.raises(Unavailable) as caught:
        await Client(f"/nonexistent/server --token {SECRET}").__aenter__()
    assert SECRET not in caught.value.message
