"""Typed errors for exceptions: of the SDK's client (JSON-RPC errors, lost connections), and of foreign tools."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from failsoft.framework.errors import (
    BadOutput,
    ReportedFailure,
    ResultTooLarge,
    Timeout,
    ToolError,
    Unavailable,
    UnknownError,
    Unsupported,
    UpstreamError,
    catalogue,
)
from failsoft.framework.errors.vocabulary import is_code
from failsoft.framework.normalize import normalize
from failsoft.framework.normalize.http_status import from_status
from failsoft.framework.text import bounded

FAULT_KEY = "dev.failsoft/fault"
"""Key in the `data` of a JSON-RPC error that replaces an unusable answer: why it is unusable."""

_TEXT_AT_MOST = 1_000
LOST_SESSION = "Session terminated"
"""The SDK client's message for a session that the server does not know; the request was not processed."""


def fault_data(kind: str, **facts: Any) -> dict[str, Any]:
    """Return the `data` of a JSON-RPC error that replaces an unusable answer.

    Args:
        kind: `malformed`, `too_large` or `http`.
        **facts: `size_bytes` and `limit_bytes`, or `status` and `headers`.
    """
    return {FAULT_KEY: {"kind": kind, **facts}}


def fault_from(error: Exception, *, server: str, restarts: bool = False) -> ToolError:
    """Return the typed error for an exception of the SDK's client.

    Args:
        error: An `MCPError` (JSON-RPC error, closed connection, time-out), a pydantic error (an answer that breaks the
            protocol), or a transport error.
        server: The upstream's name, for the message.
        restarts: Whether somebody starts the server again when it has ended.
    """
    if isinstance(error, ToolError):
        return error
    if isinstance(error, MCPError):
        return _from_json_rpc(error, server, restarts=restarts)
    if isinstance(error, ValidationError):
        return BadOutput(message=f"The server '{server}' sent an answer that breaks the protocol.")
    return Unavailable(message=f"The connection to the server '{server}' failed.")


def _from_json_rpc(error: MCPError, server: str, *, restarts: bool) -> ToolError:
    data = error.error.data
    if isinstance(data, Mapping):
        fault = data.get(FAULT_KEY)
        if isinstance(fault, Mapping):
            return _from_fault(fault, server)
        known = catalogue.lookup(data["code"]) if is_code(data.get("code")) else None
        if known is not None:
            return known(message=bounded(error.error.message), suggestions=_strings(data.get("suggestion")))
    if error.error.message == LOST_SESSION:
        return Unavailable(
            message=f"The server '{server}' has ended the session.", effect="none", retry_after_seconds=0.1
        )
    if error.error.code == types.CONNECTION_CLOSED:
        again = "; it is being started again" if restarts else "; the connection to it is lost"
        return Unavailable(message=f"The server '{server}' ended before it answered{again}.")
    cls, what = _BY_CODE.get(error.error.code, (None, ""))
    return _reported(error, server) if cls is None else cls(message=f"The server '{server}' {what}.")


_BY_CODE: dict[int, tuple[type[ToolError], str]] = {
    types.REQUEST_TIMEOUT: (Timeout, "did not answer in time"),
    types.PARSE_ERROR: (BadOutput, "sent an answer that cannot be read"),
    types.METHOD_NOT_FOUND: (Unsupported, "does not support this request"),
}


def _reported(error: MCPError, server: str) -> ToolError:
    """Return UPSTREAM_ERROR for a JSON-RPC error, with its text quoted."""
    quoted = bounded(error.error.message).replace("`", "'").replace('"', "'")
    failure = UpstreamError(message=f"The server '{server}' reported an error: \"{quoted}\".")
    if error.error.code in {types.INVALID_PARAMS, types.INVALID_REQUEST}:
        failure.retry = "after_fix"  # type: ignore[misc]  # of this failure: the upstream refused the arguments
        failure.actor = "caller"  # type: ignore[misc]  # the same
        failure.effect = "none"
    failure.details["code"] = error.error.code
    return failure


def _strings(value: Any) -> tuple[str, ...]:
    return (bounded(value),) if isinstance(value, str) else ()


def _from_fault(fault: Mapping[str, Any], server: str) -> ToolError:
    kind = fault.get("kind")
    size, limit, status = fault.get("size_bytes"), fault.get("limit_bytes"), fault.get("status")
    if kind == "too_large" and isinstance(size, int) and isinstance(limit, int):
        return ResultTooLarge(size_bytes=size, limit_bytes=limit)
    if kind == "http" and isinstance(status, int):
        return from_status(status, fault.get("headers"))
    return BadOutput(message=f"The server '{server}' sent an answer that is not valid JSON-RPC.")


def from_raised(text: str, cause: BaseException | None) -> ToolError:
    """Return the typed error for an exception whose text the foreign server would have shown.

    The text is kept. The class is that of the exception it was raised from, if there is one that is known (an HTTP 429
    gives RATE_LIMITED with its wait), else REPORTED_FAILURE.
    """
    text = bounded(text.strip(), _TEXT_AT_MOST) or "The tool reported a failure without a reason."
    known = None if cause is None else normalize(cause)
    if known is None or isinstance(known, UnknownError):
        return ReportedFailure(report=text, message=text)
    error = type(known)(
        message=text,
        retry_after_seconds=known.retry_after_seconds,
        details=known.details,
        operator_hint=known.operator_hint,
    )
    error.__cause__ = cause
    return error


async def all_pages(ask: Callable[[str | None], Awaitable[Any]], *, server: str, at_most: int) -> AsyncIterator[Any]:
    """Yield the pages of a list.

    Args:
        ask: Returns the page at a cursor, None for the first: a raw result or one of the SDK's.
        server: The server's name, for the message.
        at_most: How many pages are asked for.

    Raises:
        BAD_OUTPUT: The list has no end.
    """
    cursor: str | None = None
    for _ in range(at_most):
        page = await ask(cursor)
        yield page
        before = cursor
        cursor = page.get("nextCursor") if isinstance(page, Mapping) else page.next_cursor
        if not isinstance(cursor, str) or not cursor or cursor == before:
            return
    raise BadOutput(message=f"The server '{server}' sends a list without end.")


def not_connected(server: str, *, retry_after_s: float) -> Unavailable:
    """Return UNAVAILABLE for a call that was not sent, because the upstream is down."""
    return Unavailable(
        message=f"The server '{server}' is not running at the moment; it is being started again.",
        retry_after_seconds=max(retry_after_s, 0.1),
        effect="none",
    )
