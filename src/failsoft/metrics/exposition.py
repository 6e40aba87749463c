"""The exposition: what a scrape gets, in the format it asks for, rendered off the event loop."""

from __future__ import annotations

import asyncio
import os

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from failsoft.metrics.recorder import PrometheusRecorder, is_multiprocess

__all__ = ["forget_worker", "render", "scrape"]

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
_ACCEPT_AT_MOST = 1_000
_KINDS = frozenset({"application/openmetrics-text", "text/plain"})


def render(recorder: PrometheusRecorder, accept: str | None = None) -> tuple[bytes, str]:
    """Return the exposition and its content type, OpenMetrics if the `Accept` header prefers it.

    In multiprocess mode the values of all workers are added up from their files.
    """
    registry = recorder.registry
    if is_multiprocess():
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    try:
        encode, content_type = choose_encoder(_preferred(accept or ""))
        return encode(registry), content_type
    except (ValueError, TypeError):  # a version or an escaping that nobody knows
        return generate_latest(registry), PLAIN


async def scrape(recorder: PrometheusRecorder, accept: str | None = None) -> tuple[bytes, str]:
    """Return what `render` does, made in a worker thread: a thousand histograms take longer than a call may wait."""
    return await asyncio.to_thread(render, recorder, accept)


def forget_worker(pid: int) -> None:
    """Take a worker process that ended out of the live gauges; its counts stay."""
    if is_multiprocess():
        mark_process_dead(pid, os.environ["PROMETHEUS_MULTIPROC_DIR"])  # type: ignore[no-untyped-call]


def _preferred(accept: str) -> str:
    """Return the best offer we can serve, by its `q`: prometheus-client takes the first one that it likes."""
    best, best_weight = "", 0.0
    for offer in accept[:_ACCEPT_AT_MOST].split(","):
        kind, *parameters = (part.strip() for part in offer.split(";"))
        weight = _weight(parameters)
        if kind in _KINDS and weight > best_weight:
            best, best_weight = offer.strip(), weight
    return best


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
