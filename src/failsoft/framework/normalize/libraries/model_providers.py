"""Errors of model providers' SDKs (openai, anthropic), by status and code."""

from __future__ import annotations

from typing import Any

from failsoft.framework.errors import (
    BadOutput,
    ConfigurationError,
    Infeasible,
    InvalidArgument,
    Overloaded,
    QuotaExhausted,
    Timeout,
    ToolError,
    Unauthenticated,
    Unavailable,
    UpstreamError,
)
from failsoft.framework.normalize.libraries.http_status import from_response, from_status
from failsoft.framework.normalize.rules import FixedError, Inside, Table, read, type_name

__all__ = ["TABLES"]

_LOST = FixedError(Unavailable, "The connection to the service behind this tool was lost.")
_SLOW = FixedError(Timeout, "The service behind this tool took too long.")
_QUOTA = FixedError(QuotaExhausted, "The quota of the model provider is used up.")
_KEYS = FixedError(ConfigurationError, "The credentials for the model provider are missing or not usable.", "none")
_UNREADABLE = FixedError(BadOutput, "The model provider answered in a form that its library does not know.")
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_error"})


def _answered(exc: Any) -> ToolError:
    """Return the error for an `APIStatusError`: by status, but a limit of money is a quota and no rate."""
    response = read(exc, "response")
    error = from_response(response) if response is not None else from_status(read(exc, "status_code"))
    kinds = {read(exc, "code"), read(exc, "type")}
    if kinds & _QUOTA_CODES or "SpendLimit" in type_name(exc):
        error = _QUOTA(exc)
    request_id = read(exc, "request_id")
    if isinstance(request_id, str):
        error.details["request_id"] = request_id
    return error


def _not_connected(exc: Any) -> ToolError | Inside:
    """Return what httpx raised below an `APIConnectionError`: it knows whether anything was sent."""
    cause = read(exc, "__cause__")
    return Inside(cause, _LOST) if isinstance(cause, BaseException) else _LOST(exc)


def _timed_out(exc: Any) -> ToolError | Inside:
    cause = read(exc, "__cause__")
    return Inside(cause, _SLOW) if isinstance(cause, BaseException) else _SLOW(exc)


_PROVIDER: Table = {
    "APIStatusError": _answered,
    "APITimeoutError": _timed_out,
    "APIConnectionError": _not_connected,
    "APIResponseValidationError": _UNREADABLE,
    "APIError": FixedError(UpstreamError, "The model provider reported an error."),
}

TABLES: dict[str, Table] = {
    "openai": {
        **_PROVIDER,
        "ContentFilterFinishReasonError": FixedError(InvalidArgument, "The model provider filtered the content."),
        "LengthFinishReasonError": FixedError(Infeasible, "The answer of the model is longer than its limit."),
        "InvalidWebhookSignatureError": FixedError(Unauthenticated, "The signature of the webhook is not valid."),
        "WebSocketConnectionClosedError": _LOST,
        "WebSocketQueueFullError": FixedError(Overloaded, "The queue of messages to the model provider is full."),
        "OpenAIError": _KEYS,
    },
    "anthropic": {
        **_PROVIDER,
        "RetryableError": FixedError(Unavailable, "The model provider asks to try again."),
        "APIWebhookValidationError": FixedError(Unauthenticated, "The signature of the webhook is not valid."),
        "AnthropicError": _KEYS,
    },
}
