"""Bugs of authors: the log has the line of each, whatever its exception, and callers see none of it."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from typing import Any

import pytest
from loguru import logger

from failsoft.testing import Report, watch_reports
from tests.doors import load_app

BUGS = [
    "",
    '{}["a"]',
    "None.name",
    "undefined_name",
    "1 / 0",
    "[][0]",
    '"a" + 1',
    "len(1, 2)",
    'int("x")',
    "dict([(1,)])",
    'open("nope.txt")',
    'os.listdir("/nope")',
    'json.loads("{")',
    'sqlite3.connect(":memory:").execute("selec 1")',
    'sqlite3.connect(":memory:").execute("select * from nope")',
    'raised(AssertionError("never"))',
    "raised(SystemExit(3))",
    "raised(NotImplementedError())",
    'raised(TimeoutError("slow"))',
    'raised(RuntimeError("boom"))',
    'raised(ExceptionGroup("several", [KeyError("x"), ValueError("y")]))',
    "next(iter([]))",
    'decimal.Decimal("x")',
    "datetime.date(2024, 13, 1)",
    'b"\\xff".decode()',
    '__import__("nope_module")',
    "math.sqrt(-1)",
    're.compile("(")',
    'subprocess.run(["false"], check=True)',
    'subprocess.run(["nope-command"])',
    'socket.create_connection(("127.0.0.1", 1), timeout=1)',
    'tomllib.loads("=")',
    'xml.etree.ElementTree.fromstring("<a>")',
    'struct.unpack("i", b"1")',
    'uuid.UUID("x")',
    "zipfile.ZipFile(__file__)",
    "",
][1:-1]
HEAD = """
import datetime, decimal, json, math, os, re, socket, sqlite3, struct, subprocess, tomllib, uuid, xml.etree.ElementTree
import zipfile
from failsoft import BaseTool, operation
def raised(error): raise error
class Shop(BaseTool):
    @operation(read_only=True)
    async def count(self) -> int:
        return None
    @operation(read_only=True)
    def buy(self, bug: int) -> int:
        return BUGS[bug]()
BUGS = [
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("bugs") / "shop_with_bugs.py"
    file.write_text(HEAD + "".join(f"lambda: {bug},\n" for bug in BUGS) + "]\n")
    kept = list(sys.path)
    (tool,) = load_app(f"{file}:Shop")
    sys.path[:] = kept
    return tool


PASSING = ("TimeoutError", "create_connection")
"""What another call may not meet."""


def failed(shop: Any, name: str, **arguments: Any) -> tuple[str, str, str]:
    """Return what the log has of a failing call, what the report of a test shows, and what the caller gets."""
    records: list[Any] = []
    reports: list[Report] = []
    logger.enable("failsoft")
    sink = logger.add(lambda message: records.append(message.record), level="WARNING")
    try:
        with watch_reports(reports.append):
            response = asyncio.run(shop.execute_with_error_handling(name, arguments))
    finally:
        logger.remove(sink)
        logger.disable("failsoft")
    assert not response.success
    (record,) = [one for one in records if one["extra"].get("event") == "call_failed"]
    (report,) = reports
    logged = json.dumps({key: str(value) for key, value in record["extra"].items()})
    return logged, str(report), json.dumps(response.to_dict())


@pytest.mark.parametrize("bug", BUGS)
def test_log_and_report_have_the_line_of_a_bug_and_callers_do_not(shop: Any, bug: str) -> None:
    at = BUGS.index(bug)
    record, report, answer = failed(shop, "buy", bug=at)
    line = 5 if bug.startswith("raised") else HEAD.count("\n") + 1 + at
    assert re.search(rf'shop_with_bugs\.py(:|\\", line ){line}\b', record)
    assert re.match(rf"\S*shop_with_bugs\.py:{line} in \S+: \w+ in buy", report)
    assert "shop_with_bugs" not in answer
    assert "again" not in answer or any(passing in bug for passing in PASSING)


def test_the_log_has_the_line_of_a_handler_whose_result_is_of_another_type(shop: Any) -> None:
    record, report, answer = failed(shop, "count")
    assert re.match(r"\S*shop_with_bugs\.py:\d+ in count: ", report)
    assert re.search(r"shop_with_bugs\.py:\d+ in count", record)
    assert "shop_with_bugs" not in answer
