"""A proxy in front of servers over HTTP: statuses are kept, bodies bounded, lost sessions renewed; many upstreams."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from loguru import logger
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from failsoft import ConfigurationError
from tests.doors import Overrides, ProxySource, UpstreamTarget, assemble_proxy, from_command, from_url
from tests.proxy.conftest import HOSTILE

pytestmark = pytest.mark.anyio
TOOLS = ["works", "limited", "fails", "refused", "html", "no_json", "huge", "hangs_up", "forgets"]


class Handler(BaseHTTPRequestHandler):
    """A legacy MCP endpoint whose tools answer with statuses."""

    protocol_version = "HTTP/1.1"
    forgot = False

    def log_message(self, *_: Any) -> None: ...

    def do_GET(self) -> None:
        self.reply(405, b"")

    def do_DELETE(self) -> None:
        self.reply(200, b"")

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != "/mcp":
            elsewhere = {"location": "/mcp" if self.path == "/307" else "http://127.0.0.2/mcp"}
            self.reply(int(self.path[1:]), b"no", elsewhere)
        elif "id" not in message:
            self.reply(202, b"")
        elif message["method"] == "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "web", "version": "1"}
            self.result(message, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
        elif message["method"] == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
            tools[-1]["annotations"] = {"readOnlyHint": True}
            self.result(message, {"tools": tools})
        elif message["method"] == "tools/call":
            getattr(self, message["params"]["name"])(message)
        else:
            self.reply(400, b"what?")

    def result(self, message: Any, result: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        self.reply(200, body, {"content-type": "application/json", "mcp-session-id": "s1"})

    def reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def works(self, message: Any) -> None:
        self.result(message, {"content": [{"type": "text", "text": "fine"}]})

    def limited(self, _: Any) -> None:
        self.reply(429, b"slow down", {"retry-after": "7"})

    def fails(self, _: Any) -> None:
        self.reply(500, b"Traceback: secret")

    def refused(self, _: Any) -> None:
        self.reply(403, b"")

    def html(self, _: Any) -> None:
        self.reply(200, b"<html>", {"content-type": "text/html"})

    def no_json(self, _: Any) -> None:
        self.reply(200, b"{oops", {"content-type": "application/json"})

    def huge(self, message: Any) -> None:
        self.result(message, {"content": [{"type": "text", "text": "x" * 20_000_000}]})

    def hangs_up(self, _: Any) -> None:
        self.close_connection = True

    def forgets(self, message: Any) -> None:
        if not type(self).forgot:
            type(self).forgot = True
            self.reply(404, b"")
        else:
            self.works(message)


@contextmanager
def website() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        server.shutdown()


def proxy(*targets: UpstreamTarget, **overrides: Any) -> Any:
    return assemble_proxy(ProxySource(targets, Overrides(**overrides))).server


def code_of(result: Any) -> str:
    return result.structured_content["error"]["code"] if result.is_error else "ok"


async def test_statuses_and_broken_bodies_have_their_codes():
    with website() as url:
        async with Client(proxy(from_url(url)), cache=None) as client:
            answers = {name: await client.call_tool(name, {}) for name in TOOLS[:-1]}
            assert (await client.call_tool("works", {})).content[0].text == "fine"
    assert {name: code_of(answer) for name, answer in answers.items()} == {
        "works": "ok",
        "limited": "RATE_LIMITED",
        "fails": "UPSTREAM_ERROR",
        "refused": "PERMISSION_DENIED",
        "html": "BAD_OUTPUT",
        "no_json": "BAD_OUTPUT",
        "huge": "RESULT_TOO_LARGE",
        "hangs_up": "UNAVAILABLE",
    }
    assert "secret" not in answers["fails"].model_dump_json()


@pytest.mark.parametrize("form", ["json", "events"])
@pytest.mark.parametrize("bad", ['"\\ud800"', '{"a":' * 300 + "1" + "}" * 300], ids=["no Unicode", "deep"])
async def test_one_schema_that_nobody_could_use_does_not_take_the_other_tools_away(monkeypatch, form, bad):
    def result(handler: Any, message: Any, tree: dict[str, Any]) -> None:
        text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": tree}, indent=1 if form == "json" else None)
        if "tools" in tree:
            text = text.replace('"tools": [', f'"tools": [{{"name": "bad", "inputSchema": {{"default": {bad}}}}},')
        if form == "json":
            handler.reply(200, text.encode(), {"content-type": "application/json"})
        else:
            handler.reply(200, f"event: message\ndata: {text}\n\n".encode(), {"content-type": "text/event-stream"})

    monkeypatch.setattr(Handler, "result", result)
    with website() as url:
        async with Client(proxy(from_url(url)), cache=None) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
            assert (await client.call_tool("works", {})).content[0].text == "fine"


@pytest.mark.parametrize("form", ["json", "events"])
async def test_of_a_list_with_more_values_than_are_read_the_first_tools_are_offered(monkeypatch, form):
    def result(handler: Any, message: Any, tree: dict[str, Any]) -> None:
        if "tools" in tree:
            tree["tools"] += [{"name": f"more_{number}", "_meta": {"x": [{}] * 10}} for number in range(20_000)]
        text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": tree})
        kind = "application/json" if form == "json" else "text/event-stream"
        handler.reply(200, (text if form == "json" else f"data: {text}\n\n").encode(), {"content-type": kind})

    monkeypatch.setattr(Handler, "result", result)
    with website() as url:
        async with Client(proxy(from_url(url)), cache=None) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert (len(names), names[: len(TOOLS)]) == (2_000, TOOLS)
            assert (await client.call_tool("works", {})).content[0].text == "fine"


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_nothing_of_an_answer_that_breaks_the_protocol_is_logged(monkeypatch, caplog, kind):
    def refused(handler: Any, _: Any) -> None:
        handler.reply(200, b'data: {"secret": 1}\n\n' if "event" in kind else b'{"secret": 1}', {"content-type": kind})

    monkeypatch.setattr(Handler, "refused", refused)
    with website() as url:
        async with Client(proxy(from_url(url)), cache=None) as client:
            assert code_of(await client.call_tool("refused", {})) == "BAD_OUTPUT"
    assert "secret" not in caplog.text


async def test_a_session_that_the_server_forgot_is_renewed():
    Handler.forgot = False
    with website() as url:
        async with Client(proxy(from_url(url)), cache=None) as client:
            assert (await client.call_tool("forgets", {})).content[0].text == "fine"


async def test_several_upstreams_have_prefixed_tools_and_one_that_is_down_fails_alone():
    hostile = from_command([sys.executable, str(HOSTILE)], name="odd")
    dead = UpstreamTarget(name="dead", command=("/nonexistent/server",))
    with website() as url:
        async with Client(proxy(hostile, from_url(url, name="web"), dead), cache=None) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert {"odd__echo", "web__works"} <= names
            assert (await client.call_tool("web__works", {})).content[0].text == "fine"
            assert code_of(await client.call_tool("odd__error", {})) == "UPSTREAM_ERROR"


@pytest.mark.parametrize("status", [302, 401])
async def test_the_log_says_with_which_status_a_server_refused(status):
    said: list[str] = []
    sink = logger.add(lambda line: said.append(line.record["extra"].get("reason", "")), level="WARNING")
    logger.enable("failsoft")
    try:
        with website() as url:
            async with Client(proxy(from_url(url.replace("mcp", str(status)))), cache=None) as client:
                assert (await client.list_tools()).tools == []
    finally:
        logger.disable("failsoft")
        logger.remove(sink)
    assert f"http {status}" in said


async def test_a_redirect_within_a_host_is_followed():
    with website() as url:
        async with Client(proxy(from_url(url.replace("mcp", "307"))), cache=None) as client:
            assert (await client.call_tool("works", {})).content[0].text == "fine"


def test_two_servers_of_one_name_are_refused():
    target = UpstreamTarget(name="a", command=("x",))
    with pytest.raises(ConfigurationError):
        proxy(target, target)


async def test_an_upstream_that_does_not_listen_costs_no_start(tmp_path):
    began = time.monotonic()
    async with Client(proxy(from_url("http://127.0.0.1:9/mcp")), cache=None) as client:
        assert (await client.list_tools()).tools == []
        with pytest.raises(MCPError) as raised:
            await client.call_tool("from_an_old_list", {})
    assert raised.value.error.data["code"] == "UNAVAILABLE"
    assert began
