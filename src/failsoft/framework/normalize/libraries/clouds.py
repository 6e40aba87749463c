"""Errors of the cloud SDKs: botocore by its error codes and status, google-api-core and google-auth by class."""

from __future__ import annotations

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
    QuotaExhausted,
    RateLimited,
    Timeout,
    ToolError,
    Unauthenticated,
    Unavailable,
    Unsupported,
    UpstreamError,
)
from failsoft.framework.normalize.libraries.http_status import from_status
from failsoft.framework.normalize.libraries.retry_after import retry_after
from failsoft.framework.normalize.rules import FixedError, Inside, Table, read

__all__ = ["AWS_CODES", "TABLES"]

_FAILED = FixedError(UpstreamError)
_NOT_CONNECTED = FixedError(Unavailable, effect="none")
_NOT_CONNECTED_IN_TIME = FixedError(
    Timeout, "The service behind this tool did not accept a connection in time.", "none"
)
_SLOW = FixedError(Timeout, "The service behind this tool took too long.")
_LOST = FixedError(Unavailable, "The connection to the service behind this tool was lost.")
_TLS = FixedError(Unavailable, "A secure connection to the service behind this tool failed.")
_NO_CREDENTIALS = FixedError(
    ConfigurationError, "The credentials for the service behind this tool are missing.", "none"
)
_SETTINGS = FixedError(ConfigurationError, "The access to the service behind this tool is not set up.", "none")
_LOGIN = FixedError(Unauthenticated)
_REFUSED = FixedError(InvalidArgument, "The service behind this tool refused the request as invalid.")
_NOT_SENT = FixedError(InvalidArgument, "The arguments do not make a request that the service would accept.", "none")
_CONFLICT = FixedError(Conflict, "The request is in conflict with the state of the service behind this tool.")

_AWS: tuple[tuple[FixedError, tuple[str, ...]], ...] = (
    (
        FixedError(RateLimited, "The service behind this tool had too many calls in a short time."),
        (
            "BandwidthLimitExceeded",
            "EC2ThrottledException",
            "PriorRequestNotComplete",
            "ProvisionedThroughputExceededException",
            "RequestLimitExceeded",
            "RequestThrottled",
            "RequestThrottledException",
            "SlowDown",
            "ThrottledException",
            "Throttling",
            "ThrottlingException",
            "TooManyRequestsException",
        ),
    ),
    (
        FixedError(QuotaExhausted, "A quota of the service behind this tool is used up."),
        ("LimitExceededException", "QuotaExceededException", "ServiceQuotaExceededException"),
    ),
    (
        FixedError(NotFound, "The service behind this tool does not have what was asked for."),
        (
            "NoSuchBucket",
            "NoSuchEntity",
            "NoSuchKey",
            "NoSuchUpload",
            "NoSuchVersion",
            "NotFound",
            "NotFoundException",
            "ParameterNotFound",
            "ResourceNotFoundException",
        ),
    ),
    (
        FixedError(PermissionDenied, "The service behind this tool refused the access."),
        ("AccessDenied", "AccessDeniedException", "AllAccessDisabled", "UnauthorizedOperation"),
    ),
    (
        _LOGIN,
        (
            "AuthFailure",
            "ExpiredToken",
            "ExpiredTokenException",
            "IncompleteSignature",
            "InvalidAccessKeyId",
            "InvalidClientTokenId",
            "InvalidSignatureException",
            "MissingAuthenticationToken",
            "RequestExpired",
            "SignatureDoesNotMatch",
            "UnrecognizedClientException",
        ),
    ),
    (
        FixedError(AlreadyExists),
        (
            "BucketAlreadyExists",
            "BucketAlreadyOwnedByYou",
            "EntityAlreadyExists",
            "ParameterAlreadyExists",
            "ResourceAlreadyExistsException",
            "ResourceExistsException",
        ),
    ),
    (
        _CONFLICT,
        (
            "ConditionalCheckFailedException",
            "ConditionalRequestConflict",
            "ConflictException",
            "OperationAborted",
            "ResourceInUseException",
            "TransactionCanceledException",
            "TransactionConflictException",
            "TransactionInProgressException",
        ),
    ),
    (_SLOW, ("RequestTimeout", "RequestTimeoutException", "ModelTimeoutException")),
    (_REFUSED, ("InvalidParameterValue", "InvalidParameterException", "ValidationError", "ValidationException")),
    (FixedError(Unavailable), ("ServiceUnavailable", "ServiceUnavailableException", "ModelNotReadyException")),
)

AWS_CODES: dict[str, FixedError] = {code: verdict for verdict, codes in _AWS for code in codes}
"""AWS error code -> verdict. The code says more than the status: DynamoDB throttles with 400."""


def _client_error(exc: Any) -> ToolError:
    """Return the error for botocore's `ClientError`, by the code of the service, then by the status."""
    response = _mapping(read(exc, "response"))
    about = _mapping(response.get("ResponseMetadata"))
    headers, status, code = (
        about.get("HTTPHeaders"),
        about.get("HTTPStatusCode"),
        _mapping(response.get("Error")).get("Code"),
    )
    verdict = AWS_CODES.get(code) if isinstance(code, str) else None
    if verdict is None:
        if status is None and isinstance(code, str) and code.isdecimal():
            status = int(code[:3])
        return from_status(status, headers)
    error = verdict(exc)
    error.retry_after_seconds = retry_after(headers)
    error.details.update({"status": status, "code": code})
    return error


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _google(exc: Any) -> ToolError:
    """Return the error for a `GoogleAPICallError` by its HTTP status, with the wait of its `RetryInfo`."""
    status = read(exc, "code")
    error = from_status(int(status) if isinstance(status, int) else None, read(read(exc, "response"), "headers"))
    for detail in read(exc, "details") or ():
        delay = read(detail, "retry_delay")
        if delay is not None:
            error.retry_after_seconds = float(read(delay, "seconds", 0)) + float(read(delay, "nanos", 0)) / 1e9
    return error


def _google_retries(exc: Any) -> ToolError | Inside:
    """Return the last failure for `RetryError`: the retries ran out of time."""
    cause = read(exc, "cause")
    return Inside(cause, _SLOW) if isinstance(cause, BaseException) else _SLOW(exc)


def _waiter(exc: Any) -> ToolError:
    """Return the error for a waiter that gave up: the service's own error, else the time that ran out."""
    last = _mapping(read(exc, "last_response"))
    if not _mapping(last.get("Error")).get("Code"):
        return FixedError(Timeout, "What this tool waited for did not happen in time.")(exc)
    verdict = AWS_CODES.get(last["Error"]["Code"])
    status = _mapping(last.get("ResponseMetadata")).get("HTTPStatusCode")
    return verdict(exc) if verdict is not None else from_status(status)


_BOTOCORE: Table = {
    "ClientError": _client_error,
    "WaiterError": _waiter,
    "ConnectTimeoutError": _NOT_CONNECTED_IN_TIME,
    "ReadTimeoutError": _SLOW,
    "EndpointConnectionError": _NOT_CONNECTED,
    "ProxyConnectionError": FixedError(Unavailable, "The proxy on the way to the service failed.", "none"),
    "SSLError": _TLS,
    "ConnectionError": _LOST,
    "HTTPClientError": _LOST,
    "IncompleteReadError": _LOST,
    "NoCredentialsError": _NO_CREDENTIALS,
    "PartialCredentialsError": _NO_CREDENTIALS,
    "CredentialRetrievalError": _NO_CREDENTIALS,
    "NoAuthTokenError": _NO_CREDENTIALS,
    "MetadataRetrievalError": _NO_CREDENTIALS,
    "TokenRetrievalError": _LOGIN,
    "SSOError": _LOGIN,
    "LoginError": _LOGIN,
    "BaseEndpointResolverError": _SETTINGS,
    "EndpointProviderError": _SETTINGS,
    "ProfileNotFound": _SETTINGS,
    "ConfigNotFound": _SETTINGS,
    "ConfigParseError": _SETTINGS,
    "InvalidConfigError": _SETTINGS,
    "InvalidRetryConfigurationError": _SETTINGS,
    "InvalidProxiesConfigError": _SETTINGS,
    "MissingDependencyException": _SETTINGS,
    "UnknownServiceError": _SETTINGS,
    "ParamValidationError": _NOT_SENT,
    "ValidationError": _NOT_SENT,
    "BotoCoreError": _FAILED,
}

_GOOGLE: Table = {
    "FailedPrecondition": FixedError(
        PreconditionFailed, "The service behind this tool is not in the state that this needs."
    ),
    "AlreadyExists": FixedError(AlreadyExists),
    "MethodNotImplemented": FixedError(Unsupported, "The service behind this tool does not support this."),
    "GoogleAPICallError": _google,
    "RetryError": _google_retries,
    "GoogleAPIError": _FAILED,
    "DefaultCredentialsError": _NO_CREDENTIALS,
    "MutualTLSChannelError": _SETTINGS,
    "ClientCertError": _SETTINGS,
    "TransportError": _LOST,
    "TimeoutError": _SLOW,
    "GoogleAuthError": _LOGIN,
}

TABLES: dict[str, Table] = {"botocore": _BOTOCORE, "google": _GOOGLE}
