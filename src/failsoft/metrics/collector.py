"""A Prometheus collector over the slots of all operations and dependencies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from failsoft.metrics.definitions import DEFINITIONS, MetricDefinition
from failsoft.metrics.slots import Row

Sources = Sequence[Callable[[MetricDefinition], Iterator[Row]]]


class SlotCollector(Collector):
    """Exposes slots to a registry.

    Args:
        take: Returns functions that yield the samples of every slot, from a snapshot at the time of the scrape.
    """

    def __init__(self, take: Callable[[], Sources]) -> None:
        self._take = take

    def collect(self) -> Iterable[Metric]:
        """Return the families in the order of the definitions."""
        sources = self._take()
        return [_family(item, sources) for item in DEFINITIONS]

    def describe(self) -> Iterable[Metric]:
        """Return the families without samples: a registry reads their names when the collector is registered."""
        return [_family(item, ()) for item in DEFINITIONS]


def _family(definition: MetricDefinition, sources: Sources) -> Metric:
    name = definition.name.removesuffix("_total") if definition.kind == "counter" else definition.name
    family = Metric(name, definition.help, definition.kind)
    family.samples = _Samples(name, definition, sources)  # type: ignore[assignment]  # an iterable is enough for the exposition
    return family


class _Samples(Sequence[Sample]):
    """The samples of a family, generated while they are read.

    A list of 30,000 samples would trigger the garbage collector, which stops every thread for longer than a call takes.
    """

    def __init__(self, name: str, definition: MetricDefinition, sources: Sources) -> None:
        self._name = name
        self._definition = definition
        self._sources = sources

    def __iter__(self) -> Iterator[Sample]:
        keys = (*self._definition.labels, "le")
        for rows in self._sources:
            for suffix, labels, value in rows(self._definition):
                yield Sample(self._name + suffix, dict(zip(keys, labels, strict=False)), value)

    def __len__(self) -> int:
        return sum(1 for rows in self._sources for _ in rows(self._definition))

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]
