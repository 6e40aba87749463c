"""`CircuitBreaker`: leaves a dependency alone for a while once it keeps failing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any
from weakref import WeakSet

from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.chain import Link, Proceed, Step
from failsoft.framework.context import CallContext
from failsoft.framework.errors import CircuitOpen
from failsoft.framework.normalize import normalize
from failsoft.framework.ports import CalledOperation
from failsoft.recovery.circuit import Admission, Circuit, CircuitOptions, CircuitView
from failsoft.recovery.rejection import effect_so_far, shown_wait_s

__all__ = ["UNCOUNTED", "CircuitBreaker"]

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
"""Categories that say nothing about the health of a dependency: the caller's, a person's, or about one caller only."""
_LEASE_S = 60.0
_LEASE_AT_MOST_S = 3_600.0


class CircuitBreaker:
    """Refuses calls to a dependency that keeps failing, until one probe has shown that it is well again.

    The circuit opens once the share of failed, or of slow, calls within the window reaches `failure_ratio`. While it is
    open, calls end at once with CIRCUIT_OPEN and the wait that is left, and nothing is sent. After `open_s` exactly one
    call goes as the probe, over all replicas where the state is shared: it closes the circuit, or opens it again. A
    probe that is cancelled gives its place back; one whose process dies loses it when its time is up.

    A run that never started, a cancelled one, and errors that are the caller's own (`UNCOUNTED`) are no verdict.

    Args:
        dependency: See `CircuitOptions`.
        failure_ratio: See `CircuitOptions`.
        min_calls: See `CircuitOptions`.
        window_s: See `CircuitOptions`.
        open_s: See `CircuitOptions`.
        slow_call_s: See `CircuitOptions`.

    Raises:
        ValueError: The options make no breaker.

    Source: M. Nygard, "Release It!", 2007; the window and the slow calls are resilience4j's.
    """

    name = "circuit_breaker"

    def __init__(
        self,
        dependency: str | None = None,
        failure_ratio: float = 0.5,
        min_calls: int = 5,
        window_s: float = 10,
        open_s: float = 30,
        slow_call_s: float | None = None,
    ) -> None:
        self.options = CircuitOptions(dependency, failure_ratio, min_calls, window_s, open_s, slow_call_s)
        self._circuits = WeakSet[Circuit]()

    def links(self, bound: CalledOperation) -> Sequence[Link]:
        """Return the link that asks the circuit before each run and tells it the outcome."""
        circuit = self.circuit(bound)
        return [Link(self.name, _guarded(circuit, self._lease_s(bound)), "breaker")]

    def circuit(self, bound: CalledOperation) -> Circuit:
        """Return the circuit that this operation is part of."""
        named = self.options.dependency
        store = bound.state if named else bound.state.private_to(bound.tool)
        dependency = named or f"{bound.tool_name}.{bound.name}"
        key = f"breaker:{dependency}"
        circuit = store.companion(key, lambda: Circuit(store, key, dependency, self.options, bound.events))
        circuit.options = self.options  # those that were given last hold: a reload changes them
        self._circuits.add(circuit)
        return circuit

    async def open(self) -> None:
        """Hold the circuits of this breaker open, whatever happens, until `reset`: for maintenance."""
        await self._force("open", held=True)

    async def close(self) -> None:
        """Hold the circuits of this breaker closed, whatever happens, until `reset`: for when the breaker is wrong."""
        await self._force("closed", held=True)

    async def reset(self) -> None:
        """Let the circuits of this breaker go their own way again, closed and with nothing counted."""
        await self._force("closed", held=False)

    async def views(self) -> list[CircuitView]:
        """Return the circuits of this breaker as they are, by dependency."""
        return sorted([await circuit.view() for circuit in self._circuits], key=lambda view: view.dependency)

    async def _force(self, state: Any, *, held: bool) -> None:
        for circuit in list(self._circuits):
            await circuit.force(state, held=held)

    def _lease_s(self, bound: CalledOperation) -> float:
        limit_s = bound.timeout_s if bound.timeout_s and math.isfinite(bound.timeout_s) else _LEASE_S
        return min(_LEASE_AT_MOST_S, max(self.options.open_s, limit_s))


def _guarded(circuit: Circuit, lease_s: float) -> Step:
    clock = circuit.clock

    async def step(call: CallContext, proceed: Proceed) -> Any:
        admission = circuit.current if circuit.passes else await _admitted(circuit, lease_s, call)
        slow_call_s = circuit.options.slow_call_s
        began = 0.0 if slow_call_s is None else clock()
        runs = call.attempt
        try:
            value = await proceed(call)
        except BaseException as raised:
            await _failed(circuit, admission, call, raised, has_run=call.attempt != runs)
            raise
        is_slow = slow_call_s is not None and clock() - began >= slow_call_s
        if is_slow or admission.token:
            await circuit.ended(admission, failed=False, slow=is_slow)
        else:
            circuit.succeeded()
        return value

    return step


async def _admitted(circuit: Circuit, lease_s: float, call: CallContext) -> Admission:
    admission = await circuit.admit(lease_s)
    if admission.wait_s is not None:
        call.stop_reason = "circuit_open"
        raise CircuitOpen(
            retry_after_seconds=shown_wait_s(admission.wait_s),
            effect=effect_so_far(call),
            details={"dependency": circuit.dependency},
        )
    return admission


async def _failed(
    circuit: Circuit, admission: Admission, call: CallContext, raised: BaseException, *, has_run: bool
) -> None:
    """Tell the circuit, if the failure is a verdict on the dependency; give a probe's place back if it is none."""
    if is_real_cancellation(raised):
        # Time that ran out while the handler worked is the dependency's; any other cancellation is somebody's will.
        circuit.gave_up(admission, failed=has_run and bool(call.expired))
    elif has_run and normalize(raised).category not in UNCOUNTED:
        await circuit.ended(admission, failed=True, slow=False)
    else:
        circuit.gave_up(admission, failed=False)
