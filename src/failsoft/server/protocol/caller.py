"""Principal of a request, as authenticated by the transport: how many calls it may have in flight, and their count."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from mcp.server import ServerRequestContext
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import principal_components

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.errors import Overloaded
from failsoft.framework.events import Outcome
from failsoft.framework.recorders import OperationMetrics
from failsoft.framework.safe.principals import LOCAL_PRINCIPAL, oauth_principal, redact_principal, token_principal
from failsoft.framework.settings import Settings
from failsoft.metrics.definitions import PRINCIPAL_CALLS


def principal_of(request: ServerRequestContext[Any, Any] | None) -> str | None:
    """Return the principal of a request, or None if it is not authenticated.

    Only HTTP has requests that carry one; over stdio the caller is the client on the standard streams.
    """
    return LOCAL_PRINCIPAL if request is None or request.request is None else principal_over_http()


def principal_over_http() -> str | None:
    """Return the principal of the HTTP request that is being served, or None if it is not authenticated."""
    token = get_access_token()
    if token is None:
        return None
    client_id, issuer, subject = principal_components(token)
    return token_principal(client_id, subject) if issuer is None else oauth_principal(issuer, subject or client_id)


_FILES_FOR_OTHERS = 128
"""File descriptors reserved for the tools."""
_KEPT_AT_LEAST, _KEPT_AT_MOST = 2, 64
_RETRY_AFTER_S = 1.0
"""The retry delay of a call that finds no place, in seconds."""


def connections_of(settings: Settings) -> int:
    """Return how many HTTP connections this process takes: those of the settings, or fewer if the system does."""
    return min(settings.max_connections, max(1, _files_at_most() - _FILES_FOR_OTHERS))


def _files_at_most() -> int:
    """Return the limit on open files of this process."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return 1 << 20
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == resource.RLIM_INFINITY else soft


class CallPlaces:
    """Calls in flight over HTTP in one process, bounded in all and for each principal.

    One in sixteen connections, at least 2 and at most 64, is kept for probes, scrapes and refusals. One principal has
    at most three quarters of the rest. Without tokens callers cannot be distinguished, since behind a proxy they all
    have its address, so only the bound for all holds. The client on standard streams has no bound.

    Args:
        settings: How many connections there may be, and calls of each principal.
    """

    def __init__(self, settings: Settings) -> None:
        connections = connections_of(settings)
        self._in_all = max(1, connections - min(max(connections // 16, _KEPT_AT_LEAST), _KEPT_AT_MOST))
        self._each = min(settings.max_calls_per_principal, max(1, 3 * self._in_all // 4))
        self._taken = 0
        self._by_principal: Counter[str | None] = Counter()

    def enter(self, principal: str | None) -> Overloaded | None:
        """Take a place for a call, to be given back with `leave`; without a free one, return the error of the call."""
        if principal == LOCAL_PRINCIPAL:
            return None
        if principal is not None and self._by_principal[principal] >= self._each:
            message = f"{self._each} calls of this caller are in flight, which is all that one caller may have."
            return Overloaded(message=message, retry_after_seconds=_RETRY_AFTER_S, details={"limit": self._each})
        if self._taken >= self._in_all:
            return Overloaded(retry_after_seconds=_RETRY_AFTER_S, details={"limit": self._in_all})
        self._taken += 1
        self._by_principal[principal] += 1
        return None

    def leave(self, principal: str | None, running: Sequence[asyncio.Task[Any]] = ()) -> None:
        """Give the place of a call back, once the tasks that it left running are done."""
        if principal == LOCAL_PRINCIPAL:
            return
        if running:
            running[0].add_done_callback(lambda _: self.leave(principal, running[1:]))
            return
        self._taken -= 1
        self._by_principal[principal] -= 1
        if not self._by_principal[principal]:
            del self._by_principal[principal]


def counted(bound: BoundOperation, principal: str | None, settings: Settings) -> BoundOperation:
    """Return the operation for one call, whose outcome also counts for its principal if the settings say so.

    Callers that are not authenticated count together, as `anonymous`.
    """
    count = getattr(bound.tool.runtime.metrics, "count", None)  # recorders of others may have none
    if count is None:
        return bound
    if principal is None:
        name = "anonymous"
    elif settings.metrics_principals == "hash":
        name = hashlib.sha256(principal.encode()).hexdigest()[:16]
    else:
        name = redact_principal(principal)
    return bound.under_name(metrics=_OfPrincipal(bound.metrics, partial(count, PRINCIPAL_CALLS, name)))


class _OfPrincipal:
    """The metrics of an operation, whose outcomes are counted once more."""

    never_raises = True

    def __init__(self, metrics: OperationMetrics, count: partial[None]) -> None:
        self._finished, self._count = metrics.finished, count
        self.started, self.put_off, self.attempted = metrics.started, metrics.put_off, metrics.attempted
        self.failed, self.recovery = metrics.failed, metrics.recovery
        self.exemplify = getattr(metrics, "exemplify", None)  # recorders of others may have none

    def finished(self, outcome: Outcome, duration_s: float) -> None:
        self._finished(outcome, duration_s)
        self._count(outcome)
