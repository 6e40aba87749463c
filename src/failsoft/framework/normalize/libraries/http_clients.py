"""Errors of HTTP clients: requests that were never sent have the effect `none`, responses go by status."""

from __future__ import annotations

from typing import Any

from failsoft.framework.errors import InvalidArgument, Overloaded, Timeout, ToolError, Unavailable, UpstreamError
from failsoft.framework.normalize.libraries.http_status import from_response, from_status
from failsoft.framework.normalize.rules import FixedError, Inside, Rule, Table, read, unknown

__all__ = ["TABLES"]

_NOT_CONNECTED = FixedError(Unavailable, effect="none")
_NOT_CONNECTED_IN_TIME = FixedError(
    Timeout, "The service behind this tool did not accept a connection in time.", "none"
)
_NO_CONNECTION_FREE = FixedError(Timeout, "All connections to the service behind this tool were in use.", "none")
_POOL_EMPTY = FixedError(Overloaded, "All connections to the service behind this tool were in use.", "none")
_PROXY = FixedError(Unavailable, "The proxy on the way to the service behind this tool failed.", "none")
_SLOW = FixedError(Timeout, "The service behind this tool took too long.")
_LOST = FixedError(Unavailable, "The connection to the service behind this tool was lost.")
_TLS = FixedError(Unavailable, "A secure connection to the service behind this tool failed.")
_CERTIFICATE = FixedError(UpstreamError, "The certificate of the service behind this tool is not trusted.", "none")
_ADDRESS = FixedError(InvalidArgument, "The arguments lead to an address that is not a valid URL.", "none")
_UNREADABLE = FixedError(UpstreamError, "The service behind this tool answered with something that cannot be read.")
_REDIRECTS = FixedError(UpstreamError, "The service behind this tool redirects without end.")
_FAILED = FixedError(UpstreamError)


def _answered(exc: Any) -> ToolError:
    """Return the error for an exception that carries the `response`."""
    return from_response(read(exc, "response"))


def _with_status(exc: Any) -> ToolError:
    """Return the error for an exception that carries `status` and `headers` itself."""
    return from_status(read(exc, "status"), read(exc, "headers"))


def _with_code(exc: Any) -> ToolError:
    """Return the error for an exception that carries `code` and `headers` itself."""
    return from_status(read(exc, "code"), read(exc, "headers"))


def _opened(otherwise: FixedError) -> Rule:
    """Return a rule for wrappers: their `reason` (urllib, urllib3) or first argument (requests), else this verdict."""

    def rule(exc: Any) -> ToolError | Inside:
        reason, arguments = read(exc, "reason"), read(exc, "args") or (None,)
        inner = reason if isinstance(reason, BaseException) else arguments[0]
        if isinstance(inner, BaseException) and inner is not exc:
            return Inside(inner, otherwise)
        return otherwise(exc)

    return rule


_HTTPX: Table = {
    "ConnectError": _NOT_CONNECTED,
    "ConnectTimeout": _NOT_CONNECTED_IN_TIME,
    "PoolTimeout": _NO_CONNECTION_FREE,
    "TimeoutException": _SLOW,
    "ProxyError": _PROXY,
    "UnsupportedProtocol": _ADDRESS,
    "InvalidURL": _ADDRESS,
    "LocalProtocolError": unknown,
    "RemoteProtocolError": _LOST,
    "ProtocolError": _LOST,
    "NetworkError": _LOST,
    "SSEError": _UNREADABLE,
    "TransportError": _LOST,
    "DecodingError": _UNREADABLE,
    "TooManyRedirects": _REDIRECTS,
    "HTTPStatusError": _answered,
    "HTTPError": _FAILED,
}

_REQUESTS: Table = {
    "ConnectTimeout": _NOT_CONNECTED_IN_TIME,
    "Timeout": _SLOW,
    "ProxyError": _PROXY,
    "SSLError": _opened(_TLS),
    "ConnectionError": _opened(_LOST),
    "RetryError": _opened(_FAILED),
    "HTTPError": _answered,
    "InvalidURL": _ADDRESS,
    "InvalidSchema": _ADDRESS,
    "MissingSchema": _ADDRESS,
    "URLRequired": _ADDRESS,
    "InvalidHeader": unknown,
    "StreamConsumedError": unknown,
    "UnrewindableBodyError": unknown,
    "ChunkedEncodingError": _LOST,
    "ContentDecodingError": _UNREADABLE,
    "JSONDecodeError": _UNREADABLE,
    "InvalidJSONError": unknown,
    "TooManyRedirects": _REDIRECTS,
    "RequestException": _FAILED,
}

_URLLIB3: Table = {
    "MaxRetryError": _opened(_FAILED),
    "NewConnectionError": _NOT_CONNECTED,
    "ConnectTimeoutError": _NOT_CONNECTED_IN_TIME,
    "TimeoutError": _SLOW,
    "EmptyPoolError": _POOL_EMPTY,
    "PoolError": _FAILED,
    "ProxyError": _PROXY,
    "SSLError": _opened(_TLS),
    "ProtocolError": _LOST,
    "IncompleteRead": _LOST,
    "InvalidChunkLength": _LOST,
    "DecodeError": _UNREADABLE,
    "LocationValueError": _ADDRESS,
    "HTTPError": _FAILED,
}

_URLLIB: Table = {"HTTPError": _with_code, "ContentTooShortError": _LOST, "URLError": _opened(_NOT_CONNECTED)}

_HTTP: Table = {
    "RemoteDisconnected": _LOST,
    "IncompleteRead": _LOST,
    "InvalidURL": _ADDRESS,
    "ImproperConnectionState": unknown,
    "NotConnected": unknown,
    "HTTPException": _UNREADABLE,
}

_AIOHTTP: Table = {
    "ContentTypeError": _UNREADABLE,
    "TooManyRedirects": _REDIRECTS,
    "ClientResponseError": _with_status,
    "ClientConnectorCertificateError": _CERTIFICATE,
    "ClientSSLError": _TLS,
    "ClientProxyConnectionError": _PROXY,
    "ClientConnectorError": _NOT_CONNECTED,
    "ConnectionTimeoutError": _NOT_CONNECTED_IN_TIME,
    "ServerTimeoutError": _SLOW,
    "ServerFingerprintMismatch": _CERTIFICATE,
    "ClientConnectionError": _LOST,
    "ClientPayloadError": _LOST,
    "UploadAbortedError": _LOST,
    "InvalidURL": _ADDRESS,
    "NonHttpUrlClientError": _ADDRESS,
    "ClientError": _FAILED,
    "WebSocketError": _LOST,
    "HTTPException": _with_status,
    "HttpProcessingError": _UNREADABLE,
}

TABLES: dict[str, Table] = {
    "httpx": _HTTPX,
    "httpx2": _HTTPX,
    "httpcore": _HTTPX,
    "httpcore2": _HTTPX,
    "requests": _REQUESTS,
    "urllib3": _URLLIB3,
    "urllib": _URLLIB,
    "http": _HTTP,
    "aiohttp": _AIOHTTP,
}
