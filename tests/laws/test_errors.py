"""True of every error class there is, those of the toolsets included."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import errno
import os
import pickle
import re
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, ClassVar, get_args

import pytest

from failsoft import (
    BaseTool,
    MultipleErrors,
    NextStep,
    NotFound,
    Public,
    Runtime,
    Settings,
    ToolError,
    UnknownError,
    Violation,
    operation,
)
from failsoft.errors import Actor, CatalogueError, Effect, RetryWhen
from failsoft.testing import without_recovery
from tests.catalogue import ERRORS
from tests.doors import errors_module as all_errors, normalize, registry, sections, summary
from tests.each import each

CONCRETE = [entry for entry in ERRORS if ToolError not in entry.__bases__]
CATEGORIES = {
    "already_exists": (409, "validation_error", -32000, "after_fix"),
    "approval_required": (403, "server_error", -32603, "never"),
    "bad_output": (502, "library_error", -32003, "never"),
    "circuit_open": (503, "server_error", -32603, "after_delay"),
    "configuration": (500, "server_error", -32603, "never"),
    "conflict": (409, "validation_error", -32000, "after_fix"),
    "database_error": (500, "database_error", -32004, "after_delay"),
    "deadline_exceeded": (504, "timeout_error", -32005, "after_delay"),
    "infeasible": (422, "infeasibility_error", -32002, "after_fix"),
    "internal": (500, "server_error", -32603, "never"),
    "invalid_argument": (400, "validation_error", -32000, "after_fix"),
    "not_found": (404, "not_found_error", -32001, "after_fix"),
    "overloaded": (503, "server_error", -32603, "after_delay"),
    "permission_denied": (403, "server_error", -32603, "never"),
    "precondition_failed": (412, "validation_error", -32000, "after_fix"),
    "quota_exhausted": (429, "server_error", -32603, "never"),
    "rate_limited": (429, "server_error", -32603, "after_delay"),
    "storage_error": (507, "server_error", -32603, "never"),
    "timeout": (504, "timeout_error", -32005, "after_delay"),
    "unauthenticated": (401, "server_error", -32603, "after_fix"),
    "unavailable": (503, "server_error", -32603, "after_delay"),
    "unsupported": (501, "server_error", -32603, "never"),
    "upstream_error": (502, "library_error", -32003, "after_delay"),
}
"""The contract's table: HTTP status, seed 002's type and number, default retry."""

every_error = each("entry", ERRORS)


def full(entry: type[ToolError]) -> ToolError:
    """Return an instance with everything in it that an error may hold."""
    error = entry(
        message="It failed.",
        suggestions=["a", "b"],
        next_step={"tool": "read", "arguments": {"path": "a.md"}},
        retry_after_seconds=2.5,
        effect="unknown",
        details={"nested": {"list": [1, 2]}},
        operator_hint="look at the log",
        violations=[Violation(path="a.0", reason="type", message="expected string", expected="string")],
    )
    error.__cause__ = ValueError("the cause")
    error.add_note("a note")
    return error


def same(one: ToolError, other: ToolError) -> None:
    assert type(one) is type(other)
    assert one.__dict__ == other.__dict__
    assert one.args == other.args
    assert str(one) == str(other)
    assert repr(one.__cause__) == repr(other.__cause__)


@every_error
@each("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_it_survives_pickle(entry, protocol):
    same(pickle.loads(pickle.dumps(full(entry), protocol)), full(entry))  # noqa: S301 - our own bytes


@every_error
def test_it_survives_copies_and_a_deep_copy_shares_nothing(entry):
    error = full(entry)
    same(copy.copy(error), error)
    deep = copy.deepcopy(error)
    same(deep, error)
    deep.details["nested"]["list"].append(3)
    assert error.details["nested"]["list"] == [1, 2]


@every_error
def test_it_can_be_a_key_and_take_notes(entry):
    error = full(entry)
    assert {error: 1}[error] == 1
    assert error == error  # noqa: PLR0124 - an exception is equal to itself alone
    assert error != full(entry)
    error.add_note("another")
    assert error.__notes__ == ["a note", "another"]


@every_error
def test_it_passes_through_a_context_manager(entry):
    @contextlib.contextmanager
    def around():
        try:
            yield
        finally:
            pass

    error = full(entry)
    with pytest.raises(entry) as caught, around():
        raise error
    assert caught.value is error
    assert caught.value.__traceback__ is not None


@every_error
def test_it_splits_out_of_a_group(entry):
    error = full(entry)
    group = ExceptionGroup("group", [ValueError(), ExceptionGroup("inner", [error])])
    matching, rest = group.split(entry)
    assert matching is not None
    found = matching.subgroup(lambda one: one is error)
    assert found is not None
    if not isinstance(error, ValueError):
        assert rest is not None
    parts = []
    try:
        raise group
    except* entry as caught:
        parts.append(caught.subgroup(lambda one: one is error))
    except* ValueError:
        pass
    assert normalize(parts[0]) is error


@every_error
def test_what_it_was_raised_from_is_kept(entry):
    cause = KeyError("x")
    with pytest.raises(entry) as caught:
        raise full(entry) from cause
    assert caught.value.__cause__ is cause


@every_error
def test_it_can_be_made_with_a_sentence_alone(entry):
    error = entry(message="This happened.")
    assert (str(error), error.message, error.args) == ("This happened.", "This happened.", ("This happened.",))
    assert (error.suggestions, error.violations, error.details, error.operator_hint) == ((), (), {}, "")
    assert (error.next_step, error.effect, error.retry_after_seconds) == (None, None, None)
    assert error.public() is not None
    assert error.rendered_hints() is not None


@every_error
@pytest.mark.usefixtures("failsoft_reports")
def test_a_field_that_it_does_not_have_is_refused(entry):
    with pytest.raises(TypeError, match="no_such_field"):
        entry(message="x", no_such_field=1)


@every_error
def test_its_message_may_be_positional(entry):
    assert entry("It failed.").message == str(entry("It failed.")) == "It failed."


@every_error
def test_its_next_step_may_be_given_as_a_mapping(entry):
    assert full(entry).next_step == NextStep("read", {"path": "a.md"})


@every_error
def test_it_is_on_one_of_three_levels(entry):
    line = [cls for cls in entry.__mro__ if issubclass(cls, ToolError)]
    assert len(line) in {2, 3}
    assert line[-1] is ToolError
    assert ToolError not in entry.__subclasses__()


@every_error
def test_its_facts_are_of_the_contracts_kinds(entry):
    assert re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*", entry.code)
    assert entry.category in CATEGORIES
    assert entry.retry in get_args(RetryWhen)
    assert entry.actor in get_args(Actor)
    assert 400 <= entry.http_status <= 599
    assert entry.numeric_code in {-32603, *range(-32005, -31999)}
    assert re.fullmatch(r"\d+\.\d+\.\d+", entry.since)
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]*", alias) for alias in entry.aliases.values())
    assert entry.public_fields <= set(entry.fields)
    assert entry(message="x").recoverable is (entry.retry != "never")


@every_error
def test_its_documentation_is_complete(entry):
    assert list(sections(entry)) == ["Raised when", "Caller", "Operator"]
    assert summary(entry).endswith(".")
    assert entry.template.endswith(".")
    for text in sections(entry).values():
        assert text


def test_the_categories_are_those_of_the_contract():
    tops = [entry for entry in ERRORS if ToolError in entry.__bases__]
    found = {top.category: (top.http_status, top.error_type, top.numeric_code, top.retry) for top in tops}
    assert found == CATEGORIES


def test_every_class_of_the_package_is_exported():
    own = {entry.__name__ for entry in ERRORS if entry.__module__.startswith("failsoft.framework.errors.")}
    assert own <= set(all_errors.__all__)
    assert all(hasattr(all_errors, name) for name in all_errors.__all__)


def test_errors_cross_a_process():
    with ProcessPoolExecutor(1) as pool:
        for entry in ERRORS:
            with pytest.raises(entry) as caught:
                pool.submit(_raise, entry).result()
            assert caught.value.suggestions == ("a", "b")


def _raise(entry: type[ToolError]) -> None:
    raise full(entry)


def test_a_fact_that_cannot_be_pickled_is_kept_as_text():
    error = NotFound(details={"handle": lambda: 1})
    copied = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert isinstance(copied.details, (dict, str))


def test_the_categories_of_several_errors_decide_together():
    shared = MultipleErrors.from_members([NotFound(message="a"), NotFound(message="b")])
    mixed = MultipleErrors.from_members([NotFound(), UnknownError()])
    assert (shared.category, mixed.category) == ("not_found", "internal")
    copied = pickle.loads(pickle.dumps(shared))  # noqa: S301 - our own bytes
    assert copied.category == "not_found"


# Declarations that are refused


DOC = """It failed.

Raised when: never.
"""


def declare(parent: type[ToolError] = NotFound, *, name: str = "Declared", **body: Any) -> type[ToolError]:
    return type(name, (parent,), {"__module__": __name__, "__doc__": DOC, "__annotations__": {}, **body})


@pytest.mark.parametrize(
    ("what", "arguments"),
    [
        ("no code", {}),
        ("an inherited code", {"name": "Heir"}),
        ("a code in lower case", {"code": "not_here"}),
        ("a code with a space", {"code": "NOT HERE"}),
        ("a code that begins with a digit", {"code": "4XX"}),
        ("a code that ends with an underscore", {"code": "NOT_HERE_"}),
        ("a code that is too long", {"code": "X" * 65}),
        ("a code that is no text", {"code": 5}),
        ("a taken code", {"code": "DOC_NOT_FOUND"}),
        ("no documentation", {"code": "LAW_A", "__doc__": None}),
        ("empty documentation", {"code": "LAW_B", "__doc__": "  "}),
        ("a template over a field it does not have", {"code": "LAW_C", "message": "There is no {thing}."}),
        ("a hint over a field it does not have", {"code": "LAW_D", "hints": ("Use {other}",)}),
        ("the root as parent", {"code": "LAW_E", "parent": ToolError}),
        ("a concrete error as parent", {"code": "LAW_F", "parent": CONCRETE[0]}),
    ],
)
def test_a_class_that_is_declared_wrongly_fails_at_once(what, arguments):
    before = dict(registry)
    with pytest.raises(CatalogueError):
        declare(**arguments)
    assert registry == before, what


def test_a_class_with_two_categories_is_refused():
    with pytest.raises(CatalogueError):
        type("Both", (NotFound, all_errors.StorageError), {"code": "LAW_G", "__doc__": DOC, "__module__": __name__})


def test_a_category_below_a_category_is_refused():
    with pytest.raises(CatalogueError):
        type("Below", (NotFound,), {"code": "LAW_H", "__doc__": DOC, "__module__": __name__}, category="below")  # type: ignore[call-overload]


def test_a_module_that_is_loaded_again_may_declare_its_classes_again():
    first = declare(code="LAW_I", __qualname__="Declared")
    second = declare(code="LAW_I", __qualname__="Declared")
    assert registry["LAW_I"] is second is not first


@pytest.mark.usefixtures("failsoft_reports")
def test_a_declared_class_works_at_once():
    class OrderGone(NotFound):
        """The order is gone.

        Raised when: it was cancelled.
        """

        number: Public[int]
        shard: str = "eu"
        code: ClassVar[str] = "LAW_ORDER_GONE"
        message: str = "Order {number} is gone."
        hints: ClassVar[tuple[str, ...]] = ("List the orders near {number}",)

    error = OrderGone(number=5)
    assert (error.message, error.public(), error.all_details()) == (
        "Order 5 is gone.",
        {"number": 5},
        {"number": 5, "shard": "eu"},
    )
    assert error.rendered_hints() == ("List the orders near 5",)
    with pytest.raises(TypeError, match="number"):
        OrderGone()
    effects: tuple[Effect | None, ...] = (None, *get_args(Effect))
    assert [OrderGone(number=1, effect=effect).effect for effect in effects] == list(effects)


# What each code comes from

EXAMPLES = dict(
    line.split(": ", 1)
    for line in Path(__file__).with_name("error_examples.txt").read_text().splitlines()
    if not line.startswith("#")
)
"""Code -> an exception, or a function, after which callers get it."""


def code_of(cause: BaseException | Callable[[], Any], timeout: float | None = None) -> str:
    """Return the code that a caller gets if a handler raises the exception, or is the function."""

    class Scratch(BaseTool):
        @operation(timeout=timeout)
        def run(self, key: str) -> Any:
            """Run the example."""
            if isinstance(cause, BaseException):
                raise cause
            return cause()

    tool = Scratch(runtime=Runtime(settings=Settings()))
    with without_recovery(tool):
        response = asyncio.run(tool.execute_with_error_handling("run", {"key": "k"}))
    assert response.error is not None
    return response.error.code


def test_every_code_has_an_example() -> None:
    assert EXAMPLES.keys() == {entry.code for entry in ERRORS}


@every_error
def test_its_example_holds(entry):
    names = {error.__name__: error for error in registry.values()}
    names |= {"code_of": code_of, "os": os, "errno": errno, "time": time, "sqlite3": sqlite3}
    assert eval(f"code_of({EXAMPLES[entry.code]})", names) == entry.code  # noqa: S307 - our own table
