"""What an exception itself says: the reason quoted for the caller, and the cause as JSON for logs and developers."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from failsoft.framework.errors import ToolError
from failsoft.framework.errors.vocabulary import PicklableError
from failsoft.framework.normalize.outcomes import read, type_name
from failsoft.framework.safe.redaction import WITHHELD, brief
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.text import QUOTED_AT_MOST, bounded, quoted

_ABOUT_THE_REQUEST = frozenset(
    {
        *(
            "already_exists",
            "conflict",
            "database_error",
            "infeasible",
            "invalid_argument",
            "not_found",
            "permission_denied",
        ),
        *("precondition_failed", "quota_exhausted", "rate_limited", "unauthenticated", "unsupported"),
    }
)
"""Categories whose cause is shown to the caller; text from a failing service goes to the log only.

A database's text is one on the request: the finders return no other.
"""
_BODY_AT_MOST = 65_536
_LINES_AT_MOST = 3
_KEYS = ("message", "msg", "error_description", "detail", "error", "title", "reason", "errors", "Message")
_DEPTH_AT_MOST = 4
_CLIENT_ERRORS = range(400, 500)
_SQLITE_ERROR = 1
_CONSTRAINT = re.compile(r"[A-Z ]*constraint failed(: .+)?", re.DOTALL)
_MYSQL_NAME = re.compile(
    r".*for key '([\w.$-]+)'$|.*constraint ['`\"]([\w.$-]+)['`\"]|Column '([\w.$-]+)' cannot be null",
    re.IGNORECASE | re.DOTALL,
)
_MONGODB_INDEX = re.compile(r" index: ([\w.$-]+) dup key")


def with_reason(error: ToolError, exc: Any) -> ToolError:
    """Return the error with what the library behind the tool said about the request, quoted, behind its sentence.

    Args:
        error: What the rules made of the exception.
        exc: The exception.
    """
    find = _FINDERS.get(type(exc).__module__.partition(".")[0], _of_response)
    reason = _found(find, exc)
    is_about_the_request = error.category in _ABOUT_THE_REQUEST or error.retry == "after_fix" or find is _of_program
    if reason and reason.strip() and is_about_the_request:
        error.message = f"{error.message.rstrip()} It said: {quoted(reason.strip())}."
        error.args = (error.message,)
    return error


def _found(find: Callable[[Any], str], exc: Any) -> str:
    """Return the reason; an exception whose own methods raise has none, and keeps its category."""
    try:
        return find(exc)
    except Exception:  # noqa: BLE001 - foreign code runs here
        return ""


def _of_response(exc: Any) -> str:
    """Return the reason in the body of an HTTP response of the 4xx family; a body that was not read stays unread."""
    response = read(exc, "response")
    status = read(response, "status_code")
    if not isinstance(status, int) or status not in _CLIENT_ERRORS:
        return ""
    body = read(response, "_content", b"")  # requests and httpx keep what was read under this name
    if not isinstance(body, (bytes, bytearray)) or len(body) > _BODY_AT_MOST:
        return ""
    text = bytes(body).decode("utf-8", "replace").strip()
    try:
        return _in_json(json.loads(text), _DEPTH_AT_MOST)
    except (ValueError, RecursionError):
        kind = str(read(read(response, "headers", {}), "get", lambda *_: "")("content-type", ""))
        return text.partition("\n")[0] if kind.startswith("text/plain") else ""


def _in_json(tree: Any, depth: int) -> str:
    """Return the first text under one of the usual names."""
    if isinstance(tree, str):
        return tree
    if depth == 0:
        return ""
    if isinstance(tree, list):
        return "; ".join(filter(None, [_in_json(item, depth - 1) for item in tree[:_LINES_AT_MOST]]))
    if isinstance(tree, Mapping):
        return next(filter(None, [_in_json(tree[key], depth - 1) for key in _KEYS if key in tree]), "")
    return ""


def _of_program(exc: Any) -> str:
    """Return the last lines that a program wrote on its standard error."""
    output = read(exc, "stderr")
    text = output.decode("utf-8", "replace") if isinstance(output, (bytes, bytearray)) else output
    if not isinstance(text, str):
        return ""
    lines = [line.strip() for line in text[-_BODY_AT_MOST:].splitlines() if line.strip()]
    return " / ".join(lines[-_LINES_AT_MOST:])[-QUOTED_AT_MOST:]


def _of_sqlite(exc: Any) -> str:
    """Return SQLite's sentence on a constraint or a statement: it names tables and columns, and never a value."""
    text, code = text_of(exc), read(exc, "sqlite_errorcode")
    is_statement = isinstance(code, int) and code & 0xFF == _SQLITE_ERROR
    return text if is_statement or _CONSTRAINT.fullmatch(text) else ""


def _of_mysql(exc: Any) -> str:
    """Return the constraint, key or column that MySQL names in its sentence, which has the value, too."""
    arguments = read(exc, "args") or ()
    text = read(exc, "msg") or (next(iter(arguments[1:2]), ""))
    found = _MYSQL_NAME.match(text) if isinstance(text, str) else None
    return f"constraint {next(filter(None, found.groups()))}" if found else ""


def _of_mongodb(exc: Any) -> str:
    """Return the index that MongoDB names in its sentence on a duplicate, which has the value, too."""
    details = read(exc, "details")
    errors = details.get("writeErrors") if isinstance(details, Mapping) else None
    found = _MONGODB_INDEX.search(str(errors[0].get("errmsg")) if errors else text_of(exc))
    return f"index {found[1]}" if found else ""


def _of_driver(exc: Any) -> str:
    """Return the constraint, table or column that PostgreSQL names, or its sentence on a statement."""
    diagnosis = read(exc, "diag")
    for source in (diagnosis, exc):
        constraint = read(source, "constraint_name")
        if isinstance(constraint, str) and constraint:
            return f"constraint {constraint}"
    state = read(exc, "sqlstate") or read(exc, "pgcode")
    if isinstance(state, str) and state.startswith("42"):
        sentence = read(diagnosis, "message_primary") or read(exc, "message")
        return sentence if isinstance(sentence, str) else ""
    return ""


def _of_sqlalchemy(exc: Any) -> str:
    driver = read(exc, "orig")
    if not isinstance(driver, BaseException):
        return ""
    find = _FINDERS.get(type(driver).__module__.partition(".")[0])
    return find(driver) if find is not None else ""


def _of_botocore(exc: Any) -> str:
    response = read(exc, "response")
    reported = response.get("Error") if isinstance(response, Mapping) else None
    message = reported.get("Message") if isinstance(reported, Mapping) else None
    return message if isinstance(message, str) else ""


def _of_grpc(exc: Any) -> str:
    details = read(exc, "details")
    text = details() if callable(details) else details
    return text if isinstance(text, str) else ""


def _of_google(exc: Any) -> str:
    message = read(exc, "message")
    return message if isinstance(message, str) else ""


_FINDERS: dict[str, Callable[[Any], str]] = {
    "subprocess": _of_program,
    "sqlite3": _of_sqlite,
    "sqlalchemy": _of_sqlalchemy,
    "botocore": _of_botocore,
    "grpc": _of_grpc,
    "pymongo": _of_mongodb,
    **dict.fromkeys(("pymysql", "MySQLdb", "mysql"), _of_mysql),
    "google": _of_google,
    **dict.fromkeys(("psycopg", "psycopg2", "asyncpg"), _of_driver),
}
"""Root package of an exception -> where its reason is; of all others the body of a response counts."""


def text_of(exc: Any) -> str:
    """Return an exception's text for the log, bounded; nothing if its `__str__` breaks."""
    try:
        return bounded(str(exc))
    except BaseException:  # noqa: BLE001 - a broken __str__ must not cost the answer
        return ""


_ECHOING = frozenset({"pydantic", "pydantic_core", "sqlalchemy"})
"""Packages whose exceptions print the values that were passed to them."""

_SEQUENCE = re.compile(r"[A-Z*-]{40,}|[acgtun]{40,}")


class NonExceptionCause(PicklableError):
    """Wraps a value that is not an exception, such as a text or an object, as the cause of a failure.

    Args:
        value: What it is.
    """

    def __init__(self, value: Any) -> None:
        super().__init__(type_name(value))
        self.value = value


def normalized_cause(cause: object) -> str | dict[str, Any] | None:
    """Return a cause as JSON: no secrets, no contents, bounded, without cycles; the same for the same cause.

    Args:
        cause: An exception, or None. The value of a `NonExceptionCause` is included unchanged.
    """
    if cause is None:
        return None
    if isinstance(cause, NonExceptionCause):
        value = brief(cause.value)
        return value if isinstance(value, (str, dict)) else {"value": value}
    message = "" if type(cause).__module__.partition(".")[0] in _ECHOING else plain_text(text_of(cause))
    return {"name": type_name(cause), "message": message, "code": _code(cause)}


def plain_text(text: str) -> str:
    """Return a text without secrets, and without the sequences of molecules that an exception may quote."""
    return _SEQUENCE.sub(WITHHELD, redact_text(text))


def _code(cause: object) -> str | None:
    """Return the code of a typed error, or the name of the system's error number."""
    if isinstance(cause, ToolError):
        return cause.code
    number = read(cause, "errno")
    return errno.errorcode.get(number) if isinstance(number, int) else None
