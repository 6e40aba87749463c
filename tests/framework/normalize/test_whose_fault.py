"""Whose fault a normalized exception is, whether a repetition helps, and what is kept of its cause."""

from __future__ import annotations

import io
import json
import lzma
import sqlite3
import tarfile
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import httpx
import pydantic
import pymongo.errors
import pymysql
import pytest
import redis
import yaml
from loguru import logger

from failsoft import BaseTool, Failure, operation
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class Item(pydantic.BaseModel):
    """A record of the server's own."""

    size: int


class Store(BaseTool):
    """Runs what it holds, with and without arguments."""

    run: Callable[[], object] = int

    @operation(read_only=True)
    async def read_all(self) -> str:
        """Read everything."""
        return str(self.run())

    @operation(read_only=True)
    async def read_item(self, key: str) -> str:
        """Read an item."""
        return key + str(self.run())


async def failed(run: Callable[[], object], name: str = "read_item", **settings: Any) -> Failure:
    """Return the failure of an operation that runs this."""
    store = Store(runtime=quiet_runtime(**settings))
    store.run = run
    response = await store.execute_with_error_handling(name, {} if name == "read_all" else {"key": "k"})
    if response.error is None:
        pytest.fail("the call has worked")
    return response.error


def raising(error: BaseException) -> Callable[[], object]:
    """Return a function that raises this."""

    def run() -> None:
        raise error

    return run


def database() -> sqlite3.Connection:
    """Return a database in memory with constraints of every kind."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE lots (amount INTEGER CHECK (amount > 0), kind TEXT NOT NULL)")
    return connection


@pytest.fixture
def tables() -> Iterator[sqlite3.Connection]:
    connection = database()
    yield connection
    connection.close()


async def test_misuse_of_sqlite_is_a_defect_and_no_reason_to_call_again(tables: sqlite3.Connection) -> None:
    closed = database()
    closed.close()
    mistakes: dict[str, Callable[[], object]] = {
        "closed": lambda: closed.execute("SELECT 1"),
        "bound": lambda: tables.execute("SELECT ?", (object(),)),
        "counted": lambda: tables.execute("SELECT ?, ?", ("a",)),
        "unsupported": raising(sqlite3.NotSupportedError("not in this build")),
        "interface": raising(sqlite3.InterfaceError("bad parameter or other API misuse")),
    }
    advised = {name: (await failed(run)).retry.when for name, run in mistakes.items()}
    assert advised == dict.fromkeys(mistakes, "never")


async def test_a_drivers_errors_of_misuse_are_never_worth_a_repetition() -> None:
    mistakes = [
        pymysql.ProgrammingError("the cursor is closed"),
        pymysql.ProgrammingError(1064, "You have an error in your SQL syntax"),
        pymysql.NotSupportedError(1235, "This version does not support it"),
        pymysql.NotSupportedError("not supported"),
        redis.exceptions.DataError("Invalid input of type: 'object'"),
    ]
    advised = [(error, (await failed(raising(error))).retry.when) for error in mistakes]
    assert [(error, when) for error, when in advised if when != "never"] == []


@pytest.mark.xdist_group("libraries")
async def test_a_programming_error_of_sqlalchemy_and_psycopg_is_never_worth_a_repetition() -> None:
    import psycopg  # noqa: PLC0415 - takes a while to import
    import sqlalchemy.exc  # noqa: PLC0415 - the same

    mistakes = [
        psycopg.ProgrammingError("the last operation did not produce a result"),
        sqlalchemy.exc.ProgrammingError("SELECT 1", {}, psycopg.ProgrammingError("no result")),
        sqlalchemy.exc.ProgrammingError("SELECT ?", {}, sqlite3.ProgrammingError("no such type")),
        sqlalchemy.exc.InterfaceError("SELECT ?", {}, sqlite3.InterfaceError("misuse")),
    ]
    advised = [(error, (await failed(raising(error))).retry.when) for error in mistakes]
    assert [(error, when) for error, when in advised if when != "never"] == []


async def test_an_exception_in_a_call_without_arguments_is_never_the_callers(tables: sqlite3.Connection) -> None:
    faults: dict[str, Callable[[], object]] = {
        "missing file": raising(FileNotFoundError(2, "No such file", "catalogue.db")),
        "missing table": lambda: tables.execute("SELECT * FROM nowhere"),
        "constraint": lambda: tables.execute("INSERT INTO lots VALUES (0, 'x')"),
        "own record": lambda: Item(size="large"),  # type: ignore[arg-type]  # which is the fault
        "own address": raising(httpx.UnsupportedProtocol("Request URL is missing a protocol")),
        "not found upstream": httpx.Response(404, request=httpx.Request("GET", "http://e.org")).raise_for_status,
    }
    advised = {name: (await failed(run, "read_all")).retry.when for name, run in faults.items()}
    assert [name for name, when in advised.items() if when == "after_fix"] == []


async def test_text_of_the_servers_own_that_cannot_be_decoded_is_bad_output() -> None:
    faults: dict[str, Callable[[], object]] = {
        "json": lambda: json.loads("{"),
        "yaml": lambda: yaml.safe_load("a: ["),
        "toml": lambda: tomllib.loads("a ="),
        "utf-8": b"\xff".decode,
    }
    codes = {name: (await failed(run, "read_all")).code for name, run in faults.items()}
    assert codes == dict.fromkeys(faults, "BAD_OUTPUT")


async def test_a_damaged_archive_of_the_servers_own_is_bad_output() -> None:
    faults: dict[str, Callable[[], object]] = {
        "zip": lambda: zipfile.ZipFile(io.BytesIO(b"none")),
        "tar": lambda: tarfile.open(fileobj=io.BytesIO(b"none")),  # noqa: SIM115 - it does not open
        "zlib": lambda: zlib.decompress(b"none"),
        "xz": lambda: lzma.decompress(b"none"),
    }
    codes = {name: (await failed(run, "read_all")).code for name, run in faults.items()}
    assert codes == dict.fromkeys(faults, "BAD_OUTPUT")


async def test_only_a_unique_constraint_is_explained_with_a_value_that_must_be_unique(
    tables: sqlite3.Connection,
) -> None:
    faults = ["INSERT INTO lots VALUES (0, 'x')", "INSERT INTO lots VALUES (1, NULL)"]
    messages = [(await failed(partial(tables.execute, fault))).message for fault in faults]
    assert [message for message in messages if "unique" in message] == []


async def test_the_text_of_a_constraint_without_a_name_is_kept(tables: sqlite3.Connection) -> None:
    failure = await failed(lambda: tables.execute("INSERT INTO lots VALUES (0, 'x')"))
    assert "amount > 0" in failure.message


async def test_the_name_of_a_constraint_is_kept_for_mysql_and_mongodb() -> None:
    duplicate = "E11000 duplicate key error collection: shop.books index: title_1 dup key: { title: 1 }"
    faults = {
        "price_is_positive": pymysql.OperationalError(3819, "Check constraint 'price_is_positive' is violated."),
        "books.title": pymysql.IntegrityError(1062, "Duplicate entry 'x' for key 'books.title'"),
        "title_1": pymongo.errors.DuplicateKeyError(duplicate, 11000),
    }
    lost = [name for name, error in faults.items() if name not in (await failed(raising(error))).message]
    assert lost == []


FORMATS = ("tool_response", "coded_error", "error_response", "edit_envelope", "system_error", "problem")


async def cause_in(wire_format: str, **settings: Any) -> Any:
    missing = raising(FileNotFoundError(2, "No such file", "catalogue.db"))
    store = Store(runtime=quiet_runtime(wire_format=wire_format, **settings))
    store.run = missing
    answer = (await store.read_item(key="k")).to_dict()
    return (answer["error"] if wire_format == "tool_response" else answer).get("cause")


async def test_in_development_a_failure_has_its_cause() -> None:
    causes = {wire_format: await cause_in(wire_format, environment="development") for wire_format in FORMATS}
    assert [wire_format for wire_format, cause in causes.items() if not cause] == []


async def test_the_cause_has_one_form_in_every_format() -> None:
    keys = {}
    for wire_format in FORMATS:
        cause = await cause_in(wire_format, environment="development", detail="full")
        keys[wire_format] = set(cause or ())
    assert keys == {wire_format: {"name", "message", "code"} for wire_format in FORMATS}


async def test_the_log_line_of_every_normalized_exception_names_the_line_of_the_author() -> None:
    errors = [PermissionError(13, "x"), json.JSONDecodeError("x", "{", 0), ConnectionRefusedError(111, "x")]
    lines: list[Any] = []
    logger.enable("failsoft")
    sink = logger.add(lambda message: lines.append(message.record), level="DEBUG")  # type: ignore[attr-defined]
    try:
        for error in errors:
            await failed(raising(error))
    finally:
        logger.remove(sink)
    of_calls = [line for line in lines if "error_id" in line["extra"]]
    if len(of_calls) != len(errors):
        pytest.fail("each failure has to have a log line")
    silent = [
        line["message"] for line in of_calls if "test_whose_fault.py:" not in f"{line['message']} {line['extra']}"
    ]
    assert silent == []
