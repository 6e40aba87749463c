"""What the author of a crashed handler is shown: the own frames first, failsoft's folded, nothing secret."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import failsoft
from failsoft import BaseTool, InternalError, ToolError, operation
from tests.doors import author_line, stack_of

PACKAGE = str(Path(failsoft.__file__).parent)


class Crashing(BaseTool):
    """Crashes in several ways."""

    @operation(read_only=True)
    async def lookup(self) -> int:
        """Look up."""
        return self._find("password=hunter2")

    @operation(read_only=True)
    def in_thread(self) -> int:
        """Look up in a thread."""
        return self._find("a")

    @operation(read_only=True)
    def endless(self) -> int:
        """Call itself."""
        return self.endless.function(self)  # type: ignore[no-any-return]  # the handler itself

    @operation(read_only=True)
    async def typed(self) -> int:
        """Raise a typed error from another."""
        try:
            return self._find("a")
        except KeyError as error:
            raise InternalError(message="The index is broken.") from error

    @operation(read_only=True)
    async def in_library(self) -> int:
        """Crash in the standard library."""
        return int(json.loads("{"))

    @operation(read_only=True)
    async def several(self) -> int:
        """Crash in two tasks."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._fail(ValueError("one")))
            group.create_task(self._fail(KeyError("two")))
        return 0

    async def _fail(self, error: Exception) -> None:
        raise error

    def _find(self, key: str) -> int:
        return {"b": 1}[key]


def crash(name: str) -> ToolError:
    answer = asyncio.run(Crashing().execute_with_error_handling(name, {}))
    assert answer.error is not None
    return answer.error.exception


@pytest.mark.parametrize("name", ["lookup", "in_thread", "in_library"])
def test_the_authors_frame_comes_first_and_ours_are_left_out(name: str) -> None:
    lines = stack_of(crash(name)).splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].startswith(f'  File "{__file__}", line ')
    assert lines[1].endswith(f"in {name}")
    assert PACKAGE not in "\n".join(lines)


def test_secrets_are_redacted() -> None:
    assert "hunter2" not in stack_of(crash("lookup"))


def test_a_recursion_is_cut_and_keeps_its_beginning() -> None:
    stack = stack_of(crash("endless"))
    assert "in endless" in stack
    assert len(stack.splitlines()) < 100
    assert stack.endswith("RecursionError: maximum recursion depth exceeded\n") or "RecursionError" in stack


def test_a_typed_error_of_the_authors_own_keeps_its_cause() -> None:
    stack = stack_of(crash("typed"))
    assert "KeyError: 'a'" in stack
    assert "InternalError: The index is broken." in stack
    assert PACKAGE not in stack


def test_every_member_of_a_group_is_shown() -> None:
    stack = stack_of(crash("several"))
    assert "ValueError: one" in stack
    assert "KeyError: 'two'" in stack


def test_the_line_names_the_innermost_frame_of_the_author() -> None:
    place = author_line(crash("lookup"))
    assert place.startswith(f"{__file__}:")
    assert place.endswith(" in _find")
    assert author_line(ValueError("never raised")) == ""


def test_an_exception_that_was_never_raised_has_a_stack_too() -> None:
    assert stack_of(ValueError("never raised")) == "ValueError: never raised\n"
