"""Errors of HTTP clients, model providers, web frameworks and other MCP servers: a row for each outcome.

Requests that were never sent have the effect `none`, responses go by status.
"""

from __future__ import annotations

from typing import Any

from failsoft.framework.errors import ToolError, UpstreamError
from failsoft.framework.normalize.http_status import from_response, from_status, is_only_write, retry_after
from failsoft.framework.normalize.outcomes import OUTCOMES, Inside, Rule, Table, called, read, rows, type_name


def _answered(exc: Any) -> ToolError:
    """Return the error for an exception that carries the `response`."""
    return from_response(read(exc, "response"))


def _with(status: str) -> Rule:
    """Return the rule for exceptions that carry `headers` themselves, and the status under this name.

    They do not say whether they answer the first request: urllib follows redirects, from a write to a read, in silence.
    """
    return lambda exc: from_status(read(exc, status), read(exc, "headers"))


def _aiohttp(exc: Any) -> ToolError:
    """Return the error for aiohttp's `ClientResponseError`, which carries the parts of its response."""
    is_answer = is_only_write(exc, read(exc, "request_info"))
    return from_status(read(exc, "status"), read(exc, "headers"), is_answer=is_answer)


def _wrapping(otherwise: str) -> Rule:
    """Return a rule for wrappers: their `reason` (urllib, urllib3) or first argument (requests), else this outcome."""

    def rule(exc: Any) -> ToolError | Inside:
        reason, arguments = read(exc, "reason"), read(exc, "args") or (None,)
        inner = reason if isinstance(reason, BaseException) else arguments[0]
        if isinstance(inner, BaseException) and inner is not exc:
            return Inside(inner, OUTCOMES[otherwise])
        return OUTCOMES[otherwise](exc)

    return rule


def _caused(otherwise: str) -> Rule:
    """Return a rule for what httpx raised below, which knows whether anything was sent; else this outcome."""

    def rule(exc: Any) -> ToolError | Inside:
        cause = read(exc, "__cause__")
        return Inside(cause, OUTCOMES[otherwise]) if isinstance(cause, BaseException) else OUTCOMES[otherwise](exc)

    return rule


_OF_MONEY = frozenset(["insufficient_quota", "billing_hard_limit_reached", "billing_error"])


def _of_provider(exc: Any) -> ToolError:
    """Return the error for an `APIStatusError`: by status, but a limit of money is a quota and no rate."""
    response = read(exc, "response")
    error = from_response(response) if response is not None else from_status(read(exc, "status_code"))
    if {read(exc, "code"), read(exc, "type")} & _OF_MONEY or "SpendLimit" in type_name(exc):
        is_refusal, error = error.is_refusal, OUTCOMES["model_quota"](exc)
        error.is_refusal = is_refusal
    request_id = read(exc, "request_id")
    if isinstance(request_id, str):
        error.details["request_id"] = request_id
    return error


def _werkzeug(exc: Any) -> ToolError:
    """Return the error for werkzeug's `HTTPException`, which may hold a whole response in place of a code."""
    status = read(exc, "code")
    if status is None:
        response = read(exc, "response")
        return from_status(read(response, "status_code"), read(response, "headers"))
    error = from_status(status, read(read(exc, "response"), "headers"))
    wait = read(exc, "retry_after")
    if error.retry_after_seconds is None and wait is not None:
        moment = called(wait, "timestamp")
        error.retry_after_seconds = retry_after({"retry-after": wait if moment is None else moment})
    return error


def _mcp(exc: Any) -> ToolError:
    """Return the error for a JSON-RPC error of another MCP server, without its untrusted text."""
    error = UpstreamError(message="Another MCP server, which this tool uses, reported an error.")
    code = read(exc, "code")
    if isinstance(code, int):
        error.details["code"] = code
    return error


_HTTPX: Table = {
    "HTTPStatusError": _answered,
    **rows(
        unreachable="ConnectError",
        slow_connect="ConnectTimeout",
        none_free="PoolTimeout",
        slow="TimeoutException",
        proxy="ProxyError",
        address="UnsupportedProtocol InvalidURL",
        defect="LocalProtocolError",
        lost="RemoteProtocolError ProtocolError NetworkError TransportError",
        unreadable="SSEError DecodingError",
        redirects="TooManyRedirects",
        failed="HTTPError",
    ),
}
_PROVIDER: Table = {
    "APIStatusError": _of_provider,
    "APITimeoutError": _caused("slow"),
    "APIConnectionError": _caused("lost"),
    **rows(model_unreadable="APIResponseValidationError", model_failed="APIError"),
}

TABLES: dict[str, Table] = {
    **dict.fromkeys(("httpx", "httpx2", "httpcore", "httpcore2"), _HTTPX),
    "requests": {
        "SSLError": _wrapping("tls"),
        "ConnectionError": _wrapping("lost"),
        "RetryError": _wrapping("failed"),
        "HTTPError": _answered,
        **rows(
            slow_connect="ConnectTimeout",
            slow="Timeout",
            proxy="ProxyError",
            address="InvalidURL InvalidSchema MissingSchema URLRequired",
            defect="InvalidHeader StreamConsumedError UnrewindableBodyError InvalidJSONError",
            lost="ChunkedEncodingError",
            unreadable="ContentDecodingError JSONDecodeError",
            redirects="TooManyRedirects",
            failed="RequestException",
        ),
    },
    "urllib3": {
        "MaxRetryError": _wrapping("failed"),
        "SSLError": _wrapping("tls"),
        **rows(
            unreachable="NewConnectionError",
            slow_connect="ConnectTimeoutError",
            slow="TimeoutError",
            pool_empty="EmptyPoolError",
            proxy="ProxyError",
            lost="ProtocolError IncompleteRead InvalidChunkLength",
            unreadable="DecodeError",
            address="LocationValueError",
            failed="PoolError HTTPError",
        ),
    },
    "urllib": {
        "HTTPError": _with("code"),
        "URLError": _wrapping("unreachable"),
        **rows(lost="ContentTooShortError"),
    },
    "http": rows(
        lost="RemoteDisconnected IncompleteRead",
        address="InvalidURL",
        defect="ImproperConnectionState NotConnected",
        unreadable="HTTPException",
    ),
    "aiohttp": {
        "ClientResponseError": _aiohttp,
        "HTTPException": _with("status"),
        **rows(
            unreadable="ContentTypeError HttpProcessingError",
            redirects="TooManyRedirects",
            mistrusted="ClientConnectorCertificateError ServerFingerprintMismatch",
            tls="ClientSSLError",
            proxy="ClientProxyConnectionError",
            unreachable="ClientConnectorError",
            slow_connect="ConnectionTimeoutError",
            slow="ServerTimeoutError",
            lost="ClientConnectionError ClientPayloadError UploadAbortedError WebSocketError",
            address="InvalidURL NonHttpUrlClientError",
            failed="ClientError",
        ),
    },
    "openai": {
        **_PROVIDER,
        **rows(
            model_filtered="ContentFilterFinishReasonError",
            model_length="LengthFinishReasonError",
            webhook="InvalidWebhookSignatureError",
            lost="WebSocketConnectionClosedError",
            model_queue="WebSocketQueueFullError",
            model_keys="OpenAIError",
        ),
    },
    "anthropic": {
        **_PROVIDER,
        **rows(model_later="RetryableError", webhook="APIWebhookValidationError", model_keys="AnthropicError"),
    },
    "werkzeug": {"HTTPException": _werkzeug},
    "starlette": {"HTTPException": _with("status_code")},
    "mcp": {"MCPError": _mcp},
}
"""Root package -> class -> rule. FastAPI's `HTTPException` is a subclass of starlette's."""
