"""The exception zoo: real exceptions of real libraries, and what each becomes."""

from __future__ import annotations

import errno
import importlib
from functools import cache
from types import ModuleType

import pytest

from tests.doors import TABLES, normalize
from tests.each import each


@cache
def zoo() -> ModuleType:
    """Import the exceptions, and with them their libraries, for these tests alone."""
    return importlib.import_module("tests.framework.normalize.zoo")


@each("exc, code", lambda: zoo().ZOO)
def test_an_exception_becomes_its_error(exc, code):
    error = normalize(exc)
    assert error.code == code
    assert exc is error or error.__cause__ is exc or type(exc) is zoo().tenacity.RetryError


@each("exc", lambda: [exc for exc, _ in zoo().ZOO if zoo().SECRET in str(exc)])
def test_no_foreign_text_is_sent(exc):
    error = normalize(exc)
    own = error.message.partition(" It said: ")[0]  # what botocore and google report of a request is quoted
    assert zoo().SECRET not in repr((own, error.suggestions, error.public(), error.violations, error.details))


@each("exc", lambda: zoo().NEVER_SENT)
def test_what_was_never_sent_has_changed_nothing(exc):
    assert normalize(exc).effect == "none"


@each("exc", lambda: zoo().PERHAPS_SENT)
def test_what_may_have_been_sent_is_not_called_unchanged(exc):
    assert normalize(exc).effect is None


@each("exc", lambda: zoo().ASKING_TO_WAIT)
def test_the_wait_that_a_service_asks_for_is_kept(exc):
    assert normalize(exc).retry_after_seconds == 7.0


def test_every_fault_that_a_handlers_own_check_found_is_listed():
    error = normalize(zoo().caught(zoo().Model.model_validate, {"number": "x"}))
    assert [(one.path, one.reason, one.received) for one in error.violations] == [
        ("number", "type", None),
        ("name", "missing", None),
    ]


def test_an_upstream_servers_code_is_kept_for_developers():
    assert normalize(zoo().MCPError(-32602, zoo().SECRET)).details["code"] == -32602


def test_the_statement_and_its_parameters_stay_out_of_the_log():
    error = normalize(zoo().dbapi(zoo().sqlalchemy.OperationalError, orig=zoo().Driver()))
    assert "SELECT" not in error.operator_hint


def test_the_codes_of_the_drivers_are_kept_for_developers():
    assert normalize(OSError(errno.ENOENT, "x", "a.md")).details == {
        "errno": "ENOENT",
        "path": "a.md",
        "type": "FileNotFoundError",
    }
    assert normalize(zoo().dbapi(zoo().sqlalchemy.DBAPIError, "40001")).details["sqlstate"] == "40001"
    assert normalize(zoo().httpx_status(zoo().httpx, 404)).details["status"] == 404


@pytest.mark.xdist_group("libraries")  # as the gold table
def test_every_rule_is_for_a_class_that_its_library_has():
    """A renamed class must not leave a rule that never fires."""
    homes = {
        "google": ["google.api_core.exceptions", "google.auth.exceptions"],
        "sqlalchemy": ["sqlalchemy.exc", "sqlalchemy.orm.exc"],
        "concurrent": ["concurrent.futures", "concurrent.futures._base"],
        "http": ["http.client"],
        "urllib": ["urllib.error"],
        "redis": ["redis.exceptions"],
        "requests": ["requests.exceptions"],
        "urllib3": ["urllib3.exceptions"],
        "botocore": ["botocore.exceptions"],
        "werkzeug": ["werkzeug.exceptions"],
        "starlette": ["starlette.exceptions"],
        "aiohttp": ["aiohttp", "aiohttp.web", "aiohttp.http_exceptions"],
        "builtins": ["builtins"],
        "asyncpg": ["asyncpg.exceptions"],
        "bson": ["bson.errors"],
        "grpc": ["grpc", "grpc.aio"],
        "psycopg": ["psycopg.errors", "psycopg"],
        "pymongo": ["pymongo.errors"],
        "pymysql": ["pymysql.err"],
        "xml": ["xml.etree.ElementTree", "xml.parsers.expat", "xml.sax"],
    }
    later = {
        "aiohttp": {"UploadAbortedError"},
        "botocore": {"LoginError"},
        "redis": {"ExternalAuthProviderError"},
    }
    absent = {"psycopg2", "psycopg_pool", "MySQLdb", "mysql", "tomli"}
    only_httpx = set(TABLES["httpx"]) - set(dir(zoo().httpx2))
    assert only_httpx == set()
    for root in TABLES.keys() - absent - {"httpx", "httpcore", "httpcore2"}:
        names = {name for home in homes.get(root, [root]) for name in dir(importlib.import_module(home))}
        assert set(TABLES[root]) - names <= later.get(root, set()), root
