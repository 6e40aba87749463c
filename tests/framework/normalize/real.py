"""Real exceptions of large libraries: importing them takes two seconds, so only the test that needs them does."""

from __future__ import annotations

import subprocess
import zipfile
from typing import Any

import anthropic
import asyncpg
import botocore.exceptions
import grpc
import httpx
import openai
import psycopg.errors
import pymongo.errors
import pymysql.err


class Rpc(grpc.RpcError):
    def __init__(self, code: Any, metadata: Any = ()) -> None:
        self._code, self._metadata = code, metadata

    def code(self) -> Any:
        return self._code

    def trailing_metadata(self) -> Any:
        return self._metadata


def provider(library: Any, name: str, status: int, body: Any = None, **headers: str) -> BaseException:
    request = httpx.Request("POST", "http://127.0.0.1/v1")
    response = httpx.Response(status, headers=headers, request=request)
    made: BaseException = getattr(library, name)("text", response=response, body=body)
    return made


REAL = [
    (Rpc(grpc.StatusCode.NOT_FOUND), "NOT_FOUND", None, None),
    (Rpc(grpc.StatusCode.UNAVAILABLE), "UNAVAILABLE", None, None),
    (Rpc(grpc.StatusCode.RESOURCE_EXHAUSTED, (("grpc-retry-pushback-ms", "7000"),)), "RATE_LIMITED", 7.0, None),
    (Rpc(grpc.StatusCode.DEADLINE_EXCEEDED), "TIMEOUT", None, None),
    (psycopg.errors.UniqueViolation("x"), "CONFLICT", None, None),
    (psycopg.OperationalError("connection refused"), "UNAVAILABLE", None, None),
    (psycopg.errors.QueryCanceled("x"), "TIMEOUT", None, None),
    (asyncpg.exceptions.DeadlockDetectedError("x"), "CONFLICT", None, None),
    (asyncpg.exceptions.TooManyConnectionsError("x"), "OVERLOADED", None, None),
    (pymysql.err.OperationalError(2003, "can't connect"), "UNAVAILABLE", None, "none"),
    (pymysql.err.OperationalError(1213, "deadlock"), "CONFLICT", None, None),
    (pymysql.err.OperationalError(1045, "denied"), "UNAUTHENTICATED", None, None),
    (pymysql.err.IntegrityError(1062, "duplicate"), "CONFLICT", None, None),
    (pymongo.errors.ServerSelectionTimeoutError("x"), "UNAVAILABLE", None, "none"),
    (pymongo.errors.OperationFailure("x", 13), "PERMISSION_DENIED", None, None),
    (pymongo.errors.BulkWriteError({"writeErrors": [{"code": 11000}]}), "CONFLICT", None, None),
    (provider(openai, "RateLimitError", 429, **{"retry-after": "2"}), "RATE_LIMITED", 2.0, None),
    (provider(openai, "RateLimitError", 429, {"code": "insufficient_quota"}), "QUOTA_EXHAUSTED", None, None),
    (provider(anthropic, "AuthenticationError", 401), "UNAUTHENTICATED", None, None),
    (anthropic.APITimeoutError(httpx.Request("POST", "http://127.0.0.1")), "TIMEOUT", None, None),
    (botocore.exceptions.WaiterError("w", "Max attempts exceeded", {}), "TIMEOUT", None, None),
    (botocore.exceptions.WaiterError("w", "r", {"Error": {"Code": "AccessDenied"}}), "PERMISSION_DENIED", None, None),
    (subprocess.CalledProcessError(3, "x"), "UPSTREAM_ERROR", None, None),
    (zipfile.BadZipFile("x"), "BAD_OUTPUT", None, None),
]
"""Exception -> code, wait and effect."""
