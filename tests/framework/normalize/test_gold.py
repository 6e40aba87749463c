"""Exceptions of the libraries that tools use: every public class has its category, real ones their facts."""

from __future__ import annotations

import functools
import json
import re
import smtplib
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import anthropic
import asyncpg
import botocore.exceptions
import grpc
import httpx
import kubernetes.client.exceptions as kubernetes
import openai
import paramiko
import psycopg.errors
import pymongo.errors
import pymysql.err
import pytest
import yaml

from tests.doors import catalogue_module as catalogue, normalize
from tests.framework.normalize.gold import MODULES, TABLE, judged

OUR_BUGS = {"UsageError", "InternalClientError", "InvalidOperation"}
"""Classes that say that the tool itself is wrong."""


def outdated() -> list[str]:
    """Return the libraries that are not the ones that the table was written for: those of constraints.txt."""
    text = (Path(__file__).parents[3] / "constraints.txt").read_text()
    pinned = dict(
        re.findall(
            r"^(anthropic|asyncpg|grpcio|kubernetes|openai|paramiko|psycopg|pymongo|pymysql|pyyaml)==(\S+)",
            text,
            re.MULTILINE,
        )
    )
    assert len(pinned) == 10
    return [name for name, pin in pinned.items() if version(name) != pin]


@pytest.mark.skipif(bool(outdated()), reason=f"other versions than the table was written for: {outdated()}")
def test_every_public_class_has_the_category_of_the_gold_table():
    assert judged() == json.loads(TABLE.read_text())


def test_nothing_common_falls_to_internal():
    internal = {name for by_category in judged().values() for name in by_category.get("internal", [])}
    assert internal == OUR_BUGS


def test_every_category_of_the_table_exists():
    known = {entry.category for entry in catalogue.entries()}
    assert {category for by_category in judged().values() for category in by_category} <= known
    assert json.loads(TABLE.read_text()).keys() == MODULES.keys()


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


def api(status: int, body: str = "", **headers: str) -> BaseException:
    answer = SimpleNamespace(status=status, reason="", data=body.encode(), headers=headers, getheaders=lambda: headers)
    return kubernetes.ApiException(http_resp=answer)


def caught(function: Any, *arguments: Any) -> BaseException:
    try:
        function(*arguments)
    except Exception as error:  # noqa: BLE001 - whatever it raises is the case
        return error
    raise AssertionError


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
    (api(429, **{"Retry-After": "3"}), "RATE_LIMITED", 3.0, None),
    (api(409, '{"reason": "AlreadyExists"}'), "ALREADY_EXISTS", None, None),
    (api(409, '{"reason": "Conflict"}'), "CONFLICT", None, None),
    (provider(openai, "RateLimitError", 429, **{"retry-after": "2"}), "RATE_LIMITED", 2.0, None),
    (provider(openai, "RateLimitError", 429, {"code": "insufficient_quota"}), "QUOTA_EXHAUSTED", None, None),
    (provider(anthropic, "AuthenticationError", 401), "UNAUTHENTICATED", None, None),
    (anthropic.APITimeoutError(httpx.Request("POST", "http://127.0.0.1")), "TIMEOUT", None, None),
    (botocore.exceptions.WaiterError("w", "Max attempts exceeded", {}), "TIMEOUT", None, None),
    (botocore.exceptions.WaiterError("w", "r", {"Error": {"Code": "AccessDenied"}}), "PERMISSION_DENIED", None, None),
    (paramiko.ChannelException(4, "x"), "OVERLOADED", None, None),
    (paramiko.ssh_exception.NoValidConnectionsError({("h", 22): OSError()}), "UNAVAILABLE", None, "none"),
    (smtplib.SMTPDataError(451, b"later"), "UNAVAILABLE", None, None),
    (smtplib.SMTPDataError(552, b"full"), "QUOTA_EXHAUSTED", None, None),
    (smtplib.SMTPRecipientsRefused({"a@b": (450, b"grey")}), "UNAVAILABLE", None, None),
    (smtplib.SMTPRecipientsRefused({"a@b": (550, b"no")}), "INVALID_ARGUMENT", None, "none"),
    (subprocess.CalledProcessError(3, "x"), "UPSTREAM_ERROR", None, None),
    (zipfile.BadZipFile("x"), "UPSTREAM_ERROR", None, None),
]


@pytest.mark.parametrize(("exc", "code", "wait", "effect"), REAL, ids=lambda value: type(value).__name__)
def test_a_real_exception_has_its_code_its_wait_and_its_phase(exc, code, wait, effect):
    error = normalize(exc)
    assert (error.code, error.retry_after_seconds, error.effect) == (code, wait, effect)


@pytest.mark.parametrize(
    ("exc", "retry"),
    [
        (subprocess.CalledProcessError(3, "x", stderr="no such colour"), "after_fix"),
        (subprocess.CalledProcessError(3, "x"), "never"),
        (subprocess.CalledProcessError(-9, "x"), "after_delay"),
    ],
    ids=["with a reason", "without one", "killed"],
)
def test_a_program_that_failed_is_not_worth_the_same_call_again(exc, retry):
    assert normalize(exc).retry == retry


@pytest.mark.parametrize("command", [["/nonexistent/program"], [sys.executable, "-c", ""]], ids=["program", "folder"])
def test_a_program_that_cannot_be_started_is_for_the_operator(command, tmp_path):
    folder = tmp_path / "gone" if len(command) > 1 else tmp_path
    error = normalize(caught(functools.partial(subprocess.run, command, cwd=folder, check=True)))
    assert (error.code, error.effect, error.retry) == ("CONFIG_ERROR", "none", "never")


def test_a_file_that_a_tool_opens_itself_is_still_not_found():
    assert normalize(caught(open, "/nonexistent/file")).code == "NOT_FOUND"


@pytest.mark.parametrize(
    ("exc", "line"),
    [
        (caught(json.loads, '{\n"a": }'), 2),
        (caught(tomllib.loads, "a = 1\nb = "), None),
        (caught(yaml.safe_load, "a: 1\nb: [1\n"), 3),
        (caught(ET.fromstring, "<a>\n<b>\n</a>"), 3),
    ],
    ids=["json", "toml", "yaml", "xml"],
)
def test_the_place_of_a_fault_in_a_text_is_kept_for_developers(exc, line):
    error = normalize(exc)
    assert error.code == "UPSTREAM_ERROR"
    assert line is None or error.details["line"] == line
