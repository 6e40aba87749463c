"""Errors of cloud SDKs: botocore by error code and status, google-api-core and google-auth by class, gRPC by code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failsoft.framework.errors import ToolError
from failsoft.framework.normalize.http_status import REFUSALS, from_status, is_only_write, parse_wait, retry_after
from failsoft.framework.normalize.outcomes import OUTCOMES, Inside, Table, called, coded, read, rows

AWS_CODES = coded(
    limited="BandwidthLimitExceeded EC2ThrottledException PriorRequestNotComplete"
    " ProvisionedThroughputExceededException RequestLimitExceeded RequestThrottled RequestThrottledException SlowDown"
    " ThrottledException Throttling ThrottlingException TooManyRequestsException",
    quota="LimitExceededException QuotaExceededException ServiceQuotaExceededException",
    missing="NoSuchBucket NoSuchEntity NoSuchKey NoSuchUpload NoSuchVersion NotFound NotFoundException"
    " ParameterNotFound ResourceNotFoundException",
    denied="AccessDenied AccessDeniedException AllAccessDisabled UnauthorizedOperation",
    login="AuthFailure ExpiredToken ExpiredTokenException IncompleteSignature InvalidAccessKeyId InvalidClientTokenId"
    " InvalidSignatureException MissingAuthenticationToken RequestExpired SignatureDoesNotMatch"
    " UnrecognizedClientException",
    exists="BucketAlreadyExists BucketAlreadyOwnedByYou EntityAlreadyExists ParameterAlreadyExists"
    " ResourceAlreadyExistsException ResourceExistsException",
    conflict="ConditionalCheckFailedException ConditionalRequestConflict ConflictException OperationAborted"
    " ResourceInUseException TransactionCanceledException TransactionConflictException TransactionInProgressException",
    slow="RequestTimeout RequestTimeoutException ModelTimeoutException",
    refused="InvalidParameterValue InvalidParameterException ValidationError ValidationException",
    unavailable="ServiceUnavailable ServiceUnavailableException ModelNotReadyException",
)
"""AWS error code -> outcome. The code says more than the status: DynamoDB throttles with 400."""

GRPC_CODES = coded(
    cancelled="CANCELLED",
    failed="UNKNOWN INTERNAL",
    refused="INVALID_ARGUMENT OUT_OF_RANGE",
    slow="DEADLINE_EXCEEDED",
    missing="NOT_FOUND",
    exists="ALREADY_EXISTS",
    denied="PERMISSION_DENIED",
    limited="RESOURCE_EXHAUSTED",
    state="FAILED_PRECONDITION",
    conflict="ABORTED",
    unsupported="UNIMPLEMENTED",
    unavailable="UNAVAILABLE",
    data_loss="DATA_LOSS",
    login="UNAUTHENTICATED",
)
"""gRPC status -> outcome, https://grpc.io/docs/guides/status-codes/."""


def _client_error(exc: Any) -> ToolError:
    """Return the error for botocore's `ClientError`, by the code of the service, then by the status."""
    return _aws(_mapping(read(exc, "response")), exc)


def _waiter(exc: Any) -> ToolError:
    """Return the error for a waiter that gave up: the service's own error, else the time that ran out."""
    last = _mapping(read(exc, "last_response"))
    return _aws(last, exc) if _mapping(last.get("Error")).get("Code") else OUTCOMES["waited"](exc)


def _aws(response: Mapping[str, Any], exc: Any) -> ToolError:
    about, code = _mapping(response.get("ResponseMetadata")), _mapping(response.get("Error")).get("Code")
    headers, status = about.get("HTTPHeaders"), about.get("HTTPStatusCode")
    outcome = AWS_CODES.get(code) if isinstance(code, str) else None
    if outcome is None:
        if status is None and isinstance(code, str) and code.isdecimal():
            status = int(code[:3])
        return from_status(status, headers, is_answer=not about.get("RetryAttempts"))
    error = outcome(exc)
    error.is_refusal = status in REFUSALS and not about.get("RetryAttempts")
    error.retry_after_seconds = retry_after(headers)
    error.details.update({"status": status, "code": code})
    return error


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _google(exc: Any) -> ToolError:
    """Return the error for a `GoogleAPICallError` by its HTTP status, with the wait of its `RetryInfo`."""
    status = read(exc, "code")
    response = read(exc, "response")
    is_answer = is_only_write(response, read(response, "request"))
    error = from_status(
        int(status) if isinstance(status, int) else None, read(response, "headers"), is_answer=is_answer
    )
    for detail in read(exc, "details") or ():
        delay = read(detail, "retry_delay")
        if delay is not None:
            error.retry_after_seconds = float(read(delay, "seconds", 0)) + float(read(delay, "nanos", 0)) / 1e9
    return error


def _google_retries(exc: Any) -> ToolError | Inside:
    """Return the last failure for `RetryError`: the retries ran out of time."""
    cause = read(exc, "cause")
    return Inside(cause, OUTCOMES["slow"]) if isinstance(cause, BaseException) else OUTCOMES["slow"](exc)


def _grpc(exc: Any) -> ToolError:
    """Return the error for an `RpcError` by its status, with the wait that its trailing metadata asks for."""
    name = read(called(exc, "code"), "name")
    error = GRPC_CODES.get(name, OUTCOMES["failed"])(exc)
    metadata = called(exc, "trailing_metadata") or ()
    pairs = [pair for pair in metadata if isinstance(pair, tuple) and len(pair) == 2]  # noqa: PLR2004 - key, value
    trailing = {str(key).lower(): value for key, value in pairs}
    pushback_ms = parse_wait(trailing.get("grpc-retry-pushback-ms"))
    error.retry_after_seconds = pushback_ms / 1000 if pushback_ms is not None else retry_after(trailing)
    error.details["status"] = str(name)
    if trailing.get("x-request-id"):
        error.details["request_id"] = str(trailing["x-request-id"])
    return error


TABLES: dict[str, Table] = {
    "botocore": {
        "ClientError": _client_error,
        "WaiterError": _waiter,
        **rows(
            slow_connect="ConnectTimeoutError",
            slow="ReadTimeoutError",
            unreachable="EndpointConnectionError",
            proxy="ProxyConnectionError",
            tls="SSLError",
            lost="ConnectionError HTTPClientError IncompleteReadError",
            credentials="NoCredentialsError PartialCredentialsError CredentialRetrievalError NoAuthTokenError"
            " MetadataRetrievalError",
            login="TokenRetrievalError SSOError LoginError",
            settings="BaseEndpointResolverError EndpointProviderError ProfileNotFound ConfigNotFound ConfigParseError"
            " InvalidConfigError InvalidRetryConfigurationError InvalidProxiesConfigError MissingDependencyException"
            " UnknownServiceError",
            not_sent="ParamValidationError ValidationError",
            failed="BotoCoreError",
        ),
    },
    "google": {
        "GoogleAPICallError": _google,
        "RetryError": _google_retries,
        **rows(
            state="FailedPrecondition",
            exists="AlreadyExists",
            unsupported="MethodNotImplemented",
            failed="GoogleAPIError",
            credentials="DefaultCredentialsError",
            settings="MutualTLSChannelError ClientCertError",
            lost="TransportError",
            slow="TimeoutError",
            login="GoogleAuthError",
        ),
    },
    "grpc": {
        "RpcError": _grpc,
        **rows(slow="FutureTimeoutError", unavailable="FutureCancelledError", defect="UsageError", failed="BaseError"),
    },
}
