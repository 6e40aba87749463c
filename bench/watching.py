"""What it costs to watch a call that succeeds: our metrics, ids and page; OpenTelemetry; and Sentry for a defect.

The first part is CPU time of a call without the SDK, as it is served: its ids are read from the metadata of the
request, and written into the answer. Off is a runtime without metrics, with no listener and no ids.

The second part is CPU time of a call through the SDK's in-memory client, with a tracer and a meter provider of
OpenTelemetry whose spans nothing exports: without spans, with the SDK's own, and with what we add to them.
"""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any

from mcp import Client
from measure import Contender, Figure, benchmark, figure, interleave, us
from sample_tool import ARGUMENTS, Documents

from failsoft import Runtime, mcp_server
from failsoft.events import CallEvent
from failsoft.framework.call import NO_SCOPE, CallScope
from failsoft.framework.recorders import NullMetrics
from failsoft.metrics import PrometheusRecorder
from failsoft.server.protocol.wire import traced
from failsoft.server.telemetry import defects, spans

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"
META = {
    "no ids sent": {},
    "ids sent": {"x-request-id": "order-4711", "traceparent": f"{TRACE}00"},
    "ids sent, sampled": {"x-request-id": "order-4711", "traceparent": f"{TRACE}01"},
}


def watched(meta: dict[str, str]) -> Contender:
    """Return a call with metrics, ids and the page's listener."""
    tool = Documents(runtime=Runtime(metrics=PrometheusRecorder()))
    tool.runtime.events.subscribe(lambda _: None, CallEvent)
    bound, given = tool.operations["get_document"], ARGUMENTS["success"]
    request: Any = SimpleNamespace(meta=meta, request=None)

    async def call(times: int) -> None:
        for _ in range(times):
            scope = CallScope(**spans.ids_of(request), meta=meta)
            response = await bound.call(given, scope)
            spans.describe_call(response, bound, scope)
            traced({}, scope)

    return call


def off() -> Contender:
    """Return the same call with nothing that watches it."""
    bound, given = Documents(runtime=Runtime(metrics=NullMetrics())).operations["get_document"], ARGUMENTS["success"]

    async def call(times: int) -> None:
        for _ in range(times):
            scope = CallScope(request_id="order-4711")
            await bound.call(given, scope)

    return call


async def with_spans(*, rounds: int, times: int) -> dict[str, list[float]]:
    """Return the seconds of a call through the in-memory client: without spans, with the SDK's, and with ours."""
    from opentelemetry import metrics, trace  # noqa: PLC0415 - for the second part only: providers stay set
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415 - as above
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider  # noqa: PLC0415 - as above

    provider = TracerProvider()
    provider.add_span_processor(SpanProcessor())
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider())
    servers = {name: mcp_server(Documents()) for name in ("no spans", "the SDK's spans", "ours as well")}
    spans.leave_out(servers["no spans"])
    bare = servers["the SDK's spans"].middleware
    bare[:] = [getattr(one, "_inner", one) for one in bare]
    async with AsyncExitStack() as stack:
        contenders: dict[str, Contender] = {}
        for name, server in servers.items():
            client = await stack.enter_async_context(Client(server))
            contenders[name] = _through(client)
        return await interleave(contenders, rounds=rounds, times=times, clock=time.process_time)


def _through(client: Client) -> Contender:
    async def call(times: int) -> None:
        for _ in range(times):
            await client.call_tool("get_document", ARGUMENTS["success"])

    return call


async def reported(*, rounds: int, times: int) -> list[float]:
    """Return the seconds of one event for Sentry, which a transport then drops."""
    import sentry_sdk  # noqa: PLC0415 - for this part only
    from sentry_sdk.transport import Transport  # noqa: PLC0415 - as above

    class Dropping(Transport):
        def capture_envelope(self, envelope: Any) -> None:
            """Send nothing."""

    sentry_sdk.init("http://key@127.0.0.1:9/1", transport=Dropping, default_integrations=False)
    tool = Documents()
    failure = (await tool.execute_with_error_handling("get_document", {}, _crash)).error

    async def report(times: int) -> None:
        for _ in range(times):
            defects.report(failure, NO_SCOPE)  # type: ignore[arg-type]  # it has failed

    return (await interleave({"report": report}, rounds=rounds, times=times, clock=time.process_time))["report"]


def _crash() -> None:
    raise ZeroDivisionError


@benchmark("What watching costs", rounds=(41, 2), times=(2_000, 20))
async def measure(given: Any) -> list[Figure]:
    """Return what each part adds to a call."""
    contenders = {"off": off()} | {name: watched(meta) for name, meta in META.items()}
    seconds = await interleave(contenders, rounds=given.rounds, times=given.times, clock=time.process_time)
    found = [figure("off", us(seconds["off"]), "us")]
    for name in META:
        added = [mine - theirs for mine, theirs in zip(seconds[name], seconds["off"], strict=True)]
        found.append(figure(f"metrics, ids and page over off, {name}", us(added), "us", goal="<= 4"))
    through = await with_spans(rounds=given.rounds, times=max(1, given.times // 10))
    for name, before in (("the SDK's spans", "no spans"), ("ours as well", "the SDK's spans")):
        added = [mine - theirs for mine, theirs in zip(through[name], through[before], strict=True)]
        found.append(figure(f"{name}, over {before}", us(added), "us"))
    found.append(figure("one event for Sentry", us(await reported(rounds=5, times=20)), "us"))
    return found
