"""Renders the merged families as the Prometheus exposition, off the event loop."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from failsoft.metrics.board import in_use
from failsoft.metrics.families import Merged, families
from failsoft.metrics.recorder import PrometheusRecorder

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric
    from prometheus_client.samples import Sample


PLAIN = "text/plain; version=0.0.4; charset=utf-8"
_ACCEPT_AT_MOST = 1_000
_PAUSE_S = 0.0005
_KINDS = frozenset({"application/openmetrics-text", "text/plain"})

Recorders: TypeAlias = PrometheusRecorder | Sequence[PrometheusRecorder]


def render(recorders: Recorders, accept: str | None = None) -> tuple[bytes, str]:
    """Return the exposition and its content type, OpenMetrics if the `Accept` header prefers it.

    Args:
        recorders: The recorder, such as `runtime.metrics`, or several, whose metrics are merged.
        accept: The `Accept` header of the request; None for the Prometheus text format.

    In a worker it has the metrics of all workers. What only a shared store knows, such as a breaker that another
    process has closed, is as this process saw it last; `scrape` asks the store.

    Examples:
        >>> body, content_type = render(PrometheusRecorder(), accept="application/openmetrics-text")
        >>> content_type.split(";")[0]
        'application/openmetrics-text'
    """
    listed = _listed(recorders)
    return _rendered(_Exposed(listed, Merged(listed)), accept)


async def scrape(recorders: Recorders, accept: str | None = None) -> tuple[bytes, str]:
    """Return what `render` returns, with what shared stores know now, from a thread that yields to calls.

    Args:
        recorders: As for `render`.
        accept: As for `render`.

    Examples:
        >>> body, content_type = asyncio.run(scrape(PrometheusRecorder()))
        >>> content_type.split(";")[0]
        'text/plain'
    """
    listed = _listed(recorders)
    for recorder in listed:
        await recorder.refresh()
    exposed = _Exposed(listed, Merged(listed, pause_s=_PAUSE_S))
    return await asyncio.to_thread(_rendered, exposed, accept)


def _listed(recorders: Recorders) -> list[PrometheusRecorder]:
    return [recorders] if isinstance(recorders, PrometheusRecorder) else list(recorders)


class _Exposed:
    """Everything that a scrape shows: the merged families, what else is on the registries, and the processes."""

    def __init__(self, recorders: Sequence[PrometheusRecorder], merged: Merged) -> None:
        self._recorders, self._merged = recorders, merged

    def collect(self) -> Iterator[Metric]:
        """Yield the families."""
        own = {family.name: family for family in families(self._merged)}
        others: dict[str, Metric] = {}
        for recorder in self._recorders:
            for family in recorder.registry.collect():
                if family.name not in own:
                    known = others.setdefault(family.name, family)
                    both = (*known.samples, *family.samples)
                    known.samples = list({_series(sample): sample for sample in both}.values())
        with _spare.freed():
            processes = list(_process_families())
        for family in processes:
            others.setdefault(family.name, family)
        yield from own.values()
        yield from others.values()


class _SpareFile:
    """An open file that is given up while `/proc` is read, for a process that may open no more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._fd: int | None = None

    @contextmanager
    def freed(self) -> Iterator[None]:
        """Let the block open one file, wherever a scrape before has kept one."""
        with self._lock:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None
            try:
                yield
            finally:
                with suppress(OSError):
                    self._fd = os.open(os.devnull, os.O_RDONLY)


_spare = _SpareFile()


def _process_families() -> Iterator[Metric]:
    """Yield memory, processor time, files and threads of this process, or of each worker by its slot."""
    from prometheus_client.process_collector import ProcessCollector  # noqa: PLC0415 - only for scrapes
    from prometheus_client.samples import Sample  # noqa: PLC0415 - only for scrapes

    workers = _workers()
    if workers is None:
        yield from ProcessCollector(registry=None).collect()
        yield from _thread_families("self")
        return
    families: dict[str, Metric] = {}
    for pid, slot in workers:
        found = ProcessCollector(pid=functools.partial(int, pid), registry=None).collect()
        for family in (*found, *_thread_families(str(pid))):
            known = families.setdefault(family.name, family)
            samples = [Sample(sample.name, {"worker": str(slot)}, sample.value) for sample in family.samples]
            known.samples = [*(known.samples if known is not family else ()), *samples]
    yield from families.values()


def _thread_families(process: str) -> Iterator[Metric]:
    """Yield how many threads a process has, which the collector does not know; nothing where the system does not say.

    Args:
        process: Its folder in `/proc`.
    """
    from prometheus_client.metrics_core import GaugeMetricFamily  # noqa: PLC0415 - only for scrapes

    try:
        threads = len(list(Path(f"/proc/{process}/task").iterdir()))
    except OSError:
        return
    yield GaugeMetricFamily("process_threads", "Threads, those that handlers have left behind too.", value=threads)


def _workers() -> list[tuple[int, int]] | None:
    """Return process id and slot of the workers that are alive; None in a process alone."""
    board = in_use()
    if board is None or board.file is None:
        return None
    return [(worker.pid, worker.slot) for worker in board.server.workers() if worker.is_alive and worker.slot >= 0]


def _series(sample: Sample) -> tuple[str, frozenset[tuple[str, str]]]:
    return sample.name, frozenset(sample.labels.items())


def _rendered(exposed: _Exposed, accept: str | None) -> tuple[bytes, str]:
    from prometheus_client.exposition import choose_encoder, generate_latest  # noqa: PLC0415 - only for scrapes

    try:
        encode, content_type = choose_encoder(_preferred(accept or ""))
        return encode(exposed), content_type
    except (ValueError, TypeError):  # an unknown version or escaping
        return generate_latest(exposed), PLAIN


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
