"""The lint of messages: silent over good tools, and loud over every kind of bad word."""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import replace
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from failsoft import (
    BaseTool,
    CallContext,
    DocumentNotFound,
    Failure,
    NextStep,
    NotFound,
    RateLimited,
    Reference,
    ToolError,
    UnknownError,
    Violation,
    operation,
)
from failsoft.recovery import Call
from tests.doors import CallScope, RetryAdvice, Toolbox, explain, lint_failure, lint_toolbox
from tests.framework.recording import quiet_runtime


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Edit(BaseModel):
    old: str = Field(min_length=1)
    new: str
    at: list[int] = []


def known(_name: str) -> None: ...


FAULT = Violation(path="query", reason="value", message="is not a word")


class Varied(BaseTool):
    """Parameters of many kinds."""

    @operation(read_only=True)
    async def search(
        self,
        query: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^\S")],
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
        mode: Literal["lexical", "semantic", "hybrid"] = "lexical",
        since: dt.date | None = None,
    ) -> list[str]:
        """Search for something."""
        return [query, str(limit), mode, str(since)]

    @operation(idempotent=True)
    async def resize(self, name: Annotated[str, Reference(known)], size: Size, ratio: float = 1.0) -> None:
        """Resize something."""

    @operation()
    async def edit(self, path: str, edits: list[Edit], call: CallContext, *, dry_run: bool = False) -> dict[str, int]:
        """Edit something."""
        return {path: len(edits), call.operation: int(dry_run)}

    @operation(destructive=True, verify_with="search")
    def wipe(self, query: str) -> None:
        """Wipe everything that is found."""

    @operation(input_schema={"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": [1, "x"]}}})
    async def proxy(self, **arguments: Any) -> Any:
        """Pass something on."""
        return arguments


class WriteOnly(BaseTool):
    """Has no way to look at its state."""

    @operation()
    async def write(self, text: str) -> None:
        """Write something."""


@pytest.mark.parametrize("level", [{}, {"detail": "full"}])
def test_the_failures_of_well_made_tools_have_no_findings(level: Any) -> None:
    varied = Varied(runtime=quiet_runtime(**level))
    for box in (Toolbox([varied]), Toolbox([varied, WriteOnly(runtime=quiet_runtime())])):
        assert lint_toolbox(box) == []
    assert lint_toolbox(Toolbox([WriteOnly(runtime=quiet_runtime())])) == []


def test_an_operation_without_a_docstring_is_found() -> None:
    class Silent(BaseTool):
        @operation()
        async def take(self) -> None: ...

    assert [finding.name for finding in lint_toolbox(Silent(runtime=quiet_runtime()).toolbox)] == ["description"]


def test_a_look_that_needs_what_the_write_does_not_have_is_found() -> None:
    class Orders(BaseTool):
        """Orders."""

        @operation(verify_with="get_order")
        async def place(self, item: str) -> None:
            """Place an order."""

        @operation(verify_with="get_order")
        async def pay(self, order_id: str) -> None:
            """Pay an order."""

        @operation(read_only=True)
        async def get_order(self, order_id: str) -> None:
            """Return an order."""

    found = lint_toolbox(Orders(runtime=quiet_runtime()).toolbox)
    assert [(finding.operation, finding.name) for finding in found] == [("place", "verify-with")]


def test_a_consent_that_is_never_asked_for_is_found() -> None:
    class Books(BaseTool):
        @operation(confirm="when destructive", read_only=True)
        async def find(self, title: str) -> str:
            """Find a book."""
            return title

        @operation(confirm="when destructive", destructive=False)
        async def add(self, title: str) -> str:
            """Add a book."""
            return title

        @operation(confirm="when destructive")
        async def delete(self, title: str) -> str:
            """Delete a book."""
            return title

    found = lint_toolbox(Books(runtime=quiet_runtime()).toolbox)
    assert [(finding.operation, finding.name) for finding in found] == [("find", "confirm"), ("add", "confirm")]


@pytest.fixture(scope="module")
def tool() -> Varied:
    return Varied(runtime=quiet_runtime())


def failing(tool: Varied, error: ToolError, name: str = "search", *, ran: bool = True) -> Failure:
    call = Call(tool.operations[name], {"query": "a"}, CallScope())
    call.attempt = int(ran)
    if ran:
        call.run_failed(error)
    return explain(error, call)


def rules(tool: Varied, failure: Failure) -> set[str]:
    return {finding.name for finding in lint_failure(failure, tool.toolbox)}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Error", "cause"),
        ("An unexpected error.", "cause"),
        ("Something went wrong", "cause"),
        ("no", "cause"),
        ("See https://example.org/help for the reason of this.", "url"),
        ("Traceback (most recent call last): there it is.", "stack"),
        ('It broke at File "a.py", line 5 of the program.', "stack"),
        ("Please run sudo systemctl restart and call again.", "command"),
        ("Please pip install failsoft and call again.", "command"),
        ("To go on, use the shell: $ ls", "command"),
        ("Set FAILSOFT_ENVIRONMENT to something else, please.", "variable"),
        ("Set API_KEY=abc before the next call of this.", "variable"),
    ],
)
def test_words_that_do_not_help_a_caller_are_found(tool: Varied, text: str, rule: str) -> None:
    assert rule in rules(tool, failing(tool, NotFound(message=text)))


def test_paths_are_found_where_they_are_not_withheld() -> None:
    open_tool = Varied(runtime=quiet_runtime(environment="development"))
    text = "There is no file /home/somebody/notes.txt here."
    assert "path" in rules(open_tool, failing(open_tool, NotFound(message=text)))
    withheld = Varied(runtime=quiet_runtime())
    assert rules(withheld, failing(withheld, NotFound(message=text))) == set()


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"message": "The thing is not here. " + "x" * 2_000}, "length"),
        ({"message": "The thing is\u200b not here. Call `search` again."}, "control"),
        ({"next_step": NextStep("nothing", {})}, "next-step"),
        ({"next_step": NextStep("search", {})}, "next-step"),
        ({"next_step": NextStep("search", {"query": 5})}, "next-step"),
        ({"message": "The thing is not here.", "violations": (FAULT,)}, "way-out"),
    ],
)
def test_what_a_caller_cannot_act_on_is_found(tool: Varied, changes: dict[str, Any], rule: str) -> None:
    good = failing(tool, NotFound(message="The thing that was asked for is not here."))
    assert rules(tool, good) == set()
    assert rule in rules(tool, replace(good, **changes))


def test_waiting_has_to_be_said_with_the_tool_and_the_seconds(tool: Varied) -> None:
    good = failing(tool, RateLimited(retry_after_seconds=3))
    assert rules(tool, good) == set()
    for text in (
        "Wait a while.",
        "Call again in 3 seconds.",
        "Call `nothing` again in 3 seconds.",
        "Call `search` later.",
    ):
        assert "wait" in rules(tool, replace(good, message=f"There were too many calls. {text}"))
    assert "wait" in rules(tool, replace(good, retry=RetryAdvice("after_delay")))


def test_who_has_to_act_has_to_be_said(tool: Varied) -> None:
    good = failing(tool, UnknownError())
    assert rules(tool, good) == set()
    assert "who" in rules(tool, replace(good, message="The tool failed unexpectedly. Nothing can be done."))


def test_a_step_back_into_a_change_is_found(tool: Varied) -> None:
    good = failing(tool, RateLimited(), "wipe")
    assert good.next_step is not None
    assert rules(tool, good) == set()
    assert "next-step" in rules(tool, replace(good, next_step=NextStep("wipe", {})))


def test_the_same_finding_comes_once(tool: Varied) -> None:
    class Bad(Varied):
        @operation()
        async def undescribed(self, path: str) -> None: ...

    findings = lint_toolbox(Bad(runtime=quiet_runtime()).toolbox)
    assert len(findings) == len(set(findings)) == 1


def test_violations_are_named(tool: Varied) -> None:
    fault = Violation(path="query", reason="value", message="is not a word")
    failure = failing(tool, DocumentNotFound(path="a.md", violations=[fault]))
    assert "Correct `query` and call `search` again." in failure.message
    assert rules(tool, failure) == set()
