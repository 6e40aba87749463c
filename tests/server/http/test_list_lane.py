"""The list of tools over HTTP: with the lane on and off the answers are the same, and a kept one is sent at once."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.server import streamable_http_manager
from starlette.applications import Starlette

from failsoft import Runtime, Settings, asgi_app
from tests.server.http.lane_requests import HEADERS, META, Answer, Post, Request, the_sdks_way
from tests.server.served_tools import Polite

pytestmark = pytest.mark.anyio

LIST = {**HEADERS, "mcp-method": "tools/list"}
TREE: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
LEGACY = {**HEADERS, "mcp-protocol-version": "2025-06-18"}


def request(tree: Any = TREE, *, chunks: int = 1, **headers: str | None) -> Request:
    """Return a request for the list; a header that is None is left out."""
    body = tree if isinstance(tree, bytes) else json.dumps(tree).encode()
    size = max(1, -(-len(body) // chunks))
    given = {**LIST, **{name.replace("_", "-"): value for name, value in headers.items()}}
    pairs = tuple((name.encode(), value.encode()) for name, value in given.items() if value is not None)
    return Request(pairs, tuple(body[start : start + size] for start in range(0, len(body), size)) or (b"",))


def with_params(**params: Any) -> Request:
    return request({**TREE, "params": {"_meta": META, **params}})


def with_meta(**meta: Any) -> Request:
    return request({**TREE, "params": {"_meta": {**META, **meta}}})


REQUESTS = {
    "plain": request(),
    "in pieces": request(chunks=3),
    "a text as its id": request({**TREE, "id": "a\u00e9"}),
    "no id": request({key: value for key, value in TREE.items() if key != "id"}),
    "null as its id": request({**TREE, "id": None}),
    "a cursor": with_params(cursor="x"),
    "no cursor": with_params(cursor=None),
    "another member": request({**TREE, "extra": 1}),
    "another method in the body": request({**TREE, "method": "tools/call"}),
    "another method in the headers": request(mcp_method="tools/call"),
    "a name": request(mcp_name="find"),
    "no _meta": request({**TREE, "params": {}}),
    "no params": request({key: value for key, value in TREE.items() if key != "params"}),
    "a progress token": with_meta(progressToken=1),
    "no progress token": with_meta(progressToken=None),
    "a log level": with_meta(**{"io.modelcontextprotocol/logLevel": "debug"}),
    "another version in the body": with_meta(**{"io.modelcontextprotocol/protocolVersion": "2025-06-18"}),
    "an unknown version": request(mcp_protocol_version="2099-01-01"),
    "capabilities that are none": with_meta(**{"io.modelcontextprotocol/clientCapabilities": 1}),
    "no JSON": request(b"{"),
    "an empty body": request(b""),
    "a list": request(b"[]"),
    "an infinite number": request(json.dumps(TREE).encode().replace(b'"id": 1', b'"id": Infinity')),
    "another type": request(content_type="text/plain"),
    "JSON alone accepted": request(accept="application/json"),
    "nothing of ours accepted": request(accept="text/html"),
    "another host": request(host="evil.example"),
    "another origin": request(origin="http://evil.example"),
    "another path": Request(request().headers, request().chunks, path="/other"),
    "a GET": Request(request().headers, request().chunks, method="GET"),
    "the legacy era": request({**TREE, "params": {}}, mcp_protocol_version="2025-06-18", mcp_method=None),
}


@asynccontextmanager
async def served(way: str) -> AsyncIterator[Starlette]:
    app = asgi_app(Polite(runtime=Runtime(settings=Settings())))
    app = app if way == "lane" else the_sdks_way(app)
    async with app.router.lifespan_context(app):
        yield app


async def answer(app: Starlette, sent: Request) -> Answer:
    post = Post(app, sent)
    await post.run()
    return post.answer


@pytest.mark.parametrize("sent", REQUESTS.values(), ids=REQUESTS)
async def test_the_answers_are_the_same_with_the_lane_on_and_off(sent: Request) -> None:
    async with served("lane") as on, served("sdk") as off:
        first, kept, expected = [await answer(app, sent) for app in (on, on, off)]
        await answer(on, request())
        after_another = await answer(on, sent)
    assert first == kept == after_another == expected


async def test_the_second_answer_comes_without_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    async with served("lane") as app:
        first = await answer(app, request())

        async def refuse(*_: Any) -> None:
            pytest.fail("the SDK was asked")

        monkeypatch.setattr(streamable_http_manager, "handle_modern_request", refuse)
        assert await answer(app, request()) == first
    assert json.loads(first.bodies[0])["result"]["ttlMs"] == 60_000


async def test_middleware_of_the_sdk_s_server_that_is_added_later_sees_every_request() -> None:
    async with served("lane") as app:
        await answer(app, request())
        seen = []

        async def note(ctx: Any, call_next: Any) -> Any:
            seen.append(ctx.method)
            return await call_next(ctx)

        app.state.assembly.server.middleware.append(note)
        app.state.assembly.server.middleware.insert(0, note)
        await answer(app, request())
    assert seen == ["tools/list"] * 2
