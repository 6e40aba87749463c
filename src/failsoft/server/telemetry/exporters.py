"""Start OpenTelemetry's exporters where its standard variables ask for them, and flush them at the end.

Nothing is imported without such a variable. An application's own providers are used as they are.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import Any, Literal, TypeAlias

from opentelemetry import trace

from failsoft.framework.safe.author_reports import logger, tell

_FLUSH_S = 3.0
"""How long the end of a server may wait for a collector, in seconds."""
_PROTOCOLS = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
"""Value of `OTEL_EXPORTER_OTLP_PROTOCOL` -> name of the entry point; the extra `otel` has the first one."""

Signal: TypeAlias = Literal["traces", "metrics"]


def start(service: str) -> Callable[[], None] | None:
    """Start the exporters that the variables ask for; return what flushes them, or None if there are none.

    Args:
        service: The name of the service where `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` have none.
    """
    wanted = {signal: names for signal in ("traces", "metrics") if (names := _asked_for(signal))}
    if not wanted or _env("OTEL_SDK_DISABLED").lower() == "true":
        return None
    try:
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - of the extra, where a variable asks for it
    except ImportError:
        logger.warning("OTEL_* variables ask for exporters, which failsoft[otel] installs")
        return None
    is_named = _env("OTEL_SERVICE_NAME") or "service.name=" in _env("OTEL_RESOURCE_ATTRIBUTES")
    resource = Resource.create({} if is_named else {"service.name": service})
    started = [
        provider
        for signal, provide in (("traces", _tracer_provider), ("metrics", _meter_provider))
        if signal in wanted and (provider := provide(resource, wanted[signal])) is not None
    ]
    return (lambda: _flush(started)) if started else None


@contextmanager
def exporting(service: str) -> Iterator[None]:
    """Export what happens while the block lasts, if the variables ask for it; nothing of it stops the server."""
    flushes: list[Callable[[], None] | None] = []
    error = tell(lambda: flushes.append(start(service)))
    if error is not None:
        logger.opt(exception=error).error("OpenTelemetry's exporters could not be started")
    try:
        yield
    finally:
        for flush in filter(None, flushes):
            flush()


def _asked_for(signal: Signal) -> list[str]:
    """Return the names of the exporters of a signal."""
    named = _env(f"OTEL_{signal.upper()}_EXPORTER")
    if named:
        return [name for name in map(str.strip, named.split(",")) if name not in {"", "none"}]
    endpoints = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT")
    return ["otlp"] if any(map(_env, endpoints)) else []


def _env(name: str) -> str:
    return os.environ.get(name, "").strip()


def _tracer_provider(resource: Any, names: list[str]) -> Any:
    """Return a provider with these exporters, which is now the process's; None if the application has one."""
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - as above
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor  # noqa: PLC0415 - as above

    if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return None
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    for name, exporter in _made("traces", names):
        provider.add_span_processor((SimpleSpanProcessor if name == "console" else BatchSpanProcessor)(exporter))
    trace.set_tracer_provider(provider)
    return provider


def _meter_provider(resource: Any, names: list[str]) -> Any:
    """Return a provider with these exporters, which is now the process's; None if the application has one."""
    from opentelemetry import metrics  # noqa: PLC0415 - as above
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415 - as above
    from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader  # noqa: PLC0415 - as above

    if "Proxy" not in type(metrics.get_meter_provider()).__name__:
        return None
    made = [exporter for _, exporter in _made("metrics", names)]
    readers = [one if isinstance(one, MetricReader) else PeriodicExportingMetricReader(one) for one in made]
    provider = MeterProvider(readers, resource, shutdown_on_exit=False)
    metrics.set_meter_provider(provider)
    return provider


def _made(signal: Signal, names: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the exporters of these names, each with its name; one that there is not is logged."""
    for name in names:
        protocol = _env(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL") or _env("OTEL_EXPORTER_OTLP_PROTOCOL")
        entry = _PROTOCOLS.get(protocol or "http/protobuf", protocol) if name == "otlp" else name
        found = list(entry_points(group=f"opentelemetry_{signal}_exporter", name=entry))
        if not found:
            logger.error("There is no OpenTelemetry exporter '{}' for {}: is its package installed?", entry, signal)
            continue
        kind = found[0].load()
        # Standard output belongs to the protocol, over stdio.
        yield name, kind(out=sys.stderr) if name == "console" else kind()


def _flush(providers: list[Any]) -> None:
    """Send what is left, for a few seconds at most: a collector that is away must not hold up the end."""

    def send() -> None:
        for provider in providers:
            tell(provider.force_flush)

    thread = threading.Thread(target=send, name="failsoft-otel-flush", daemon=True)
    thread.start()
    thread.join(_FLUSH_S)
