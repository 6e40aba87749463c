"""The format of seed 002: a flat failure with a name and a number for its kind, and its public facts."""

from __future__ import annotations

from typing import Any, get_args

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.response import Metadata
from failsoft.framework.errors.base import ErrorType
from failsoft.framework.wire.base import EXTRAS, STRING, STRINGS, causes, extras, failing, general_hint, renamed
from failsoft.framework.wire.flat import FlatFormat

__all__ = ["CodedErrorFormat"]

_TO_THE_SECOND = len("2026-01-19T15:32:10")


class CodedErrorFormat(FlatFormat):
    """A flat failure: `error_type` and `jsonrpc_error_code` give its kind, `error_code` the exact error.

    `details` contains the error's public facts, in every environment. The numeric codes are used in the result only: a
    failed tool call is never a protocol error. On success the fields of the data are next to `success: true`.
    """

    name = "coded_error"

    def failure(self, failure: Failure, metadata: Metadata) -> dict[str, Any]:  # noqa: ARG002 - the format has no place for it
        """Return the keys of the seed, in its order, and the extras."""
        wire: dict[str, Any] = {
            "success": False,
            "error_type": failure.exception.error_type,
            "error_code": renamed(failure, self.name),
            "jsonrpc_error_code": failure.exception.numeric_code,
            "message": failure.message,
        }
        details = {**(failure.details or {}), **failure.public}  # `failure.details` is without contents
        if details:
            wire["details"] = details
        wire["suggestions"] = list(failure.suggestions or failure.hints) or [general_hint(failure)]
        wire["tool_name"] = failure.operation
        wire["timestamp"] = f"{failure.timestamp[:_TO_THE_SECOND]}Z"
        return {**wire, **causes(failure), **extras(failure)}

    def failure_schema(self) -> dict[str, Any]:
        """Return the schema of a failure."""
        return failing(self.name, {"success": {"const": False}, **_FAILURE}, ("success", *_ALWAYS))


_ALWAYS = ("error_type", "error_code", "jsonrpc_error_code", "message", "tool_name", "timestamp")
_FAILURE: dict[str, Any] = {
    "error_type": {"enum": list(get_args(ErrorType)), "description": "The kind of failure."},
    "error_code": {"type": "string", "pattern": "^[A-Z][A-Z0-9_]*$"},
    "jsonrpc_error_code": {"type": "integer", "minimum": -32768, "maximum": -32000},
    "message": STRING,
    "details": {"type": "object", "description": "Facts about this failure, by name."},
    "suggestions": STRINGS,
    "tool_name": STRING,
    "timestamp": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
    "cause": {"type": "object"},
    "stack_trace": STRING,
    **EXTRAS,
}
