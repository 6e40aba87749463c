"""`CircuitBreaker`: stops calling a dependency for a while once it keeps failing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self
from weakref import WeakSet

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Link, Proceed, Step
from failsoft.framework.errors import CircuitOpen, ToolError
from failsoft.framework.safe.author_reports import is_real_cancellation
from failsoft.recovery.facts import StrategyFacts
from failsoft.recovery.reporting import shown_wait_s
from failsoft.recovery.strategies.circuit_breaker.circuit import Circuit, CircuitAdmission, CircuitOptions, CircuitView

UNCOUNTED = frozenset(
    {
        "invalid_argument",
        "not_found",
        "already_exists",
        "conflict",
        "precondition_failed",
        "unauthenticated",
        "permission_denied",
        "approval_required",
        "rate_limited",
        "quota_exhausted",
        "infeasible",
        "unsupported",
        "circuit_open",
        "configuration",
    }
)
"""Categories that do not count as failures of a dependency: the caller or a person has to act, or only one caller is
affected."""
_LEASE_S = 60.0
_LEASE_AT_MOST_S = 3_600.0


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
        dependency: See `CircuitOptions`.
        failure_ratio: See `CircuitOptions`.
        min_calls: See `CircuitOptions`.
        window_s: See `CircuitOptions`.
        open_s: See `CircuitOptions`.
        max_open_s: See `CircuitOptions`.
        slow_call_s: See `CircuitOptions`.
        slow_ratio: See `CircuitOptions`.
        confidence: See `CircuitOptions`.

    Raises:
        ValueError: The options are invalid.

    Source: M. Nygard, "Release It!", 2007; the window and the slow calls are resilience4j's.
    """

    name = "circuit_breaker"
    _is_private = False
    """Whether the circuit is the toolset's own even if its dependency is named; for subclasses."""
    facts = StrategyFacts(
        options=CircuitOptions,
        place="breaker",
        use=(
            "a dependency is sometimes down, and calls to it cost every caller its time and delay the recovery of"
            " the dependency. Name the dependency, so that all operations on it share one circuit."
        ),
        not_for="errors of the caller, which never count. For a single slow call use `AttemptTimeout`.",
        example={"dependency": "billing"},
        single_for="dependency",
    )

    def __init__(  # noqa: PLR0913, PLR0917 - the options by their names, as a configuration gives them
        self,
        dependency: str | None = None,
        failure_ratio: float = 0.5,
        min_calls: int = 5,
        window_s: float = 10,
        open_s: float = 5,
        max_open_s: float = 300,
        slow_call_s: float | None = None,
        slow_ratio: float = 0.5,
        confidence: float = 0.95,
    ) -> None:
        self.options = CircuitOptions(
            dependency, failure_ratio, min_calls, window_s, open_s, max_open_s, slow_call_s, slow_ratio, confidence
        )
        self._circuits = WeakSet[Circuit]()

    def links(self, bound: BoundOperation) -> Sequence[Link]:
        """Return the link that checks the circuit before each run and reports the outcome."""
        circuit = self.circuit(bound)
        return [Link(self.name, _guarded(circuit, self._lease_s(bound)), "breaker")]

    def circuit(self, bound: BoundOperation) -> Circuit:
        """Return the circuit of this operation."""
        named = self.options.dependency
        store = bound.state if named and not self._is_private else bound.state.private_to(bound.tool)
        dependency = named or f"{bound.tool_name}.{bound.name}"
        key = f"breaker:{dependency}"
        circuit = store.companion(key, lambda: Circuit(store, key, dependency, self.options, bound.events))
        circuit.options = self.options  # a reload may have changed them
        self._circuits.add(circuit)
        return circuit

    @classmethod
    def of(cls, bound: BoundOperation) -> Self | None:
        """Return the breaker of an operation, also one from a recovery file: `CircuitBreaker.of(tool.operations["x"])`.

        None if it has none. A reload of the recovery file may replace it.
        """
        return next((item for item in bound.strategies if isinstance(item, cls)), None)

    async def open(self) -> None:
        """Force the circuits of this breaker open until `reset`: for maintenance."""
        await self._force("open", held=True)

    async def close(self) -> None:
        """Force the circuits of this breaker closed until `reset`: to override the breaker."""
        await self._force("closed", held=True)

    async def reset(self) -> None:
        """Return the circuits of this breaker to automatic operation, closed and with empty windows."""
        await self._force("closed", held=False)

    async def views(self) -> list[CircuitView]:
        """Return snapshots of the circuits of this breaker, sorted by dependency."""
        return sorted([await circuit.view() for circuit in self._circuits], key=lambda view: view.dependency)

    async def _force(self, state: Any, *, held: bool) -> None:
        for circuit in list(self._circuits):
            await circuit.force(state, held=held)

    def _lease_s(self, bound: BoundOperation) -> float:
        limit_s = bound.timeout_s if bound.timeout_s and math.isfinite(bound.timeout_s) else _LEASE_S
        return min(_LEASE_AT_MOST_S, max(self.options.open_s, limit_s))


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
            is_slow = slow_call_s is not None and clock() - began >= slow_call_s
            await _failed(circuit, admission, call, raised, has_run=call.attempt != runs, is_slow=is_slow)
            raise
        is_slow = slow_call_s is not None and clock() - began >= slow_call_s
        if is_slow or admission.token:
            await circuit.ended(admission, failed=False, slow=is_slow)
        else:
            circuit.succeeded()
        return value

    return step


async def _admitted(circuit: Circuit, lease_s: float, call: Call) -> CircuitAdmission:
    admission = await circuit.admit(lease_s)
    if admission.wait_s is not None:
        call.tell(stop_reason="circuit_open")
        raise CircuitOpen(
            retry_after_seconds=shown_wait_s(admission.wait_s),
            effect=call.effect_of(call.error),
            details={"dependency": circuit.dependency},
        )
    return admission


def _is_counted(error: ToolError) -> bool:
    """Return whether an error counts as a failure of the dependency; one that the caller has to fix does not."""
    return error.category not in UNCOUNTED and error.actor != "caller"


async def _failed(
    circuit: Circuit,
    admission: CircuitAdmission,
    call: Call,
    raised: BaseException,
    *,
    has_run: bool,
    is_slow: bool,
) -> None:
    """Report a failure of the dependency, and any slow run, however it ended."""
    slow = has_run and is_slow
    if is_real_cancellation(raised):
        # A deadline that passes during a run counts against the dependency; any other cancellation is the caller's.
        circuit.gave_up(admission, failed=has_run and bool(call.expired), slow=slow)
    elif has_run and _is_counted(call.typed(raised)):
        await circuit.ended(admission, failed=True, slow=slow)
    elif slow:
        await circuit.ended(admission, failed=False, slow=True)
    else:
        circuit.gave_up(admission, failed=False)
