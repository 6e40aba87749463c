"""HTTP statuses and headers: which error, and how long the service asks its clients to wait."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from typing import Any

from failsoft.framework.errors import ToolError
from failsoft.framework.normalize.outcomes import OUTCOMES, FixedOutcome, numbered, read

_FORBIDDEN = 403
_LIMITS = frozenset({429, 509})

STATUSES = numbered(
    refused="400",
    login="401",
    payment="402",
    denied="403 451",
    missing="404 410",
    unsupported="405 406 415 426 501 505",
    proxy_login="407",
    slow="408 504 524",
    conflict="409",
    condition="412",
    too_large="413 414 431",
    unavailable="421 425 499 503 511 522 523",
    service_lock="423",
    failed="424",
    condition_wanted="428",
    limited="429 509",
    no_room="507",
    overloaded="529",
)
"""Other statuses: 4xx as 400, 5xx as a failure of the service, the rest as an unexpected answer."""


_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_RETRIES_SENT = "x-stainless-retry-count"
"""The header in which clients of model providers count."""
REFUSALS = frozenset({401, 403, 404, 409, 422, 429})
"""Statuses with which a service says that it did nothing; others are also sent after work was begun (ADR 0007)."""


def from_status(status: Any, headers: Any = None, *, is_answer: bool = False) -> ToolError:
    """Return the error for a status, with the wait that the headers ask for.

    A 403 that says that nothing is left of a limit, or how long to wait, is a rate limit.

    Args:
        status: The HTTP status; anything else is an unexpected answer.
        headers: The response's headers, if they are known.
        is_answer: Whether a client library got it as the answer to its only request, which was to change something; web
            frameworks raise statuses, too.
    """
    wait = retry_after(headers)
    is_limited = status in _LIMITS or (status == _FORBIDDEN and (wait is not None or is_used_up(headers)))
    error = (OUTCOMES["limited"] if is_limited else _outcome(status))(None)
    if wait is None and is_limited:
        wait = reset_wait(headers)
    error.retry_after_seconds = wait
    if isinstance(status, int):
        error.details["status"] = int(status)
    error.is_refusal = is_answer and status in REFUSALS
    return error


def from_response(response: Any) -> ToolError:
    """Return the error for the response of a client library that calls its parts `status_code` and `headers`."""
    is_answer = is_only_write(response, read(response, "request"))
    return from_status(read(response, "status_code"), read(response, "headers"), is_answer=is_answer)


def is_only_write(answer: Any, request: Any) -> bool:
    """Return whether the request is the first one of its client, and no read, by all that they say of it."""
    repeated = read(answer, "history") or read(read(read(answer, "raw"), "retries"), "history")
    retries = _lowered(read(request, "headers")).get(_RETRIES_SENT, "0")
    return not repeated and retries == "0" and read(request, "method") not in _READS


def _outcome(status: Any) -> FixedOutcome:
    if not isinstance(status, int):
        return OUTCOMES["unexpected"]
    family = {4: "refused", 5: "failed"}.get(status // 100, "unexpected")
    return STATUSES.get(status) or OUTCOMES[family]


_MILLISECONDS = ("retry-after-ms", "x-ms-retry-after-ms")
_RESETS = ("ratelimit-reset", "x-ratelimit-reset-after", "x-ratelimit-reset", "x-rate-limit-reset")
_EPOCH_S = 1e9
"""Numbers above are points in time, not waits: 1e9 seconds are 31 years."""
_EPOCH_MS = 1e12
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?")
_LENGTH_AT_MOST = 64


def retry_after(headers: Any, *, now: float | None = None) -> float | None:
    """Return the wait that `Retry-After` or one of its dialects asks for, in seconds from now, or None.

    Args:
        headers: The response's headers, of any mapping type and case.
        now: Seconds since the epoch, where the response has no `Date`; by default the current time.
    """
    found = _lowered(headers)
    for name in _MILLISECONDS:
        wait = _number(found.get(name, ""))
        if wait is not None:
            return max(wait / 1000, 0.0)
    return _wait(found, "retry-after", now)


def reset_wait(headers: Any, *, now: float | None = None) -> float | None:
    """Return the seconds until a rate limit is reset, or None.

    Ask only where the limit is reached: some services send these headers with every response.
    """
    found = _lowered(headers)
    waits = [_wait(found, name, now) for name in _RESETS]
    return next((wait for wait in waits if wait is not None), None)


def _wait(found: Mapping[str, str], name: str, now: float | None) -> float | None:
    """Return the wait of a header; a point in time is one of the service's clock, which its `Date` tells."""
    value = found.get(name)
    if value is None:
        return None
    if "date" in found and (_number(value) or _EPOCH_S) >= _EPOCH_S:
        theirs = _moment(found["date"][:_LENGTH_AT_MOST])
        now = now if theirs is None else theirs
    return parse_wait(value, now=now)


def is_used_up(headers: Any) -> bool:
    """Return whether the headers say that a rate limit is used up."""
    found = _lowered(headers)
    return "0" in {found.get("x-ratelimit-remaining"), found.get("ratelimit-remaining")}


def parse_wait(value: Any, *, now: float | None = None) -> float | None:
    """Return a wait in seconds, never negative, or None if the value is not a wait.

    It may be a number of seconds, a point in time in seconds or milliseconds since the epoch, a duration (`6m0s`) or
    an HTTP date.

    >>> parse_wait("120"), parse_wait("1m30s"), parse_wait("soon")
    (120.0, 90.0, None)
    >>> parse_wait("Wed, 21 Oct 2015 07:28:00 GMT", now=1445412470.0)
    10.0
    """
    text = str(value).strip() if isinstance(value, (str, int, float)) else ""
    if not text or len(text) > _LENGTH_AT_MOST:
        return None
    now = time.time() if now is None else now
    number = _number(text)
    if number is not None:
        if number >= _EPOCH_S:
            number = number / (1000 if number >= _EPOCH_MS else 1) - now
        return max(number, 0.0)
    hours, minutes, seconds, millis = match.groups() if (match := _DURATION.fullmatch(text)) else (None,) * 4
    if hours or minutes or seconds or millis:
        return int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds or 0) + int(millis or 0) / 1000
    moment = _moment(text)
    return None if moment is None else max(moment - now, 0.0)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _moment(text: str) -> float | None:
    """Return what an HTTP date says, in seconds since the epoch."""
    from datetime import UTC  # noqa: PLC0415 - see below
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - 5 ms that only a dated answer pays for

    try:
        date = parsedate_to_datetime(text)
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)  # the form of asctime, in which HTTP knows no zone but GMT
        return date.timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _lowered(headers: Any) -> Mapping[str, str]:
    """Return headers with names in lower case; bytes are read as Latin-1, what is not a header is left out."""
    try:
        items = list(headers.items())[:200]
    except Exception:  # noqa: BLE001 - headers of a foreign exception may be anything
        return {}
    return {_text(name).lower(): _text(value) for name, value in items}


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else str(value) if isinstance(value, (int, float)) else ""
