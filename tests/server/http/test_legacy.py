"""Requests of handshake versions over HTTP, each served within its own POST."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anyio
import pytest
from starlette.applications import Starlette

from failsoft import asgi_app
from tests.server.http.test_app import ACCEPT, opened, polite, result_of
from tests.server.served_tools import Hostile, Polite

pytestmark = pytest.mark.anyio

VERSION = {"mcp-protocol-version": "2025-06-18"}


def call_of(tool: str, _meta: dict[str, Any] | None = None, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments, **({"_meta": _meta} if _meta else {})}
    return {"jsonrpc": "2.0", "id": "a/1", "method": "tools/call", "params": params}


def message_in(event: bytes) -> Any:
    return json.loads(event.partition(b"data: ")[2])


class Connection:
    """A POST to the app, message by message."""

    def __init__(self, app: Starlette, tree: dict[str, Any]) -> None:
        self._app = app
        self._body = json.dumps(tree).encode()
        self._is_read = False
        self.closed = asyncio.Event()
        self.sent: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, Any]:
        if not self._is_read:
            self._is_read = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self.closed.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    async def run(self) -> None:
        headers = {**ACCEPT, **VERSION, "host": "127.0.0.1:8321"}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/mcp",
            "raw_path": b"/mcp",
            "query_string": b"",
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8321),
        }
        with anyio.fail_after(30):
            await self._app(scope, self.receive, self.send)


@pytest.mark.parametrize("version", [None, "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_a_call_is_answered_by_an_event_with_its_id_in_every_version(version: str | None) -> None:
    headers = {**ACCEPT, **({"mcp-protocol-version": version} if version else {})}
    async with opened(asgi_app(polite())) as client:
        response = await client.post("/mcp", json=call_of("double", number=4), headers=headers)
    assert response.headers["content-type"] == "text/event-stream"
    assert message_in(response.content)["id"] == "a/1"
    assert result_of(response)["structuredContent"]["data"] == 8


async def test_progress_is_sent_as_events_before_the_result() -> None:
    app = asgi_app(polite())
    async with opened(app):
        post = Connection(app, call_of("count", {"progressToken": 7}, steps=2))
        await post.run()
    start, *chunks = post.sent
    assert (b"content-type", b"text/event-stream") in start["headers"]
    messages = [message_in(chunk["body"]) for chunk in chunks]
    progress = [message["params"] for message in messages[:-1]]
    assert [(one["progressToken"], one["progress"], one["total"]) for one in progress] == [(7, 1, 2), (7, 2, 2)]
    assert messages[-1]["result"]["structuredContent"]["data"] == 2
    assert [chunk["more_body"] for chunk in chunks] == [True, True, False]


async def test_a_client_that_disconnects_cancels_its_call() -> None:
    tools = polite()
    app = asgi_app(tools)
    async with opened(app), anyio.create_task_group() as group:
        post = Connection(app, call_of("hang", key="k"))
        group.start_soon(post.run)
        with anyio.fail_after(30):
            await tools.events["k started"].wait()
            post.closed.set()
            await tools.events["k cancelled"].wait()
    assert [message["type"] for message in post.sent] == ["http.response.start"]


@pytest.mark.parametrize(
    ("method", "code"), [("no/such/method", -32601), ("prompts/list", -32601), ("tools/call", -32602)]
)
async def test_errors_of_the_protocol_have_its_codes(method: str, code: int) -> None:
    async with opened(asgi_app(polite())) as client:
        body = {"jsonrpc": "2.0", "id": 5, "method": method, "params": {}}
        response = await client.post("/mcp", json=body, headers={**ACCEPT, **VERSION})
    message = message_in(response.content)
    assert (response.status_code, message["id"], message["error"]["code"]) == (200, 5, code)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', 202),
        (b'{"jsonrpc": "2.0", "method": "notifications/initialized"}', 202),
        (b'{"jsonrpc": "2.0", "id": 1, "result": {}}', 202),
        (b'{"id": 1, "method": "ping"}', 400),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": "\\ud800"}}', 400),
    ],
)
async def test_what_is_no_request_is_left_to_the_sdk(content: bytes, status: int) -> None:
    async with opened(asgi_app(polite())) as client:
        response = await client.post("/mcp", content=content, headers={**ACCEPT, **VERSION})
    assert response.status_code == status


async def test_headers_that_the_sdk_refuses_are_refused() -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with opened(asgi_app(polite())) as client:
        for headers, status in (
            ({"accept": "application/json"}, 406),
            ({"content-type": "text/plain"}, 400),
            ({"host": "evil.example"}, 421),
            ({"origin": "https://evil.example"}, 403),
        ):
            response = await client.post("/mcp", json=ping, headers={**ACCEPT, **VERSION, **headers})
            assert response.status_code == status, headers


async def test_a_request_above_the_limit_is_refused() -> None:
    async with opened(asgi_app(polite(max_request_bytes=2_000))) as client:
        response = await client.post("/mcp", json=call_of("find", name="x" * 3_000), headers={**ACCEPT, **VERSION})
    assert response.status_code == 413


async def test_the_handshake_is_served_in_the_same_way() -> None:
    info = {"name": "test", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    async with opened(asgi_app([Polite(), Hostile()])) as client:
        body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        response = await client.post("/mcp", json=body, headers=ACCEPT)
    assert result_of(response)["protocolVersion"] == "2025-06-18"
