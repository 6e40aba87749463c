"""The cause of an error in the form of seed 001: `{"name", "message", "code"}`."""

from __future__ import annotations

import errno
import re
from typing import Any

from failsoft.framework.errors import ToolError
from failsoft.framework.normalize.rules import read, text_of, type_name
from failsoft.framework.picklable import PicklableError
from failsoft.framework.safe.brief import brief
from failsoft.framework.safe.redaction import WITHHELD, redact_text

__all__ = ["Thrown", "normalized_cause", "plain_text"]

_ECHOING = frozenset({"pydantic", "pydantic_core", "sqlalchemy"})
"""Packages whose exceptions print the values that were passed to them."""

_SEQUENCE = re.compile(r"[A-Z*-]{40,}|[acgtun]{40,}")


class Thrown(PicklableError):
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
        cause: An exception, or None. The value of a `Thrown` is included unchanged.
    """
    if cause is None:
        return None
    if isinstance(cause, Thrown):
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
