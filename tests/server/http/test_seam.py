"""At its start a server finds out whether the installed SDK has the parts that the lane needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from loguru import logger
from mcp.server import runner
from mcp.server.runner import ServerRunner

from failsoft import Settings, asgi_app
from tests.doors import seam_module as seam
from tests.server.http.lane_requests import Post, plain
from tests.server.served_tools import Polite

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Ask the SDK again, and return what the server logs as a warning; toolsets of other tests may still be at work."""
    lines: list[str] = []
    monkeypatch.setattr(seam, "_found", [])
    logger.enable("failsoft")
    number = logger.add(lambda line: lines.append(str(line)), level="WARNING", filter="failsoft.server")
    yield lines
    logger.remove(number)


async def is_answered() -> bool:
    app = asgi_app(Polite())
    async with app.router.lifespan_context(app):
        posts = [Post(app, plain("facts")) for _ in range(2)]
        await posts[0].run()
        with anyio.fail_after(30):
            while not seam._found:  # noqa: ASYNC110 - the server tells nobody
                await anyio.sleep(0.01)
        await posts[1].run()
    return {post.answer.status for post in posts} == {200}


async def test_an_sdk_that_answers_alike_is_bypassed(told: list[str]) -> None:
    assert await is_answered()
    assert await is_answered()
    assert (told, seam._found) == ([], [None])


async def test_an_sdk_that_answers_otherwise_serves_in_its_own_way_and_one_line_says_so(
    told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ServerRunner._on_request

    async def stamped(self: Any, dctx: Any, method: str, params: Any) -> Any:
        result = await whole(self, dctx, method, params)
        is_ours = type(dctx).__name__ == "Exchange"
        return {**result, "extra": 1} if is_ours else result

    monkeypatch.setattr(ServerRunner, "_on_request", stamped)
    assert await is_answered()
    assert len(told) == 1
    assert "a list of version 2026-07-28" in told[0]


async def test_an_sdk_that_raises_serves_in_its_own_way(told: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ServerRunner, "__init__", lambda *_: None)
    monkeypatch.setattr(runner, "ServerRunner", ServerRunner)
    assert not await _is_alike()
    assert told == []


async def _is_alike() -> bool:
    from tests.doors import Lane  # noqa: PLC0415 - as the server imports it

    return await seam._difference(Lane, Settings()) is None
