"""Errors of web frameworks that a handler raises or passes on, by their status, and errors of other MCP servers."""

from __future__ import annotations

from typing import Any

from failsoft.framework.errors import ToolError, UpstreamError
from failsoft.framework.normalize.libraries.http_status import from_response, from_status
from failsoft.framework.normalize.libraries.retry_after import retry_after
from failsoft.framework.normalize.rules import Table, read

__all__ = ["TABLES"]


def _werkzeug(exc: Any) -> ToolError:
    """Return the error for werkzeug's `HTTPException`, which may hold a whole response in place of a code."""
    status = read(exc, "code")
    if status is None:
        return from_response(read(exc, "response"))
    error = from_status(status, read(read(exc, "response"), "headers"))
    wait = read(exc, "retry_after")
    if error.retry_after_seconds is None and wait is not None:
        moment = read(wait, "timestamp")
        error.retry_after_seconds = retry_after({"retry-after": moment() if callable(moment) else wait})
    return error


def _starlette(exc: Any) -> ToolError:
    """Return the error for starlette's `HTTPException`, and FastAPI's, which is a subclass."""
    return from_status(read(exc, "status_code"), read(exc, "headers"))


def _mcp(exc: Any) -> ToolError:
    """Return the error for a JSON-RPC error of another MCP server, without its untrusted text."""
    error = UpstreamError(message="Another MCP server, which this tool uses, reported an error.")
    code = read(exc, "code")
    if isinstance(code, int):
        error.details["code"] = code
    return error


TABLES: dict[str, Table] = {
    "werkzeug": {"HTTPException": _werkzeug},
    "starlette": {"HTTPException": _starlette},
    "mcp": {"MCPError": _mcp},
}
