"""The Prometheus exposition, in the format that a scrape asks for, rendered off the event loop."""

from __future__ import annotations

import asyncio
import copy
import os
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from failsoft.metrics.recorder import PrometheusRecorder, is_multiprocess

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric
    from prometheus_client.samples import Sample


PLAIN = "text/plain; version=0.0.4; charset=utf-8"
_ACCEPT_AT_MOST = 1_000
_PAUSE_AFTER = 100
"""Samples between two pauses; rendering them takes about a millisecond."""
_PAUSE_S = 0.0005
_KINDS = frozenset({"application/openmetrics-text", "text/plain"})


class _Collects(Protocol):
    """The part of a registry that is used."""

    def collect(self) -> Iterable[Metric]:
        """Return the families."""


def render(recorder: PrometheusRecorder, accept: str | None = None) -> tuple[bytes, str]:
    """Return the exposition and its content type, OpenMetrics if the `Accept` header prefers it.

    Args:
        recorder: The recorder, such as `runtime.metrics`.
        accept: The `Accept` header of the request; None for the Prometheus text format.

    With several workers (`PROMETHEUS_MULTIPROC_DIR`) the values of all of them are added up from their files.
    """
    return _rendered(recorder.registry, accept)


async def scrape(recorder: PrometheusRecorder, accept: str | None = None) -> tuple[bytes, str]:
    """Return what `render` returns for the `recorder` and the `accept` header, from a thread that yields to calls."""
    return await asyncio.to_thread(lambda: _rendered(_YieldingRegistry(recorder.registry), accept))


def forget_worker(pid: int) -> None:
    """Remove the worker process `pid`, which has ended, from the live gauges; its counts stay."""
    if is_multiprocess():
        from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415 - only once a worker has died

        mark_process_dead(pid, os.environ["PROMETHEUS_MULTIPROC_DIR"])  # type: ignore[no-untyped-call]  # prometheus_client has no types here


def _rendered(registry: _Collects, accept: str | None) -> tuple[bytes, str]:
    from prometheus_client.exposition import choose_encoder, generate_latest  # noqa: PLC0415 - only for scrapes

    try:
        encode, content_type = choose_encoder(_preferred(accept or ""))
        return encode(registry), content_type
    except (ValueError, TypeError):  # an unknown version or escaping
        return generate_latest(registry), PLAIN


class _YieldingRegistry:
    """A registry that pauses between samples.

    A thread that only computes releases the GIL every 5 ms, and the event loop needs it several times per call: during
    a scrape of a thousand operations every call would take 10 to 30 ms longer.
    """

    def __init__(self, registry: _Collects) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        """Yield the families."""
        for family in self._registry.collect():
            paused = copy.copy(family)
            paused.samples = _PausingSamples(family.samples)  # type: ignore[assignment]  # an iterable is enough for the exposition
            yield paused


class _PausingSamples:
    def __init__(self, samples: Iterable[Sample]) -> None:
        self._samples = samples

    def __iter__(self) -> Iterator[Sample]:
        for number, sample in enumerate(self._samples):
            if number % _PAUSE_AFTER == 0:
                time.sleep(_PAUSE_S)
            yield sample


def _preferred(accept: str) -> str:
    """Return the best supported media type by its `q`; prometheus-client takes the first supported one."""
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
