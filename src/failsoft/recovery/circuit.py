"""`Circuit`: one circuit as this process sees it; its state is wherever the store keeps it."""

from __future__ import annotations

import asyncio
import itertools
import math
import os
from dataclasses import dataclass
from typing import Any, cast

from failsoft.framework.events import CircuitEvent, CircuitStateName, Events
from failsoft.framework.state_port import StateStore, Transition
from failsoft.recovery.circuit_steps import ADMIT, FORCE, PEEK, REPORT, SLOTS
from failsoft.recovery.seeing_through import begin, see_through

__all__ = ["Admission", "Circuit", "CircuitOptions", "CircuitView"]

_process = os.urandom(6).hex()
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class CircuitOptions:
    """When a circuit opens, and for how long.

    Args:
        dependency: What is protected; breakers of one name are one circuit. By default every operation of a toolset has
            its own, under `<toolset>.<operation>`.
        failure_ratio: The share of failures in the window that opens the circuit, above 0 and at most 1. The same share
            of slow calls opens it too.
        min_calls: Fewer calls than this in the window decide nothing; at least 1.
        window_s: How far back calls count, in seconds.
        open_s: How long the dependency is left alone before one call may try it, in seconds.
        slow_call_s: Calls that take at least so long are slow, in seconds; None: none are.
    """

    dependency: str | None = None
    failure_ratio: float = 0.5
    min_calls: int = 5
    window_s: float = 10.0
    open_s: float = 30.0
    slow_call_s: float | None = None

    def __post_init__(self) -> None:
        times = (self.window_s, self.open_s, 1.0 if self.slow_call_s is None else self.slow_call_s)
        if not 0 < self.failure_ratio <= 1 or self.min_calls < 1 or not all(0 < time < math.inf for time in times):
            msg = f"CircuitBreaker needs 0 < failure_ratio <= 1, min_calls >= 1 and finite times above 0, not {self}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class CircuitView:
    """A circuit at one moment.

    Args:
        dependency: What it protects.
        state: closed, open or half_open.
        wait_s: How long it stays open, in seconds; 0 for the other states.
        calls: In the window.
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
class Admission:
    """Whether a call may go: `wait_s` is None if it may, else the seconds to wait; `token` marks a probe."""

    era: int
    token: str = ""
    wait_s: float | None = None


class Circuit:
    """One circuit. Successes are collected here and brought along with the next step; failures are told at once.

    With local state a closed circuit need not be asked: where `passes` is true, `current` is the admission.

    Args:
        store: Where its state is.
        key: Under which key.
        dependency: What it protects, for events.
        options: See `CircuitOptions`.
        events: Where changes are announced.
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
        self._collects_until = 0.0 if store.is_local else math.inf  # a shared store gets them with the next call
        self.dependency = dependency
        self.options = options
        self.era = 0
        self.current = Admission(0)
        self.state: CircuitStateName | None = None
        self.passes = store.is_local
        if store.is_local:
            self._enter("closed", 0, "made")

    def succeeded(self) -> None:
        """Count a call that was let through while the circuit was closed and succeeded in time."""
        now = self.clock()
        if now >= self._collects_until:
            self._bring(now)
        self._collected += 1

    async def admit(self, lease_s: float) -> Admission:
        """Ask whether a call may go.

        Args:
            lease_s: How long it may take if it becomes the probe, in seconds.
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
        return Admission(era, token) if verdict == "probe" else Admission(era, wait_s=wait_s)

    async def ended(self, admission: Admission, *, failed: bool, slow: bool) -> None:
        """Tell how a call ended that was let through."""
        await self._report(admission, 1, failed=int(failed), slow=int(slow))

    def gave_up(self, admission: Admission, *, failed: bool) -> None:
        """Tell, without waiting, of a call that was cancelled: as a failure, or just to give a probe's place back."""
        if not failed and not admission.token:
            return
        arguments = self._report_arguments(admission, int(failed), int(failed), 0)
        if self._store.is_local:
            self._judged(admission, self._store.change_now(REPORT, self._key, *arguments))
        else:
            begin(self._report(admission, int(failed), failed=int(failed), slow=0))

    async def force(self, state: CircuitStateName, *, held: bool) -> None:
        """Put the circuit into a state by hand, with an empty window."""
        self._collected = 0
        options = self.options
        name, era = await self._change(FORCE, state, int(held), options.window_s, options.open_s)
        self._enter(name, era, "by hand")

    async def view(self) -> CircuitView:
        """Return the circuit as it is."""
        if self._store.is_local:
            self._bring(self.clock())
        name, _, wait_s, calls, failed, slow = await self._change(PEEK, self.options.window_s, self.options.open_s)
        return CircuitView(self.dependency, name, wait_s, calls, failed, slow)

    async def _change(self, transition: Transition, *arguments: Any) -> Any:
        if self._store.is_local:
            return self._store.change_now(transition, self._key, *arguments)
        return await see_through(self._store.change(transition, self._key, *arguments))

    async def _ask(self, token: str, arguments: tuple[Any, ...]) -> Any:
        """Ask a shared store. Whoever is cancelled meanwhile may have become the probe without ever learning it."""
        asked = begin(self._store.change(ADMIT, self._key, *arguments))
        try:
            return await asyncio.shield(asked)
        except BaseException:
            asked.add_done_callback(lambda task: self._give_back(task, token))
            raise

    def _give_back(self, asked: asyncio.Task[Any], token: str) -> None:
        if not asked.cancelled() and asked.exception() is None and asked.result()[0] == "probe":
            self.gave_up(Admission(asked.result()[2], token), failed=False)

    async def _report(self, admission: Admission, calls: int, *, failed: int, slow: int) -> None:
        arguments = self._report_arguments(admission, calls, failed, slow)
        self._judged(admission, await self._change(REPORT, *arguments))

    def _report_arguments(self, admission: Admission, calls: int, failed: int, slow: int) -> tuple[Any, ...]:
        if self._store.is_local:
            self._bring(self.clock())
        elif calls and not admission.token:
            collected, self._collected = self._collected, 0
            calls += collected
        return self._arguments(admission, 0.0, calls, failed, slow)

    def _arguments(self, admission: Admission, at: float, calls: int, failed: int, slow: int) -> tuple[Any, ...]:
        options = self.options
        limits = (options.failure_ratio, options.min_calls, options.window_s, options.open_s)
        return (admission.token, admission.era, at, calls, failed, slow, *limits)

    def _bring(self, now: float) -> None:
        """Bring the collected successes into the window, at the time at which they were collected."""
        if self._collected:
            collected, self._collected = self._collected, 0
            arguments = self._arguments(Admission(self.era), self._collected_since, collected, 0, 0)
            self._store.change_now(REPORT, self._key, *arguments)
        self._collected_since = now
        self._collects_until = now + self.options.window_s / SLOTS

    def _judged(self, admission: Admission, answer: Any) -> None:
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
            self.era, self._collected, self.current = era, 0, Admission(era)
        self.passes = self._store.is_local and state == "closed"
        if was != state and self._events.wants(CircuitEvent):
            self._events.publish(CircuitEvent(dependency=self.dependency, state=self.state, was=was, reason=reason))
