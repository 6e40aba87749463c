"""The client against real servers: data on success, the server's own typed error on failure."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

import failsoft
from failsoft import BaseTool, CallContext, Retry, Runtime, Settings, operation
from failsoft.client import Client
from tests.doors import registry
from tests.proxy.test_http_upstream import website

pytestmark = pytest.mark.anyio
FORMATS = ["tool_response", "edit_envelope", "system_error", "coded_error", "error_response", "problem"]


class Shop(BaseTool):
    """A shop."""

    def __init__(self, **options):
        super().__init__(**options)
        self.runs = 0
        self.metas = []

    @operation(read_only=True)
    async def price(self, item: str, currency: str = "EUR") -> dict[str, float]:
        """Return a price."""
        raise failsoft.NotFound(message=f"No item {item!r}.", suggestions=["tea"])

    @operation
    async def order(self, item: str, count: int) -> str:
        """Order items."""
        return f"{count} {item}"

    @operation(read_only=True, recovery=[])
    async def busy(self, call: CallContext) -> str:
        """Be busy twice."""
        self.runs += 1
        self.metas.append(dict(call.scope.meta))
        if self.runs < 3:
            raise failsoft.RateLimited(retry_after_seconds=0.01)
        return "done"

    @operation(read_only=True, recovery=[])
    async def reserve(self, item: str) -> str:
        """Refuse a key of another form."""
        raise failsoft.IdempotencyKeyInvalid(message=f"The key of {item} is no UUID.")

    @operation(recovery=[])
    async def fragile(self) -> str:
        """Fail once it may have changed something."""
        self.runs += 1
        raise failsoft.Unavailable


@pytest.mark.parametrize("wire_format", FORMATS)
async def test_an_error_is_the_servers_own_in_every_format(wire_format):
    shop = Shop(runtime=Runtime(settings=Settings(wire_format=wire_format)))
    async with Client(shop) as client:
        assert await client.call("order", {"item": "tea", "count": 2}) == "2 tea"
        with pytest.raises(failsoft.NotFound) as missing:
            await client.call("price", {"item": "tee"})
        with pytest.raises(failsoft.InvalidParameter) as invalid:
            await client.call("order", {"item": 3, "cuont": 2})
    error = missing.value
    assert (error.code, error.category, error.retry, error.effect) == ("NOT_FOUND", "not_found", "after_fix", "none")
    assert "No item" in error.message
    assert error.details["error_id"]
    if wire_format != "problem":
        assert {item.path for item in invalid.value.violations} >= {"item", "cuont"}
    assert invalid.value.retry == "after_fix"


async def test_a_call_is_repeated_by_the_servers_advice_with_key_and_budget():
    shop = Shop()
    async with Client(shop) as client:
        assert await client.call("busy", key="3f0c", timeout_s=90) == "done"
    assert shop.runs == 3
    assert [meta["dev.failsoft/idempotency-key"] for meta in shop.metas] == ["3f0c"] * 3
    assert [meta["dev.failsoft/budget"]["runs_left"] for meta in shop.metas] == [3, 2, 1]
    assert 0 < shop.metas[0]["dev.failsoft/budget"]["remaining_ms"] <= 90_000


class Front(BaseTool):
    """Asks a shop."""

    def __init__(self, client, **options):
        super().__init__(**options)
        self.client = client

    @operation(read_only=True, timeout=7, recovery=[Retry(attempts=2, base_s=0)])
    async def ask(self, limit_s: float | None = None) -> str:
        """Ask the shop."""
        return await self.client.call("busy", timeout_s=limit_s)

    @operation(read_only=True)
    async def look(self) -> str:
        """Ask the shop in a way that it refuses."""
        return await self.client.call("reserve", {"item": "tea"})


@pytest.mark.parametrize(("limit_s", "most_ms"), [(None, 7_000), (60.0, 7_000), (3.0, 3_000)])
async def test_a_handler_sends_what_its_own_call_has_left(limit_s, most_ms):
    shop = Shop()
    async with Client(shop, attempts=1) as client:
        await Front(client).ask(limit_s)
    budget = shop.metas[0]["dev.failsoft/budget"]
    assert most_ms - 2_000 < budget["remaining_ms"] <= most_ms
    assert budget["runs_left"] == (2 if limit_s is None else 1)


async def test_the_caller_of_a_handler_is_not_told_to_call_a_tool_of_another_server():
    async with Client(Shop, attempts=1) as client:
        with pytest.raises(failsoft.IdempotencyKeyInvalid) as direct:
            await client.call("reserve", {"item": "tea"})
        response = await Front(client).look()
    assert "call `reserve` again" in direct.value.message
    assert response.error.next_step is None
    assert "`reserve`" not in response.error.message
    assert "The key of tea is no UUID." in response.error.message


async def test_a_call_that_may_have_had_its_effect_is_not_repeated():
    shop = Shop()
    async with Client(shop) as client:
        with pytest.raises(failsoft.Unavailable) as lost:
            await client.call("fragile")
    assert (shop.runs, lost.value.retry, lost.value.effect) == (1, "never", "unknown")


async def test_a_tool_that_does_not_exist_is_unknown_with_the_closest_name():
    async with Client(Shop) as client:
        with pytest.raises(failsoft.UnknownTool) as unknown:
            await client.call("pricee")
        assert unknown.value.suggestions == ("price",)
        assert [tool.name for tool in await client.tools()] == ["price", "order", "busy", "reserve", "fragile"]


async def test_a_code_of_another_process_keeps_its_name_on_its_category():
    class ShelfEmpty(failsoft.NotFound):
        """Nothing is on the shelf.

        Raised when: the shelf is empty.
        Caller: try another shelf.
        Operator: nothing to do.
        Example:
            >>> code_of(ShelfEmpty())
            'SHELF_EMPTY'
        """

        code = "SHELF_EMPTY"
        message: str = "The shelf is empty."
        since = "0.1.0"

    class Shelves(BaseTool):
        """Shelves."""

        @operation(read_only=True)
        async def look(self) -> str:
            """Look."""
            error = ShelfEmpty()
            del registry["SHELF_EMPTY"]
            raise error

    async with Client(Shelves()) as client:
        with pytest.raises(failsoft.NotFound) as missing:
            await client.call("look")
    assert (type(missing.value), missing.value.code) == (failsoft.NotFound, "SHELF_EMPTY")


async def test_a_foreign_server_gives_data_and_reported_failures():
    server: MCPServer = MCPServer("foreign")
    runs = []

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def status() -> str:
        """Fail like an HTTP service."""
        runs.append(1)
        from mcp.server.mcpserver.exceptions import ToolError  # noqa: PLC0415 - only this tool raises it

        raise ToolError("slow down")

    async with Client(server) as client:
        assert await client.call("add", {"a": 1, "b": 2}) == {"result": 3}
        with pytest.raises(failsoft.ReportedFailure) as reported:
            await client.call("status")
    assert "slow down" in reported.value.report


async def test_time_that_is_up_is_deadline_exceeded():
    hostile = Path(__file__).parents[1] / "proxy" / "hostile.py"
    async with Client([sys.executable, hostile]) as client:
        assert await client.call("echo", {"text": "hi"}) == "hi"
        with pytest.raises(failsoft.DeadlineExceeded):
            await client.call("hang", timeout_s=0.3)
        with pytest.raises(failsoft.RateLimited) as limited:
            await client.call("status_429")
        assert limited.value.retry_after_seconds == 9
        with pytest.raises(failsoft.UpstreamError):
            await client.call("error")
        with pytest.raises(failsoft.BadOutput):
            await client.call("wrong_types")
        with pytest.raises(failsoft.Unavailable):
            await client.call("die")


async def test_a_server_that_is_not_there_is_unavailable():
    with pytest.raises(failsoft.Unavailable):
        async with Client("http://127.0.0.1:9/mcp"):
            pass
    with pytest.raises(failsoft.ToolError):
        async with Client("/nonexistent/server"):
            pass


async def test_a_redirect_is_followed():
    with website() as url:
        async with Client(url.replace("mcp", "307")) as client:
            assert await client.call("works") == "fine"
