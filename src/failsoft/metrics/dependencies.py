"""Metrics of a dependency: the state of its circuit breaker, its retry budget, and the load on its strategies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from threading import Lock
from typing import Any

from failsoft.framework.events import LoadGauge
from failsoft.metrics.definitions import BY_NAME, CIRCUIT_STATE, CIRCUIT_TRANSITIONS, RETRY_BUDGET, MetricDefinition
from failsoft.metrics.slots import Row


class DependencySlots:
    """The metric values of one dependency."""

    __slots__ = ("_loads", "_lock", "_name", "_state", "_tokens", "_transitions")

    def __init__(self, name: str) -> None:
        self._name = name
        self._state: str | None = None
        self._tokens: float | None = None
        self._loads: dict[MetricDefinition, float] = {}
        self._transitions = dict.fromkeys(CIRCUIT_TRANSITIONS.values, 0)
        self._lock = Lock()

    def enter(self, state: str) -> None:
        """Note the state of the breaker; a change counts as a transition, the first state does not."""
        with self._lock:
            if state in self._transitions and state != self._state:
                self._transitions[state] += self._state is not None
                self._state = state

    def allow(self, tokens: float) -> None:
        """Note how many retries the budget allows."""
        self._tokens = tokens

    def load(self, gauge: LoadGauge, value: float) -> None:
        """Set the value of a gauge."""
        self._loads[BY_NAME[f"mcp_{gauge}"]] = value

    def rows(self, item: MetricDefinition) -> Iterator[Row]:
        """Yield the samples of one metric; none if nothing was recorded."""
        with self._lock:
            now, transitions, tokens = self._state, self._transitions.copy(), self._tokens
        if item is RETRY_BUDGET and tokens is not None:
            yield "", (self._name,), tokens
        elif item in self._loads:
            yield "", (self._name,), self._loads[item]
        elif item is CIRCUIT_STATE and now is not None:
            yield from (("", (self._name, state), float(state == now)) for state in transitions)
        elif item is CIRCUIT_TRANSITIONS and now is not None:
            yield from (("_total", (self._name, to), count) for to, count in transitions.items())


class DependencyChildren:
    """The children of one dependency; with several workers the state is a count of workers in it."""

    def __init__(self, families: Mapping[MetricDefinition, Any], name: str) -> None:
        self._families = families
        self._name = name
        self._state: str | None = None
        self._lock = Lock()

    def enter(self, state: str) -> None:
        """Note the state of the breaker; a change counts as a transition, the first state does not."""
        states = CIRCUIT_STATE.values
        with self._lock, suppress(Exception):
            if state not in states or state == self._state:
                return
            for each in states:
                self._families[CIRCUIT_STATE].labels(self._name, each).set(each == state)
                self._families[CIRCUIT_TRANSITIONS].labels(self._name, each)
            if self._state is not None:
                self._families[CIRCUIT_TRANSITIONS].labels(self._name, state).inc()
            self._state = state

    def allow(self, tokens: float) -> None:
        """Note how many retries the budget allows."""
        with suppress(Exception):
            self._families[RETRY_BUDGET].labels(self._name).set(tokens)

    def load(self, gauge: LoadGauge, value: float) -> None:
        """Set the value of a gauge."""
        with suppress(Exception):
            self._families[BY_NAME[f"mcp_{gauge}"]].labels(self._name).set(value)
