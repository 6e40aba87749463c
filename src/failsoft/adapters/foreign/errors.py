"""Typed errors for exceptions that foreign tools raise on purpose, and for unknown tools."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from failsoft.framework.errors import ReportedFailure, ToolError, UnknownError
from failsoft.framework.errors.corrections import closest_tool
from failsoft.framework.normalize import normalize
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.text import bounded

_TEXT_AT_MOST = 1_000
_NAME_AT_MOST = 128
_URL_ELICITATION_REQUIRED = -32042
_ANSWERED_BY_THE_CLIENT = frozenset({_URL_ELICITATION_REQUIRED, types.MISSING_REQUIRED_CLIENT_CAPABILITY})


def anticipated(text: str, cause: BaseException | None) -> ToolError:
    """Return the typed error for an error that an author raised with a text for the caller.

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


def is_protocol_error(error: Any) -> bool:
    """Return whether the protocol requires a JSON-RPC error for this exception, since clients act on its code."""
    return isinstance(error, MCPError) and error.error.code in _ANSWERED_BY_THE_CLIENT


def unknown_tool(name: str, known: Iterable[Any]) -> MCPError:
    """Return the protocol's error for a tool that does not exist, with the closest name.

    Args:
        name: As called.
        known: The listed tools.
    """
    shown = bounded(name, _NAME_AT_MOST)
    others = {tool.name: _is_read_only(tool) for tool in known if tool.name != name}
    closest = closest_tool(shown, others)
    hint = f"; did you mean '{closest}'?" if closest else ""
    logger.bind(code="UNKNOWN_TOOL", operation=shown).warning("A tool that does not exist was called")
    return MCPError(
        code=types.INVALID_PARAMS,
        message=f"Unknown tool: '{shown}'{hint}",
        data={"code": "UNKNOWN_TOOL", **({"suggestion": closest} if closest else {})},
    )


def _is_read_only(tool: Any) -> bool:
    return tool.annotations is not None and tool.annotations.read_only_hint is True
