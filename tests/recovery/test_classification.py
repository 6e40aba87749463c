"""The classification before policy: every combination of facts, and what the caller gets."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from failsoft import BaseTool, RecoveryManager, Retry, ToolError, operation
from failsoft.recovery import Situation, verdict
from tests.doors import STOP_REASONS, categories_module as categories
from tests.framework.recording import quiet_runtime

CATEGORIES: list[type[ToolError]] = [getattr(categories, name) for name in categories.__all__]
FAR = 1e9


@pytest.mark.parametrize("category", CATEGORIES, ids=lambda category: category.__name__)
def test_the_verdict_on_every_combination_of_facts(category: type[ToolError]) -> None:
    for phase, is_repeatable, has_attempts, fits_patience, fits_deadline, has_budget in itertools.product(
        ("not_sent", "may_have_happened", "happened"), *[(True, False)] * 5
    ):
        situation = Situation(
            category=category.category,
            retry=category.retry,
            phase=phase,
            is_repeatable=is_repeatable,
            attempts_left=int(has_attempts),
            wait_s=1.0,
            patience_s=1.0 if fits_patience else 0.5,
            remaining_s=1.5 if fits_deadline else 1.0,
        )
        against = {
            "circuit_open": category.category == "circuit_open",
            "not_transient": category.retry != "after_delay",
            "effect_possible": phase != "not_sent" and not is_repeatable,
            "attempts": not has_attempts,
            "wait_too_long": not fits_patience,
            "deadline": not fits_deadline,
            "budget": not has_budget,
        }
        reasons = [reason for reason, holds in against.items() if holds]
        assert verdict(situation, has_budget=has_budget) == (reasons[0] if reasons else None), situation


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({}, None),
        ({"phase": "may_have_happened", "is_repeatable": False}, "effect_possible"),
        ({"phase": "happened", "is_repeatable": False}, "effect_possible"),
        ({"phase": "happened"}, None),
        ({"is_repeatable": False}, None),
        ({"retry": "never", "phase": "happened", "is_repeatable": False}, "not_transient"),
        ({"category": "circuit_open", "attempts_left": 0}, "circuit_open"),
        ({"attempts_left": 0, "remaining_s": 0.0}, "attempts"),
        ({"remaining_s": 0.0}, "deadline"),
        ({"remaining_s": None, "wait_s": FAR}, None),
        ({"wait_s": FAR, "patience_s": 5.0, "remaining_s": 1.0}, "wait_too_long"),
    ],
)
def test_the_reported_reason_is_the_deepest(facts: dict[str, Any], reason: str | None) -> None:
    plain: dict[str, Any] = {
        "category": "unavailable",
        "retry": "after_delay",
        "phase": "not_sent",
        "is_repeatable": True,
    }
    assert verdict(Situation(**{**plain, **facts})) == reason


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


async def _at_once(_seconds: float) -> None:
    return


@pytest.mark.parametrize("name", ["read", "put", "write"])
@pytest.mark.parametrize("effect", [None, "none", "unknown", "applied"])
def test_every_failure_says_its_effect_and_why_it_was_not_run_again(name: str, effect: Any) -> None:
    manager = RecoveryManager({ToolError: Retry(attempts=3, base_s=0, sleep=_at_once)})
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
        assert error.stop_reason in STOP_REASONS


@pytest.mark.parametrize(
    ("error", "runs", "stop_reason"),
    [
        (ConnectionRefusedError(111, "refused"), 1, "effect_possible"),
        (ConnectionResetError(104, "reset"), 1, "effect_possible"),
    ],
)
def test_no_lost_connection_says_what_a_write_did_before_it(error: OSError, runs: int, stop_reason: str) -> None:
    manager = RecoveryManager({ToolError: Retry(attempts=3, base_s=0, sleep=_at_once)})
    tool = Operations(error, runtime=quiet_runtime(recovery=manager))
    failure = asyncio.run(tool.write()).error
    assert failure is not None
    assert (tool.runs, failure.stop_reason) == (runs, stop_reason)


def test_without_a_strategy_a_transient_error_says_so() -> None:
    tool = Operations(TimeoutError(), runtime=quiet_runtime())
    reasons = [asyncio.run(tool.execute_with_error_handling(name, {})).error for name in ("read", "put", "write")]
    assert [error and error.stop_reason for error in reasons] == ["no_strategy", "no_strategy", "effect_possible"]
    assert asyncio.run(tool.execute_with_error_handling("read", {"extra": 1})).error.stop_reason == "rejected"  # type: ignore[union-attr]
