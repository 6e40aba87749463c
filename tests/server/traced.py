"""Script that calls tools with a tracer installed and prints the spans as JSON; a process has only one tracer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from mcp import Client
from mcp.shared.exceptions import MCPError
from opentelemetry import trace
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags

from failsoft import BaseTool, CallContext, Unavailable, mcp_server, operation
from tests.server.served_tools import TOOLS

SPANS: list[Recorded] = []


class Payer(BaseTool):
    """Tools that mark their effects."""

    @operation(effects=True)
    async def pay(self, call: CallContext) -> int:
        """Book."""
        return await call.effect("book", lambda: 1)

    @operation(effects=True)
    def pay_in_thread(self, call: CallContext) -> int:
        """Fail to book."""
        return call.effect("book", self._fail)

    def _fail(self) -> int:
        raise Unavailable


class Recorded(trace.NonRecordingSpan):
    """A span that records what is set on it."""

    def __init__(self, name: str, kind: SpanKind, attributes: Any, began: int | None) -> None:
        super().__init__(SpanContext(len(SPANS) + 1, len(SPANS) + 1, is_remote=False, trace_flags=TraceFlags(1)))
        self.facts: dict[str, Any] = {
            "name": name,
            "kind": kind.name,
            "attributes": dict(attributes or {}),
            "status": "",
            "events": [],
            "id": len(SPANS) + 1,
            "parent": trace.get_current_span().get_span_context().span_id,
            "began": began or time.time_ns(),
        }
        SPANS.append(self)

    def is_recording(self) -> bool:
        return True

    def set_attribute(self, key: str, value: Any) -> None:
        self.facts["attributes"][key] = value

    def set_attributes(self, attributes: Any) -> None:
        self.facts["attributes"].update(attributes)

    def add_event(self, name: str, attributes: Any = None, _timestamp: int | None = None) -> None:
        self.facts["events"].append([name, dict(attributes or {})])

    def set_status(self, status: Any, _description: str | None = None) -> None:
        self.facts["status"] = status.name


class Tracer(trace.NoOpTracer):
    """Starts recorded spans."""

    @contextlib.contextmanager
    def start_as_current_span(self, name: str, *_: Any, **options: Any) -> Iterator[Recorded]:  # type: ignore[override]
        span = Recorded(
            name, options.get("kind", SpanKind.INTERNAL), options.get("attributes"), options.get("start_time")
        )
        with trace.use_span(span, record_exception=False, set_status_on_exception=False):
            yield span


class Provider(trace.NoOpTracerProvider):
    """Hands out the tracer."""

    def get_tracer(self, *_: Any, **__: Any) -> Tracer:
        return Tracer()


async def main() -> None:
    """Make one call of each kind."""
    trace.set_tracer_provider(Provider())
    async with Client(mcp_server([*TOOLS, Payer]), mode="2026-07-28") as client:
        for name in ("here", "moved", "gone"):
            await client.call_tool("find", {"name": name})
        await client.call_tool("double", {"number": "x"})
        with contextlib.suppress(MCPError):
            await client.call_tool("nothing", {})
        hanging = asyncio.create_task(client.call_tool("hang", {"key": "k"}))
        await client.call_tool("witness", {"event": "k started"})
        hanging.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await hanging
        for name in ("pay", "pay_in_thread"):
            await client.call_tool(name, {})
    json.dump([span.facts for span in SPANS], sys.stdout)


asyncio.run(main())
