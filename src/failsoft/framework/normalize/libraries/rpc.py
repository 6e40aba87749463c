"""Errors of gRPC, by status code, and of the Kubernetes client, by HTTP status and reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from failsoft.framework.errors import (
    AlreadyExists,
    ConfigurationError,
    Conflict,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    PreconditionFailed,
    RateLimited,
    Timeout,
    ToolError,
    Unauthenticated,
    Unavailable,
    Unsupported,
    UpstreamError,
)
from failsoft.framework.normalize.libraries.http_status import from_status
from failsoft.framework.normalize.libraries.retry_after import parse_wait, retry_after
from failsoft.framework.normalize.rules import FixedError, Table, read, unknown

__all__ = ["GRPC_CODES", "TABLES"]

_FAILED = FixedError(UpstreamError)
_REFUSED = FixedError(InvalidArgument, "The service behind this tool refused the request as invalid.")
_UNAVAILABLE = FixedError(Unavailable, "The service behind this tool is not available at the moment.")
_SLOW = FixedError(Timeout, "The service behind this tool took too long.")
_NOT_SENT = FixedError(InvalidArgument, "The arguments do not make a request that the service would accept.", "none")

GRPC_CODES: dict[str, FixedError] = {
    "CANCELLED": FixedError(Unavailable, "The service behind this tool cancelled the request."),
    "UNKNOWN": _FAILED,
    "INVALID_ARGUMENT": _REFUSED,
    "DEADLINE_EXCEEDED": _SLOW,
    "NOT_FOUND": FixedError(NotFound, "The service behind this tool does not have what was asked for."),
    "ALREADY_EXISTS": FixedError(AlreadyExists),
    "PERMISSION_DENIED": FixedError(PermissionDenied, "The service behind this tool refused the access."),
    "RESOURCE_EXHAUSTED": FixedError(RateLimited, "The service behind this tool had too many calls in a short time."),
    "FAILED_PRECONDITION": FixedError(PreconditionFailed, "The service is not in the state that this needs."),
    "ABORTED": FixedError(Conflict, "The request is in conflict with the state of the service behind this tool."),
    "OUT_OF_RANGE": _REFUSED,
    "UNIMPLEMENTED": FixedError(Unsupported, "The service behind this tool does not support this."),
    "INTERNAL": _FAILED,
    "UNAVAILABLE": _UNAVAILABLE,
    "DATA_LOSS": FixedError(UpstreamError, "The service behind this tool has lost data."),
    "UNAUTHENTICATED": FixedError(Unauthenticated),
}
"""gRPC status -> verdict, https://grpc.io/docs/guides/status-codes/."""


def _grpc(exc: Any) -> ToolError:
    """Return the error for an `RpcError` by its status, with the wait that its trailing metadata asks for."""
    code = _called(exc, "code")
    name = read(code, "name")
    error = GRPC_CODES.get(name, _FAILED)(exc)
    trailing = {str(key).lower(): value for key, value in _pairs(_called(exc, "trailing_metadata"))}
    pushback_ms = parse_wait(trailing.get("grpc-retry-pushback-ms"))
    error.retry_after_seconds = pushback_ms / 1000 if pushback_ms is not None else retry_after(trailing)
    error.details["status"] = str(name)
    if trailing.get("x-request-id"):
        error.details["request_id"] = str(trailing["x-request-id"])
    return error


def _called(exc: Any, name: str) -> Any:
    try:
        return getattr(exc, name)()
    except Exception:  # noqa: BLE001 - an error that was never answered has neither status nor metadata
        return None


def _pairs(metadata: Any) -> list[tuple[Any, Any]]:
    return [pair for pair in metadata or () if isinstance(pair, tuple) and len(pair) == 2]  # noqa: PLR2004 - key, value


def _kubernetes(exc: Any) -> ToolError:
    """Return the error for an `ApiException`: a conflict is an object that exists, or one that has changed."""
    status, headers = read(exc, "status"), read(exc, "headers")
    if not status:
        return _UNAVAILABLE(exc)
    reason = _reason(read(exc, "body"))
    error = AlreadyExists(message=AlreadyExists.template) if reason == "AlreadyExists" else from_status(status, headers)
    error.details.update({"status": status, **({"reason": reason} if reason else {})})
    return error


def _reason(body: Any) -> str:
    try:
        tree = json.loads(body)
    except (ValueError, TypeError):
        return ""
    reason = tree.get("reason") if isinstance(tree, Mapping) else None
    return reason if isinstance(reason, str) else ""


_KUBERNETES: Table = {
    "ApiException": _kubernetes,
    "ConfigException": FixedError(ConfigurationError, "The access to the cluster is not set up.", "none"),
    "OpenApiException": _NOT_SENT,
}

TABLES: dict[str, Table] = {
    "grpc": {
        "RpcError": _grpc,
        "FutureTimeoutError": _SLOW,
        "FutureCancelledError": _UNAVAILABLE,
        "UsageError": unknown,
        "BaseError": _FAILED,
    },
    "kubernetes": _KUBERNETES,
    "kubernetes_asyncio": _KUBERNETES,
}
