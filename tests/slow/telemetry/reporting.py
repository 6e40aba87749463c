"""Script that calls tools with Sentry initialized by the application or not: `reporting.py APP|BARE|SDK`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from mcp import Client
from mcp.server import MCPServer
from mcp.shared.exceptions import MCPError

from failsoft import mcp_server
from failsoft.adapters.mcpserver import FailSoft
from tests.slow.telemetry.traced_tools import SECRET, Till


async def main(kind: str) -> None:
    """Make one defect three times in two places, and failures that are expected."""
    import sentry_sdk  # noqa: PLC0415 - as an application that has it
    from sentry_sdk.integrations.loguru import LoguruIntegration  # noqa: PLC0415 - the same
    from sentry_sdk.integrations.mcp import MCPIntegration  # noqa: PLC0415 - the same

    found = [MCPIntegration(), LoguruIntegration()]
    sentry_sdk.init(os.environ["DSN"], integrations=found, auto_enabling_integrations=False, traces_sample_rate=1.0)
    if kind == "adapter":
        server = MCPServer("till")

        @server.tool()
        def crash(password: str) -> None:
            msg = f"password={password} is not known"
            raise RuntimeError(msg)

        FailSoft(server)
    else:
        server = mcp_server(Till)
    async with Client(server) as client:
        for _ in range(2):
            await client.call_tool("crash", {"password": SECRET})
        await client.call_tool("crash", {"pass": 1})
        with contextlib.suppress(MCPError):
            await client.call_tool("no_such_tool", {})
        if kind != "adapter":
            await client.call_tool("find", {"name": "a.md"})
    sentry_sdk.flush(10)


asyncio.run(main(sys.argv[1]))
