"""`mcp.server.operation.duration`, the histogram of the conventions, where a meter provider is set."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND, CallToolResult
from mcp_types.methods import SPEC_CLIENT_METHODS, SPEC_CLIENT_NOTIFICATION_METHODS
from pydantic import ValidationError

from failsoft._version import __version__
from failsoft.framework.safe.author_reports import is_real_cancellation

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram

_BOUNDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
_METHODS = frozenset({*SPEC_CLIENT_METHODS, *SPEC_CLIENT_NOTIFICATION_METHODS})
_INVALID_PARAMS = "-32602"
_OTHER = "_OTHER"
"""What the conventions put for a value outside a known set: clients choose the names of methods."""
_made: dict[Any, Histogram] = {}


def histogram() -> Histogram | None:
    """Return the histogram of the meter provider; None, at the cost of a look-up, if none is set.

    Only a provider that is set can have loaded the module, which would otherwise be loaded for nothing.
    """
    module: Any = sys.modules.get("opentelemetry.metrics._internal")
    provider = None if module is None else getattr(module, "_METER_PROVIDER", None)
    if provider is None:
        return None
    if provider not in _made:
        _made[provider] = provider.get_meter("failsoft", __version__).create_histogram(
            "mcp.server.operation.duration",
            unit="s",
            description="How long MCP requests and notifications took, from their receipt until their answer was sent.",
            explicit_bucket_boundaries_advisory=_BOUNDS,
        )
    return _made[provider]


def attributes_of(ctx: ServerRequestContext[Any, Any]) -> dict[str, str]:
    """Return what the conventions want known of the transport of a request."""
    if ctx.request is None:
        return {"network.transport": "pipe"}
    return {"network.transport": "tcp", "network.protocol.name": "http"}


def measured(ctx: ServerRequestContext[Any, Any], ended: Any) -> dict[str, str]:
    """Return the attributes of one measurement, all of them of a known set of values.

    Args:
        ctx: The request or notification.
        ended: Its result, or the exception that ended it.
    """
    failure = error_type(ended)
    found = {
        "mcp.method.name": ctx.method if ctx.method in _METHODS and failure != str(METHOD_NOT_FOUND) else _OTHER,
        "mcp.protocol.version": str(ctx.protocol_version),
        **attributes_of(ctx),
    }
    if failure:
        found["error.type"] = failure
    if isinstance(ended, (MCPError, ValidationError)):
        found["rpc.response.status_code"] = failure
    name = (ctx.params or {}).get("name")
    if ctx.method == "tools/call":
        found["gen_ai.operation.name"] = "execute_tool"
    key = {"tools/call": "gen_ai.tool.name", "prompts/get": "gen_ai.prompt.name"}.get(ctx.method)
    if key is not None and isinstance(name, str) and failure != _INVALID_PARAMS:  # as for a name that does not exist
        found[key] = name
    return found


def error_type(ended: Any) -> str:
    """Return `error.type` of a result or an exception; empty for a success."""
    if isinstance(ended, MCPError):
        return str(ended.error.code)
    if isinstance(ended, ValidationError):
        return _INVALID_PARAMS
    if isinstance(ended, BaseException):
        return "cancelled" if is_real_cancellation(ended) else type(ended).__qualname__
    is_error = ended.is_error if isinstance(ended, CallToolResult) else isinstance(ended, dict) and ended.get("isError")
    return "tool_error" if is_error is True else ""
