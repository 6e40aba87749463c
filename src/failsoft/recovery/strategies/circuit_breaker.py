"""`CircuitBreaker`: stops calling a dependency for a while once it keeps failing."""

from __future__ import annotations

import asyncio
import functools
import itertools
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast

from failsoft.framework.asking import has_no_outcome
from failsoft.framework.asking.waiting import without_wait_s
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Link, Proceed, Step
from failsoft.framework.errors import CircuitOpen, ToolError
from failsoft.framework.events import CircuitEvent, CircuitStateName, Events
from failsoft.framework.state.backend import Changed
from failsoft.framework.state.store import StateStore
from failsoft.recovery.strategies.circuit_steps import SLOTS, admit, force, peek, report
from failsoft.recovery.strategy import run_in_background, shielded, shown_wait_s, state_of, strategy

_ABOUT_THE_CALL = ("invalid_argument", "not_found", "already_exists", "conflict", "precondition_failed", "infeasible")
_ABOUT_THE_CALLER = ("unauthenticated", "permission_denied", "approval_required", "rate_limited", "quota_exhausted")
UNCOUNTED = frozenset((*_ABOUT_THE_CALL, *_ABOUT_THE_CALLER, "unsupported", "circuit_open", "configuration"))
"""Categories that do not count as failures of a dependency: the caller or a person has to act, or only one caller is
affected."""
STATES: tuple[CircuitStateName, ...] = ("closed", "half_open", "open")
_LEASE_S, _LEASE_AT_MOST_S = 60.0, 3_600.0
_process = os.urandom(6).hex()
_IN_CODE = "code of the server"
"""Who holds a circuit that was not forced on the command line."""
_numbers = itertools.count(1)


@strategy
class CircuitBreaker:
    """Rejects calls to a dependency that keeps failing until a probe succeeds.

    The circuit opens when the rate of failures or of slow calls in the window reaches its ratio; the lower confidence
    bound of the rate is compared, so that noise does not open it. The newest 20 calls of the window can open it too, at
    a higher confidence. While it is open, calls end at once with CIRCUIT_OPEN and the remaining wait, and nothing is
    sent. After `open_s` exactly one call is admitted as the probe, across all replicas with shared state: it closes
    the circuit, or reopens it for twice as long, up to `max_open_s`. A cancelled probe is released; one whose process
    dies expires.

    Runs that never started, cancelled runs, errors in `UNCOUNTED`, and errors that the caller has to fix do not count.

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

    Raises:
        ValueError: The options are invalid.

    Source: M. Nygard, "Release It!", 2007; the window and the slow calls are resilience4j's.

    Examples:
        >>> @operation(read_only=True, recovery=[Retry(), CircuitBreaker(dependency="shop", open_s=10.0)])
        ... async def get_order(self, number: int) -> str: "Return an order."
    """

    name: ClassVar[str] = "circuit_breaker"
    one_for: ClassVar[Literal["operation", "dependency"]] = "dependency"
    is_private: ClassVar[bool] = False
    """Whether the circuit is the toolset's own even if its dependency is named; for subclasses."""
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
        if not (are_rates and self.min_calls >= 1 and all(0 < time < math.inf for time in times)):
            msg = f"CircuitBreaker needs ratios above 0 up to 1, min_calls >= 1 and finite times above 0, not {self}"
            raise ValueError(msg)

    def links(self, bound: BoundOperation) -> Sequence[Link]:
        """Return the link that checks the circuit before each run and reports the outcome."""
        limit_s = bound.timeout_s if bound.timeout_s and math.isfinite(bound.timeout_s) else _LEASE_S
        lease_s = min(_LEASE_AT_MOST_S, max(self.open_s, limit_s))
        return [Link(self.name, _guarded(self.circuit(bound), lease_s), "breaker")]

    def circuit(self, bound: BoundOperation) -> Circuit:
        """Return the circuit of this operation."""
        store, dependency = state_of(bound, self.dependency, is_private=self.is_private)
        key = f"breaker:{dependency}"

        def make() -> Circuit:
            made = Circuit(store, key, dependency, self, bound.events)
            bound.gauges.add("mcp_circuit_state", made.read, refresh=None if store.is_local else made.refresh)
            return made

        circuit = store.companion(key, make)
        circuit.options = self  # a reload may have changed them
        return circuit

    @classmethod
    def of(cls, bound: BoundOperation) -> Circuit | None:
        """Return the circuit of an operation's breaker, also of one from a recovery file; None if it has none.

        `await CircuitBreaker.of(tool.operations["fetch"]).open()` stops calls for maintenance.
        """
        return next((item.circuit(bound) for item in bound.strategies if isinstance(item, cls)), None)


def _guarded(circuit: Circuit, lease_s: float) -> Step:
    clock = circuit.clock

    async def step(call: Call, proceed: Proceed) -> Any:
        admission = circuit.current if circuit.passes else await _admitted(circuit, lease_s, call)
        slow_call_s = circuit.options.slow_call_s
        began = 0.0 if slow_call_s is None else clock()
        runs = call.attempt
        try:
            value = await proceed(call)
        except BaseException as raised:
            has_run = call.attempt != runs
            is_slow = has_run and _is_slow(call, slow_call_s, began, clock)
            if has_no_outcome(raised):
                # A deadline that passes during a run counts against the dependency; others are the caller's.
                circuit.gave_up(admission, failed=has_run and call.expired > 0, slow=is_slow)
                raise
            is_failed = has_run and _is_counted(call.typed(raised))
            if is_failed or is_slow:
                await circuit.ended(admission, failed=is_failed, slow=is_slow)
            else:
                circuit.gave_up(admission, failed=False, slow=False)
            raise
        is_slow = _is_slow(call, slow_call_s, began, clock)
        if is_slow or admission.token:
            await circuit.ended(admission, failed=False, slow=is_slow)
        else:
            circuit.succeeded()
        return value

    return step


def _is_slow(call: Call, slow_call_s: float | None, began: float, clock: Callable[[], float]) -> bool:
    """Return whether a run took long, apart from the time in which a person thought."""
    if slow_call_s is None or (elapsed_s := clock() - began) < slow_call_s:
        return False
    return without_wait_s(call, elapsed_s) >= slow_call_s


async def _admitted(circuit: Circuit, lease_s: float, call: Call) -> CircuitAdmission:
    admission = await circuit.admit(lease_s)
    if admission.wait_s is None:
        return admission
    call.tell(stop_reason="circuit_open")
    wait_s, details = shown_wait_s(admission.wait_s), {"dependency": circuit.dependency}
    message = "An operator has stopped calls to the service behind this tool." if admission.is_held else ""
    raise CircuitOpen(
        message=message or CircuitOpen.template,
        retry_after_seconds=wait_s,
        effect=call.effect_of(call.error),
        details=details,
    )


def _is_counted(error: ToolError) -> bool:
    return error.category not in UNCOUNTED and error.actor != "caller"


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
        for_s: How long it is in its state, in seconds.
        held_by: The operator who holds it there; empty for none.
    """

    dependency: str
    state: CircuitStateName
    wait_s: float
    calls: int
    failed: int
    slow: int
    for_s: float = 0.0
    held_by: str = ""


@dataclass(frozen=True, slots=True)
class CircuitAdmission:
    """Whether a call is admitted: `wait_s` is None if so, else the seconds to wait; `token` marks a probe.

    `is_held` is true if an operator has forced the circuit open.
    """

    era: int
    token: str = ""
    wait_s: float | None = None
    is_held: bool = False


class Circuit:
    """One circuit. Successes are counted locally and sent with the next step; failures are reported at once.

    Operators force it with `open` and `close` until `reset`. With local state a closed circuit needs no store access:
    while `passes` is true, `current` is the admission.

    Args:
        store: The store of its state.
        key: The key of its state.
        dependency: The protected dependency, for events.
        options: The breaker.
        events: Receives an event for each change of state.
    """

    def __init__(self, store: StateStore, key: str, dependency: str, options: CircuitBreaker, events: Events) -> None:
        self._store, self._key, self._events = store, key, events
        self.clock = store.clock
        self._collected, self._collected_since = 0, 0.0
        self._collects_until = 0.0 if store.is_local else math.inf  # sent to a shared store with the next call
        self.dependency, self.options = dependency, options
        self.era, self.current = 0, CircuitAdmission(0)
        self.state: CircuitStateName | None = None
        self._shown: CircuitStateName = "closed"
        self.passes = store.is_local
        if store.is_local:
            self._enter("closed", 0, "", "made")

    def succeeded(self) -> None:
        """Count a fast success while the circuit is closed."""
        now = self.clock()
        if now >= self._collects_until:
            self._bring(now)
        self._collected += 1

    async def admit(self, lease_s: float) -> CircuitAdmission:
        """Return whether a call is admitted; as a probe it counts as lost after `lease_s` seconds."""
        token = f"{_process}-{next(_numbers)}"
        collected, self._collected = self._collected, 0
        arguments = (token, lease_s, collected, self.options.window_s, self.options.open_s)
        if self._store.is_local:
            answer = self._store.change_now(admit, self._key, *arguments)
        else:
            answer = await self._ask(token, arguments)
        verdict, state, era, wait_s, was = answer
        self._enter(state, era, was, "a probe goes" if verdict == "probe" else "an operator has set it")
        if verdict == "go":
            return self.current
        is_probe = verdict == "probe"
        return CircuitAdmission(era, token if is_probe else "", None if is_probe else wait_s, verdict == "held")

    async def ended(self, admission: CircuitAdmission, *, failed: bool, slow: bool, calls: int = 1) -> None:
        """Report the outcome of an admitted call."""
        if not self._is_outdated(admission):
            outcome = self._outcome(admission, calls, failed=failed, slow=slow)
            self._judged(admission, await self._change(report, *outcome))

    def gave_up(self, admission: CircuitAdmission, *, failed: bool, slow: bool) -> None:
        """Report a call without an answer, without waiting: as failed, as slow, or as an abandoned probe."""
        calls = int(failed or slow)
        if (not calls and not admission.token) or self._is_outdated(admission):
            return
        if self._store.is_local:
            outcome = self._outcome(admission, calls, failed=failed, slow=slow)
            self._judged(admission, self._store.change_now(report, self._key, *outcome))
        else:
            run_in_background(self.ended(admission, failed=failed, slow=slow, calls=calls))

    def _is_outdated(self, admission: CircuitAdmission) -> bool:
        """Return whether the state changed since; a local store that forgot the state would count the call."""
        return self._store.is_local and admission.era != self.era

    async def open(self, *, by: str = _IN_CODE) -> None:
        """Force the circuit open until `reset`, in this name: for maintenance."""
        await self._force("open", by)

    async def close(self, *, by: str = _IN_CODE) -> None:
        """Force the circuit closed until `reset`, in this name: to override the breaker."""
        await self._force("closed", by)

    async def reset(self) -> None:
        """Return the circuit to automatic operation, closed and with an empty window."""
        await self._force("closed", "")

    async def view(self) -> CircuitView:
        """Return a snapshot of the circuit."""
        if self._store.is_local:
            self._bring(self.clock())
        name, _, wait_s, calls, failed, slow, for_s, held = await self._change(peek, self.options.window_s)
        return CircuitView(self.dependency, name, wait_s, calls, failed, slow, for_s, str(held or ""))

    def read(self) -> dict[tuple[str, ...], float]:
        """Return the position of the state in `STATES` under the dependency: of a shared store, as last asked for."""
        if self._store.is_local:
            self._shown = self._store.change_now(peek, self._key, self.options.window_s)[0]
        return {(self.dependency,): STATES.index(self._shown)}

    async def refresh(self) -> None:
        """Ask a shared store for the current state, which another process may have changed."""
        self._shown = (await self.view()).state

    async def _force(self, state: CircuitStateName, held: str) -> None:
        self._collected = 0
        name, era, was = await self._change(force, state, held, 1, self.options.window_s, self.options.open_s)
        self._enter(name, era, was, "by hand")

    async def _change(self, step: Callable[..., Changed], *arguments: Any) -> Any:
        if self._store.is_local:
            return self._store.change_now(step, self._key, *arguments)
        return await shielded(self._store.change(step, self._key, *arguments))

    async def _ask(self, token: str, arguments: tuple[Any, ...]) -> Any:
        """Ask a shared store for admission. A call cancelled meanwhile may be the probe, so it is released."""
        asked = run_in_background(self._store.change(admit, self._key, *arguments))
        try:
            return await asyncio.shield(asked)
        except BaseException:
            asked.add_done_callback(lambda task: self._give_back(task, token))
            raise

    def _give_back(self, asked: asyncio.Task[Any], token: str) -> None:
        if not asked.cancelled() and asked.exception() is None and asked.result()[0] == "probe":
            self.gave_up(CircuitAdmission(asked.result()[2], token), failed=False, slow=False)

    def _outcome(self, admission: CircuitAdmission, calls: int, *, failed: bool, slow: bool) -> tuple[Any, ...]:
        """Return the arguments of a report, with the collected successes; local ones are added to the window."""
        if self._store.is_local:
            self._bring(self.clock())
        elif calls and not admission.token:
            collected, self._collected = self._collected, 0
            calls += collected
        return (admission.token, admission.era, 0.0, calls, int(failed), int(slow), *self._limits())

    def _limits(self) -> tuple[float, ...]:
        given = self.options
        rates = (given.failure_ratio, given.slow_ratio, _z(given.confidence), given.min_calls)
        return (*rates, given.window_s, given.open_s, given.max_open_s)

    def _bring(self, now: float) -> None:
        """Add the collected successes to the window, at the time at which they were collected."""
        if self._collected:
            collected, self._collected = self._collected, 0
            outcome = ("", self.era, self._collected_since, collected, 0, 0)
            self._store.change_now(report, self._key, *outcome, *self._limits())
        span_s = self.options.window_s / SLOTS
        self._collected_since = now
        self._collects_until = (math.floor(now / span_s) + 1) * span_s  # what is collected belongs to one slot

    def _judged(self, admission: CircuitAdmission, answer: Any) -> None:
        state, era, _, calls, failed, slow, was = answer
        if state == "open" and calls:
            word, count = ("failed", failed) if failed >= slow else ("were slow", slow)
            reason = "the probe failed" if admission.token else f"{count} of {calls} calls {word}"
        else:
            reason = "the probe succeeded"
        self._enter(state, era, was, reason)

    def _enter(self, state: str, era: int, was: str, reason: str) -> None:
        """Note the state, and announce it if it is the first one, or this process is to announce that it changed."""
        is_first, self.state = self.state is None, cast("CircuitStateName", state)
        self._shown = self.state
        if era != self.era:
            self.era, self._collected, self.current = era, 0, CircuitAdmission(era)
        self.passes = self._store.is_local and state == "closed"
        if (was or is_first) and self._events.wants(CircuitEvent):
            before = cast("CircuitStateName | None", was or None)
            self._events.publish(CircuitEvent(dependency=self.dependency, state=self.state, was=before, reason=reason))


@functools.lru_cache(maxsize=16)
def _z(confidence: float) -> float:
    from statistics import NormalDist  # noqa: PLC0415 - 10 ms for those who have a breaker

    return NormalDist().inv_cdf(confidence)
