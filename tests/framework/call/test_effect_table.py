"""What every failure of a write tells, for each declaration, key, look, and way to fail: one law for all answers."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from failsoft import (
    AuditLog,
    BaseTool,
    CallContext,
    Conflict,
    Failure,
    IdempotencyOutcomeUnknown,
    InvalidParameter,
    NextStep,
    NotFound,
    PermissionDenied,
    RateLimited,
    Unavailable,
    Violation,
    operation,
)
from failsoft.testing import InstantClock
from tests.doors import META_KEY, CallScope, lean_text
from tests.framework.recording import quiet_runtime

WRONG = Violation(path="amount", reason="type", message="expects an integer", expected="integer", suggestion=5)
RAISED: dict[str, Callable[[], BaseException]] = {
    "lost": lambda: Unavailable("The connection was lost."),
    "limited": lambda: RateLimited(retry_after_seconds=30),
    "changed": lambda: Conflict("The version has changed."),
    "missing": lambda: NotFound("There is no shelf 7.", suggestions=["shelf 8"]),
    "wrong": lambda: InvalidParameter.from_violations([WRONG]),
    "denied": PermissionDenied,
    "crash": ZeroDivisionError,
    "library": lambda: ConnectionRefusedError(111, "refused"),
    "refused": lambda: httpx.HTTPStatusError(
        "no", request=httpx.Request("POST", "http://x/"), response=httpx.Response(422, json={"detail": "no such item"})
    ),
    "undecided": IdempotencyOutcomeUnknown,
    "stepping": lambda: NotFound("There is no shelf 7.", next_step=NextStep("write", {"order": "A-2"})),
    "applied": lambda: Conflict("Two of three parts were ordered; part 3 is left.", effect="applied"),
}
ENDED = ("reported", "misfit", "large", "late", "unaudited")
DECLARED: dict[str, dict[str, Any]] = {
    "nothing": {},
    "idempotent": {"idempotent": True},
    "atomic": {"atomic": True},
    "effects": {"effects": True},
}
LOOKS = {"a look": "look", "a look for others": "look_by_number", "no look": None}
EFFECTS = {"unknown": "It is unknown whether anything was changed.", "applied": "Something was changed."}
NOT_AGAIN = "Do not send the whole call again"
SAME_KEY = "he same call with the same key is safe"


class Case(NamedTuple):
    """A way to fail: what is declared, whether a marked effect has begun, the look, whether it has a key, the cause."""

    declared: str
    has_begun: bool
    look: str
    is_keyed: bool
    cause: str

    @property
    def is_idempotent(self) -> bool:
        return self.declared == "idempotent"

    @property
    def effect(self) -> str:
        """Return what the failed call has changed, as far as is known."""
        if self.cause in {"misfit", "large", "unaudited", "applied"}:
            return "applied"
        if self.declared == "atomic" and self.cause != "reported":
            return "none"
        if self.declared == "effects" and (not self.has_begun or self.cause == "refused"):
            return "none"
        return "unknown"

    @property
    def is_released(self) -> bool:
        """Return whether the key has no outcome: the next call with it asks whether the marked effect was done."""
        return self.declared == "effects" and self.has_begun and self.cause == "undecided"


FLAGS = (False, True)
CASES = [
    case
    for facts in itertools.product(DECLARED, FLAGS, LOOKS, FLAGS, (*RAISED, *ENDED))
    if (case := Case(*facts)).declared == "effects" or case.has_begun
]


@cache
def shop(declared: str, shown: str, *, is_audited: bool) -> Any:
    """Return a tool with a write that fails as its `case` says."""

    class Shop(BaseTool):
        """A shop."""

        case: Case
        governed = is_audited
        audit = AuditLog(Path("/no such folder/audit.jsonl")) if is_audited else None

        @operation(timeout=10, verify_with=LOOKS[shown], **DECLARED[declared])
        async def write(self, order: str, call: CallContext, amount: int = 1) -> dict[str, int]:
            """Write an order."""
            if declared == "effects" and self.case.has_begun:
                effect: dict[str, int] = await call.effect("write", run=self._end)
                return effect
            return await self._end()

        async def _end(self) -> dict[str, int]:
            if self.case.cause in RAISED:
                raise RAISED[self.case.cause]()  # noqa: RSE102 - it makes the exception
            if self.case.cause == "late":
                await asyncio.Event().wait()
            ends: dict[str, Any] = {"reported": {"success": False, "error": "no"}, "misfit": {"a": "b"}}
            return ends.get(self.case.cause, {"a": 1, "b" * 999: 2})  # type: ignore[no-any-return]

        @operation(read_only=True)
        async def look(self, order: str) -> str:
            """Look for an order."""
            return order

        @operation(read_only=True)
        async def look_by_number(self, number: int) -> int:
            """Look for an order by a number."""
            return number

    return Shop(runtime=quiet_runtime(repeats="off"))


async def failures(case: Case) -> list[Failure]:
    """Return how the call fails, and how the same call fails when it is sent again."""
    tool, meta = shop(case.declared, case.look, is_audited=case.cause == "unaudited"), {}
    tool.case = case
    if case.is_keyed:
        meta[META_KEY] = f"order-{CASES.index(case)}"
    scope = CallScope(meta=meta, max_response_bytes=1_000 if case.cause == "large" else None)
    answers = [await tool.operations["write"].call({"order": "A-1", "amount": 2}, scope) for _ in range(2)]
    return [answer.error for answer in answers if answer.error is not None]


def held(case: Case, failure: Failure, *, is_repeatable: bool) -> None:
    """Hold an answer to what is told of effects, in its text, its message and its object."""
    text, message, step = lean_text(failure, failure.code), failure.message, failure.next_step
    when = failure.exception.retry if is_repeatable or failure.effect == "none" else "never"
    assert failure.retry.when == when
    if failure.effect == "none":
        assert "Nothing was changed." in text
        assert not any(words in said for words in (NOT_AGAIN, SAME_KEY, *EFFECTS.values()) for said in (text, message))
        return
    assert case.cause != "large" or is_repeatable or "narrow the request" not in text
    is_keyed = case.is_keyed and is_repeatable
    is_repeated = when == "after_delay" or (when == "after_fix" and case.is_idempotent)
    for said in (text, message):
        assert EFFECTS[failure.effect] in said
        assert (SAME_KEY in said) == is_keyed
        assert (f"Only t{SAME_KEY}" in said) == (is_keyed and not case.is_idempotent)
        assert (NOT_AGAIN in said) == (not is_keyed and not is_repeated)
        assert is_repeated or case.cause == "undecided" or "call `write` again" not in said
        assert is_repeated or not any(words in said for words in ("Correct ", "Add ", "Change "))
    if case.look != "a look" or (is_repeated and case.is_idempotent):
        assert (None if step is None else step.tool) in ({"write"} if when == "after_delay" else {None, "write"})
        assert step is None or is_repeated
    else:
        assert step is not None
        assert step.to_dict() == {"tool": "look", "arguments": {"order": "A-1"}}
    look = LOOKS[case.look]
    is_told = look is not None and not (case.is_idempotent and (is_repeated or is_keyed))
    assert all((f"`{look}` shows" in said) == is_told for said in (text, message))
    if when == "never" and step is None:
        assert failure.error_id in text
        assert failure.error_id in message


@pytest.mark.parametrize("declared", DECLARED)
def test_every_failure_tells_its_effect_whole(declared: str) -> None:
    async def main() -> None:
        for case in CASES:
            if case.declared == declared:
                first, *others = await failures(case)
                try:
                    assert first.effect == case.effect
                    held(case, first, is_repeatable=case.is_idempotent or case.is_keyed)
                    for again in others:
                        held(case, again, is_repeatable=case.is_idempotent or (case.is_keyed and case.is_released))
                except AssertionError as error:
                    error.add_note(f"{case}\n{lean_text(first, first.code)}")
                    raise

    InstantClock().run(main())
