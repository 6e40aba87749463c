"""What the SDK's own OpenTelemetry span learns of a call: the failsoft code, the attempts, the recovery.

The SDK opens one SERVER span for each message; a second one would count every call twice, so this only adds to it.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from typing import Any

from mcp.server import Server, ServerRequestContext
from opentelemetry import trace
from opentelemetry.environment_variables import OTEL_PYTHON_TRACER_PROVIDER
from opentelemetry.trace import ProxyTracerProvider, StatusCode

from failsoft.framework.events import AttemptEvent, CircuitEvent, Event, Events, IdempotencyEvent, RecoveryEvent
from failsoft.framework.response import ToolResponse

__all__ = ["describe_call", "describe_cancelled_call", "install"]

_ERROR_KEY = "dev.failsoft/error"
_UNKNOWN = object()
_NAMES: dict[type, str] = {
    AttemptEvent: "failsoft.attempt",
    RecoveryEvent: "failsoft.recovery",
    CircuitEvent: "failsoft.circuit",
    IdempotencyEvent: "failsoft.idempotency",
}
_IN_THE_SPAN = frozenset({"failsoft.tool", "failsoft.operation", "failsoft.request_id"})
"""What the span itself says of the call."""
_SET_BY_ENVIRONMENT = OTEL_PYTHON_TRACER_PROVIDER in os.environ


def install(server: Server[Any], events: Iterable[Events] = ()) -> None:
    """Put the SDK's tracing middleware behind ours, where the server has one.

    Args:
        server: The SDK's server.
        events: Those of the runtimes whose tools it offers; they are listened to once a call is traced.
    """
    for place, middleware in enumerate(server.middleware):
        if type(middleware).__name__ == "OpenTelemetryMiddleware":
            server.middleware[place] = _Tracing(middleware, tuple(events))


def describe_call(response: ToolResponse[Any]) -> None:
    """Write what happened in a call to the current span, if there is anything to say and the span is recorded."""
    if response.error is None and response.metadata.recovery is None:
        return
    span = trace.get_current_span()
    if not span.is_recording():
        return
    if response.error is not None:
        span.set_attribute("failsoft.category", response.error.category)
        span.set_attribute("failsoft.effect", response.error.effect)
        span.set_attribute("failsoft.error_id", response.error.error_id)
    receipt = response.metadata.recovery
    if receipt is not None:
        span.set_attribute("failsoft.recovery.strategy", receipt.strategy)
        span.set_attribute("failsoft.recovery.degraded", receipt.degraded)
        span.set_attribute("failsoft.attempts", receipt.attempts)


def describe_cancelled_call() -> None:
    """Mark the current span as cancelled; the SDK would let it look like a success."""
    trace.get_current_span().set_attribute("error.type", "cancelled")


def _write_event(event: Event) -> None:
    """Add an event of a call to the span that it happens in."""
    span = trace.get_current_span()
    if not span.is_recording():
        return
    name = _NAMES.get(type(event))
    if name is not None:
        facts = {f"failsoft.{field.name}": getattr(event, field.name) for field in dataclasses.fields(event)}
        told = {key: value for key, value in facts.items() if value is not None and key not in _IN_THE_SPAN}
        span.add_event(name, told)


class _Told:
    """A failed result that the SDK's middleware cannot read, so that it keeps the `error.type` that we have set."""

    __slots__ = ("result",)

    def __init__(self, result: Any) -> None:
        self.result = result


class _Tracing:
    """The SDK's tracing middleware, left out while nobody traces, and kept from renaming every failure `tool_error`.

    With no tracer provider and no trace context in the request the span is a no-op that costs a sixth of a call
    through the in-memory client.
    """

    def __init__(self, inner: Any, events: tuple[Events, ...]) -> None:
        self._inner = inner
        self._unheard = events

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
        if _nobody_traces() and not (ctx.meta and "traceparent" in ctx.meta):
            return await call_next(ctx)
        for events in self._unheard:
            events.subscribe(_write_event)
        self._unheard = ()

        async def tell(ctx: ServerRequestContext[Any, Any]) -> Any:
            result = await call_next(ctx)
            return _Told(result) if _mark(result) else result

        result = await self._inner(ctx, tell)
        return result.result if isinstance(result, _Told) else result


def _nobody_traces() -> bool:
    """Return whether no tracer provider is set. Asking the library costs a look at the environment on every call."""
    provider = getattr(trace, "_TRACER_PROVIDER", _UNKNOWN)
    if provider is _UNKNOWN or _SET_BY_ENVIRONMENT:
        return isinstance(trace.get_tracer_provider(), ProxyTracerProvider)
    return provider is None


def _mark(result: Any) -> bool:
    """Set the current span's `error.type` to the code of a failed call; return whether this was one of ours."""
    if not isinstance(result, Mapping) or not result.get("isError"):
        return False
    error = (result.get("_meta") or {}).get(_ERROR_KEY)
    if error is None:
        return False
    span = trace.get_current_span()
    span.set_attribute("error.type", error["code"])
    span.set_status(StatusCode.ERROR, error["category"])
    return True
