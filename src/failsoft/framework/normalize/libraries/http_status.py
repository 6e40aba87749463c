"""Maps HTTP statuses to error classes, for every client and every web framework."""

from __future__ import annotations

from typing import Any

from failsoft.framework.errors import (
    Conflict,
    InvalidArgument,
    NotFound,
    Overloaded,
    PermissionDenied,
    PreconditionFailed,
    QuotaExhausted,
    RateLimited,
    StorageError,
    Timeout,
    ToolError,
    Unauthenticated,
    Unavailable,
    Unsupported,
    UpstreamError,
)
from failsoft.framework.normalize.libraries.retry_after import is_used_up, reset_wait, retry_after
from failsoft.framework.normalize.rules import FixedError, read

__all__ = ["STATUSES", "from_response", "from_status"]

_REFUSED = FixedError(InvalidArgument, "The service behind this tool refused the request as invalid.")
_TOO_LARGE = FixedError(InvalidArgument, "The request is larger than the service behind this tool accepts.")
_GONE = FixedError(NotFound, "The service behind this tool does not have what was asked for.")
_DENIED = FixedError(PermissionDenied, "The service behind this tool refused the access.")
_UNSUPPORTED = FixedError(Unsupported, "The service behind this tool does not support this.")
_SLOW = FixedError(Timeout, "The service behind this tool took too long.")
_LIMITED = FixedError(RateLimited, "The service behind this tool had too many calls in a short time.")
_UNAVAILABLE = FixedError(Unavailable, "The service behind this tool is not available at the moment.")
_FAILED = FixedError(UpstreamError)
_UNREADABLE = FixedError(UpstreamError, "The service behind this tool answered in an unexpected way.")

_FORBIDDEN = 403
_LIMITS = frozenset({429, 509})

STATUSES: dict[int, FixedError] = {
    400: _REFUSED,
    401: FixedError(Unauthenticated),
    402: FixedError(QuotaExhausted, "The service behind this tool asks for a payment first."),
    403: _DENIED,
    404: _GONE,
    405: _UNSUPPORTED,
    406: _UNSUPPORTED,
    407: FixedError(Unauthenticated, "The proxy on the way to the service did not accept the credentials."),
    408: _SLOW,
    409: FixedError(Conflict, "The request is in conflict with the state of the service behind this tool."),
    410: _GONE,
    412: FixedError(PreconditionFailed, "The service behind this tool found a condition of the request not met."),
    413: _TOO_LARGE,
    414: _TOO_LARGE,
    415: _UNSUPPORTED,
    421: _UNAVAILABLE,
    423: FixedError(Conflict, "The service behind this tool holds a lock on it."),
    424: _FAILED,
    425: _UNAVAILABLE,
    426: _UNSUPPORTED,
    428: FixedError(PreconditionFailed, "The service behind this tool wants a condition with the request."),
    429: _LIMITED,
    431: _TOO_LARGE,
    451: _DENIED,
    499: _UNAVAILABLE,
    501: _UNSUPPORTED,
    503: _UNAVAILABLE,
    504: _SLOW,
    505: _UNSUPPORTED,
    507: FixedError(StorageError, "The service behind this tool has no room left."),
    509: _LIMITED,
    511: _UNAVAILABLE,
    522: _UNAVAILABLE,
    523: _UNAVAILABLE,
    524: _SLOW,
    529: FixedError(Overloaded, "The service behind this tool has more work than it takes on at once."),
}
"""Other statuses: 4xx as 400, 5xx as a failure of the service, the rest as an unreadable response."""


def from_status(status: Any, headers: Any = None) -> ToolError:
    """Return the error for a status, with the wait that the headers ask for.

    A 403 that says that nothing is left of a limit, or how long to wait, is a rate limit.

    Args:
        status: The HTTP status; anything else is an unexpected answer.
        headers: The response's headers, if they are known.
    """
    wait = retry_after(headers)
    is_limited = status in _LIMITS or (status == _FORBIDDEN and (wait is not None or is_used_up(headers)))
    error = (_LIMITED if is_limited else _verdict(status))(None)
    if wait is None and is_limited:
        wait = reset_wait(headers)
    error.retry_after_seconds = wait
    if isinstance(status, int):
        error.details["status"] = int(status)
    return error


def from_response(response: Any) -> ToolError:
    """Return the error for the response of a client library that calls its parts `status_code` and `headers`."""
    return from_status(read(response, "status_code"), read(response, "headers"))


def _verdict(status: Any) -> FixedError:
    if not isinstance(status, int):
        return _UNREADABLE
    known = STATUSES.get(status)
    if known is not None:
        return known
    family = status // 100
    return _REFUSED if family == 4 else _FAILED if family == 5 else _UNREADABLE  # noqa: PLR2004 - 4xx and 5xx
