"""Connection limits: how many, and time-outs for slow requests.

They apply before authentication, against slow-request and connection-exhaustion attacks. At the limit the
oldest connection without a complete request is closed to admit the new one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from failsoft.framework.safe.author_reports import logger

if TYPE_CHECKING:
    from failsoft.framework.settings import Settings


DropReason: TypeAlias = Literal["header_timeout", "body_timeout", "too_many", "invalid"]
_REPORTED_EVERY_S = 60.0
_FILES_FOR_OTHERS = 128
"""File descriptors reserved for the tools."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of one process.

    Args:
        header_timeout_s: Seconds for the whole header of a request.
        body_timeout_s: Seconds of silence within a body.
        connections: Connections at most.
    """

    header_timeout_s: float = 10.0
    body_timeout_s: float = 10.0
    connections: int = 1_000

    @classmethod
    def from_settings(cls, settings: Settings) -> ConnectionLimits:
        """Return the limits of the settings."""
        return cls(
            header_timeout_s=settings.header_timeout_s,
            body_timeout_s=settings.body_timeout_s,
            connections=min(settings.max_connections, max(1, _files_at_most() - _FILES_FOR_OTHERS)),
        )


class Connection(Protocol):
    """A connection as `Connections` sees it."""

    loop: asyncio.AbstractEventLoop

    @property
    def is_busy(self) -> bool:
        """Whether a complete request is being processed."""

    def drop(self) -> None:
        """Close it at once."""


class Connections:
    """The connections of one server in one process."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._open: dict[Connection, None] = {}
        self._dropped: Counter[DropReason] = Counter()
        self._reporting: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, new: Connection) -> bool:
        """Admit a new connection, closing an idle or incomplete one if necessary; return False if it was dropped.

        Idle and incomplete connections are dropped oldest first; if all are busy, the new one is dropped.
        """
        if len(self._open) >= self.limits.connections and not self._make_room(new):
            return False
        self._open[new] = None
        return True

    def leave(self, connection: Connection) -> None:
        """Forget a connection that has ended."""
        self._open.pop(connection, None)

    def count(self, reason: DropReason, loop: asyncio.AbstractEventLoop) -> None:
        """Count a dropped connection; logs at most once a minute."""
        self._dropped[reason] += 1
        if self._reporting is None:
            self._reporting = loop.call_later(0, self._report, loop)

    def _make_room(self, new: Connection) -> bool:
        self.count("too_many", new.loop)
        idle = next((one for one in self._open if not one.is_busy), None)
        victim = new if idle is None else idle
        self.leave(victim)
        victim.drop()
        return idle is not None

    def _report(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._dropped:
            self._reporting = None
            return
        logger.bind(dropped=dict(self._dropped), open=len(self)).warning("Connections were dropped")
        self._dropped.clear()
        self._reporting = loop.call_later(_REPORTED_EVERY_S, self._report, loop)


def _files_at_most() -> int:
    """Return the limit on open files of this process."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return 1 << 20
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == resource.RLIM_INFINITY else soft
