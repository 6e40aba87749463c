"""Contract, section 2: how a tool is written, what a handler is given, and what always holds of a call."""

from __future__ import annotations

import asyncio
import inspect
import threading
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from failsoft import (
    BaseTool,
    CallContext,
    DocumentNotFound,
    NotFound,
    Retry,
    Runtime,
    Timeout,
    ToolError,
    ToolResponse,
    operation,
)
from tests.contract.surroundings import runtime
from tests.each import each

pytestmark = pytest.mark.anyio


class Documentation(BaseModel):
    """A document."""

    path: str
    text: str


class DocsTool(BaseTool):
    """Documentation on disk."""

    @operation(read_only=True, timeout=5.0)
    async def get_documentation(self, path: str) -> Documentation:
        """Return a document."""
        if path == "guide/intro.mdx":
            return Documentation(path=path, text="It begins.")
        raise DocumentNotFound(path=path, suggestions=["guide/intro.mdx"])

    @operation(name="docs.rename", destructive=True, idempotent=True, open_world=False, title="Rename")
    def rename(self, path: str, to: str = "new.md") -> str:
        """Rename a document."""
        return f"{path} {to} {threading.current_thread() is threading.main_thread()}"

    @operation(read_only=True)
    async def about(self, call: CallContext, path: str = "a.md") -> dict[str, Any]:
        """Tell what a handler knows."""
        call.warn("a warning")
        call.logger.info("a line")
        call.report_progress(1, 2, "half")
        return {
            "tool": call.tool,
            "operation": call.operation,
            "params": dict(call.params),
            "request_id": call.request_id,
            "session_id": call.session_id,
            "attempt": call.attempt,
            "remaining": call.deadline is not None and call.deadline > asyncio.get_running_loop().time(),
        }


# Declaring.


def test_a_toolset_without_operations_cannot_be_made() -> None:
    with pytest.raises(TypeError):
        BaseTool()

    class Empty(BaseTool):
        """Nothing."""

    with pytest.raises(TypeError):
        Empty()


@pytest.mark.parametrize(
    ("class_name", "name"),
    [("Docs", "docs"), ("DocsTool", "docs"), ("DocsTools", "docs"), ("ExaSearch", "exa_search"), ("HTTPTool", "http")],
)
def test_a_toolset_is_named_for_its_class(class_name: str, name: str) -> None:
    toolset: Any = type(class_name, (DocsTool,), {})
    assert toolset.name == name


def test_a_toolset_may_name_itself() -> None:
    class Other(DocsTool):
        """Named."""

        name = "exa"

    assert Other().name == "exa"


def test_one_method_is_one_tool_under_its_own_name_or_another() -> None:
    assert list(DocsTool().operations) == ["get_documentation", "docs.rename", "about"]


async def test_an_operation_of_which_nothing_is_said_needs_no_parentheses() -> None:
    class Bare(BaseTool):
        """Bare."""

        @operation
        async def double(self, number: int) -> int:
            """Double."""
            return 2 * number

    assert (await Bare().double(number=2)).data == 4
    assert Bare().operations["double"].annotations["readOnlyHint"] is False


def test_the_description_is_the_docstring() -> None:
    assert DocsTool().operations["get_documentation"].description == "Return a document."


def test_the_annotations_come_from_the_declaration() -> None:
    operations = DocsTool().operations
    assert operations["get_documentation"].annotations["readOnlyHint"] is True
    renaming = operations["docs.rename"].annotations
    assert renaming["readOnlyHint"] is False
    assert renaming["destructiveHint"] is True
    assert renaming["idempotentHint"] is True
    assert renaming["openWorldHint"] is False


def test_the_input_schema_comes_from_the_signature() -> None:
    schema = DocsTool().operations["docs.rename"].input_schema
    assert schema["type"] == "object"
    assert schema["properties"]["path"]["type"] == "string"
    assert schema["properties"]["to"]["default"] == "new.md"
    assert schema["required"] == ["path"]
    assert schema["additionalProperties"] is False


def test_the_context_is_not_in_the_schema() -> None:
    assert list(DocsTool().operations["about"].input_schema["properties"]) == ["path"]


# Calling.


async def test_a_direct_call_and_an_executed_one_answer_the_same() -> None:
    docs = DocsTool()
    direct: ToolResponse[Documentation] = await docs.get_documentation(path="guide/intro.mdx")
    executed = await docs.execute_with_error_handling("get_documentation", {"path": "guide/intro.mdx"})
    assert isinstance(direct, ToolResponse)
    assert direct.success
    assert executed.success
    assert direct.data == executed.data == Documentation(path="guide/intro.mdx", text="It begins.")


async def test_the_contracts_own_example_fails_softly() -> None:
    response = await DocsTool().get_documentation(path="guide/intro.md")
    assert response.success
    assert response.metadata.recovery is not None
    response = await DocsTool().get_documentation(path="guide/gone.md")
    assert response.error is not None
    assert response.error.code == "DOC_NOT_FOUND"
    assert "Did you mean: guide/intro.mdx?" in response.error.suggestions


async def test_a_sync_handler_runs_in_a_worker_thread() -> None:
    response = await DocsTool().execute_with_error_handling("docs.rename", {"path": "a.md"})
    assert response.data == "a.md new.md False"


async def test_a_context_may_stand_last_and_may_have_a_default() -> None:
    class Late(BaseTool):
        """Asks late."""

        @operation(read_only=True)
        async def tell(self, number: int, call: CallContext | None = None) -> str:
            """Tell."""
            return f"{number} {call is not None and call.operation}"

    response = await Late().tell(number=1)
    assert response.data == "1 tell"
    assert list(Late().operations["tell"].input_schema["properties"]) == ["number"]


async def test_a_handler_learns_of_its_call() -> None:
    response = await DocsTool().about(path="b.md")
    assert response.data is not None
    assert response.data["tool"] == "docs"
    assert response.data["operation"] == "about"
    assert response.data["params"] == {"path": "b.md"}
    assert response.data["request_id"]
    assert response.data["session_id"] is None
    assert response.data["attempt"] == 1
    assert response.data["remaining"] is True
    assert response.metadata.warnings == ["a warning"]


async def test_an_operation_that_does_not_exist_is_answered_with_the_closest_name() -> None:
    response = await DocsTool().execute_with_error_handling("get_documentatoin", {"path": "a.md"})
    assert response.error is not None
    assert response.error.code == "UNKNOWN_TOOL"
    assert response.error.retry.when == "never"
    (violation,) = response.error.violations
    assert (violation.reason, violation.suggestion) == ("unknown_tool", "get_documentation")
    assert "get_documentation" in response.error.message


async def test_a_runtime_is_passed_or_the_default_works_without_any_set_up() -> None:
    own = runtime(wire_format="problem")
    assert isinstance(DocsTool().runtime, Runtime)
    assert DocsTool(runtime=own).runtime is own
    assert "detail" in (await DocsTool(runtime=own).get_documentation(path="x.md")).to_dict()


def test_the_parameters_of_the_executor_are_those_of_the_contract() -> None:
    parameters = inspect.signature(BaseTool.execute_with_error_handling).parameters
    assert list(parameters)[1:] == ["operation", "params", "handler"]
    assert parameters["handler"].default is None


# Whatever a tool raises.


class Worst(BaseTool):
    """Raises anything."""

    @operation(read_only=True, recovery=[])
    async def throw(self, kind: str) -> int:
        """Throw."""
        raise HOSTILE[kind]

    @operation(read_only=True, recovery=[])
    def throw_in_a_thread(self, kind: str) -> int:
        """Throw in a worker thread."""
        raise HOSTILE[kind]


HOSTILE: dict[str, BaseException] = {
    "exit": SystemExit(3),
    "interrupt": KeyboardInterrupt(),
    "generator exit": GeneratorExit(),
    "stray cancellation": asyncio.CancelledError(),
    "group": BaseExceptionGroup("all", [SystemExit(1), KeyboardInterrupt()]),
    "base": BaseException("of nobody"),
    "plain": RuntimeError("a text of nobody"),
    "stop": StopIteration(),
}


@each("operation_name", ["throw", "throw_in_a_thread"])
@each("kind", HOSTILE)
async def test_it_never_raises_for_whatever_a_tool_raises(kind: str, operation_name: str) -> None:
    response = await Worst().execute_with_error_handling(operation_name, {"kind": kind})
    assert response.success is False
    assert response.error is not None
    assert "nobody" not in str(response.to_dict())


async def test_a_real_cancellation_passes_through() -> None:
    started = asyncio.Event()

    class Sleeper(BaseTool):
        """Sleeps."""

        @operation(read_only=True)
        async def sleep(self) -> int:
            """Sleep."""
            started.set()
            await asyncio.sleep(60)
            return 1

    task = asyncio.ensure_future(Sleeper().sleep())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_operations_time_out_ends_the_call() -> None:
    class Sleeper(BaseTool):
        """Sleeps."""

        @operation(read_only=True, timeout=0.02)
        async def sleep(self) -> int:
            """Sleep."""
            await asyncio.sleep(60)
            return 1

    response = await Sleeper().sleep()
    assert response.error is not None
    assert (response.error.code, response.error.category) == ("DEADLINE_EXCEEDED", "deadline_exceeded")
    assert response.error.retry.when == "after_delay"


async def test_the_attempt_is_counted() -> None:
    class Counter(BaseTool):
        """Counts."""

        @operation(read_only=True, recovery=[Retry(attempts=3, base_s=0.0, cap_s=0.0)])
        async def count(self, call: CallContext) -> int:
            """Fail twice."""
            if call.attempt < 3:
                raise Timeout
            return call.attempt

    assert (await Counter().count()).data == 3


# What a handler returns.


@pytest.mark.parametrize(
    "value",
    [{"success": False}, {"success": False, "error": "no such customer"}, {"error": {"message": "no such customer"}}],
    ids=str,
)
async def test_a_value_that_says_it_failed_is_a_failure(value: dict[str, Any]) -> None:
    class Honest(BaseTool):
        """Returns failures."""

        @operation(read_only=True)
        async def answer(self) -> dict[str, Any]:
            """Answer."""
            return value

    response = await Honest().answer()
    assert response.success is False
    assert response.error is not None
    if "error" in value:
        assert "no such customer" in response.error.message


async def test_an_is_error_result_is_a_failure() -> None:
    from mcp_types import CallToolResult, TextContent  # noqa: PLC0415 - only here

    class Proxy(BaseTool):
        """Passes results on."""

        @operation(read_only=True)
        async def answer(self) -> Any:
            """Answer."""
            return CallToolResult(content=[TextContent(type="text", text="upstream is down")], is_error=True)

    response = await Proxy().answer()
    assert response.error is not None
    assert "upstream is down" in response.error.message


async def test_toolsets_have_a_startup_and_a_shutdown(tmp_path: Path) -> None:
    assert inspect.iscoroutinefunction(BaseTool.startup)
    assert inspect.iscoroutinefunction(BaseTool.shutdown)
    docs = DocsTool()
    await docs.startup()
    await docs.shutdown()


async def test_a_value_that_does_not_fit_its_declaration_is_bad_output() -> None:
    class Liar(BaseTool):
        """Lies."""

        @operation(read_only=True)
        async def count(self) -> int:
            """Count."""
            return "many"  # type: ignore[return-value]

    response = await Liar().count()
    assert response.error is not None
    assert response.error.code == "BAD_OUTPUT"


async def test_an_error_that_was_raised_is_at_hand_in_this_process() -> None:
    class Empty(BaseTool):
        """Has nothing."""

        @operation(read_only=True)
        async def get(self) -> int:
            """Get."""
            raise NotFound(message="There is nothing.")

    response = await Empty().get()
    assert response.error is not None
    assert isinstance(response.error.exception, ToolError)
    assert isinstance(response.error.exception, NotFound)
