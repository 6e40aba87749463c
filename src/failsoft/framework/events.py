"""What happens during calls, as frozen records: metrics, logs and traces subscribe, and so may you."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from loguru import logger

__all__ = [
    "AttemptEvent",
    "BudgetEvent",
    "CircuitEvent",
    "CircuitStateName",
    "Event",
    "EventSubscriber",
    "Events",
    "IdempotencyEvent",
    "IdempotencyVerdict",
    "Listener",
    "RecoveryEvent",
    "StateStoreEvent",
]

CircuitStateName: TypeAlias = Literal["closed", "open", "half_open"]
IdempotencyVerdict: TypeAlias = Literal["replayed", "conflict", "in_progress", "lost"]


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
    result: Literal["ok", "error", "timeout", "cancelled"]
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
        code: The code of the error that it was tried on.
        attempt: How often the handler had been started by then.
    """

    tool: str
    operation: str
    request_id: str
    strategy: str
    result: Literal["recovered", "failed", "skipped"]
    code: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitEvent:
    """The circuit breaker of a dependency changed its state, or was seen for the first time (`was` is None)."""

    dependency: str
    state: CircuitStateName
    was: CircuitStateName | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetEvent:
    """The retry budget of a dependency changed; `tokens` is how many further runs it allows."""

    dependency: str
    tokens: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyEvent:
    """A call with an idempotency key was not the first one.

    Args:
        tool: The toolset.
        operation: The MCP tool name.
        request_id: The id of the request.
        verdict: It got the first one's outcome (`replayed`); it had other arguments (`conflict`); the first one is
            still under way (`in_progress`), or never told its outcome (`lost`).
    """

    tool: str
    operation: str
    request_id: str
    verdict: IdempotencyVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class StateStoreEvent:
    """The shared state store was lost, so that calls go on with local state, or was found again."""

    available: bool
    reason: str


Event: TypeAlias = AttemptEvent | RecoveryEvent | CircuitEvent | BudgetEvent | IdempotencyEvent | StateStoreEvent
Listener: TypeAlias = Callable[[Any], None]
"""It is called with the kinds of events that it subscribed to."""


@runtime_checkable
class EventSubscriber(Protocol):
    """A part of a runtime that listens: a recorder of metrics, for example."""

    listens_to: tuple[type[Event], ...]
    """The kinds of events that it is called with."""

    def on_event(self, event: Event) -> None:
        """Take note of an event; called on the event loop, so it has to be quick."""


class Events:
    """Passes events on to whoever subscribed. A listener that raises is reported once and cannot break a call."""

    def __init__(self) -> None:
        self._listeners: dict[type, tuple[Listener, ...]] = {}
        self._broken: set[int] = set()

    def subscribe(self, listener: Listener, *kinds: type[Event]) -> Callable[[], None]:
        """Call the listener with every event of these kinds, or of all kinds; returns what ends that."""
        chosen = kinds or Event.__args__
        for kind in chosen:
            self._listeners[kind] = (*self._listeners.get(kind, ()), listener)

        def unsubscribe() -> None:
            for kind in chosen:
                kept = list(self._listeners.get(kind, ()))
                if listener in kept:
                    kept.remove(listener)
                self._listeners[kind] = tuple(kept)

        return unsubscribe

    def wants(self, kind: type[Event]) -> bool:
        """Return whether anybody listens to this kind: a record that nobody wants need not be made."""
        return bool(self._listeners.get(kind))

    def publish(self, event: Event) -> None:
        """Pass an event on, in the order of subscription."""
        for listener in self._listeners.get(type(event), ()):
            try:
                listener(event)
            except Exception as error:  # noqa: BLE001 - a listener is not worth a call
                if id(listener) not in self._broken:
                    self._broken.add(id(listener))
                    logger.opt(exception=error).error("A listener to events broke; calls go on without it")
