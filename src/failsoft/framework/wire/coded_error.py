"""The format of seed 002: a flat failure with a name and a number for its kind, and its public facts."""

from __future__ import annotations

from typing import Any, ClassVar

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.response import Metadata
from failsoft.framework.wire.base import CAUSES, EXTRAS, causes, general_hint
from failsoft.framework.wire.flat import FlatFormat

_TO_THE_SECOND = len("2026-01-19T15:32:10")


class CodedErrorFormat(FlatFormat):
    """A flat failure: `error_type` and `jsonrpc_error_code` give its kind, `error_code` the exact error.

    `details` contains the error's public facts, in every environment. The numeric codes are used in the result only: a
    failed tool call is never a protocol error. On success the fields of the data are next to `success: true`.
    """

    name: ClassVar[str] = "coded_error"
    required: ClassVar[tuple[str, ...]] = (
        *("success", "error_type", "error_code", "jsonrpc_error_code", "message", "tool_name", "timestamp"),
        *("effect", "error_id"),
    )
    optional: ClassVar[tuple[str, ...]] = ("details", "suggestions", *CAUSES, *EXTRAS[1:-1])

    def failure(self, failure: Failure, metadata: Metadata) -> dict[str, Any]:  # noqa: ARG002 - the format has no place for it
        """Return the keys of the seed, in its order, and the extras."""
        wire: dict[str, Any] = {
            "success": False,
            "error_type": failure.exception.error_type,
            "error_code": self.code_of(failure),
            "jsonrpc_error_code": failure.exception.numeric_code,
            "message": failure.message,
        }
        details = {**(failure.details or {}), **failure.public}  # `failure.details` is without contents
        if details:
            wire["details"] = details
        wire["suggestions"] = list(failure.suggestions or failure.hints) or [general_hint(failure)]
        wire["tool_name"] = failure.operation
        wire["timestamp"] = f"{failure.timestamp[:_TO_THE_SECOND]}Z"
        return {**wire, **causes(failure), **self.extras(failure)}
