"""Many requests of one caller at once, and few of another, which do not wait for all of them."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest

from failsoft import BaseTool, CallContext, Runtime, Settings, asgi_app, operation
from tests.server.http.process.test_crowded import TOKENS, body_of, headers_of

pytestmark = pytest.mark.anyio
MANY = 60


class Shop(BaseTool):
    """A shop that notes who came."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.came: list[str | None] = []

    @operation(read_only=True)
    async def price(self, call: CallContext) -> int:
        """Return a price."""
        self.came.append(call.principal)
        await asyncio.sleep(0)
        return 3

    @operation(read_only=True)
    async def catalogue(self, call: CallContext) -> str:
        """Return all prices at once, without waiting for anything."""
        self.came.append(call.principal)
        return "x" * 60_000


@pytest.mark.parametrize("tool", ["price", "catalogue"])
async def test_a_caller_with_many_requests_does_not_delay_the_few_of_another(tool: str) -> None:
    tokens = ",".join(f"{name}:{token}" for name, token in TOKENS.items())
    shop = Shop(runtime=Runtime(settings=Settings(auth_tokens=tokens)))
    app = asgi_app(shop)
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8321") as client,
        asyncio.TaskGroup() as group,
    ):
        for name in ("ada",) * MANY + ("bob",) * 3:
            group.create_task(client.post("/mcp", headers=headers_of(tool, name), content=body_of(tool)))
    assert len(shop.came) == MANY + 3
    assert [at for at, name in enumerate(shop.came) if name == "token:bob"][-1] < MANY / 2
