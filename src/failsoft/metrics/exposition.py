"""The exposition: what a scrape gets, in the format it asks for, rendered off the event loop."""

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

__all__ = ["forget_worker", "render", "scrape"]

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
_ACCEPT_AT_MOST = 1_000
_PAUSE_AFTER = 100
"""Samples; rendering them takes about a millisecond."""
_PAUSE_S = 0.0005
_KINDS = frozenset({"application/openmetrics-text", "text/plain"})


class _Collects(Protocol):
    """A registry, as far as it is read."""

    def collect(self) -> Iterable[Metric]:
        """Return the families."""


def render(recorder: PrometheusRecorder, accept: str | None = None) -> tuple[bytes, str]:
    """Return the exposition and its content type, OpenMetrics if the `Accept` header prefers it.

    With several workers (`PROMETHEUS_MULTIPROC_DIR`) the values of all of them are added up from their files.
    """
    return _rendered(recorder.registry, accept)


async def scrape(recorder: PrometheusRecorder, accept: str | None = None) -> tuple[bytes, str]:
    """Return what `render` does, made in a worker thread that pauses often, so that calls go on meanwhile."""
    return await asyncio.to_thread(lambda: _rendered(_Unhurried(recorder.registry), accept))


def forget_worker(pid: int) -> None:
    """Take a worker process that ended out of the live gauges; its counts stay."""
    if is_multiprocess():
        from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415 - only once a worker has died

        mark_process_dead(pid, os.environ["PROMETHEUS_MULTIPROC_DIR"])  # type: ignore[no-untyped-call]


def _rendered(registry: _Collects, accept: str | None) -> tuple[bytes, str]:
    from prometheus_client.exposition import choose_encoder, generate_latest  # noqa: PLC0415 - for those who scrape

    try:
        encode, content_type = choose_encoder(_preferred(accept or ""))
        return encode(registry), content_type
    except (ValueError, TypeError):  # a version or an escaping that nobody knows
        return generate_latest(registry), PLAIN


class _Unhurried:
    """A registry whose samples are handed out with pauses.

    A thread that only computes gives the interpreter away every 5 ms, and the event loop asks for it several times in
    one call: during a scrape of a thousand operations every call would take 10 to 30 ms longer.
    """

    def __init__(self, registry: _Collects) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        """Yield the families."""
        for family in self._registry.collect():
            unhurried = copy.copy(family)
            unhurried.samples = _Pausing(family.samples)  # type: ignore[assignment]
            yield unhurried


class _Pausing:
    def __init__(self, samples: Iterable[Sample]) -> None:
        self._samples = samples

    def __iter__(self) -> Iterator[Sample]:
        for number, sample in enumerate(self._samples):
            if number % _PAUSE_AFTER == 0:
                time.sleep(_PAUSE_S)
            yield sample


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
