"""Contract, section 3: the hierarchy, the table of categories, making and declaring errors, and the fixed names."""

from __future__ import annotations

import contextlib
import copy
import errno
import pickle
from typing import Any

import pytest

import failsoft
from failsoft import (
    ConfigurationError,
    DocumentNotFound,
    InternalError,
    InvalidArgument,
    MultipleErrors,
    NotFound,
    PermissionDenied,
    Public,
    Timeout,
    ToolError,
    UnknownTool,
)
from failsoft.errors import CatalogueError
from tests.doors import sections
from tests.each import each

TABLE = {
    "InvalidArgument": ("invalid_argument", 400, "validation_error", -32000, "after_fix"),
    "NotFound": ("not_found", 404, "not_found_error", -32001, "after_fix"),
    "AlreadyExists": ("already_exists", 409, "validation_error", -32000, "after_fix"),
    "Conflict": ("conflict", 409, "validation_error", -32000, "after_fix"),
    "PreconditionFailed": ("precondition_failed", 412, "validation_error", -32000, "after_fix"),
    "Unauthenticated": ("unauthenticated", 401, "server_error", -32603, "after_fix"),
    "PermissionDenied": ("permission_denied", 403, "server_error", -32603, "never"),
    "ApprovalRequired": ("approval_required", 403, "server_error", -32603, "never"),
    "RateLimited": ("rate_limited", 429, "server_error", -32603, "after_delay"),
    "QuotaExhausted": ("quota_exhausted", 429, "server_error", -32603, "never"),
    "Infeasible": ("infeasible", 422, "infeasibility_error", -32002, "after_fix"),
    "Timeout": ("timeout", 504, "timeout_error", -32005, "after_delay"),
    "DeadlineExceeded": ("deadline_exceeded", 504, "timeout_error", -32005, "after_delay"),
    "Unavailable": ("unavailable", 503, "server_error", -32603, "after_delay"),
    "Overloaded": ("overloaded", 503, "server_error", -32603, "after_delay"),
    "CircuitOpen": ("circuit_open", 503, "server_error", -32603, "after_delay"),
    "UpstreamError": ("upstream_error", 502, "library_error", -32003, "after_delay"),
    "BadOutput": ("bad_output", 502, "library_error", -32003, "never"),
    "DatabaseError": ("database_error", 500, "database_error", -32004, "after_delay"),
    "StorageError": ("storage_error", 507, "server_error", -32603, "never"),
    "Unsupported": ("unsupported", 501, "server_error", -32603, "never"),
    "ConfigurationError": ("configuration", 500, "server_error", -32603, "never"),
    "InternalError": ("internal", 500, "server_error", -32603, "never"),
}

FIXED = {
    "DocumentNotFound": "DOC_NOT_FOUND",
    "InvalidParameter": "INVALID_PARAM",
    "ValidationFailed": "VALIDATION_ERROR",
    "DocumentLoadError": "DOC_LOAD_ERROR",
    "SearchError": "SEARCH_ERROR",
    "ConfigurationError": "CONFIG_ERROR",
    "UnknownError": "UNKNOWN_ERROR",
    "ToolSystemError": "SYSTEM_ERROR",
    "InitializationError": "INIT_ERROR",
    "UnknownTool": "UNKNOWN_TOOL",
    "NotImplementedTool": "NOT_IMPLEMENTED",
    "MultipleErrors": "MULTIPLE_ERRORS",
    "ResultTooLarge": "RESULT_TOO_LARGE",
}


class TillJammed(InternalError):
    """The till does not open.

    Raised when: the tests say so.
    Caller: report it.
    Operator: hit it.
    """

    till: Public[str]
    key: str = "under the mat"
    code = "TEST_CONTRACT_TILL_JAMMED"
    message = "The till '{till}' does not open."
    hints = ("Use the till beside {till}",)


# The hierarchy.


@each("name", TABLE)
def test_a_category_says_what_the_table_says(name: str) -> None:
    entry = getattr(failsoft, name)
    assert entry.__bases__[0] is ToolError
    facts = (entry.category, entry.http_status, entry.error_type, entry.numeric_code, entry.retry)
    assert facts == TABLE[name]


@each("name", FIXED)
def test_a_fixed_name_has_its_code_and_is_on_the_third_level_at_most(name: str) -> None:
    entry = getattr(failsoft, name)
    assert entry.code == FIXED[name]
    assert len([base for base in entry.__mro__ if issubclass(base, ToolError)]) <= 3


def test_unknown_tools_are_never_worth_a_repeat() -> None:
    assert UnknownTool.retry == "never"
    assert not UnknownTool(name="x").recoverable


@pytest.mark.parametrize(
    ("entry", "builtin"),
    [
        (Timeout, TimeoutError),
        (PermissionDenied, PermissionError),
        (DocumentNotFound, FileNotFoundError),
        (InvalidArgument, ValueError),
    ],
)
def test_where_a_builtin_fits_they_are_one(entry: type[ToolError], builtin: type[Exception]) -> None:
    assert issubclass(entry, builtin)


# Making one.


@pytest.mark.usefixtures("failsoft_reports")
def test_fields_are_keyword_only_and_the_message_may_be_positional() -> None:
    assert DocumentNotFound("There is no shelf 3.").message == "There is no shelf 3."
    with pytest.raises(TypeError):
        DocumentNotFound("a.md", "b.md")
    with pytest.raises(TypeError, match="folder"):
        DocumentNotFound(folder="a")
    assert DocumentNotFound(path="a.md").path == "a.md"


@each("name", [*TABLE, *FIXED])
def test_any_class_can_be_made_with_a_sentence_alone(name: str) -> None:
    assert str(getattr(failsoft, name)(message="It failed.")) == "It failed."


@each("name", [*TABLE, *FIXED])
def test_every_error_takes_the_arguments_of_the_contract(name: str) -> None:
    error = getattr(failsoft, name)(
        message="It failed.",
        suggestions=["try a.md"],
        next_step={"tool": "read", "arguments": {"path": "a.md"}},
        retry_after_seconds=2.0,
        effect="applied",
        details={"tried": 3},
        operator_hint="look at the disk",
    )
    assert list(error.suggestions) == ["try a.md"]
    assert (error.next_step.tool, dict(error.next_step.arguments)) == ("read", {"path": "a.md"})
    assert (error.retry_after_seconds, error.effect, error.operator_hint) == (2.0, "applied", "look at the disk")
    assert error.details["tried"] == 3


# Declaring one.


def test_a_declared_class_writes_its_own_sentence_and_hints() -> None:
    error = TillJammed(till="north")
    assert str(error) == 'The till "north" does not open.'
    assert error.public() == {"till": "north"}
    assert error.rendered_hints() == ('Use the till beside "north"',)
    assert (error.category, error.http_status) == ("internal", 500)


@pytest.mark.parametrize(
    "declared",
    [
        {"code": "DOC_NOT_FOUND", "__doc__": "Taken.", "message": "Taken."},
        {"code": "not-a-code", "__doc__": "Malformed.", "message": "Malformed."},
        {"__doc__": "Without a code.", "message": "Without."},
        {"code": "TEST_CONTRACT_UNDOCUMENTED", "__doc__": None, "message": "Undocumented."},
        {"code": "TEST_CONTRACT_FIELDS", "__doc__": "Unknown field.", "message": "No {such} field."},
    ],
    ids=["duplicate", "malformed", "missing", "undocumented", "unknown field"],
)
def test_a_class_that_is_declared_wrongly_fails_as_it_is_defined(declared: dict[str, Any]) -> None:
    with pytest.raises(CatalogueError):
        type("Wrong", (NotFound,), {"__module__": __name__, **declared})


def test_a_class_must_stand_under_a_category() -> None:
    with pytest.raises(CatalogueError):
        type("Wrong", (ToolError,), {"__doc__": "Wrong.", "code": "TEST_CONTRACT_ROOT", "message": "Wrong."})
    with pytest.raises(CatalogueError):
        type("Wrong", (DocumentNotFound,), {"__doc__": "Wrong.", "code": "TEST_CONTRACT_DEEP", "message": "Wrong."})


# What they survive.


def full() -> TillJammed:
    error = TillJammed(till="north", suggestions=["a"], details={"list": [1]}, retry_after_seconds=1.5)
    error.__cause__ = OSError(errno.EIO, "broken")
    return error


def pickled(error: TillJammed) -> Any:
    return pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes


@pytest.mark.parametrize("remake", [pickled, copy.copy, copy.deepcopy])
def test_an_error_survives_being_made_again(remake: Any) -> None:
    again = remake(full())
    assert type(again) is TillJammed
    assert (again.till, str(again), again.suggestions, again.details) == (
        "north",
        str(full()),
        ("a",),
        {"list": [1]},
    )
    assert isinstance(again.__cause__, OSError)


def test_errors_hash_take_notes_and_split_out_of_groups() -> None:
    error = full()
    assert {error: 1}[error] == 1
    error.add_note("a note")
    assert error.__notes__ == ["a note"]
    group = ExceptionGroup("all", [error, ValueError()])
    matched, rest = group.split(TillJammed)
    assert matched is not None
    assert matched.exceptions == (error,)
    assert rest is not None


def test_errors_pass_through_a_context_manager() -> None:
    @contextlib.contextmanager
    def opened() -> Any:
        yield

    error = full()
    with pytest.raises(TillJammed) as caught, opened():
        raise error
    assert caught.value is error


# The catalogue.


def test_every_class_says_when_it_is_raised_and_what_to_do() -> None:
    for name in {*TABLE, *FIXED}:
        entry = getattr(failsoft, name)
        assert sections(entry).keys() == {"Raised when", "Caller", "Operator"}, name
        assert entry.since


def test_the_aliases_of_a_code_are_in_the_catalogue() -> None:
    assert DocumentNotFound.aliases["error_response"] == "DOCUMENT_NOT_FOUND"


@pytest.mark.parametrize("code", ["CONFIG_ERROR", "SYSTEM_ERROR", "INIT_ERROR"])
def test_the_critical_codes_are_not_recoverable(code: str) -> None:
    (entry,) = [getattr(failsoft, name) for name, fixed in FIXED.items() if fixed == code]
    assert entry.critical
    assert entry.retry == "never"


def test_several_errors_share_their_category_or_are_internal() -> None:
    missing = [DocumentNotFound(path="a.md"), NotFound(message="There is nothing.")]
    assert MultipleErrors.from_members(missing).category == "not_found"
    mixed = MultipleErrors.from_members([*missing, ConfigurationError(issue="no")])
    assert mixed.category == "internal"
    assert [item["code"] for item in mixed.all_details()["errors"]] == ["DOC_NOT_FOUND", "NOT_FOUND", "CONFIG_ERROR"]
