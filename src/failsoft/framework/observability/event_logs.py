"""Log lines for rare events: circuit changes, keys with an unknown outcome, an unreachable state store."""

from __future__ import annotations

from failsoft.framework.diagnostics.telling import logger
from failsoft.framework.services.events import CircuitEvent, Event, Events, IdempotencyEvent, StateStoreEvent

__all__ = ["log_events"]

_CIRCUITS = {
    "open": ("WARNING", "A circuit opened: its dependency is left alone for a while"),
    "half_open": ("INFO", "A circuit lets one call try its dependency"),
    "closed": ("INFO", "A circuit closed: its dependency is used again"),
}


def log_events(events: Events) -> None:
    """Log these events from now on; recoveries and attempts are logged with their call."""
    events.subscribe(_log, CircuitEvent, IdempotencyEvent, StateStoreEvent)


def _log(event: Event) -> None:
    if isinstance(event, CircuitEvent):
        if event.was is not None:
            level, message = _CIRCUITS[event.state]
            logger.bind(event="circuit", dependency=event.dependency, reason=event.reason).log(level, message)
    elif isinstance(event, IdempotencyEvent):
        facts = logger.bind(tool=event.tool, operation=event.operation, request_id=event.request_id)
        level = "WARNING" if event.verdict == "lost" else "INFO"
        facts.bind(event="idempotency", verdict=event.verdict).log(level, "An idempotency key was sent again")
    elif isinstance(event, StateStoreEvent) and event.available:
        logger.bind(event="state_store").info("The shared state store was found again")
    elif isinstance(event, StateStoreEvent):
        lost = logger.bind(event="state_store", reason=event.reason)
        lost.warning("The shared state store is unreachable; calls continue with local state")
