"""What joins a call to others: its request id and trace, attributes and events on the SDK's span, and child spans.

The SDK opens one SERVER span for each message. A second one would count every call twice, so this adds to that span.
"""

from __future__ import annotations

import dataclasses
import os
import re
import time
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from mcp.server import ServerRequestContext
from opentelemetry import context, propagate, trace
from opentelemetry.environment_variables import OTEL_PYTHON_TRACER_PROVIDER
from opentelemetry.trace import ProxyTracerProvider, SpanContext

from failsoft._version import __version__
from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.call import CallScope
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.clock import new_id
from failsoft.framework.events import (
    AttemptEvent,
    CircuitEvent,
    EffectEvent,
    Event,
    Events,
    IdempotencyEvent,
    RecoveryEvent,
)
from failsoft.framework.safe.author_reports import tell
from failsoft.server.telemetry import defects, durations

_UNKNOWN = object()
_REQUEST_ID = re.compile(r"[!-~]{1,200}")
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_tracer = trace.get_tracer("failsoft", __version__)
_NAMES: dict[type, str] = {
    RecoveryEvent: "failsoft.recovery",
    CircuitEvent: "failsoft.circuit",
    IdempotencyEvent: "failsoft.idempotency",
}
_IN_THE_SPAN = frozenset({"tool", "operation", "request_id", "name", "duration_s"})
"""Facts that spans have already."""
_RENAMED = {"code": "error.code"}
_SAMPLED = frozenset("13579bdf")
"""The last digit of a trace context whose trace is recorded."""
_CARRIED = (b"traceparent", b"tracestate", b"baggage")
"""The headers of W3C that carry a trace context."""
_SET_BY_ENVIRONMENT = OTEL_PYTHON_TRACER_PROVIDER in os.environ


class _HasMiddleware(Protocol):
    """The SDK's low-level server, its `MCPServer`, or another object with a middleware list."""

    @property
    def middleware(self) -> list[Any]:
        """The chain around every message, outermost first."""


def install(server: _HasMiddleware, events: Iterable[Events] = ()) -> None:
    """Wrap the SDK's tracing middleware, if the server has one.

    Args:
        server: The SDK's server.
        events: Those of the runtimes of its tools; subscribed to when the first call is traced.
    """
    defects.install()
    for index, middleware in enumerate(server.middleware):
        if type(middleware).__name__ == "OpenTelemetryMiddleware":
            server.middleware[index] = _Tracing(middleware, tuple(events))


def leave_out(server: _HasMiddleware) -> None:
    """Trace no message of a server whose requests no client has sent."""
    server.middleware[:] = [one for one in server.middleware if not isinstance(one, _Tracing)]


def ids_of(ctx: ServerRequestContext[Any, Any]) -> dict[str, str]:
    """Return `request_id` and `traceparent` of a call, as its client sends them in `_meta` or in headers.

    Without a request id one is made. The trace context (W3C) is that of the current span if the client sent none, or
    the span continues its trace; empty if there is neither.
    """
    meta = ctx.meta or {}
    headers = {} if ctx.request is None else dict(ctx.request.scope["headers"])
    request_id = _sent("x-request-id", _REQUEST_ID, meta, headers)
    traceparent, current = _sent("traceparent", _TRACEPARENT, meta, headers), _current()
    is_span = current and traceparent[3:35] in {"", current[3:35]}
    return {"request_id": request_id or new_id(), "traceparent": current if is_span else traceparent}


def _sent(name: str, form: re.Pattern[str], meta: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> str:
    """Return a value of the right form; empty if there is none."""
    for value in (meta.get(name), headers.get(name.encode(), b"").decode("latin-1")):
        if isinstance(value, str) and form.fullmatch(value):
            return value
    return ""


def _current() -> str:
    """Return the W3C trace context of the current span; empty if there is none."""
    if _is_tracing_off():
        return ""
    span = trace.get_current_span().get_span_context()
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}" if span.is_valid else ""


def describe_call(response: ToolResponse[Any], bound: BoundOperation, scope: CallScope) -> None:
    """Report a call: attributes of the current span, an exemplar in a sampled trace, an event for a defect."""
    if response.error is not None or response.metadata.recovery is not None or scope.traceparent:
        tell(_describe, response, bound, scope)


def _describe(response: ToolResponse[Any], bound: BoundOperation, scope: CallScope) -> None:
    if response.error is not None and response.error.is_crash:
        tell(defects.report, response.error, scope)
    if scope.traceparent and scope.traceparent[-1] in _SAMPLED:
        exemplify = getattr(bound.metrics, "exemplify", None)  # recorders of others may have none
        if exemplify is not None:
            exemplify(response.metadata.execution_time_ms / 1000, scope.traceparent[3:35])
    if _is_tracing_off() or not (span := trace.get_current_span()).is_recording():
        return
    if scope.request_id:
        span.set_attribute("failsoft.request_id", scope.request_id)
    if response.error is not None:
        span.set_attribute("failsoft.error.code", response.error.code)
        span.set_attribute("failsoft.category", response.error.category)
        span.set_attribute("failsoft.effect", response.error.effect)
        span.set_attribute("failsoft.error_id", response.error.error_id)
    receipt = response.metadata.recovery
    if receipt is not None:
        span.set_attribute("failsoft.recovery.strategy", receipt.strategy)
        span.set_attribute("failsoft.recovery.degraded", receipt.degraded)
        span.set_attribute("failsoft.attempts", receipt.attempts)


def describe_cancelled_call() -> None:
    """Mark the current span as cancelled; the SDK would leave it as a success."""
    tell(_describe_cancelled)


def _describe_cancelled() -> None:
    span = trace.get_current_span()
    span.set_attribute("error.type", "cancelled")
    span.set_status(trace.StatusCode.ERROR)


def _write_event(event: Event) -> None:
    """Add an event of a call to the current span; a run, an effect and a recovery, which took time, as a span."""
    span = trace.get_current_span()
    if not span.is_recording():
        return
    name = _NAMES.get(type(event))
    if isinstance(event, AttemptEvent):
        _add_child("failsoft.attempt", event, event.code)
    elif isinstance(event, EffectEvent):
        _add_child(f"failsoft.effect {event.name}", event, None)
    elif isinstance(event, RecoveryEvent) and event.result != "skipped":
        _add_child(f"failsoft.recovery {event.strategy}", event, event.code)
    elif name is not None:
        span.add_event(name, _facts(event))


def _add_child(name: str, event: AttemptEvent | EffectEvent | RecoveryEvent, code: str | None) -> None:
    """Add a span that ends now, in the current one."""
    began = time.time_ns() - round(event.duration_s * 1e9)
    with _tracer.start_as_current_span(name, start_time=began, attributes=_facts(event)) as child:
        if event.result not in {"ok", "recovered"}:
            child.set_attribute("error.type", code or event.result)
            child.set_status(trace.StatusCode.ERROR)


def _facts(event: Event) -> dict[str, Any]:
    facts = {
        field.name: getattr(event, field.name) for field in dataclasses.fields(event) if field.name not in _IN_THE_SPAN
    }
    return {f"failsoft.{_RENAMED.get(name, name)}": value for name, value in facts.items() if value is not None}


class _Tracing:
    """Wraps the SDK's tracing middleware: skipped without a tracer provider, and events of calls are on its span.

    Without a tracer provider and without a trace context in the request, the no-op span would cost a sixth of a call
    through the in-memory client. The SDK reads the trace context of `_meta` alone; that of the HTTP headers counts
    where `_meta` has none, else the span links to it.
    """

    def __init__(self, inner: Any, events: tuple[Events, ...]) -> None:
        self._inner = inner
        self._unsubscribed = events

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
        histogram = durations.histogram()
        if histogram is None:
            return await self._traced(ctx, call_next)
        began = time.perf_counter()
        attributes: dict[str, str] = {}
        try:
            result = await self._traced(ctx, call_next)
            attributes = durations.measured(ctx, result)
        except BaseException as error:
            attributes = durations.measured(ctx, error)
            raise
        finally:
            tell(histogram.record, time.perf_counter() - began, attributes)
        return result

    async def _traced(self, ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
        is_sent = ctx.meta is not None and "traceparent" in ctx.meta
        if _is_tracing_off():
            return await (self._inner(ctx, call_next) if is_sent else call_next(ctx))
        for events in self._unsubscribed:
            events.subscribe(_write_event)
        self._unsubscribed = ()
        ambient = _around(ctx)
        around = trace.get_current_span(ambient).get_span_context()

        async def described(ctx: ServerRequestContext[Any, Any]) -> Any:
            tell(_describe_transport, ctx, around if is_sent else None)
            return await call_next(ctx)

        token = None if ambient is None else context.attach(ambient)
        try:
            return await self._inner(ctx, described)
        finally:
            if token is not None:
                context.detach(token)


def _around(ctx: ServerRequestContext[Any, Any]) -> context.Context | None:
    """Return the context of the headers of a request, unless an instrumentation of HTTP has made it the current one."""
    if ctx.request is None or trace.get_current_span().get_span_context().is_valid:
        return None
    headers = dict(ctx.request.scope["headers"])
    carried = {name.decode(): headers[name].decode("latin-1") for name in _CARRIED if name in headers}
    return propagate.extract(carried) if "traceparent" in carried else None


def _describe_transport(ctx: ServerRequestContext[Any, Any], around: SpanContext | None) -> None:
    """Add what the SDK leaves out to its span: the transport, and a link to the HTTP request's own trace context."""
    span = trace.get_current_span()
    if span.is_recording():
        span.set_attributes(durations.attributes_of(ctx))
        if around is not None and around.is_valid:
            span.add_link(around)


def _is_tracing_off() -> bool:
    """Return whether no tracer provider is set. The library's own check reads the environment on every call."""
    provider = getattr(trace, "_TRACER_PROVIDER", _UNKNOWN)
    if provider is _UNKNOWN or _SET_BY_ENVIRONMENT:
        return isinstance(trace.get_tracer_provider(), ProxyTracerProvider)
    return provider is None
