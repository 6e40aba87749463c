"""Connection limits: in total, per address, and time-outs for slow requests.

They apply before authentication, against slow-request and connection-exhaustion attacks. At a limit the oldest
connection without a complete request is closed to admit the new one.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from failsoft.framework.safe.author_reports import logger

if TYPE_CHECKING:
    from failsoft.framework.settings import Settings


DropReason: TypeAlias = Literal["header_timeout", "body_timeout", "too_many", "too_many_of_address", "invalid"]
_REPORTED_EVERY_S = 60.0
_FILES_FOR_OTHERS = 128
"""File descriptors reserved for the tools."""
_IPV6_NETWORK = 64
"""Prefix length by which IPv6 clients are counted: one client usually has a whole /64."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of one process.

    Args:
        header_timeout_s: Seconds for the whole header of a request.
        body_timeout_s: Seconds of silence within a body.
        connections: Connections in total.
        per_address: Connections from one address.
        trusted: Addresses and networks without a limit per address, such as proxies.
    """

    header_timeout_s: float = 10.0
    body_timeout_s: float = 10.0
    connections: int = 1_000
    per_address: int = 256
    trusted: tuple[str, ...] = ()

    @classmethod
    def from_settings(cls, settings: Settings) -> ConnectionLimits:
        """Return the limits of the settings."""
        return cls(
            header_timeout_s=settings.header_timeout_s,
            body_timeout_s=settings.body_timeout_s,
            connections=min(settings.max_connections, max(1, _files_at_most() - _FILES_FOR_OTHERS)),
            per_address=settings.max_connections_per_address,
            trusted=settings.trusted_proxies,
        )


class Connection(Protocol):
    """A connection as `Connections` sees it."""

    loop: asyncio.AbstractEventLoop

    @property
    def address(self) -> str | None:
        """The client's address; None for a socket without addresses."""

    @property
    def is_busy(self) -> bool:
        """Whether a complete request is being processed."""

    def drop(self) -> None:
        """Close it at once."""


class Connections:
    """The connections of one server in one process."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._trusted = [ipaddress.ip_network(one, strict=False) for one in limits.trusted]
        self._open: dict[Connection, str | None] = {}
        self._by_address: dict[str, dict[Connection, None]] = {}
        self._dropped: Counter[DropReason] = Counter()
        self._reporting: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, new: Connection) -> bool:
        """Admit a new connection, closing an idle or incomplete one if necessary; return False if it was dropped.

        Idle and incomplete connections are dropped oldest first; if all are busy, the new one is dropped.
        """
        address = self._group_of(new.address)
        of_address = {} if address is None else self._by_address.get(address, {})
        if len(of_address) >= self.limits.per_address and not self._make_room(of_address, "too_many_of_address", new):
            return False
        if len(self._open) >= self.limits.connections and not self._make_room(self._open, "too_many", new):
            return False
        self._open[new] = address
        if address is not None:
            self._by_address.setdefault(address, {})[new] = None
        return True

    def leave(self, connection: Connection) -> None:
        """Forget a connection that has ended."""
        address = self._open.pop(connection, None)
        if address is not None and (others := self._by_address.get(address)) is not None:
            others.pop(connection, None)
            if not others:
                del self._by_address[address]

    def count(self, reason: DropReason, loop: asyncio.AbstractEventLoop) -> None:
        """Count a dropped connection; logs at most once a minute."""
        self._dropped[reason] += 1
        if self._reporting is None:
            self._reporting = loop.call_later(0, self._report, loop)

    def _make_room(self, among: dict[Connection, Any], reason: DropReason, new: Connection) -> bool:
        self.count(reason, new.loop)
        idle = next((one for one in among if not one.is_busy), None)
        victim = new if idle is None else idle
        self.leave(victim)
        victim.drop()
        return idle is not None

    def _group_of(self, address: str | None) -> str | None:
        """Return the address or network that a connection counts for; None if trusted."""
        if address is None:
            return None
        try:
            ip = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return address
        if any(ip in network for network in self._trusted if network.version == ip.version):
            return None
        return str(ipaddress.ip_network((ip, _IPV6_NETWORK), strict=False)) if ip.version == 6 else address  # noqa: PLR2004 - IPv6

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
