"""Real exceptions of real libraries. Importing them takes half a second, so tests get this module as a fixture."""

from __future__ import annotations

import asyncio
import concurrent.futures
import errno
import http.client
import io
import json
import queue
import shutil
import socket
import sqlite3
import ssl
import subprocess
import urllib.error
from email.message import Message
from typing import Any

import aiohttp
import anyio
import botocore.exceptions
import google.api_core.exceptions as google
import google.auth.exceptions as google_auth
import httpcore
import httpcore2
import httpx
import httpx2
import jsonschema
import pydantic
import pydantic_core
import pydantic_settings
import redis.exceptions as redis
import requests
import sqlalchemy.exc as sqlalchemy
import sqlalchemy.orm.exc as orm
import starlette.exceptions
import tenacity
import urllib3.exceptions as urllib3
import werkzeug.exceptions as werkzeug
from aiohttp.client_reqrep import ConnectionKey
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from mcp import MCPError
from mcp.shared.exceptions import UrlElicitationRequiredError
from yarl import URL

from failsoft import DocumentNotFound

SECRET = "hunter2-4711"
"""In the text of every exception here, and in no sentence of a typed error."""


def httpx_status(library: Any, status: int, **headers: str) -> BaseException:
    request = library.Request("POST", f"http://localhost/{SECRET}")
    response = library.Response(status, headers=headers, request=request)
    try:
        response.raise_for_status()
    except library.HTTPStatusError as error:
        return error
    raise AssertionError


def requests_status(status: int, **headers: str) -> BaseException:
    response = requests.Response()
    response.status_code, response.url = status, f"http://localhost/{SECRET}"
    response.headers.update({name.replace("_", "-"): value for name, value in headers.items()})
    try:
        response.raise_for_status()
    except requests.HTTPError as error:
        return error
    raise AssertionError


def urllib_status(status: int, **headers: str) -> BaseException:
    message = Message()
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    return urllib.error.HTTPError(f"http://localhost/{SECRET}", status, SECRET, message, io.BytesIO())


def aws(code: str, status: int = 400, **headers: str) -> BaseException:
    return botocore.exceptions.ClientError(
        {
            "Error": {"Code": code, "Message": SECRET},
            "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": headers},
        },
        "GetObject",
    )


def aiohttp_status(status: int, **headers: str) -> BaseException:
    url = URL(f"http://localhost/{SECRET}")
    info = aiohttp.RequestInfo(url, "POST", {}, url)  # type: ignore[arg-type]
    return aiohttp.ClientResponseError(info, (), status=status, headers=headers)  # type: ignore[arg-type]


KEY = ConnectionKey("localhost", 1, is_ssl=False, ssl=True, proxy=None, proxy_auth=None, proxy_headers_hash=None)


class Driver(Exception):
    """An exception of a driver that no table knows, with a SQLSTATE as PEP 249 drivers carry it."""

    def __init__(self, sqlstate: str | None = None) -> None:
        super().__init__(SECRET)
        self.sqlstate = sqlstate


def dbapi(cls: type, sqlstate: str | None = None, orig: BaseException | None = None, **options: Any) -> BaseException:
    return cls("SELECT :p", {"p": SECRET}, orig or Driver(sqlstate), **options)


def sqlite(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError(SECRET)
    error.sqlite_errorcode = code
    return error


def caught(function: Any, *arguments: Any) -> BaseException:
    try:
        function(*arguments)
    except BaseException as error:  # noqa: BLE001 - that is what it is for
        return error
    raise AssertionError


class Model(pydantic.BaseModel):
    number: int
    name: str


def tenacity_error(inner: BaseException) -> BaseException:
    def fail() -> None:
        raise inner

    return caught(tenacity.Retrying(stop=tenacity.stop_after_attempt(1)), fail)


MAX_RETRY = urllib3.MaxRetryError(None, "/", urllib3.NewConnectionError(None, SECRET))  # type: ignore[arg-type]

ZOO: list[tuple[BaseException, str]] = [
    # Python
    (TimeoutError(SECRET), "TIMEOUT"),
    (TimeoutError(), "TIMEOUT"),
    (concurrent.futures.TimeoutError(), "TIMEOUT"),
    (MemoryError(), "OVERLOADED"),
    (NotImplementedError(SECRET), "UNSUPPORTED"),
    (RecursionError(SECRET), "UNKNOWN_ERROR"),
    (KeyError(SECRET), "UNKNOWN_ERROR"),
    (ValueError(SECRET), "UNKNOWN_ERROR"),
    (TypeError(SECRET), "UNKNOWN_ERROR"),
    (AssertionError(SECRET), "UNKNOWN_ERROR"),
    (ZeroDivisionError(), "UNKNOWN_ERROR"),
    (StopIteration(SECRET), "UNKNOWN_ERROR"),
    (EOFError(), "UNKNOWN_ERROR"),
    (UnicodeDecodeError("utf-8", b"\xff", 0, 1, SECRET), "BAD_OUTPUT"),
    (caught(json.loads, f"{{{SECRET}"), "BAD_OUTPUT"),
    (SystemExit(SECRET), "UNKNOWN_ERROR"),
    (KeyboardInterrupt(SECRET), "UNKNOWN_ERROR"),
    (GeneratorExit(SECRET), "UNKNOWN_ERROR"),
    (asyncio.CancelledError(SECRET), "UNKNOWN_ERROR"),
    (concurrent.futures.CancelledError(), "UNKNOWN_ERROR"),
    (concurrent.futures.BrokenExecutor(SECRET), "INTERNAL_ERROR"),
    (asyncio.IncompleteReadError(b"", 5), "UNAVAILABLE"),
    (asyncio.QueueFull(), "OVERLOADED"),
    (queue.Full(), "OVERLOADED"),
    (anyio.BrokenResourceError(), "UNAVAILABLE"),
    (anyio.EndOfStream(), "UNAVAILABLE"),
    (anyio.ClosedResourceError(), "UNKNOWN_ERROR"),
    (anyio.BrokenWorkerProcess(SECRET), "INTERNAL_ERROR"),
    (subprocess.CalledProcessError(3, SECRET), "UPSTREAM_ERROR"),
    (subprocess.TimeoutExpired(SECRET, 1), "TIMEOUT"),
    (tenacity_error(ConnectionRefusedError(SECRET)), "UNAVAILABLE"),
    (tenacity_error(KeyError(SECRET)), "UNKNOWN_ERROR"),
    (tenacity_error(DocumentNotFound(path="a.md")), "DOC_NOT_FOUND"),
    # The operating system, sockets and TLS
    (OSError(errno.EIO, SECRET), "STORAGE_ERROR"),
    (OSError(SECRET), "UNKNOWN_ERROR"),
    (OSError(errno.EBADF, SECRET), "UNKNOWN_ERROR"),
    (FileNotFoundError(SECRET), "NOT_FOUND"),
    (PermissionError(), "PERMISSION_DENIED"),
    (FileExistsError(), "ALREADY_EXISTS"),
    (ConnectionRefusedError(), "UNAVAILABLE"),
    (ConnectionError(SECRET), "UNAVAILABLE"),
    (BrokenPipeError(), "UNAVAILABLE"),
    (IsADirectoryError(), "INVALID_ARGUMENT"),
    (NotADirectoryError(), "INVALID_ARGUMENT"),
    (BlockingIOError(), "OVERLOADED"),
    (InterruptedError(), "UNAVAILABLE"),
    (ProcessLookupError(), "NOT_FOUND"),
    (io.UnsupportedOperation(SECRET), "UNKNOWN_ERROR"),
    (shutil.Error([SECRET]), "STORAGE_ERROR"),
    (shutil.SameFileError(SECRET), "STORAGE_ERROR"),
    (socket.gaierror(socket.EAI_NONAME, SECRET), "UNAVAILABLE"),
    (socket.herror(1, SECRET), "UNAVAILABLE"),
    (ssl.SSLError(1, SECRET), "UNAVAILABLE"),
    (ssl.SSLCertVerificationError(1, SECRET), "UPSTREAM_ERROR"),
    # HTTP clients
    *[
        (error, code)
        for library in (httpx, httpx2)
        for error, code in (
            (library.ConnectError(SECRET), "UNAVAILABLE"),
            (library.ConnectTimeout(SECRET), "TIMEOUT"),
            (library.PoolTimeout(SECRET), "TIMEOUT"),
            (library.ReadTimeout(SECRET), "TIMEOUT"),
            (library.WriteTimeout(SECRET), "TIMEOUT"),
            (library.ReadError(SECRET), "UNAVAILABLE"),
            (library.WriteError(SECRET), "UNAVAILABLE"),
            (library.CloseError(SECRET), "UNAVAILABLE"),
            (library.RemoteProtocolError(SECRET), "UNAVAILABLE"),
            (library.LocalProtocolError(SECRET), "UNKNOWN_ERROR"),
            (library.ProxyError(SECRET), "UNAVAILABLE"),
            (library.UnsupportedProtocol(SECRET), "INVALID_ARGUMENT"),
            (library.InvalidURL(SECRET), "INVALID_ARGUMENT"),
            (library.DecodingError(SECRET), "UPSTREAM_ERROR"),
            (library.TooManyRedirects(SECRET), "UPSTREAM_ERROR"),
            (library.StreamConsumed(), "UNKNOWN_ERROR"),
            (library.HTTPError(SECRET), "UPSTREAM_ERROR"),
            (httpx_status(library, 404), "NOT_FOUND"),
            (httpx_status(library, 429), "RATE_LIMITED"),
            (httpx_status(library, 500), "UPSTREAM_ERROR"),
        )
    ],
    (httpx2.SSEError(SECRET), "UPSTREAM_ERROR"),
    (httpcore.ConnectError(SECRET), "UNAVAILABLE"),
    (httpcore2.ReadTimeout(SECRET), "TIMEOUT"),
    (requests.ConnectionError(MAX_RETRY), "UNAVAILABLE"),
    (requests.ConnectionError(urllib3.ProtocolError(SECRET)), "UNAVAILABLE"),
    (requests.ConnectionError(SECRET), "UNAVAILABLE"),
    (requests.ConnectTimeout(SECRET), "TIMEOUT"),
    (requests.ReadTimeout(SECRET), "TIMEOUT"),
    (requests.exceptions.SSLError(SECRET), "UNAVAILABLE"),
    (requests.exceptions.ProxyError(SECRET), "UNAVAILABLE"),
    (requests.exceptions.ChunkedEncodingError(SECRET), "UNAVAILABLE"),
    (requests.JSONDecodeError(SECRET, "", 0), "UPSTREAM_ERROR"),
    (requests.exceptions.InvalidURL(SECRET), "INVALID_ARGUMENT"),
    (requests.exceptions.MissingSchema(SECRET), "INVALID_ARGUMENT"),
    (requests.TooManyRedirects(SECRET), "UPSTREAM_ERROR"),
    (requests.RequestException(SECRET), "UPSTREAM_ERROR"),
    (requests_status(403), "PERMISSION_DENIED"),
    (requests.HTTPError(SECRET), "UPSTREAM_ERROR"),
    (MAX_RETRY, "UNAVAILABLE"),
    (urllib3.NameResolutionError("h", None, socket.gaierror(SECRET)), "UNAVAILABLE"),  # type: ignore[arg-type]
    (urllib3.ConnectTimeoutError(SECRET), "TIMEOUT"),
    (urllib3.ReadTimeoutError(None, "/", SECRET), "TIMEOUT"),  # type: ignore[arg-type]
    (urllib3.IncompleteRead(1, 2), "UNAVAILABLE"),
    (urllib3.EmptyPoolError(None, SECRET), "OVERLOADED"),  # type: ignore[arg-type]
    (urllib3.LocationParseError(SECRET), "INVALID_ARGUMENT"),
    (urllib3.HTTPError(SECRET), "UPSTREAM_ERROR"),
    (urllib.error.URLError(ConnectionRefusedError(errno.ECONNREFUSED, SECRET)), "UNAVAILABLE"),
    (urllib.error.URLError(TimeoutError(SECRET)), "TIMEOUT"),
    (urllib_status(410), "NOT_FOUND"),
    (http.client.RemoteDisconnected(SECRET), "UNAVAILABLE"),
    (http.client.BadStatusLine(SECRET), "UPSTREAM_ERROR"),
    (http.client.CannotSendRequest(SECRET), "UNKNOWN_ERROR"),
    (aiohttp.ClientConnectorError(KEY, OSError(errno.ECONNREFUSED, SECRET)), "UNAVAILABLE"),
    (aiohttp.ConnectionTimeoutError(SECRET), "TIMEOUT"),
    (aiohttp.ServerTimeoutError(SECRET), "TIMEOUT"),
    (aiohttp.ServerDisconnectedError(SECRET), "UNAVAILABLE"),
    (aiohttp.ClientPayloadError(SECRET), "UNAVAILABLE"),
    (aiohttp.ClientOSError(errno.EPIPE, SECRET), "UNAVAILABLE"),
    (aiohttp.InvalidURL(SECRET), "INVALID_ARGUMENT"),
    (aiohttp_status(502), "UPSTREAM_ERROR"),
    (aiohttp_status(401), "UNAUTHENTICATED"),
    # Databases
    (sqlite(sqlite3.SQLITE_BUSY), "UNAVAILABLE"),
    (sqlite(sqlite3.SQLITE_LOCKED), "UNAVAILABLE"),
    (sqlite(sqlite3.SQLITE_IOERR_SHORT_READ), "STORAGE_ERROR"),
    (sqlite(sqlite3.SQLITE_AUTH), "PERMISSION_DENIED"),
    (sqlite(sqlite3.SQLITE_NOMEM), "OVERLOADED"),
    (sqlite3.ProgrammingError(SECRET), "DATABASE_ERROR"),
    (sqlite3.IntegrityError(SECRET), "CONFLICT"),
    (sqlite3.Warning(SECRET), "DATABASE_ERROR"),
    (dbapi(sqlalchemy.OperationalError), "DATABASE_ERROR"),
    (dbapi(sqlalchemy.OperationalError, connection_invalidated=True), "UNAVAILABLE"),
    (dbapi(sqlalchemy.OperationalError, "08006"), "UNAVAILABLE"),
    (dbapi(sqlalchemy.OperationalError, "57014"), "TIMEOUT"),
    (dbapi(sqlalchemy.OperationalError, "53300"), "OVERLOADED"),
    (dbapi(sqlalchemy.OperationalError, "53100"), "STORAGE_ERROR"),
    (dbapi(sqlalchemy.DBAPIError, "40001"), "CONFLICT"),
    (dbapi(sqlalchemy.OperationalError, orig=sqlite(sqlite3.SQLITE_FULL)), "STORAGE_ERROR"),
    (dbapi(sqlalchemy.OperationalError, orig=TimeoutError(SECRET)), "TIMEOUT"),
    (dbapi(sqlalchemy.IntegrityError), "CONFLICT"),
    (dbapi(sqlalchemy.DataError), "INVALID_ARGUMENT"),
    (dbapi(sqlalchemy.ProgrammingError, "42501"), "PERMISSION_DENIED"),
    (dbapi(sqlalchemy.ProgrammingError), "DATABASE_ERROR"),
    (sqlalchemy.TimeoutError(SECRET), "TIMEOUT"),
    (sqlalchemy.NoResultFound(SECRET), "NOT_FOUND"),
    (orm.StaleDataError(SECRET), "CONFLICT"),
    (sqlalchemy.ArgumentError(SECRET), "UNKNOWN_ERROR"),
    (sqlalchemy.SQLAlchemyError(SECRET), "DATABASE_ERROR"),
    (redis.ConnectionError(SECRET), "UNAVAILABLE"),
    (redis.TimeoutError(SECRET), "TIMEOUT"),
    (redis.AuthenticationError(SECRET), "UNAUTHENTICATED"),
    (redis.NoPermissionError(SECRET), "PERMISSION_DENIED"),
    (redis.BusyLoadingError(SECRET), "UNAVAILABLE"),
    (redis.MaxConnectionsError(SECRET), "OVERLOADED"),
    (redis.OutOfMemoryError(SECRET), "STORAGE_ERROR"),
    (redis.ReadOnlyError(SECRET), "UNAVAILABLE"),
    (redis.WatchError(SECRET), "CONFLICT"),
    (redis.LockError(SECRET), "CONFLICT"),
    (redis.ClusterDownError(SECRET), "UNAVAILABLE"),
    (redis.ResponseError(SECRET), "DATABASE_ERROR"),
    # Clouds
    (aws("NoSuchKey", 404), "NOT_FOUND"),
    (aws("404", 404), "NOT_FOUND"),
    (aws("ThrottlingException"), "RATE_LIMITED"),
    (aws("ServiceQuotaExceededException"), "QUOTA_EXHAUSTED"),
    (aws("AccessDenied", 403), "PERMISSION_DENIED"),
    (aws("ExpiredToken"), "UNAUTHENTICATED"),
    (aws("ConditionalCheckFailedException"), "CONFLICT"),
    (aws("SomethingNew", 500), "UPSTREAM_ERROR"),
    (aws("SomethingNew", 400), "INVALID_ARGUMENT"),
    (botocore.exceptions.ClientError({}, "Op"), "UPSTREAM_ERROR"),
    (botocore.exceptions.EndpointConnectionError(endpoint_url=SECRET), "UNAVAILABLE"),
    (botocore.exceptions.ConnectTimeoutError(endpoint_url=SECRET), "TIMEOUT"),
    (botocore.exceptions.ReadTimeoutError(endpoint_url=SECRET), "TIMEOUT"),
    (botocore.exceptions.ConnectionClosedError(endpoint_url=SECRET), "UNAVAILABLE"),
    (botocore.exceptions.SSLError(endpoint_url=SECRET, error=SECRET), "UNAVAILABLE"),
    (botocore.exceptions.NoCredentialsError(), "CONFIG_ERROR"),
    (botocore.exceptions.NoRegionError(), "CONFIG_ERROR"),
    (botocore.exceptions.ParamValidationError(report=SECRET), "INVALID_ARGUMENT"),
    (botocore.exceptions.UnknownClientMethodError(method_name=SECRET), "UPSTREAM_ERROR"),
    (google.NotFound(SECRET), "NOT_FOUND"),
    (google.InvalidArgument(SECRET), "INVALID_ARGUMENT"),
    (google.FailedPrecondition(SECRET), "PRECONDITION_FAILED"),
    (google.AlreadyExists(SECRET), "ALREADY_EXISTS"),
    (google.Aborted(SECRET), "CONFLICT"),
    (google.PermissionDenied(SECRET), "PERMISSION_DENIED"),
    (google.Unauthenticated(SECRET), "UNAUTHENTICATED"),
    (google.ResourceExhausted(SECRET), "RATE_LIMITED"),
    (google.DeadlineExceeded(SECRET), "TIMEOUT"),
    (google.ServiceUnavailable(SECRET), "UNAVAILABLE"),
    (google.InternalServerError(SECRET), "UPSTREAM_ERROR"),
    (google.MethodNotImplemented(SECRET), "UNSUPPORTED"),
    (google.GoogleAPICallError(SECRET), "UPSTREAM_ERROR"),
    (google.RetryError(SECRET, google.ServiceUnavailable(SECRET)), "UNAVAILABLE"),
    (google.RetryError(SECRET, None), "TIMEOUT"),
    (google_auth.DefaultCredentialsError(SECRET), "CONFIG_ERROR"),
    (google_auth.RefreshError(SECRET), "UNAUTHENTICATED"),
    (google_auth.TransportError(SECRET), "UNAVAILABLE"),
    # Web frameworks and MCP
    (werkzeug.NotFound(SECRET), "NOT_FOUND"),
    (werkzeug.TooManyRequests(SECRET), "RATE_LIMITED"),
    (werkzeug.ServiceUnavailable(SECRET), "UNAVAILABLE"),
    (werkzeug.BadRequestKeyError(SECRET), "INVALID_ARGUMENT"),
    (werkzeug.HTTPException(SECRET), "UPSTREAM_ERROR"),
    (starlette.exceptions.HTTPException(409, SECRET), "CONFLICT"),
    (starlette.exceptions.HTTPException(501, SECRET), "UNSUPPORTED"),
    (MCPError(-32602, SECRET), "UPSTREAM_ERROR"),
    (UrlElicitationRequiredError([], SECRET), "UPSTREAM_ERROR"),
    # Checks of the handler itself
    (caught(Model.model_validate, {"number": SECRET}), "VALIDATION_ERROR"),
    (caught(jsonschema.validate, SECRET, {"type": "integer"}), "VALIDATION_ERROR"),
    (caught(pydantic_core.to_json, object()), "BAD_OUTPUT"),
    (pydantic_settings.SettingsError(SECRET), "CONFIG_ERROR"),
]

NEVER_SENT = [
    httpx.ConnectError(SECRET),
    httpx.ConnectTimeout(SECRET),
    httpx.PoolTimeout(SECRET),
    httpx2.ConnectError(SECRET),
    httpx.UnsupportedProtocol(SECRET),
    requests.ConnectionError(MAX_RETRY),
    requests.ConnectTimeout(SECRET),
    urllib3.EmptyPoolError(None, SECRET),  # type: ignore[arg-type]
    urllib.error.URLError(ConnectionRefusedError()),
    aiohttp.ClientConnectorError(KEY, OSError(errno.ECONNREFUSED, SECRET)),
    aiohttp.ConnectionTimeoutError(SECRET),
    botocore.exceptions.EndpointConnectionError(endpoint_url=SECRET),
    botocore.exceptions.NoCredentialsError(),
    sqlalchemy.TimeoutError(SECRET),
    redis.MaxConnectionsError(SECRET),
    socket.gaierror(socket.EAI_AGAIN, SECRET),
    ConnectionRefusedError(),
]
"""Exceptions that say that a request never left."""

PERHAPS_SENT = [
    httpx.ReadTimeout(SECRET),
    httpx.RemoteProtocolError(SECRET),
    httpx_status(httpx, 500),
    requests.ConnectionError(urllib3.ProtocolError(SECRET)),
    requests.ReadTimeout(SECRET),
    aiohttp.ServerDisconnectedError(SECRET),
    botocore.exceptions.ReadTimeoutError(endpoint_url=SECRET),
    ConnectionResetError(),
    TimeoutError(),
]
"""Exceptions after which a request may have been carried out."""

ASKING_TO_WAIT = [
    httpx_status(httpx, 429, **{"Retry-After": "7"}),
    httpx_status(httpx2, 503, **{"retry-after": "7"}),
    requests_status(429, Retry_After="7"),
    urllib_status(503, Retry_After="7"),
    aiohttp_status(429, **{"Retry-After": "7"}),
    aws("SlowDown", 503, **{"retry-after": "7"}),
    aws("SomethingNew", 503, **{"retry-after": "7"}),
    google.ServiceUnavailable(SECRET, details=[RetryInfo(retry_delay=Duration(seconds=7))]),
    werkzeug.TooManyRequests(retry_after=7),
    starlette.exceptions.HTTPException(503, headers={"RETRY-AFTER": "7"}),
]
"""Answers that ask for seven seconds."""
