"""Metrics of the shared state store: whether it is unavailable, and how often it became so; zeros without one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from failsoft.metrics.definitions import STATE_STORE_LOSSES, STATE_STORE_UNAVAILABLE, MetricDefinition
from failsoft.metrics.slots import Row


class StateStoreSlots:
    """The values of one process."""

    __slots__ = ("_is_available", "_losses")

    def __init__(self) -> None:
        self._is_available = True
        self._losses = 0

    def note(self, *, is_available: bool) -> None:
        """Note that the store was lost, or is there."""
        self._losses += self._is_available and not is_available
        self._is_available = is_available

    def rows(self, item: MetricDefinition) -> Iterator[Row]:
        """Yield the samples of one metric."""
        if item is STATE_STORE_UNAVAILABLE:
            yield "", (), float(not self._is_available)
        elif item is STATE_STORE_LOSSES:
            yield "_total", (), self._losses


class StateStoreChildren:
    """The same in one worker among several: the gauge counts the workers that have lost the store."""

    def __init__(self, families: Mapping[MetricDefinition, Any]) -> None:
        self._families = families
        self._is_available = True

    def note(self, *, is_available: bool) -> None:
        """Note that the store was lost, or is there."""
        with suppress(Exception):
            self._families[STATE_STORE_UNAVAILABLE].set(float(not is_available))
            self._families[STATE_STORE_LOSSES].inc(self._is_available and not is_available)
            self._is_available = is_available
