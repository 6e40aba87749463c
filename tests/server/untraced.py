"""Script that runs a server with exporters as the environment says, and prints what that has loaded, as JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from mcp import Client
from opentelemetry import trace

from failsoft import Settings
from tests.doors import assemble_server, start_with
from tests.server.served_tools import Polite

OWN = trace.NoOpTracerProvider()


async def main(*, has_own: bool) -> None:
    """Make a call, with a provider of the application's own or without."""
    if has_own:
        trace.set_tracer_provider(OWN)
    assembly = assemble_server(Polite)
    start_with(assembly.lifecycle, Settings())
    async with Client(assembly.server) as client:
        await client.call_tool("find", {"name": "here"})
        loaded = sorted({name.partition(".")[0] for name in sys.modules if name.startswith("sentry_sdk")})
        loaded += [name for name in ("opentelemetry.sdk", "opentelemetry.exporter") if name in sys.modules]
        is_set = getattr(trace, "_TRACER_PROVIDER", None) is not None
        json.dump({"loaded": loaded, "is_set": is_set, "is_own": trace.get_tracer_provider() is OWN}, sys.stdout)


asyncio.run(main(has_own=sys.argv[1:] == ["own"]))
