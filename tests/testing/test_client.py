"""The client in memory: the SDK's own, in both eras of the protocol, without a port."""

from __future__ import annotations

import anyio
import pytest

from failsoft import BaseTool, CallContext, operation
from failsoft.testing import InstantClock, connected


class Clockwork(BaseTool):
    """One tool that takes an hour."""

    @operation(read_only=True, timeout=7200)
    async def wait(self, call: CallContext) -> str | None:
        """Wait an hour."""
        await anyio.sleep(3600)
        return call.principal


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_a_client_calls_the_real_server_and_waits_for_nothing(mode: str) -> None:
    async def main() -> list[object]:
        async with connected([Clockwork()], mode=mode) as client:
            listed = await client.list_tools()
            called = await client.call_tool("wait", {})
            assert called.structured_content is not None
            return [[tool.name for tool in listed.tools], called.structured_content["data"]]

    clock = InstantClock()
    assert clock.run(main()) == [["wait"], "local"]
    assert clock.elapsed_s == 3600
