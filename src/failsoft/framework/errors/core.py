"""The core errors of every server, and the classes of seed 004."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from failsoft.framework.errors.categories import (
    ConfigurationError,
    Infeasible,
    InternalError,
    InvalidArgument,
    NotFound,
    StorageError,
    Unsupported,
    UpstreamError,
)
from failsoft.framework.errors.tool_error import ToolError
from failsoft.framework.errors.violations import Violation, advice, once_each, summarize
from failsoft.framework.errors.vocabulary import Public, Words
from failsoft.framework.text import file_name, named


class DocumentNotFound(NotFound, FileNotFoundError):
    """There is no document at the path.

    Raised when: no document has the path, and no other path is certain to name the same document.
    Caller: use one of the suggested paths, or search for the document.
    Operator: nothing to do, unless the document should be there.
    """

    path: Public[str]
    code = "DOC_NOT_FOUND"
    message = "Document not found: {path}."
    hints = (
        "Check if the path is correct",
        "Use the search function to find the document",
    )
    aliases: ClassVar[dict[str, str]] = {"error_response": "DOCUMENT_NOT_FOUND"}

    def own_suggestions(self) -> tuple[str, ...]:
        """Return other paths as questions (seed 004)."""
        return tuple([f"Did you mean: {file_name(candidate)}?" for candidate in self.suggestions])


_BY_REASON = {
    "missing": "MISSING_REQUIRED_FIELD",
    "type": "INVALID_INPUT_TYPE",
    "format": "INVALID_INPUT_FORMAT",
    "pattern": "INVALID_INPUT_FORMAT",
    "unexpected": "INVALID_INPUT_FORMAT",
    "enum": "INVALID_INPUT_VALUE",
    "length": "INVALID_INPUT_VALUE",
    "range": "INVALID_INPUT_VALUE",
    "reference": "INVALID_INPUT_VALUE",
    "unknown_tool": "INVALID_INPUT_VALUE",
    "value": "INVALID_INPUT_VALUE",
}
"""Seed 001's codes for faults of input, by the reason of the first violation."""


class InvalidParameter(InvalidArgument):
    """One or more arguments do not fit the operation's schema.

    Raised when: an argument is missing, unexpected, or of another type, form or value than the schema says.
    Caller: correct every parameter that `violations` lists, then call again.
    """

    param: Public[str] = ""
    expected: Public[Words] = ""
    code = "INVALID_PARAM"
    message = "Invalid parameter `{param}`: expected {expected}."
    hints = ("Provide a valid {expected}",)
    aliases: ClassVar[dict[str, str]] = {"error_response": "VALIDATION_ERROR", "edit_envelope": "VALIDATION_FAILED"}
    aliases_by_reason: ClassVar[dict[str, dict[str, str]]] = {"system_error": _BY_REASON}

    @classmethod
    def from_violations(cls, violations: Sequence[Violation]) -> Self:
        """Return the error for these faults; the first one gives `param` and `expected`."""
        first = violations[0]
        error = cls(message=summarize(violations), violations=violations)
        error.param, error.expected = first.path, first.expected or first.message  # as keywords, they would be checked
        return error

    def rendered_hints(self) -> tuple[str, ...]:
        """Return the hints, the first in words that suit the first fault."""
        if not self.violations:
            return super().rendered_hints()
        fault = self.violations[0]
        if len(self.violations) > 1 and fault.reason == "missing":  # a misspelt name is missing, too
            fault = once_each(self.violations)[0]
        first = advice(fault)
        if first and len(self.violations) > 1 and fault.path and not first.endswith("?"):
            first += f" for {named(fault.path)}"
        return (first,) if first else ()


class ValidationFailed(InvalidArgument):
    """Several faults of the input, found by the tool itself.

    Raised when: a tool checks its input itself and reports all faults together.
    Caller: correct every field that `violations` lists, then call again.
    """

    code = "VALIDATION_ERROR"
    message = "Validation failed."
    hints = ("Correct every field that is listed",)
    aliases_by_reason: ClassVar[dict[str, dict[str, str]]] = {"system_error": _BY_REASON}

    @classmethod
    def from_field_errors(cls, field_errors: dict[str, list[str]]) -> Self:
        """Return the error for messages by field, in the order given."""
        violations = [
            Violation(path=name, reason="value", message=text) for name, texts in field_errors.items() for text in texts
        ]
        count = len(violations)
        listed = "; ".join(f"{named(item.path)}: {item.message}" for item in violations[:3])
        return cls(
            message=f"Validation failed: {count} error{'' if count == 1 else 's'} ({listed}).", violations=violations
        )


class DocumentLoadError(StorageError):
    """A document exists and cannot be read.

    Raised when: its bytes are not UTF-8, the disk fails, or it is larger than the limit.
    Caller: use another document; repeating the call does not help.
    Operator: repair the file that the log names.
    """

    path: Public[str] = ""
    reason: Public[Words] = "unknown"
    code = "DOC_LOAD_ERROR"
    message = "Failed to load document {path}: {reason}."
    http_status = 500
    aliases: ClassVar[dict[str, str]] = {"error_response": "FILE_SYSTEM_ERROR"}


class SearchError(InvalidArgument):
    """A search could not be run as it was written.

    Raised when: the query does not follow the search syntax that the tool describes.
    Caller: correct the query as the answer says, or search for plain words.
    """

    query: Public[str] = ""
    reason: Public[Words] = "unknown"
    code = "SEARCH_ERROR"
    message = "Search failed: {reason}."
    hints = ("Try a simpler search query", "Check if the search syntax is correct")
    http_status = 500


class UnknownTool(InvalidArgument):
    """The server has no tool of that name.

    Raised when: the called name is not one of the server's tools.
    Caller: use a tool that the server lists; the answer names the closest one.
    """

    name: Public[str]
    code = "UNKNOWN_TOOL"
    message = "There is no tool named '{name}'."
    retry = "never"


class NotImplementedTool(Unsupported):
    """The tool is listed but not implemented yet.

    Raised when: its author declared the operation without implementing it, and raises this error in the handler.
    """

    name: Public[str]
    code = "NOT_IMPLEMENTED"
    message = "The tool '{name}' is not implemented yet."


class ResultTooLarge(Infeasible):
    """The result is larger than a client accepts.

    Raised when: text and structured content together exceed the limit on responses.
    Caller: ask for less: a narrower query, a smaller limit or the next page.
    Operator: raise `FAILSOFT_MAX_RESPONSE_BYTES` if the clients accept larger answers.
    """

    size_bytes: Public[int]
    limit_bytes: Public[int]
    items: Public[int | None] = None
    items_that_fit: int = 0
    code = "RESULT_TOO_LARGE"
    message = "The result has {size_bytes} bytes, and at most {limit_bytes} can be sent."
    hints = ("Ask for less at once: narrow the request or lower its limit",)
    error_type = "server_error"
    numeric_code = -32603


class ReportedFailure(UpstreamError):
    """The handler returned a value that says it failed.

    Raised when: a result is `{"success": false}`, has a non-empty `error` that its type does not declare, or is an
        `isError` result of another server. Where such a text is well known, category and advice are those it implies.
    Caller: read the quoted report, correct what it names, then call again.
    Operator: let the author of the tool raise an error of the catalogue instead.
    """

    report: Public[str] = ""
    code = "REPORTED_FAILURE"
    message = 'The tool reported a failure: "{report}".'
    retry = "after_fix"
    actor = "caller"


class InitializationError(ConfigurationError):
    """The server or a toolset could not start.

    Raised when: `startup` of a toolset fails, or something it needs is missing.
    Operator: find the error id in the log, fix the cause and restart the server.
    """

    component: Public[Words] = "server"
    code = "INIT_ERROR"
    message = "The {component} could not be started."


class ToolSystemError(InternalError):
    """A part of the server around the tool failed.

    Raised when: a middleware, a policy or a function that derives idempotency keys raises an unexpected exception, or
    an error cannot be rendered.
    Operator: find the error id in the log; the part that failed is named there.
    """

    component: Words = "framework"
    code = "SYSTEM_ERROR"
    message = "A part of the server around this tool failed."
    critical = True
    aliases: ClassVar[dict[str, str]] = {"system_error": "INTERNAL_ERROR"}


class UnknownError(InternalError):
    """The tool failed with an unexpected exception.

    Raised when: the handler raises an exception that is neither a typed error nor one that the framework recognizes.
    Callers see only the name of its type.
    Operator: find the error id in the log, which has the exception and its traceback.
    """

    type_name: Public[Words] = "Exception"
    code = "UNKNOWN_ERROR"
    message = "The tool failed unexpectedly ({type_name})."
    aliases: ClassVar[dict[str, str]] = {"error_response": "INTERNAL_ERROR", "system_error": "UNKNOWN_TOOL_FAILURE"}


class MultipleErrors(InternalError):
    """Several different errors occurred at once.

    Raised when: an exception group holds several different errors. If all have one category, it is that of this error,
    too, with its advice and HTTP status.
    Caller: handle each of the errors in `errors`.
    Operator: find the error id in the log, which has all of them.
    """

    errors: Public[tuple[Any, ...]] = ()
    code = "MULTIPLE_ERRORS"
    message = "Several errors occurred at once."

    @classmethod
    def from_members(cls, members: Sequence[ToolError]) -> Self:
        """Return one error for these, with their codes and sentences as the field `errors`."""
        listed = tuple({"code": member.code, "message": member.message} for member in members)
        codes = list(dict.fromkeys(member.code for member in members))
        error = cls(message=f"{len(members)} errors occurred at once: {', '.join(codes[:5])}.", errors=listed)
        categories = {member.category for member in members}
        if len(categories) == 1:
            shared = _category_of(type(members[0]))
            vars(error).update({fact: getattr(shared, fact) for fact in _CATEGORY_FACTS})
        return error


_CATEGORY_FACTS = ("category", "http_status", "error_type", "numeric_code", "retry", "actor")


def _category_of(kind: type[ToolError]) -> type[ToolError]:
    """Return the category of an error class."""
    return next(base for base in reversed(kind.__mro__) if issubclass(base, ToolError) and base.category)
