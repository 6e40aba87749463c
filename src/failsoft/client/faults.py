"""Typed errors for exceptions: of the SDK's client (JSON-RPC errors, lost connections), and of foreign tools."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, TypeGuard

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from failsoft.client.known_texts import class_of, wait_in
from failsoft.client.reports import categorize, quoted, reported
from failsoft.framework.errors import (
    BadOutput,
    InvalidArgument,
    NotFound,
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
from failsoft.framework.normalize.reasons import text_of
from failsoft.framework.text import bounded

FAULT_KEY = "dev.failsoft/fault"
"""Key in the `data` of a JSON-RPC error that replaces an unusable answer: why it is unusable."""

_CLOSED = (types.CONNECTION_CLOSED, "Connection closed")
_AGAIN = "it is being started again"
_NO_ANSWER = ("Unexpected content type: ", "Failed to parse ", "server answered a request with 202 ")
"""What the SDK's client puts in the place of an answer over HTTP that it cannot use."""
_TIMED_OUT = re.compile(r"Request \S{1,100} timed out")
_RESOURCE_NOT_FOUND = -32002
LOST_SESSION = "Session terminated"
"""The SDK client's message for a session that the server does not know; the request was not processed."""


def fault_data(kind: str, **facts: Any) -> dict[str, Any]:
    """Return the `data` of a JSON-RPC error that replaces an unusable answer.

    Args:
        kind: `malformed`, `too_large` or `http`.
        **facts: `size_bytes` and `limit_bytes`, or `status` and `headers`.
    """
    return {FAULT_KEY: {"kind": kind, **facts}}


def fault_from(error: BaseException, *, server: str, restarts: bool = False) -> ToolError:
    """Return the typed error for an exception of the SDK's client.

    Args:
        error: An `MCPError` (JSON-RPC error, closed connection, time-out), a pydantic error (an answer that breaks the
            protocol), a transport error, or a group, of which the first one counts.
        server: The server's name, for the message.
        restarts: Whether somebody starts the server again when it has ended.
    """
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ToolError):
        return error
    if isinstance(error, MCPError):
        return _from_json_rpc(error, f"The server '{server}'", restarts=restarts)
    if isinstance(error, ValidationError):
        return BadOutput(message=f"The server '{server}' sent an answer that breaks the protocol.")
    return Unavailable(message=f"The connection to the server '{server}' failed.")


def _from_json_rpc(error: MCPError, who: str, *, restarts: bool = False, shown: str = "") -> ToolError:
    code, text, data = error.error.code, error.error.message, error.error.data
    if isinstance(data, Mapping):
        fault = data.get(FAULT_KEY)
        if isinstance(fault, Mapping):
            return _from_fault(fault, who)
        known = catalogue.lookup(data["code"]) if is_code(data.get("code")) else None
        if known is not None:
            said = f"{who} reported an error: {quoted(text)}."
            return known(message=said, suggestions=_strings(data.get("suggestion")))
    return _of_the_sdk(error, who, restarts=restarts) or _reported(code, shown or text, data, who)


def _of_the_sdk(error: MCPError, who: str, *, restarts: bool) -> ToolError | None:
    """Return the typed error for one that the SDK's client makes itself, in the place of an answer; None for others."""
    code, text = error.error.code, error.error.message
    if is_closed(error):
        is_unsent = text == LOST_SESSION
        what = "has ended the session" if is_unsent else "ended before it answered"
        again = "" if is_unsent else f"; {_AGAIN}" if restarts else "; the connection to it is lost"
        lost = Unavailable(message=f"{who} {what}{again}.", effect="none" if is_unsent else "unknown")
        if not restarts:
            lost.retry = "never"  # type: ignore[misc]  # waiting does not bring it back
        elif is_unsent:
            lost.retry_after_seconds = 0.1
        return lost
    if code == types.CONNECTION_CLOSED and text.startswith("SSE stream "):
        return Unavailable(message=f"{who} broke off before it answered.", effect="unknown")
    if text.startswith(_NO_ANSWER):
        return BadOutput(message=f"{who} sent an answer that is not valid JSON-RPC.")
    if code == types.REQUEST_TIMEOUT and _TIMED_OUT.fullmatch(text) is not None:
        return Timeout(message=f"{who} did not answer in time.")
    return None


def is_closed(error: BaseException) -> bool:
    """Return whether the SDK's client says that the connection or its session is over; servers use its codes, too."""
    if not isinstance(error, MCPError):
        return False
    return error.error.message == LOST_SESSION or (error.error.code, error.error.message) == _CLOSED


def is_made_here(error: MCPError) -> bool:
    """Return whether this side has made the error, for a connection that is over or an answer that is unusable."""
    return is_closed(error) or (isinstance(error.error.data, Mapping) and FAULT_KEY in error.error.data)


def _reported(code: int, text: str, data: Any, who: str) -> ToolError:
    """Return UPSTREAM_ERROR for a JSON-RPC error, with its text and data quoted, and the category of its code."""
    failure = UpstreamError(message=f"{who} reported an error: {quoted(text, data)}.")
    cls = _CLASS_BY_CODE.get(code) or class_of(text)
    if cls is not None:
        categorize(failure, cls)
        failure.retry_after_seconds = wait_in(text)
    if code in _REFUSALS and _NOT_ASKABLE not in text:
        failure.effect = "none"
    failure.details["code"] = code
    return failure


_CLASS_BY_CODE: dict[int, type[ToolError]] = {
    types.INVALID_PARAMS: InvalidArgument,
    types.INVALID_REQUEST: InvalidArgument,
    types.METHOD_NOT_FOUND: Unsupported,
    types.PARSE_ERROR: BadOutput,
    _RESOURCE_NOT_FOUND: NotFound,
}
_REFUSALS = frozenset({types.INVALID_PARAMS, types.INVALID_REQUEST, types.METHOD_NOT_FOUND})
_NOT_ASKABLE = "no back-channel for server-initiated requests"
"""What the SDK says, with INVALID_REQUEST, to a tool that asks its client something: the tool runs by then."""


def _strings(value: Any) -> tuple[str, ...]:
    return (bounded(value),) if isinstance(value, str) else ()


def _from_fault(fault: Mapping[str, Any], who: str) -> ToolError:
    kind = fault.get("kind")
    size, limit, status = fault.get("size_bytes"), fault.get("limit_bytes"), fault.get("status")
    if kind == "too_large" and _is_number(size) and _is_number(limit):
        return ResultTooLarge(size_bytes=size, limit_bytes=limit)
    if kind == "http" and _is_number(status):
        return from_status(status, fault.get("headers"))
    return BadOutput(message=f"{who} sent an answer that is not valid JSON-RPC.")


def _is_number(value: Any) -> TypeGuard[int]:
    return type(value) is int and value >= 0


def from_raised(text: str, cause: BaseException | None) -> ToolError:
    """Return the typed error for an exception whose text the foreign server would have shown.

    The text is quoted. The class is that of the exception it was raised from, if there is one that is known (an HTTP
    429 gives RATE_LIMITED with its wait); a JSON-RPC error is UPSTREAM_ERROR; else it is REPORTED_FAILURE.

    Args:
        text: What the server's callers would have got.
        cause: The exception that a tool raised, or that an author's error for callers was raised from.
    """
    if isinstance(cause, MCPError):
        return _from_json_rpc(cause, "The tool", shown=text.strip())
    known = None if cause is None else normalize(cause)
    if known is None or isinstance(known, UnknownError):
        return reported(text, has_host_paths=_is_of(cause, text))
    said = quoted(text, has_host_paths=_is_of(cause, text))
    error = type(known)(
        message=f"The tool reported a failure: {said}." if text.strip() else known.message,
        retry_after_seconds=known.retry_after_seconds,
        details=known.details,
        operator_hint=known.operator_hint,
    )
    error.__cause__ = cause
    return error


def _is_of(cause: BaseException | None, text: str) -> bool:
    """Return whether a text is that of the exception, whose paths nobody wrote for callers."""
    return cause is not None and bool(own := text_of(cause)) and own in text


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
    raise endless_list(server)


def endless_list(server: str) -> BadOutput:
    """Return the error for a list that is not read to its end."""
    return BadOutput(message=f"The server '{server}' sends a list without end.")


def not_connected(server: str, *, retry_after_s: float | None = None) -> Unavailable:
    """Return UNAVAILABLE for a call that was not sent, because the connection is down.

    Args:
        server: The server's name.
        retry_after_s: When the server is tried again, in seconds; None if nobody does.
    """
    if retry_after_s is None:
        lost = Unavailable(message=f"The connection to the server '{server}' is lost; nothing was sent.", effect="none")
        lost.retry = "never"  # type: ignore[misc]  # waiting does not bring it back
        return lost
    return Unavailable(
        message=f"The server '{server}' is not running at the moment; {_AGAIN}.",
        retry_after_seconds=max(retry_after_s, 0.1),
        effect="none",
    )
