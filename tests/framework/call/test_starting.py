"""A toolset is started once: by `async with`, by a server, or by its first direct call."""

from __future__ import annotations

import asyncio

import pytest

from failsoft import BaseTool, operation
from tests.doors import Lifecycle

pytestmark = pytest.mark.anyio


class Shop(BaseTool):
    """A shop that opens."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[str] = []
        self.broken = False

    async def startup(self) -> None:
        self.log.append("startup")
        if self.broken:
            raise OSError("no key")
        await asyncio.sleep(0)
        await self.stock()
        self.log.append("open")

    async def shutdown(self) -> None:
        self.log.append("shutdown")

    @operation(read_only=True)
    async def stock(self) -> int:
        """Return the stock."""
        self.log.append("call")
        return 3


async def test_a_block_starts_and_stops_it() -> None:
    async with Shop() as shop:
        assert (await shop.stock()).unwrap() == 3
    assert shop.log == ["startup", "call", "open", "call", "shutdown"]


async def test_direct_calls_start_it_once() -> None:
    shop = Shop()
    await asyncio.gather(shop.stock(), shop.stock(), shop.execute_with_error_handling("stock", {}))
    assert shop.log == ["startup", "call", "open", "call", "call", "call"]


async def test_a_server_that_started_it_is_enough() -> None:
    shop = Shop()
    async with Lifecycle([shop], shutdown_limit_s=5).running():
        await shop.stock()
    assert shop.log == ["startup", "call", "open", "call", "shutdown"]


async def test_a_start_that_fails_is_answered_and_tried_again() -> None:
    shop = Shop()
    shop.broken = True
    failed = await shop.stock()
    assert failed.error is not None
    assert failed.error.code == "INIT_ERROR"
    shop.broken = False
    assert (await shop.stock()).unwrap() == 3
