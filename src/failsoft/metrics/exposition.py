"""The Prometheus exposition: the numbers of all recorders and workers together, rendered off the event loop."""

from __future__ import annotations

import asyncio
import functools
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from operator import add
from typing import TYPE_CHECKING, Any, TypeAlias

from failsoft._version import __version__
from failsoft.metrics.board import Gauge, in_use
from failsoft.metrics.definitions import BUILD_INFO, BY_NAME, DEFINITIONS, MetricDefinition
from failsoft.metrics.recorder import PrometheusRecorder
from failsoft.metrics.values import Row

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric
    from prometheus_client.samples import Sample


PLAIN = "text/plain; version=0.0.4; charset=utf-8"
_ACCEPT_AT_MOST = 1_000
_PAUSE_AFTER = 100
"""Samples between two pauses; rendering them takes about a millisecond."""
_PAUSE_S = 0.0005
_KINDS = frozenset({"application/openmetrics-text", "text/plain"})
_MERGED: dict[str, Callable[[float, float], float]] = {"sum": add, "max": max, "min": min}

Recorders: TypeAlias = PrometheusRecorder | Sequence[PrometheusRecorder]
Series: TypeAlias = dict[tuple[str, ...], Sequence[float]]


def render(recorders: Recorders, accept: str | None = None) -> tuple[bytes, str]:
    """Return the exposition and its content type, OpenMetrics if the `Accept` header prefers it.

    Args:
        recorders: The recorder, such as `runtime.metrics`, or several, whose metrics are merged.
        accept: The `Accept` header of the request; None for the Prometheus text format.

    In a worker it has the metrics of all workers. What only a shared store knows, such as a breaker that another
    process has closed, is as this process saw it last; `scrape` asks the store.
    """
    listed = _listed(recorders)
    return _rendered(_Exposed(listed, Merged(listed)), accept)


async def scrape(recorders: Recorders, accept: str | None = None) -> tuple[bytes, str]:
    """Return the same with what shared stores know now, rendered in a thread that yields to calls."""
    listed = _listed(recorders)
    for recorder in listed:
        await recorder.refresh()
    exposed = _Exposed(listed, Merged(listed, pause_s=_PAUSE_S))
    return await asyncio.to_thread(_rendered, exposed, accept)


def _listed(recorders: Recorders) -> list[PrometheusRecorder]:
    return [recorders] if isinstance(recorders, PrometheusRecorder) else list(recorders)


class Merged:
    """The numbers of several recorders, and of all workers, at one moment.

    A thread that only computes releases the GIL every 5 ms, and the event loop needs it several times per call: during
    a scrape of a thousand operations every call would take 10 to 30 ms longer. So it pauses.

    Args:
        recorders: The recorders of this process.
        pause_s: How long to pause after each 100 series and samples, in seconds.
    """

    def __init__(self, recorders: Sequence[PrometheusRecorder], *, pause_s: float = 0.0) -> None:
        self._pause_s, self._done = pause_s, 0
        self._numbers = list({id(recorder.numbers): recorder.numbers for recorder in recorders}.values())
        self._board = in_use()
        own = [gauge for recorder in recorders for gauge in recorder.gauges()]
        self._gauges = [own, _once(gauge for recorder in recorders for gauge in recorder.gauges(shared=True))]

    def pause(self) -> None:
        """Let calls go on, now and then."""
        self._done += 1
        if self._pause_s and self._done % _PAUSE_AFTER == 0:
            time.sleep(self._pause_s)

    @functools.cached_property
    def series(self) -> dict[str, Series]:
        """The numbers by metric and labels."""
        merged: dict[str, Series] = {item.name: _zeros(item) for item in DEFINITIONS}
        for name, labels, values in self._rows():
            self.pause()
            series = merged[name]
            known = series.get(labels)
            series[labels] = list(values) if known is None else list(map(add, known, values))
        gauges: dict[str, dict[tuple[str, ...], float]] = {}
        others = [] if self._board is None else self._board.server.gauges()
        for found in (*self._gauges, others):
            for name, labels, value in found:
                kept = gauges.setdefault(name, {})
                kept[labels] = _MERGED[BY_NAME[name].merge](kept[labels], value) if labels in kept else value
        for name, kept in gauges.items():
            merged[name].update({labels: (value,) for labels, value in kept.items()})
        return merged

    def _rows(self) -> Iterator[Row]:
        for numbers in self._numbers:
            yield from numbers.rows()
        if self._board is not None:
            yield from self._board.server.rows(others=True)


def _once(shared: Iterable[Gauge]) -> list[Gauge]:
    """Return what several runtimes know of one store once."""
    found: dict[tuple[str, tuple[str, ...]], float] = {}
    for name, labels, value in shared:
        found[name, labels] = max(value, found.get((name, labels), value))
    return [(name, labels, value) for (name, labels), value in found.items()]


def _zeros(item: MetricDefinition) -> Series:
    """Return the series that exist although nothing has happened."""
    if item is BUILD_INFO:
        return {(__version__, platform.python_version()): (1.0,)}
    if item.kind == "gauge":
        if not item.labels:
            return {(): (item.default,)}
        return {(value,): (0.0,) for value in item.values} if len(item.labels) == 1 else {}
    own = item.labels[:-1] if item.values else item.labels
    return {} if own else {(): (0.0,) * item.cells}


class FamilyCollector:
    """The families of one recorder for a registry, in the order of the definitions."""

    def __init__(self, recorder: PrometheusRecorder) -> None:
        self._recorder = recorder

    def collect(self) -> Iterable[Metric]:
        """Return the families with their samples."""
        return list(_families(Merged([self._recorder])))

    def describe(self) -> Iterable[Metric]:
        """Return the families without samples: a registry reads their names when the collector is registered."""
        return list(_families(None))


def _families(merged: Merged | None) -> Iterator[Metric]:
    from prometheus_client.metrics_core import Metric  # noqa: PLC0415 - 60 ms, for those who scrape

    for item in DEFINITIONS:
        name = item.name.removesuffix("_total") if item.kind == "counter" else item.name
        family = Metric(name, item.help, item.kind)
        if merged is not None:
            family.samples = _Samples(item, merged)  # type: ignore[assignment]  # an iterable is enough for the exposition
        yield family


class _Samples(Sequence[Any]):
    """The samples of a family, generated while they are read.

    A list of 30,000 samples would trigger the garbage collector, which stops every thread for longer than a call takes.
    """

    def __init__(self, item: MetricDefinition, merged: Merged) -> None:
        self._item, self._merged = item, merged

    def __iter__(self) -> Iterator[Sample]:
        from prometheus_client.samples import Sample  # noqa: PLC0415 - as above

        keys = (*self._item.labels, "le")
        for labels, values in self._merged.series[self._item.name].items():
            for suffix, last, value in _expanded(self._item, values):
                self._merged.pause()
                yield Sample(self._item.name + suffix, dict(zip(keys, (*labels, *last), strict=False)), value)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]


def _expanded(item: MetricDefinition, values: Sequence[float]) -> Iterator[tuple[str, tuple[str, ...], float]]:
    """Yield a suffix of the name, the values of the labels that a row has not, and the number."""
    if item.buckets:
        total = 0.0
        for bound, total in zip((*map(str, item.buckets), "+Inf"), accumulate(values[:-1]), strict=True):
            yield "_bucket", (bound,), total
        yield "_count", (), total
        yield "_sum", (), values[-1]
    elif item.is_one_of:
        yield from (("", (value,), float(number == values[0])) for number, value in enumerate(item.values))
    elif item.values and item.kind == "counter":
        yield from (("", (value,), number) for value, number in zip(item.values, values, strict=True))
    else:
        yield "", (), values[0]


class _Exposed:
    """Everything that a scrape shows: the merged families, what else is on the registries, and the processes."""

    def __init__(self, recorders: Sequence[PrometheusRecorder], merged: Merged) -> None:
        self._recorders, self._merged = recorders, merged

    def collect(self) -> Iterator[Metric]:
        """Yield the families."""
        own = {family.name: family for family in _families(self._merged)}
        others: dict[str, Metric] = {}
        for recorder in self._recorders:
            for family in recorder.registry.collect():
                if family.name not in own:
                    known = others.setdefault(family.name, family)
                    both = (*known.samples, *family.samples)
                    known.samples = list({_series(sample): sample for sample in both}.values())
        for family in _process_families():
            others.setdefault(family.name, family)
        yield from own.values()
        yield from others.values()


def _process_families() -> Iterator[Metric]:
    """Yield memory, processor time and files of this process, or of each worker by its slot."""
    from prometheus_client.process_collector import ProcessCollector  # noqa: PLC0415 - as above
    from prometheus_client.samples import Sample  # noqa: PLC0415 - as above

    workers = _workers()
    if workers is None:
        yield from ProcessCollector(registry=None).collect()
        return
    families: dict[str, Metric] = {}
    for pid, slot in workers:
        for family in ProcessCollector(pid=functools.partial(int, pid), registry=None).collect():
            known = families.setdefault(family.name, family)
            samples = [Sample(sample.name, {"worker": str(slot)}, sample.value) for sample in family.samples]
            known.samples = [*(known.samples if known is not family else ()), *samples]
    yield from families.values()


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
