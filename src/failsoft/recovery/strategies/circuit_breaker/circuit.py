"""`Circuit`: one circuit as seen by this process; its state is in the state store."""

from __future__ import annotations

import asyncio
import functools
import itertools
import math
import os
from dataclasses import dataclass
from typing import Any, cast

from failsoft.framework.events import CircuitEvent, CircuitStateName, Events
from failsoft.framework.records import Transition
from failsoft.framework.state import StateStore
from failsoft.recovery.shielded import begin, see_through
from failsoft.recovery.strategies.circuit_breaker.steps import ADMIT, FORCE, PEEK, REPORT, SLOTS

_process = os.urandom(6).hex()
_numbers = itertools.count(1)


@functools.lru_cache(maxsize=16)
def _z(confidence: float) -> float:
    from statistics import NormalDist  # noqa: PLC0415 - 10 ms for those who have a breaker

    return NormalDist().inv_cdf(confidence)


@dataclass(frozen=True, slots=True)
class CircuitOptions:
    """When a circuit opens, and for how long.

    Args:
        dependency: The dependency to protect; breakers with the same name share one circuit. By default every operation
            of a toolset has its own, under `<toolset>.<operation>`.
        failure_ratio: The failure rate that opens the circuit, above 0 and at most 1.
        min_calls: The fewest calls in the window that can open the circuit; at least 1.
        window_s: The length of the sliding window, in seconds.
        open_s: How long the circuit stays open before a probe, in seconds. It doubles with each failed probe.
        max_open_s: The upper bound of `open_s`, in seconds.
        slow_call_s: Calls that take at least this long are slow, however they end, in seconds; None: no call is slow.
        slow_ratio: The rate of slow calls that opens the circuit, as `failure_ratio`.
        confidence: The one-sided confidence level, at least 0.5 and below 1: the lower bound of the rate at this level
            is compared, so that noise does not open the circuit. 0.5 compares the plain rate.
    """

    dependency: str | None = None
    failure_ratio: float = 0.5
    min_calls: int = 5
    window_s: float = 10.0
    open_s: float = 5.0
    max_open_s: float = 300.0
    slow_call_s: float | None = None
    slow_ratio: float = 0.5
    confidence: float = 0.95

    def __post_init__(self) -> None:
        times = (self.window_s, self.open_s, self.max_open_s, 1.0 if self.slow_call_s is None else self.slow_call_s)
        are_rates = 0 < self.failure_ratio <= 1 and 0 < self.slow_ratio <= 1 and 0.5 <= self.confidence < 1  # noqa: PLR2004 - below one half, no evidence is asked for
        if not are_rates or self.min_calls < 1 or not all(0 < time < math.inf for time in times):
            msg = f"CircuitBreaker needs ratios above 0 up to 1, min_calls >= 1 and finite times above 0, not {self}"
            raise ValueError(msg)

    @property
    def z(self) -> float:
        """The one-sided z-score of the confidence level."""
        return _z(self.confidence)


@dataclass(frozen=True, slots=True)
class CircuitView:
    """A snapshot of a circuit.

    Args:
        dependency: The protected dependency.
        state: closed, open or half_open.
        wait_s: How long it stays open, in seconds; 0 for the other states.
        calls: The number of calls in the window.
        failed: How many of them failed.
        slow: How many of them were slow.
    """

    dependency: str
    state: CircuitStateName
    wait_s: float
    calls: int
    failed: int
    slow: int


@dataclass(frozen=True, slots=True)
class CircuitAdmission:
    """Whether a call is admitted: `wait_s` is None if so, else the seconds to wait; `token` marks a probe."""

    era: int
    token: str = ""
    wait_s: float | None = None


class Circuit:
    """One circuit. Successes are counted locally and sent with the next step; failures are reported at once.

    With local state a closed circuit needs no store access: while `passes` is true, `current` is the admission.

    Args:
        store: The store of its state.
        key: The key of its state.
        dependency: The protected dependency, for events.
        options: See `CircuitOptions`.
        events: Receives an event for each change of state.
    """

    __slots__ = (
        "__weakref__",
        "_collected",
        "_collected_since",
        "_collects_until",
        "_events",
        "_key",
        "_store",
        "clock",
        "current",
        "dependency",
        "era",
        "options",
        "passes",
        "state",
    )

    def __init__(self, store: StateStore, key: str, dependency: str, options: CircuitOptions, events: Events) -> None:
        self._store = store
        self._key = key
        self._events = events
        self.clock = store.clock
        self._collected = 0
        self._collected_since = 0.0
        self._collects_until = 0.0 if store.is_local else math.inf  # sent to a shared store with the next call
        self.dependency = dependency
        self.options = options
        self.era = 0
        self.current = CircuitAdmission(0)
        self.state: CircuitStateName | None = None
        self.passes = store.is_local
        if store.is_local:
            self._enter("closed", 0, "made")

    def succeeded(self) -> None:
        """Count a fast success while the circuit is closed."""
        now = self.clock()
        if now >= self._collects_until:
            self._bring(now)
        self._collected += 1

    async def admit(self, lease_s: float) -> CircuitAdmission:
        """Return whether a call is admitted.

        Args:
            lease_s: The time limit if the call becomes the probe, in seconds.
        """
        token = f"{_process}-{next(_numbers)}"
        collected, self._collected = self._collected, 0
        arguments = (token, lease_s, collected, self.options.window_s, self.options.open_s)
        if self._store.is_local:
            answer = self._store.change_now(ADMIT, self._key, *arguments)
        else:
            answer = await self._ask(token, arguments)
        verdict, state, era, wait_s = answer
        self._enter(state, era, "a probe goes" if verdict == "probe" else "found so")
        if verdict == "go":
            return self.current
        return CircuitAdmission(era, token) if verdict == "probe" else CircuitAdmission(era, wait_s=wait_s)

    async def ended(self, admission: CircuitAdmission, *, failed: bool, slow: bool) -> None:
        """Report the outcome of an admitted call."""
        if not self._is_outdated(admission):
            await self._report(admission, 1, failed=int(failed), slow=int(slow))

    def gave_up(self, admission: CircuitAdmission, *, failed: bool, slow: bool = False) -> None:
        """Report a call without an answer, without waiting: as failed, as slow, or as an abandoned probe."""
        counted = int(failed or slow)
        if (not counted and not admission.token) or self._is_outdated(admission):
            return
        arguments = self._report_arguments(admission, counted, int(failed), int(slow))
        if self._store.is_local:
            self._judged(admission, self._store.change_now(REPORT, self._key, *arguments))
        else:
            begin(self._report(admission, counted, failed=int(failed), slow=int(slow)))

    def _is_outdated(self, admission: CircuitAdmission) -> bool:
        """Return whether the state changed since; a local store that forgot the state would count the call."""
        return self._store.is_local and admission.era != self.era

    async def force(self, state: CircuitStateName, *, held: bool) -> None:
        """Force a state, with an empty window."""
        self._collected = 0
        options = self.options
        name, era = await self._change(FORCE, state, int(held), options.window_s, options.open_s)
        self._enter(name, era, "by hand")

    async def view(self) -> CircuitView:
        """Return a snapshot of the circuit."""
        if self._store.is_local:
            self._bring(self.clock())
        name, _, wait_s, calls, failed, slow = await self._change(PEEK, self.options.window_s, self.options.open_s)
        return CircuitView(self.dependency, name, wait_s, calls, failed, slow)

    async def _change(self, transition: Transition, *arguments: Any) -> Any:
        if self._store.is_local:
            return self._store.change_now(transition, self._key, *arguments)
        return await see_through(self._store.change(transition, self._key, *arguments))

    async def _ask(self, token: str, arguments: tuple[Any, ...]) -> Any:
        """Ask a shared store for admission. A call cancelled meanwhile may be the probe, so it is released."""
        asked = begin(self._store.change(ADMIT, self._key, *arguments))
        try:
            return await asyncio.shield(asked)
        except BaseException:
            asked.add_done_callback(lambda task: self._give_back(task, token))
            raise

    def _give_back(self, asked: asyncio.Task[Any], token: str) -> None:
        if not asked.cancelled() and asked.exception() is None and asked.result()[0] == "probe":
            self.gave_up(CircuitAdmission(asked.result()[2], token), failed=False)

    async def _report(self, admission: CircuitAdmission, calls: int, *, failed: int, slow: int) -> None:
        arguments = self._report_arguments(admission, calls, failed, slow)
        self._judged(admission, await self._change(REPORT, *arguments))

    def _report_arguments(self, admission: CircuitAdmission, calls: int, failed: int, slow: int) -> tuple[Any, ...]:
        if self._store.is_local:
            self._bring(self.clock())
        elif calls and not admission.token:
            collected, self._collected = self._collected, 0
            calls += collected
        return self._arguments(admission, 0.0, calls, failed, slow)

    def _arguments(self, admission: CircuitAdmission, at: float, calls: int, failed: int, slow: int) -> tuple[Any, ...]:
        options = self.options
        limits = (options.failure_ratio, options.slow_ratio, options.z, options.min_calls)
        times = (options.window_s, options.open_s, options.max_open_s)
        return (admission.token, admission.era, at, calls, failed, slow, *limits, *times)

    def _bring(self, now: float) -> None:
        """Add the collected successes to the window, at the time at which they were collected."""
        if self._collected:
            collected, self._collected = self._collected, 0
            arguments = self._arguments(CircuitAdmission(self.era), self._collected_since, collected, 0, 0)
            self._store.change_now(REPORT, self._key, *arguments)
        span_s = self.options.window_s / SLOTS
        self._collected_since = now
        self._collects_until = (math.floor(now / span_s) + 1) * span_s  # what is collected belongs to one slot

    def _judged(self, admission: CircuitAdmission, answer: Any) -> None:
        state, era, _, calls, failed, slow = answer
        if state == "open" and calls:
            word, count = ("failed", failed) if failed >= slow else ("were slow", slow)
            reason = "the probe failed" if admission.token else f"{count} of {calls} calls {word}"
        else:
            reason = "the probe succeeded" if admission.token and state == "closed" else "found so"
        self._enter(state, era, reason)

    def _enter(self, state: str, era: int, reason: str) -> None:
        was, self.state = self.state, cast("CircuitStateName", state)
        if era != self.era:
            self.era, self._collected, self.current = era, 0, CircuitAdmission(era)
        self.passes = self._store.is_local and state == "closed"
        if was != state and self._events.wants(CircuitEvent):
            self._events.publish(CircuitEvent(dependency=self.dependency, state=self.state, was=was, reason=reason))
