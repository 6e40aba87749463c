"""Typed errors for exceptions of the SDK's client: JSON-RPC errors, lost connections, invalid answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from failsoft.framework.errors import (
    BadOutput,
    ResultTooLarge,
    Timeout,
    ToolError,
    Unavailable,
    Unsupported,
    UpstreamError,
    catalogue,
)
from failsoft.framework.errors.vocabulary import is_code
from failsoft.framework.normalize.http_status import from_status
from failsoft.framework.text import bounded

FAULT_KEY = "dev.failsoft/fault"
"""Key in the `data` of a JSON-RPC error that replaces an unusable answer: why it is unusable."""

LOST_SESSION = "Session terminated"
"""The SDK client's message for a session that the server does not know; the request was not processed."""


def fault_data(kind: str, **facts: Any) -> dict[str, Any]:
    """Return the `data` of a JSON-RPC error that replaces an unusable answer.

    Args:
        kind: `malformed`, `too_large` or `http`.
        **facts: `size_bytes` and `limit_bytes`, or `status` and `headers`.
    """
    return {FAULT_KEY: {"kind": kind, **facts}}


def from_upstream(error: Exception, *, server: str) -> ToolError:
    """Return the typed error for an exception of the SDK's client.

    Args:
        error: An `MCPError` (JSON-RPC error, closed connection, time-out), a pydantic error (an answer that breaks the
            protocol), or a transport error.
        server: The upstream's name, for the message.
    """
    if isinstance(error, ToolError):
        return error
    if isinstance(error, MCPError):
        return _from_json_rpc(error, server)
    if isinstance(error, ValidationError):
        return BadOutput(message=f"The server '{server}' sent an answer that breaks the protocol.")
    return Unavailable(message=f"The connection to the server '{server}' failed.")


def _from_json_rpc(error: MCPError, server: str) -> ToolError:
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
    cls, what = _BY_CODE.get(error.error.code, (None, ""))
    return _reported(error, server) if cls is None else cls(message=f"The server '{server}' {what}.")


_BY_CODE: dict[int, tuple[type[ToolError], str]] = {
    types.CONNECTION_CLOSED: (Unavailable, "ended before it answered; it is being started again"),
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


def not_connected(server: str, *, retry_after_s: float) -> Unavailable:
    """Return UNAVAILABLE for a call that was not sent, because the upstream is down."""
    return Unavailable(
        message=f"The server '{server}' is not running at the moment; it is being started again.",
        retry_after_seconds=max(retry_after_s, 0.1),
        effect="none",
    )
