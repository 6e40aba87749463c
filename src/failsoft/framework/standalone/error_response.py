"""`ErrorResponseFactory`: errors as the flat responses of seed 003, for use outside tool calls."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from failsoft.framework.diagnostics.telling import logger
from failsoft.framework.errors import InvalidParameter, ToolError, UnknownError, ValidationFailed
from failsoft.framework.normalize import normalize
from failsoft.framework.safe.json_safe import json_safe
from failsoft.framework.safe.redaction import redact, redact_text
from failsoft.framework.text import bounded
from failsoft.framework.wire.error_response import ErrorResponseFormat, field_errors

_MESSAGE_AT_MOST = 1_000
_UNEXPECTED = "An unexpected error occurred. Check server logs for details."
_CANCELLED = "Operation was cancelled"


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """One failure in the format `error_response`: a code for programs, a sentence, and further facts if there are any.

    Args:
        code: The code, such as `DOC_NOT_FOUND`.
        message: One or two sentences for the caller.
        details: Facts that every caller may see; left out of the wire form if there are none.

    Source: seed 003.
    """

    code: str
    message: str
    details: Mapping[str, Any] | None = None

    @property
    def error(self) -> bool:
        """Always true; distinguishes a failure from a success in this format."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form, `{"error": true, "code", "message", "details"?}`."""
        wire: dict[str, Any] = {"error": True, "code": self.code, "message": self.message}
        if self.details:
            wire["details"] = dict(self.details)
        return wire


class ErrorResponseFactory:
    """Creates JSON-safe, redacted error responses from codes, exceptions and messages by field.

    Tools do not need it: every call responds in the wire format of its toolset.
    """

    def create(self, code: str, message: str, details: Mapping[str, Any] | None = None) -> ErrorResponse:
        """Return the response for a code, a sentence, and facts that every caller may see."""
        safe = redact(json_safe(dict(details))) if details else None
        return ErrorResponse(code, redact_text(bounded(message, _MESSAGE_AT_MOST)), safe)

    def from_exception(self, exception: BaseException) -> ErrorResponse:
        """Return the response for any exception: its code in this format, and its public facts.

        An unknown exception becomes INTERNAL_ERROR with a fixed message; the exception itself is logged.
        """
        if isinstance(exception, (asyncio.CancelledError, concurrent.futures.CancelledError)):
            return self.create(_code(UnknownError), _CANCELLED)
        error = normalize(exception)
        if isinstance(error, UnknownError):
            logger.opt(exception=exception).error("Unhandled exception")
            return self.create(_code(error), _UNEXPECTED)
        if error.violations and isinstance(error, (InvalidParameter, ValidationFailed)):
            return self._aggregated(error, [(item.path or "arguments", item.message) for item in error.violations])
        return self.create(_code(error), error.message, error.public())

    def from_validation_errors(self, field_errors: Mapping[str, Iterable[str]]) -> ErrorResponse:
        """Return the one response for all faults, by field, in the order given."""
        faults = [(name, text) for name, texts in field_errors.items() for text in texts]
        return self._aggregated(ValidationFailed, faults)

    def _aggregated(self, error: ToolError | type[ToolError], faults: list[tuple[str, str]]) -> ErrorResponse:
        message = f"Validation failed: {len(faults)} error{'' if len(faults) == 1 else 's'}"
        return self.create(_code(error), message, field_errors(faults))


def _code(error: ToolError | type[ToolError]) -> str:
    return error.aliases.get(ErrorResponseFormat.name, error.code)
