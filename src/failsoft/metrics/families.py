"""Merges the numbers of all recorders, and of all workers by their boards, into families of prometheus-client."""

from __future__ import annotations

import functools
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from operator import add
from typing import TYPE_CHECKING, Any, TypeAlias

from failsoft._version import __version__
from failsoft.metrics.board import LATE_S, Gauge, in_use
from failsoft.metrics.definitions import BUILD_INFO, BY_NAME, DEFINITIONS, DURATION, LOOP_LAG, MetricDefinition
from failsoft.metrics.values import Row, Traced, added

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric
    from prometheus_client.samples import Sample

    from failsoft.metrics.recorder import PrometheusRecorder

_PAUSE_AFTER = 100
"""Series and samples between two pauses; rendering them takes about a millisecond."""
_MERGED: dict[str, Callable[[float, float], float]] = {"sum": add, "max": max, "min": min}
Series: TypeAlias = dict[tuple[str, ...], Sequence[float]]


class Merged:
    """The numbers of several recorders, and of all workers, at one moment.

    A thread that only computes releases the GIL every 5 ms, and the event loop needs it several times per call: during
    a scrape of a thousand operations every call would take 10 to 30 ms longer. So it pauses.

    Args:
        sources: The recorders of this process.
        pause_s: How long to pause after each 100 series and samples, in seconds.
    """

    def __init__(self, sources: Sequence[PrometheusRecorder], *, pause_s: float = 0.0) -> None:
        self._pause_s, self._done, self._sources = pause_s, 0, sources
        self._numbers = list({id(recorder.numbers): recorder.numbers for recorder in sources}.values())
        self._board = in_use()
        own = [gauge for recorder in sources for gauge in recorder.gauges()]
        self._gauges = [own, _once(gauge for recorder in sources for gauge in recorder.gauges(shared=True))]

    @functools.cached_property
    def exemplars(self) -> dict[tuple[str, ...], dict[int, Traced]]:
        """Calls of sampled traces in this process, the last of each bucket; those of other workers only they show."""
        found: dict[tuple[str, ...], dict[int, Traced]] = {}
        for recorder in self._sources:
            for labels, traced in recorder.exemplars().items():
                found[labels] = {**found.get(labels, {}), **traced}
        return found

    def pause(self) -> None:
        """Let calls go on, now and then."""
        self._done += 1
        if self._pause_s and self._done % _PAUSE_AFTER == 0:
            time.sleep(self._pause_s)

    @functools.cached_property
    def series(self) -> dict[str, Series]:
        """The numbers by metric and labels."""
        merged: dict[str, Series] = {item.name: _zeros(item) for item in DEFINITIONS}
        for (name, labels), values in added(self._rows()).items():
            merged[name][labels] = values
        gauges: dict[str, dict[tuple[str, ...], float]] = {}
        others = [] if self._board is None else self._board.server.gauges()
        for found in (*self._gauges, others, _late_beats()):
            for name, labels, value in found:
                kept = gauges.setdefault(name, {})
                kept[labels] = _MERGED[BY_NAME[name].merge](kept[labels], value) if labels in kept else value
        for name, kept in gauges.items():
            merged[name].update({labels: (value,) for labels, value in kept.items()})
        return merged

    def _rows(self) -> Iterator[Row]:
        others = [] if self._board is None else self._board.server.rows(others=True)
        for row in chain(*(numbers.rows() for numbers in self._numbers), others):
            self.pause()
            yield row


def _late_beats() -> list[Gauge]:
    """Return the lag of workers whose event loop is blocked, which cannot tell it themselves."""
    if (board := in_use()) is None:
        return []
    late = [worker for worker in board.server.workers() if worker.is_alive and worker.phase and worker.slot >= 0]
    return [(LOOP_LAG.name, (), worker.beat_age_s) for worker in late if worker.beat_age_s > LATE_S]


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

    def __init__(self, source: PrometheusRecorder) -> None:
        self._source = source

    def collect(self) -> Iterable[Metric]:
        """Return the families with their samples."""
        return list(families(Merged([self._source])))

    def describe(self) -> Iterable[Metric]:
        """Return the families without samples: a registry reads their names when the collector is registered."""
        return list(families(None))


def families(merged: Merged | None) -> Iterator[Metric]:
    """Yield the families in the order of the definitions, without samples if there are no numbers."""
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
        from prometheus_client.samples import Exemplar, Sample  # noqa: PLC0415 - as above

        keys = (*self._item.labels, "le")
        examples = self._merged.exemplars if self._item is DURATION else {}
        for labels, values in self._merged.series[self._item.name].items():
            traced = examples.get(labels, {})
            for place, (suffix, last, value) in enumerate(_expanded(self._item, values)):
                self._merged.pause()
                shown, example = dict(zip(keys, (*labels, *last), strict=False)), None
                if place in traced:  # the buckets come first
                    example = Exemplar({"trace_id": traced[place].trace_id}, *traced[place][1:])
                yield Sample(self._item.name + suffix, shown, value, None, example)

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
