"""Why a failed call is not run again: what the caller gets for every category of error."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

import pytest

from failsoft import BaseTool, RecoveryManager, Retry, ToolError, operation
from tests.doors import StopReason, categories_module as categories
from tests.framework.recording import quiet_runtime

CATEGORIES: list[type[ToolError]] = [
    kind for kind in ToolError.__subclasses__() if kind.__module__ == categories.__name__
]


class Operations(BaseTool):
    """One operation of each kind; each raises a configured error."""

    def __init__(self, error: BaseException, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.error = error
        self.runs = 0

    def _fail(self) -> None:
        self.runs += 1
        raise self.error

    @operation(read_only=True)
    async def read(self) -> None:
        """Change nothing."""
        self._fail()

    @operation(idempotent=True)
    async def put(self) -> None:
        """Do it again without harm."""
        self._fail()

    @operation()
    async def write(self) -> None:
        """Say nothing about itself."""
        self._fail()


@pytest.mark.parametrize("name", ["read", "put", "write"])
@pytest.mark.parametrize("effect", [None, "none", "unknown", "applied"])
def test_every_failure_says_its_effect_and_why_it_was_not_run_again(name: str, effect: Any) -> None:
    manager = RecoveryManager({ToolError: Retry(attempts=3, base_s=0)})
    tool = Operations(Exception(), runtime=quiet_runtime(recovery=manager))

    async def failures() -> list[tuple[type[ToolError], int, ToolError | None]]:
        seen = []
        for category in CATEGORIES:
            tool.error, tool.runs = category(message="It failed.", effect=effect), 0
            answer = await tool.execute_with_error_handling(name, {})
            seen.append((category, tool.runs, answer.error))
        return seen

    for category, runs, error in asyncio.run(failures()):
        assert error is not None
        is_transient = category.retry == "after_delay" and category.category != "circuit_open"
        may_repeat = name != "write" or effect == "none"
        assert runs == (3 if is_transient and may_repeat else 1), category
        assert error.effect == ("none" if name == "read" else effect or "unknown")
        expected = (
            "not_transient" if category.retry != "after_delay" else "attempts" if may_repeat else "effect_possible"
        )
        assert error.stop_reason == ("circuit_open" if category.category == "circuit_open" else expected)
        assert error.stop_reason in get_args(StopReason)


@pytest.mark.parametrize(
    ("error", "runs", "stop_reason"),
    [
        (ConnectionRefusedError(111, "refused"), 1, "effect_possible"),
        (ConnectionResetError(104, "reset"), 1, "effect_possible"),
    ],
)
def test_no_lost_connection_says_what_a_write_did_before_it(error: OSError, runs: int, stop_reason: str) -> None:
    manager = RecoveryManager({ToolError: Retry(attempts=3, base_s=0)})
    tool = Operations(error, runtime=quiet_runtime(recovery=manager))
    failure = asyncio.run(tool.write()).error
    assert failure is not None
    assert (tool.runs, failure.stop_reason) == (runs, stop_reason)


def test_without_a_strategy_a_transient_error_says_so() -> None:
    tool = Operations(TimeoutError(), runtime=quiet_runtime())
    reasons = [asyncio.run(tool.execute_with_error_handling(name, {})).error for name in ("read", "put", "write")]
    assert [error and error.stop_reason for error in reasons] == ["no_strategy", "no_strategy", "effect_possible"]
    assert asyncio.run(tool.execute_with_error_handling("read", {"extra": 1})).error.stop_reason == "rejected"  # type: ignore[union-attr]
