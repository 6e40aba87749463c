"""`CapturedEvents`: records the events of a runtime in order."""

from __future__ import annotations

from types import TracebackType
from typing import Self, TypeVar

from failsoft.framework.call.runtime import Runtime
from failsoft.framework.events import Event, Events

__all__ = ["CapturedEvents"]

E = TypeVar("E", bound=Event)


class CapturedEvents:
    """Records a runtime's events while a `with` block lasts.

    Args:
        source: A runtime, or its `events`.
        kinds: The kinds to keep; none for all.

    Examples:
        >>> from failsoft import Runtime
        >>> from failsoft.framework.events import AuditEvent
        >>> runtime = Runtime()
        >>> with CapturedEvents(runtime) as captured:
        ...     runtime.events.publish(AuditEvent(ok=False, reason="full"))
        >>> [event.reason for event in captured.of(AuditEvent)]
        ['full']
    """

    def __init__(self, source: Runtime | Events, *kinds: type[Event]) -> None:
        self._events = source.events if isinstance(source, Runtime) else source
        self._kinds = kinds
        self.all: list[Event] = []
        """All recorded events, in order."""

    def of(self, kind: type[E]) -> list[E]:
        """Return the events of one kind, in order."""
        return [event for event in self.all if isinstance(event, kind)]

    def clear(self) -> None:
        """Discard the events recorded so far."""
        self.all.clear()

    def __enter__(self) -> Self:
        self._end = self._events.subscribe(self.all.append, *self._kinds)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()
