"""What happens in calls, and who is told: events for listeners."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from failsoft.framework.safe.author_reports import logger, tell
from failsoft.framework.state.backend import StoreFault

__all__ = [
    "AttemptEvent",
    "AuditEvent",
    "CallEvent",
    "CircuitEvent",
    "CircuitStateName",
    "EffectEvent",
    "Event",
    "Events",
    "IdempotencyEvent",
    "IdempotencyVerdict",
    "Listener",
    "NextStepEvent",
    "RecoveryEvent",
    "RefusalEvent",
    "ReloadEvent",
    "RepeatedFailureEvent",
    "StepResult",
    "StoreEvent",
    "StoreFault",
    "StoreLatencyEvent",
    "WorkerEvent",
]

CircuitStateName: TypeAlias = Literal["closed", "open", "half_open"]
"""The state of a circuit breaker."""

IdempotencyVerdict: TypeAlias = Literal["replayed", "conflict", "in_progress", "lost"]
"""What a repeated call met: the stored outcome, other arguments, the first call still running, or no record."""
AttemptResult: TypeAlias = Literal["ok", "error", "timeout", "cancelled"]
RecoveryOutcome: TypeAlias = Literal["recovered", "failed", "skipped"]
StepResult: TypeAlias = Literal["followed_ok", "followed_failed", "ignored"]
"""What became of the next step that a failure named."""
Outcome: TypeAlias = Literal["ok", "replayed", "recovered", "degraded", "error", "rejected", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEvent:
    """A call failed, or was recovered.

    Args:
        tool: The toolset.
        operation: The MCP tool name.
        request_id: The id of the request.
        outcome: `error`, `rejected`, `replayed`, `recovered` or `degraded`.
        code: The code of the failure, or of the error that was recovered from; empty if a value was replayed.
        category: That of the code.
        effect: What the failure says that was changed; empty for a recovered call.
        duration_s: How long it took, in seconds.
        attempts: How often the handler ran.
        strategy: What recovered it; empty for a failure.
        error_id: That of the failure; empty for a recovered call.
        place: `file:line in function` of the author's innermost frame, if an exception of another library or a defect
            is the cause; else empty.
    """

    tool: str
    operation: str
    request_id: str
    outcome: Outcome
    code: str
    category: str
    effect: str
    duration_s: float
    attempts: int
    strategy: str
    error_id: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEvent:
    """One run of a handler is over.

    Args:
        tool: The toolset.
        operation: The MCP tool name.
        request_id: The id of the request.
        attempt: Which run of the call it was, from 1.
        result: `ok`, `error`, `timeout` or `cancelled`.
        code: The code of the error, if it was one.
        duration_s: How long the run took, in seconds.
    """

    tool: str
    operation: str
    request_id: str
    attempt: int
    result: AttemptResult
    code: str | None
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryEvent:
    """One strategy was tried on an error.

    Args:
        tool: The toolset.
        operation: The MCP tool name.
        request_id: The id of the request.
        strategy: The strategy's name.
        result: `recovered`, `failed` or `skipped`.
        code: The code of the error.
        attempt: The number of attempts so far.
        duration_s: How long it took, further runs of the handler included, in seconds; 0 if that was not measured.
    """

    tool: str
    operation: str
    request_id: str
    strategy: str
    result: RecoveryOutcome
    code: str
    attempt: int
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitEvent:
    """The circuit breaker of a dependency changed its state, or was seen for the first time (`was` is None).

    Of the processes that share a state store, the one that made a change publishes it; a change on the command line is
    published by the first server that finds it.

    Args:
        dependency: The dependency that the breaker guards.
        state: `closed`, `open` or `half_open`.
        was: The previous state; None if the circuit was seen for the first time.
        reason: Why it changed, in a clause.
    """

    dependency: str
    state: CircuitStateName
    was: CircuitStateName | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyEvent:
    """A call repeated an idempotency key.

    Args:
        tool: The toolset.
        operation: The MCP tool name.
        request_id: The id of the request.
        verdict: It got the first one's outcome (`replayed`); it had other arguments (`conflict`); the first one is
            still under way (`in_progress`), or left no outcome (`lost`).
        record: The key of its record in the store, for `failsoft state list` and `forget`.
    """

    tool: str
    operation: str
    request_id: str
    verdict: IdempotencyVerdict
    record: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreEvent:
    """The shared state store cannot be used as it should be, or works again.

    Args:
        available: Whether it works.
        fault: What is wrong, or was until now.
        reason: Why not, in a clause; empty if it works.
    """

    available: bool
    fault: StoreFault | None
    reason: str


@dataclass(frozen=True, slots=True)
class StoreLatencyEvent:
    """A round trip to the shared state store took `latency_s` seconds."""

    latency_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEvent:
    """A worker process started, ended, or its event loop stalled.

    Args:
        kind: What happened.
        pid: Its process id.
        exit_status: Its exit status once it has ended, negative for a signal; else None.
        reason: Why it ended: by itself, replaced because it stalled, or with the server; None if it has not.
        operation: The operation that blocks its event loop, if that is known; else empty.
    """

    kind: Literal["started", "ended", "stalled"]
    pid: int
    exit_status: int | None = None
    reason: Literal["exited", "stalled", "stopped"] | None = None
    operation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """The audit log could not be written (`ok` is false, with the `reason` in a clause), or works again."""

    ok: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadEvent:
    """The recovery configuration was read again and used, or not (`ok` is false, with the `reason` in a clause)."""

    ok: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectEvent:
    """An effect that a handler marks (`call.effect`) was carried out, or failed.

    Args:
        tool: The toolset.
        operation: The MCP tool name.
        request_id: The id of the request.
        name: The name of the effect.
        result: `ok`, `error` or `cancelled`.
        duration_s: How long it took, in seconds.
    """

    tool: str
    operation: str
    request_id: str
    name: str
    result: Literal["ok", "error", "cancelled"]
    duration_s: float


@dataclass(frozen=True, slots=True)
class RepeatedFailureEvent:
    """The third or a later identical failure of a caller within ten minutes: same tool, arguments and code.

    Args:
        tool: The toolset.
        operation: The MCP tool name.
        code: The code of the error.
        times: How many identical failures there are with this one.
    """

    tool: str
    operation: str
    code: str
    times: int


@dataclass(frozen=True, slots=True)
class NextStepEvent:
    """The caller of a failed call followed its next step, or did not within a minute.

    Args:
        code: The code of the failure that named the step.
        result: What became of the step.
    """

    code: str
    result: StepResult


@dataclass(frozen=True, slots=True)
class RefusalEvent:
    """An HTTP request was refused with this `status` before any tool was asked."""

    status: int


Event: TypeAlias = (
    CallEvent
    | AttemptEvent
    | RecoveryEvent
    | CircuitEvent
    | IdempotencyEvent
    | StoreEvent
    | StoreLatencyEvent
    | WorkerEvent
    | AuditEvent
    | ReloadEvent
    | EffectEvent
    | RepeatedFailureEvent
    | NextStepEvent
    | RefusalEvent
)
"""Any of the events."""

Listener: TypeAlias = Callable[[Any], None]
"""It is called with the kinds of events that it subscribed to."""


class Events:
    """Publishes events to subscribers. A listener that raises is reported once and cannot break a call.

    Examples:
        >>> runtime = Runtime()
        >>> stop = runtime.events.subscribe(lambda event: print(event), CircuitEvent)
        >>> stop()
    """

    def __init__(self) -> None:
        self._listeners: dict[type, tuple[Listener, ...]] = {}
        self._broken: set[int] = set()

    def subscribe(self, listener: Listener, *kinds: type[Event]) -> Callable[[], None]:
        """Call the listener with every event of these kinds, or of all kinds; return a function that ends it."""
        chosen = kinds or Event.__args__
        for kind in chosen:
            self._listeners[kind] = (*self._listeners.get(kind, ()), listener)

        def unsubscribe() -> None:
            for kind in chosen:
                kept = list(self._listeners.get(kind, ()))
                if listener in kept:
                    kept.remove(listener)
                if kept:
                    self._listeners[kind] = tuple(kept)
                else:
                    self._listeners.pop(kind, None)

        return unsubscribe

    def wants(self, kind: type[Event]) -> bool:
        """Return whether this kind has a listener; without one the event need not be created."""
        return kind in self._listeners

    def publish(self, event: Event) -> None:
        """Pass an event on, in the order of subscription."""
        for listener in self._listeners.get(type(event), ()):
            error = tell(listener, event)
            if error is not None and id(listener) not in self._broken:
                self._broken.add(id(listener))
                logger.opt(exception=error).error("An event listener failed; calls continue without it")
