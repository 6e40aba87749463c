"""What an exception itself says: the reason quoted for the caller, and the cause as JSON for logs and developers."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

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
_QUOTED = "It said"
_CAUSES = {_QUOTED: "Cause:", "Constraint": "Cause: constraint", "Index": "Cause: index"}
"""Reasons behind an author's message, which says more than the name of a column."""
_NEXT_LINE = " / "
_CLIENT_ERRORS = range(400, 500)
_PHRASES = frozenset(status.phrase.casefold() for status in HTTPStatus)
"""Names of statuses, which give no reason: `Not Found`."""
_RULES_DEEP_AT_MOST = 12
_RAISED = "P0001"
"""SQLSTATE of an exception that a function or trigger in PostgreSQL raised."""
_SQLITE_ERROR = 1
_SQLITE_SAID = frozenset({1811, 3091})
"""CONSTRAINT_TRIGGER, whose sentence the author of the trigger wrote, and CONSTRAINT_DATATYPE."""
_CONSTRAINT = re.compile(r"([A-Z]+(?: [A-Z]+)*) constraint failed(?:: (index ')?(.+?)'?)?", re.DOTALL)
_MYSQL_NAMES = re.compile(
    r".*for (?P<index>key) '(?P<of_index>[\w.$-]+)'"
    r"|.*constraint ['`\"](?P<of_constraint>[\w.$-]+)['`\"].*"
    r"|Column '(?P<of_column>[\w.$-]+)' cannot be null"
    r"|Field '(?P<of_field>[\w.$-]+)' doesn't have a default value"
    r"|.*for column ['`]?(?P<of_place>[\w.$`-]+?)['`]? at row \d+",
    re.IGNORECASE | re.DOTALL,
)
_MYSQL_SIGNAL = 1644
_MONGODB_INDEX = re.compile(r" index: ([\w.$-]+) dup key")
_VALUE = re.compile(r""":.*| ?(["'«„“]).*["'»“”]""", re.DOTALL)
"""What may be a value in PostgreSQL's sentence on one, in any language: a quotation, and all after a colon."""


class ReportedReason(NamedTuple):
    """What a library said about the request: its own sentence, or which constraint, column or index it names."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {quoted(self.text)}."

    def as_cause(self, message: str) -> str:
        """Return the reason as the cause of what an author's message says; empty if the message has it already.

        >>> ReportedReason("Index", "one_a_day").as_cause("Not booked.")
        'Cause: index "one_a_day".'
        """
        said, title = message.casefold(), _CAUSES.get(self.kind)
        is_said = all(part.strip(" .").casefold() in said for part in self.text.split(_NEXT_LINE))
        return "" if is_said or title is None else f"{title} {quoted(self.text)}."


def with_reason(error: ToolError, exc: Any) -> ToolError:
    """Return the error with what the library behind the tool said about the request, quoted, behind its sentence.

    Args:
        error: What the rules made of the exception.
        exc: The exception.
    """
    if reason := reason_of(error, exc):
        error.message = f"{error.message.rstrip()} {reason}"
        error.args = (error.message,)
    return error


def reason_of(error: ToolError, exc: Any) -> ReportedReason | None:
    """Return what the library said about the request; None if it said nothing, or of its own failure."""
    find = _FINDERS.get(type(exc).__module__.partition(".")[0], _of_response)
    is_about_the_request = error.category in _ABOUT_THE_REQUEST or error.retry == "after_fix" or find is _of_program
    try:
        return find(exc) if is_about_the_request else None
    except Exception:  # noqa: BLE001 - foreign code runs here: an exception whose own methods raise has no reason
        return None


def _said(text: object) -> ReportedReason | None:
    """Return the library's own sentence; None if it says nothing."""
    return ReportedReason(_QUOTED, text.strip()) if isinstance(text, str) and text.strip() else None


def _named(kind: str, *names: object) -> ReportedReason | None:
    """Return which constraint, column or index it is; its name is dotted if there are several parts."""
    name = ".".join([part for part in names if isinstance(part, str) and part])
    return ReportedReason(kind, name) if name else None


def _of_response(exc: Any) -> ReportedReason | None:
    """Return the reason in the body of an HTTP response of the 4xx family; a body that was not read stays unread."""
    response = read(exc, "response")
    status = read(response, "status_code")
    if not isinstance(status, int) or status not in _CLIENT_ERRORS:
        return None
    body = read(response, "_content", b"")  # requests and httpx keep what was read under this name
    if not isinstance(body, (bytes, bytearray)) or len(body) > _BODY_AT_MOST:
        return None
    text = bytes(body).decode("utf-8", "replace").strip()
    try:
        text = _in_json(json.loads(text), _DEPTH_AT_MOST)
        return None if text.strip(" .").casefold() in _PHRASES else _said(text)
    except (ValueError, RecursionError):
        kind = str(read(read(response, "headers", {}), "get", lambda *_: "")("content-type", ""))
        return _said(text.partition("\n")[0]) if kind.startswith("text/plain") else None


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


def _of_program(exc: Any) -> ReportedReason | None:
    """Return the last lines that a program wrote on its standard error."""
    output = read(exc, "stderr")
    text = output.decode("utf-8", "replace") if isinstance(output, (bytes, bytearray)) else output
    if not isinstance(text, str):
        return None
    lines = [line.strip() for line in text[-_BODY_AT_MOST:].splitlines() if line.strip()]
    return _said(_NEXT_LINE.join(lines[-_LINES_AT_MOST:])[-QUOTED_AT_MOST:])


def _of_sqlite(exc: Any) -> ReportedReason | None:
    """Return the constraint or the columns, or SQLite's sentence on a statement: it never has a value."""
    text, code = text_of(exc), read(exc, "sqlite_errorcode")
    if found := _CONSTRAINT.fullmatch(text):
        kind, index, names = found.groups()
        several = "s" if names and ", " in names else ""
        return _named("Index" if index else "Constraint" if kind == "CHECK" else f"Column{several}", names)
    is_said = isinstance(code, int) and (code & 0xFF == _SQLITE_ERROR or code in _SQLITE_SAID)
    return _said(text) if is_said else None


def _of_mysql(exc: Any) -> ReportedReason | None:
    """Return the constraint, key or column that MySQL names in its sentence, which has the value, too."""
    arguments = read(exc, "args") or ()
    text = read(exc, "msg") or (next(iter(arguments[1:2]), ""))
    if not isinstance(text, str):
        return None
    if (read(exc, "errno") or next(iter(arguments), None)) == _MYSQL_SIGNAL:  # the author of a procedure wrote it
        return _said(text)
    found = _MYSQL_NAMES.fullmatch(text)
    if found is None:
        return None
    names = found.groupdict()
    column = names["of_column"] or names["of_field"] or names["of_place"]
    constraint = _named("Index", names["of_index"]) or _named("Constraint", names["of_constraint"])
    return constraint or _named("Column", column.replace("`", ""))


def _of_mongodb(exc: Any) -> ReportedReason | None:
    """Return the index or the properties that MongoDB names in its answer, which has the values, too."""
    details = read(exc, "details")
    facts = details if isinstance(details, Mapping) else {}
    errors = facts.get("writeErrors")
    facts = errors[0] if errors else facts
    if names := list(dict.fromkeys(_properties(facts.get("errInfo"), _RULES_DEEP_AT_MOST))):
        return _named("Property" if len(names) == 1 else "Properties", ", ".join(names[:_LINES_AT_MOST]))
    found = _MONGODB_INDEX.search(str(facts.get("errmsg")) if errors else text_of(exc))
    return _named("Index", found[1]) if found else None


def _properties(tree: Any, depth: int) -> Iterator[str]:
    """Yield the names of the properties that break the rules of a collection."""
    for item in tree if isinstance(tree, list) and depth else ():
        yield from _properties(item, depth - 1)
    for key, value in tree.items() if isinstance(tree, Mapping) and depth else ():
        if key == "propertyName":
            yield str(value)
        elif key == "missingProperties":
            yield from map(str, value)
        elif key != "consideredValue":
            yield from _properties(value, depth - 1)


def _of_driver(exc: Any) -> ReportedReason | None:
    """Return the column or constraint that PostgreSQL names, or its sentence on a statement, a rule or a value."""
    diagnosis = read(exc, "diag") or exc  # of psycopg; asyncpg's exceptions have these facts themselves
    column, constraint = read(diagnosis, "column_name"), read(diagnosis, "constraint_name")
    if column and not constraint:
        return _named("Column", read(diagnosis, "table_name"), column)
    state = read(exc, "sqlstate") or read(exc, "pgcode")
    if constraint or not isinstance(state, str):
        return _named("Constraint", constraint)
    sentence = read(diagnosis, "message_primary") or read(exc, "message")
    if state.startswith("22") and isinstance(sentence, str):
        return _said(_VALUE.sub("", sentence))
    return _said(sentence) if state.startswith(("23", "42", _RAISED)) else None


def _of_sqlalchemy(exc: Any) -> ReportedReason | None:
    driver = read(exc, "orig")
    if isinstance(driver, BaseException) and type(driver).__module__.startswith("sqlalchemy."):
        driver = read(driver, "__cause__")  # of an asynchronous driver it raises a class of its own
    if not isinstance(driver, BaseException):
        return None
    find = _FINDERS.get(type(driver).__module__.partition(".")[0])
    return find(driver) if find is not None else None


def _of_botocore(exc: Any) -> ReportedReason | None:
    response = read(exc, "response")
    reported = response.get("Error") if isinstance(response, Mapping) else None
    message = reported.get("Message") if isinstance(reported, Mapping) else None
    return _said(message)


def _of_grpc(exc: Any) -> ReportedReason | None:
    details = read(exc, "details")
    text = details() if callable(details) else details
    return _said(text)


def _of_google(exc: Any) -> ReportedReason | None:
    message = read(exc, "message")
    return _said(message)


_FINDERS: dict[str, Callable[[Any], ReportedReason | None]] = {
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
