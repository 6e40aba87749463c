"""Ways in which the tools of a server fail, and the category that a user expects of each.

`?` expects none in particular; `a|b` accepts both. The expectations were written before any way was tried.
"""

from __future__ import annotations

import decimal
import errno
import json
import socket
import sqlite3
import subprocess
from collections.abc import Callable
from typing import Any

import httpx
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, EmbeddedResource, ImageContent, TextContent, TextResourceContents
from pydantic import BaseModel, Field

__all__ = ["RAISED", "REPORTED", "RESULTS", "VALUES", "add_failing_tools"]

VAGUE = "upstream_error|internal"
ORDER = {"message": "out of stock", "available": 3, "warehouse": "north", "restocked": "2031-05-04", "sku": "TEA-0042"}
WORDS = " ".join(f"reason{number:03}" for number in range(190))
TABLE = "\n".join(f"{number:>3} | column_{number} | {number * 1.5:.2f} | rejected" for number in range(40))
URL = "https://api.example.com/v2/orders/42"


class Parcel(BaseModel):
    """What one of the tools reads from its store."""

    weight: float = Field(gt=0)
    postcode: str = Field(pattern=r"\d{5}")
    size: int


class WarehouseError(Exception):
    """An exception class of the server's own."""

    def __init__(self, shelf: int, code: str) -> None:
        super().__init__(shelf, code)
        self.shelf, self.code = shelf, code

    def __str__(self) -> str:
        return f"shelf {self.shelf} is blocked [{self.code}]"


def _response(status: int, body: Any, **headers: str) -> httpx.HTTPStatusError:
    request = httpx.Request("GET", URL)
    response = httpx.Response(status, json=body, headers=headers, request=request)
    try:
        response.raise_for_status()
    except httpx.HTTPStatusError as error:
        return error
    raise AssertionError


def _caught(action: Callable[[], Any]) -> Exception:
    try:
        action()
    except Exception as error:  # noqa: BLE001 - whatever the library raises
        return error
    raise AssertionError


def _caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


REPORTED: dict[str, tuple[str, str]] = {
    "numbers": ("only 3 of 12 packages of tea left, restock on 2031-05-04 at 07:30", "upstream_error"),
    "percent": ("disk usage 93.7% exceeds the limit of 90%", "upstream_error"),
    "json_object": (json.dumps(ORDER), "upstream_error"),
    "json_pretty": (
        json.dumps({"errors": [ORDER, {"field": "count", "reason": "too many"}]}, indent=2),
        "upstream_error",
    ),
    "json_list": (
        json.dumps([{"line": 4, "column": 17, "rule": "no-var"}, {"line": 9, "rule": "eqeqeq"}]),
        "upstream_error",
    ),
    "json_prefixed": (f"Error: {json.dumps(ORDER)}", "upstream_error"),
    "json_long": (json.dumps({f"field_{number}": f"value {number}" for number in range(60)}), "upstream_error"),
    "long": (WORDS, "upstream_error"),
    "lines": ("Build failed:\n  src/app.ts(12,5): error TS2304: Cannot find name 'foo'.\n  1 error", "upstream_error"),
    "table": (TABLE, "upstream_error"),
    "unicode": ("Größe „XXL“ für Café № 5 ist ausverkauft — 日本語のエラー ☕", "upstream_error"),
    "quotes": ("the keyword \"SELEC\" near 'FROM' is no `SELECT`", "upstream_error"),
    "backslashes": (r"invalid escape \d in pattern ^\d{4}\s+$", "upstream_error"),
    "markdown": ("**Refused**: see `docs/limits.md`, section *Quotas*\n\n- max: 5\n- used: 7", "upstream_error"),
    "xml": ('<error code="E1042"><message>Ledger is closed</message></error>', "upstream_error"),
    "enoent": ("ENOENT: no such file or directory, open 'notes/todo.md'", "not_found"),
    "eacces": ("EACCES: permission denied, open 'notes/private.md'", "permission_denied"),
    "eexist": ("EEXIST: file already exists, mkdir 'notes'", "already_exists"),
    "not_found": ("User 4711 not found in realm staff", "not_found"),
    "does_not_exist": ("The table orders_2031 does not exist", "not_found"),
    "exists": ("A branch named 'release/2.1' already exists", "already_exists"),
    "access_denied": ("Access denied - path outside allowed directories: notes.md", "permission_denied"),
    "forbidden": ("HTTP 403 Forbidden: token lacks scope repo:write", "permission_denied"),
    "http_404": ('Request failed with status code 404: {"detail": "no order 42"}', "not_found"),
    "http_429": ("HTTP 429 Too Many Requests: limit 60 per minute, retry in 17 seconds", "rate_limited"),
    "http_500": ("HTTP 500 Internal Server Error: trace 7f3a", "upstream_error"),
    "http_503": ("HTTP 503 Service Unavailable: maintenance until 18:00", "unavailable|upstream_error"),
    "rate_limit": ("Rate limit exceeded: 60 requests per minute. Try again in 12 s.", "rate_limited"),
    "timed_out": ("Query timed out after 30 seconds", "timeout|upstream_error"),
    "econnrefused": ("connect ECONNREFUSED db.internal:5432", "unavailable|upstream_error"),
    "constraint": ("UNIQUE constraint failed: orders.number", "already_exists|conflict|upstream_error"),
    "validation": (
        "2 validation errors for Order\ncount\n  Input should be greater than 0",
        "invalid_argument|upstream_error",
    ),
    "not_the_words": ("Found 0 duplicates; nothing was denied, 404 rows exist already", "upstream_error"),
    "looks_like_path": ("ratio w/h is 16/9 and and/or 1/2; see src/app/main.py:12", "upstream_error"),
    "windows_path": (r"cannot open reports\2031\may.xlsx", "upstream_error"),
    "url": (f"GET {URL}?page=2 answered with an empty body", "upstream_error"),
    "hash": ("commit 3f786850e387550fdab836ed7e6dc881de23001b is not on branch main", "upstream_error"),
    "uuid": ("job 0b9d8f3e-5e7f-4f0e-9c1e-2f1d7c1a9b11 was cancelled by ada", "upstream_error"),
    "command": ("exit status 2: mypy: can't read file 'setup.cfg'\nhint: run from the root", "upstream_error"),
    "ansi": ("\x1b[31merror\x1b[0m: 4 problems (3 errors, 1 warning)", "upstream_error"),
    "advice": ("Unknown currency XAU. Use one of: EUR, USD, JPY. Call list_currencies for all.", "upstream_error"),
    "traceback": (
        "Traceback (most recent call last):\n  File \"app.py\", line 7, in run\nKeyError: 'price'",
        "upstream_error",
    ),
}
"""Texts that a tool shows on purpose, with the exception of its library."""

RAISED: dict[str, tuple[Callable[[], BaseException], str]] = {
    "value": (lambda: ValueError("only 3 of tea left"), VAGUE),
    "value_two": (lambda: ValueError("bad colour", "mauve", 7), VAGUE),
    "key": (lambda: KeyError("price_eur"), VAGUE),
    "index": (lambda: IndexError("row 12 of 9"), VAGUE),
    "runtime": (lambda: RuntimeError("printer 4 is offline since 09:15"), VAGUE),
    "own_class": (lambda: WarehouseError(7, "W-113"), VAGUE),
    "nested": (lambda: _caused(RuntimeError("cannot price order 42"), KeyError("vat_rate")), VAGUE),
    "division": (lambda: _caught(lambda: 1 / 0), VAGUE),
    "conversion": (lambda: _caught(lambda: int("twelve")), VAGUE),
    "date": (lambda: _caught(lambda: __import__("datetime").date.fromisoformat("2031-02-30")), VAGUE),
    "decimal": (lambda: _caught(lambda: decimal.Decimal("1,5")), VAGUE),
    "assertion": (lambda: AssertionError("balance of account 881 is -5"), VAGUE),
    "type": (lambda: TypeError("price() missing 1 required positional argument: 'currency'"), VAGUE),
    "attribute": (lambda: AttributeError("'Order' object has no attribute 'total'"), VAGUE),
    "not_implemented": (lambda: NotImplementedError("refunds above 500 are not supported yet"), f"{VAGUE}|unsupported"),
    "file_missing": (
        lambda: FileNotFoundError(errno.ENOENT, "No such file or directory", "prices/may.csv"),
        "not_found",
    ),
    "file_missing_text": (lambda: FileNotFoundError("no price list for May 2031"), "not_found"),
    "file_denied": (
        lambda: PermissionError(errno.EACCES, "Permission denied", "prices/secret.csv"),
        "permission_denied",
    ),
    "file_exists": (lambda: FileExistsError(errno.EEXIST, "File exists", "prices/june.csv"), "already_exists"),
    "folder": (lambda: IsADirectoryError(errno.EISDIR, "Is a directory", "prices"), "?"),
    "disk_full": (lambda: OSError(errno.ENOSPC, "No space left on device", "prices/all.csv"), "storage_error"),
    "refused": (
        lambda: ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 5432)"),
        "unavailable",
    ),
    "timeout": (lambda: TimeoutError("no answer of the scale within 2.5 s"), "timeout"),
    "timeout_socket": (lambda: socket.timeout("no answer of the till"), "timeout"),  # noqa: UP041 - as libraries do
    "json": (lambda: _caught(lambda: json.loads('{"a": 1,}')), "?"),
    "unicode": (lambda: _caught(b"caf\xe9".decode), "?"),
    "pydantic": (lambda: _caught(lambda: Parcel.model_validate({"weight": -2, "postcode": "x1", "size": "big"})), "?"),
    "sqlite_table": (lambda: _caught(lambda: sqlite3.connect(":memory:").execute("SELECT * FROM orders_2031")), "?"),
    "sqlite_unique": (lambda: sqlite3.IntegrityError("UNIQUE constraint failed: orders.number"), "?"),
    "http_404": (lambda: _response(404, {"detail": "no order 42", "hint": "orders start at 100"}), "not_found"),
    "http_403": (lambda: _response(403, {"detail": "scope orders:read is missing"}), "permission_denied"),
    "http_429": (lambda: _response(429, {"limit": 60}, **{"Retry-After": "17"}), "rate_limited"),
    "http_422": (lambda: _response(422, {"detail": [{"loc": ["count"], "msg": "must be below 100"}]}), "?"),
    "http_500": (lambda: _response(500, {"trace": "7f3a"}), "upstream_error"),
    "http_connect": (lambda: httpx.ConnectError("[Errno 111] Connection refused"), "unavailable"),
    "http_timeout": (lambda: httpx.ReadTimeout("The read operation timed out"), "timeout"),
    "process": (lambda: subprocess.CalledProcessError(3, ["ffmpeg", "-i", "in.mp4"], stderr="in.mp4: bad header"), "?"),
    "group": (lambda: ExceptionGroup("2 shops failed", [ValueError("north: 3 left"), KeyError("south")]), "?"),
    "stop": (lambda: StopAsyncIteration("page 4 is the last"), VAGUE),
    "lines": (lambda: ValueError("cannot parse row 7:\n  tea; 2,50; EUR\n       ^ expected a dot"), VAGUE),
    "long": (lambda: ValueError(WORDS), VAGUE),
    "json_text": (lambda: ValueError(json.dumps(ORDER)), VAGUE),
    "not_found_text": (lambda: LookupError("customer 4711 not found"), "not_found|upstream_error|internal"),
    "denied_text": (
        lambda: RuntimeError("permission denied for role clerk"),
        "permission_denied|upstream_error|internal",
    ),
    "relative": (lambda: ValueError("prices/may.csv: line 12 has 4 columns, expected 5"), VAGUE),
    "mcp_32602": (lambda: MCPError(-32602, "no such colour: mauve", {"accepted": ["red", "blue"]}), "invalid_argument"),
    "mcp_32603": (lambda: MCPError(-32603, "ledger 9 is locked", {"ledger": 9}), "?"),
    "mcp_32002": (lambda: MCPError(-32002, "Resource not found", {"uri": "tea://shelf/9"}), "not_found"),
    "mcp_32050": (lambda: MCPError(-32050, "closed until nine", {"opens": "09:00"}), "upstream_error"),
    "mcp_plain": (lambda: MCPError(4711, "quota of 100 orders used up"), "?"),
}
"""Exceptions that a tool lets through."""

VALUES: dict[str, dict[str, Any]] = {
    "success_false": {"success": False, "error": "only 3 left", "sku": "TEA-0042"},
    "success_false_message": {"success": False, "message": "ledger 9 is locked", "code": "LOCKED", "owner": "ada"},
    "error_object": {"error": {"code": 404, "message": "no order 42", "details": {"first": 100, "last": 999}}},
    "error_text": {"error": "only 3 left"},
    "error_list": {"errors": [{"field": "count", "message": "must be below 100"}, {"field": "sku", "message": "gone"}]},
    "ok_false": {"ok": False, "description": "chat 881 is archived", "error_code": 400},
    "status_error": {"status": "error", "message": "row 12 is broken", "row": 12},
    "problem": {"type": "about:blank", "title": "Out of credit", "status": 403, "detail": "balance is 30, cost is 50"},
    "graphql": {"data": None, "errors": [{"message": 'Cannot query field "pric" on type "Tea"', "path": ["tea", 0]}]},
}
"""Values that say that the call failed, in answers that are not marked so."""

RESULTS: dict[str, Callable[[], CallToolResult]] = {
    "marked_text": lambda: _marked("shelf 7 is blocked [W-113]"),
    "marked_two": lambda: _marked("shelf 7 is blocked", "free are: 3, 4 and 12"),
    "marked_json": lambda: _marked(json.dumps(ORDER)),
    "marked_long": lambda: _marked(WORDS),
    "marked_empty": lambda: CallToolResult(content=[], is_error=True),
    "marked_structured": lambda: CallToolResult(
        content=[TextContent(text="refused")], structured_content={"refused": ORDER}, is_error=True
    ),
    "marked_only_structured": lambda: CallToolResult(content=[], structured_content={"refused": ORDER}, is_error=True),
    "marked_image": lambda: CallToolResult(
        content=[
            TextContent(text="the scan of page 4 is unreadable"),
            ImageContent(data="aGVsbG8=", mime_type="image/png"),
        ],
        is_error=True,
    ),
    "marked_resource": lambda: CallToolResult(
        content=[
            EmbeddedResource(
                resource=TextResourceContents(uri="log://build/42", text="step 3 failed: linker out of memory")
            )
        ],
        is_error=True,
    ),
}
"""Results that are marked as failed."""


def _marked(*texts: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text) for text in texts], is_error=True)


def add_failing_tools(server: Any, tool_error: type[Exception]) -> dict[str, str]:
    """Add a tool for each way to a server of either library, and return the expected categories by tool."""
    expected = {}
    for name, (text, category) in REPORTED.items():
        _add_raising(server, f"reports_{name}", lambda text=text: tool_error(text))
        expected[f"reports_{name}"] = category
    for name, (make, category) in RAISED.items():
        _add_raising(server, f"raises_{name}", make)
        expected[f"raises_{name}"] = category
    for name, value in VALUES.items():
        _add_returning(server, f"returns_{name}", value)
        expected[f"returns_{name}"] = "?"
    for name, result in RESULTS.items():
        _add_answering(server, f"answers_{name}", result)
        expected[f"answers_{name}"] = "?"
    return expected


def _add_raising(server: Any, name: str, make: Callable[[], BaseException]) -> None:
    async def tool(item: str = "tea") -> str:
        raise make()

    server.tool(name=name, description=f"Fail: {name}.")(tool)


def _add_returning(server: Any, name: str, value: dict[str, Any]) -> None:
    async def tool(item: str = "tea") -> dict[str, Any]:
        return value

    server.tool(name=name, description=f"Fail: {name}.")(tool)


def _add_answering(server: Any, name: str, result: Callable[[], CallToolResult]) -> None:
    async def tool(item: str = "tea") -> CallToolResult:
        return result()

    server.tool(name=name, description=f"Fail: {name}.")(tool)
