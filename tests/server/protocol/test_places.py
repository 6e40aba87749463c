"""A call keeps its place among those in flight while its handler runs, also after its client has left."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from mcp.server.auth.provider import AccessToken
from starlette.applications import Starlette

from failsoft import BaseTool, Runtime, Settings, asgi_app, operation
from tests.server.http.lane_requests import META, Post, Request, the_sdks_way
from tests.server.http.process.test_crowded import TOKENS, headers_of

pytestmark = pytest.mark.anyio

LIMIT = 2


class Slow(BaseTool):
    """Counts the calls that it runs."""

    running = 0

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self.go_on = asyncio.Event()

    @operation
    async def work(self, step: int) -> int:
        """Work until told to go on."""
        self.running += 1
        try:
            await self.go_on.wait()
        finally:
            self.running -= 1
        return step


def request(step: int, *, tool: str = "work", key: str | None = None) -> Request:
    meta = META if key is None else {**META, "dev.failsoft/idempotency-key": key}
    params = {"name": tool, "arguments": {"step": step}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = {"host": "127.0.0.1:8321", **headers_of(tool, "ada")}
    return Request(tuple((name.encode(), value.encode()) for name, value in headers.items()), (body,))


async def soon(condition: Any) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the tool only counts
            await asyncio.sleep(0.005)


class Verifier:
    """Knows any token."""

    def __init__(self, **facts: Any) -> None:
        self._facts = facts

    async def verify_token(self, token: str) -> AccessToken:
        """Return who holds it."""
        return AccessToken.model_construct(token=token, scopes=[], **self._facts)


def served(tool: Slow, way: str) -> Starlette:
    app = asgi_app(tool)
    return app if way == "lane" else the_sdks_way(app)


def slow() -> Slow:
    tokens = ",".join(f"{name}:{token}" for name, token in TOKENS.items())
    return Slow(runtime=Runtime(settings=Settings(auth_tokens=tokens, max_calls_per_principal=LIMIT)))


@pytest.mark.parametrize("way", ["lane", "sdk"])
async def test_a_keyed_call_whose_client_left_keeps_its_place_until_it_is_over(way: str) -> None:
    tool = slow()
    app = served(tool, way)
    async with app.router.lifespan_context(app):
        for step in range(LIMIT):
            post = Post(app, request(step, key=f"key-{step}"))
            calling = asyncio.create_task(post.run())
            await soon(lambda: tool.running == step + 1)  # noqa: B023 - called at once
            post.closed.set()
            await asyncio.wait([calling])
        refused = Post(app, request(7, key="key-7"))
        running = asyncio.create_task(refused.run())
        await asyncio.wait([running], timeout=10)
        assert "OVERLOADED" in str(refused.answer.bodies)
        assert tool.running == LIMIT
        tool.go_on.set()
        await soon(lambda: not tool.running)
        for step in range(LIMIT + 1):
            post = Post(app, request(step))
            await post.run()
            assert '"isError": false' in str(post.answer.bodies)


async def test_a_call_without_a_key_gives_its_place_back_when_its_client_leaves() -> None:
    tool = slow()
    app = served(tool, "lane")
    async with app.router.lifespan_context(app):
        for step in range(LIMIT * 2):
            post = Post(app, request(step))
            calling = asyncio.create_task(post.run())
            await soon(lambda: tool.running == 1)
            post.closed.set()
            await asyncio.wait([calling])
            assert tool.running == 0


@pytest.mark.parametrize(("client_id", "status"), [("ada", "works"), (7, "fails")])
async def test_a_call_whose_caller_has_an_odd_name_is_over_when_it_is_answered(client_id: Any, status: str) -> None:
    tool = slow()
    tool.go_on.set()
    app = asgi_app(tool, token_verifier=Verifier(client_id=client_id, subject="\ud800"))
    async with app.router.lifespan_context(app):
        post = Post(app, request(1))
        await post.run()
        assert ('"isError": false' in str(post.answer.bodies)) is (status == "works")
        assert app.state.assembly.lifecycle._calls == set()
