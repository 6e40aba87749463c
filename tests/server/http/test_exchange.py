"""The parts of an HTTP exchange that both bypasses of the SDK's transport share."""

from __future__ import annotations

import asyncio
import json
from contextvars import ContextVar
from typing import Any

import pytest
from starlette.types import Message

from failsoft import BaseTool, Runtime, Settings, asgi_app, operation
from tests.doors import event, received, watched
from tests.server.http.lane_requests import HEADERS, META, Post, Request, the_sdks_way

pytestmark = pytest.mark.anyio

mark: ContextVar[str] = ContextVar("mark", default="none")


class Marking(BaseTool):
    """Leaves a context variable set."""

    @operation(read_only=True)
    async def leave_mark(self) -> str:
        """Return the mark that was found."""
        found = mark.get()
        mark.set("left")
        await asyncio.sleep(0)
        return found + mark.get()


@pytest.mark.parametrize("way", ["lane", "sdk"])
@pytest.mark.parametrize("version", ["2026-07-28", "2025-06-18"])
async def test_context_variables_that_a_tool_sets_do_not_outlive_its_call(way: str, version: str) -> None:
    app = asgi_app(Marking(runtime=Runtime(settings=Settings())))
    app = app if way == "lane" else the_sdks_way(app)
    params = {"name": "leave_mark", "arguments": {}, "_meta": META if version == "2026-07-28" else {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = {**HEADERS, "mcp-name": "leave_mark", "mcp-protocol-version": version}
    request = Request(tuple((name.encode(), value.encode()) for name, value in headers.items()), (body,))
    async with app.router.lifespan_context(app):
        for _ in range(2):
            post = Post(app, request)
            await post.run()
            assert '"noneleft"' in str(post.answer.bodies)
    assert mark.get() == "none"


async def test_a_cancelled_call_can_handle_its_cancellation() -> None:
    async def work() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "handled"
        return "slept"

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    assert await watched(work(), receive, receive) == "handled"  # type: ignore[arg-type]  # no ping is sent


async def test_a_body_in_many_pieces_becomes_one_message() -> None:
    async def gathered(*messages: Message) -> list[Message]:
        left = list(messages)

        async def receive() -> Message:
            return left.pop(0)

        return await received(receive, at_most=10_000_000)

    def piece(body: bytes, *, more: bool) -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": more}

    pieces = [piece(b"x", more=True)] * 50
    gone = {"type": "http.disconnect"}
    assert await gathered(*pieces, piece(b"y", more=False)) == [piece(b"x" * 50 + b"y", more=False)]
    assert await gathered(*pieces, gone) == [piece(b"x" * 50, more=True), gone]
    assert await gathered(gone) == [gone]


def test_an_event_has_its_data_in_one_line_of_any_definition() -> None:
    text = "a\x85b\u2028c\u2029d"
    lines = event(json.dumps(text, ensure_ascii=False).encode()).decode().splitlines()
    assert lines[0] == "event: message"
    assert json.loads(lines[1].removeprefix("data: ")) == text
    assert lines[2:] == [""]
