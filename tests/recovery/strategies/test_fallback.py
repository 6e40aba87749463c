"""The second-best answer: for which errors, with what, and within which time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from failsoft import (
    BaseTool,
    CallContext,
    ConfigurationError,
    Fallback,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    RecoveryManager,
    Retry,
    ToolError,
    Unavailable,
    operation,
)
from failsoft.testing import InstantClock
from tests.framework.recording import Recording, quiet_runtime
from tests.framework.wellformed import check_wellformed

NOTED: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_noted() -> None:
    NOTED.clear()


def plain() -> int:
    return -1


async def with_all(error: ToolError, call: CallContext, **arguments: Any) -> int:
    NOTED.append((error.code, call.operation, arguments))
    return -1


def broken() -> int:
    raise RuntimeError("broken")


class Counting(BaseTool):
    """Returns its number, or raises a configured error."""

    def __init__(self, raised: BaseException | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.raised = raised
        self.last = 40

    async def _count(self, number: int) -> int:
        if self.raised is not None:
            raise self.raised
        return number

    def remembered(self, number: int) -> int:
        return self.last + number

    @operation(read_only=True, timeout=10, recovery=[Fallback(plain)])
    async def count(self, number: int = 1) -> int:
        """Count, or say -1."""
        return await self._count(number)

    @operation(read_only=True, timeout=10, recovery=[Fallback(with_all)])
    async def count_all(self, number: int = 1) -> int:
        """Count, or ask for everything."""
        return await self._count(number)

    @operation(read_only=True, timeout=10, recovery=[Fallback(remembered)])
    async def count_own(self, number: int = 1) -> int:
        """Count, or ask the toolset."""
        return await self._count(number)

    @operation(read_only=True, timeout=10, recovery=[Fallback(lambda _error, _call: 4)])
    async def count_unused(self, number: int = 1) -> int:
        """Fall back on a function that names what it does not use."""
        return await self._count(number)

    @operation(read_only=True, timeout=10, recovery=[Fallback(broken)])
    async def count_broken(self, number: int = 1) -> int:
        """Count, or break."""
        return await self._count(number)

    @operation(read_only=True, timeout=10, recovery=[Fallback(lambda: "three")])
    async def count_wrong(self, number: int = 1) -> int:
        """Count, or return what is no number."""
        return await self._count(number)

    @operation(read_only=True, timeout=10, recovery=[Fallback(plain, on=NotFound)])
    async def count_found(self, number: int = 1) -> int:
        """Count, or say -1 for what is not found."""
        return await self._count(number)

    @operation(timeout=10, recovery=[Fallback(plain)])
    async def write(self, number: int = 1) -> int:
        """Do it twice if it is run twice."""
        return await self._count(number)


def answer(tool: Counting, name: str = "count", **params: Any) -> Any:
    return asyncio.run(tool.execute_with_error_handling(name, params))


def counting(raised: BaseException | None) -> tuple[Counting, Recording]:
    metrics = Recording()
    return Counting(raised, runtime=quiet_runtime(metrics=metrics)), metrics


def test_a_call_that_works_is_left_alone() -> None:
    tool, metrics = counting(None)
    response = answer(tool, number=3)
    assert (response.data, response.metadata.recovery) == (3, None)
    assert (metrics.of("recovery"), metrics.of("finished")) == ([], ["ok"])


def test_a_failure_is_answered_second_best_and_says_so() -> None:
    tool, metrics = counting(Unavailable())
    response = answer(tool)
    wire = check_wellformed(response, tool.operations["count"])
    assert wire["data"] == -1
    assert wire["metadata"]["recovery"] == {
        "strategy": "fallback",
        "message": response.metadata.recovery.message,
        "attempts": 1,
        "degraded": True,
    }
    assert metrics.of("recovery") == [("fallback", "recovered")]
    assert metrics.of("finished") == ["degraded"]


def test_the_function_is_given_what_it_asks_for() -> None:
    tool, _ = counting(Unavailable())
    assert answer(tool, "count_all", number=7).data == -1
    assert NOTED == [("UNAVAILABLE", "count_all", {"number": 7})]
    assert answer(tool, "count_own", number=2).data == 42
    assert answer(tool, "count_unused").data == 4


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (NotFound(), "NOT_FOUND"),
        (InvalidArgument(), "INVALID_ARGUMENT"),
        (PermissionDenied(), "PERMISSION_DENIED"),
    ],
)
def test_what_the_caller_can_correct_or_a_person_has_to_decide_is_raised(raised: ToolError, code: str) -> None:
    tool, metrics = counting(raised)
    assert answer(tool).error.code == code
    assert metrics.of("recovery") == [("fallback", "skipped")]
    assert metrics.of("finished") == ["error"]


def test_the_classes_of_errors_can_be_named() -> None:
    assert answer(counting(NotFound())[0], "count_found").data == -1
    assert answer(counting(Unavailable())[0], "count_found").error.code == "UNAVAILABLE"


@pytest.mark.parametrize("raised", [ValueError("a crash"), SystemExit(1), asyncio.CancelledError()])
def test_a_crash_is_stood_in_for_too(raised: BaseException) -> None:
    assert answer(counting(raised)[0]).data == -1


@pytest.mark.parametrize("name", ["count_broken", "count_wrong"])
def test_a_fallback_that_fails_leaves_the_first_error(name: str) -> None:
    tool, metrics = counting(Unavailable(message="It is away."))
    response = answer(tool, name)
    assert (response.error.code, response.error.exception.message) == ("UNAVAILABLE", "It is away.")
    assert metrics.of("recovery") == [("fallback", "failed")]


def test_a_write_falls_back_only_while_nothing_can_have_been_changed() -> None:
    assert answer(counting(Unavailable(effect="none"))[0], "write").data == -1
    response = answer(counting(Unavailable())[0], "write")
    assert (response.error.code, response.error.effect) == ("UNAVAILABLE", "unknown")


def test_arguments_that_were_refused_are_not_answered() -> None:
    tool, metrics = counting(None)
    assert answer(tool, number="five").error.code == "INVALID_PARAM"
    assert metrics.of("recovery") == []


class Slow(BaseTool):
    """Never answers in time."""

    ended_at: float | None = None
    fallback_took_s = 0.0

    async def stale(self) -> str:
        await asyncio.sleep(self.fallback_took_s)
        return "old"

    @operation(read_only=True, timeout=10, recovery=[Fallback(stale, reserve_s=2), Retry(base_s=0, attempts=99)])
    async def read(self, call: CallContext) -> str:
        """Take for ever."""
        try:
            await asyncio.sleep(60)
        finally:
            self.ended_at = asyncio.get_running_loop().time()
        return "new"

    @operation(read_only=True, timeout=10, recovery=[Fallback(stale, reserve_s=2), Retry(base_s=1.5, patience_s=9)])
    async def busy(self, call: CallContext) -> str:
        """Ask for patience."""
        left_s = call.remaining_s()
        NOTED.append(left_s)
        raise Unavailable(retry_after_seconds=7.9 if len(NOTED) == 1 else 1)


def test_the_deadline_keeps_a_reserve_for_the_fallback() -> None:
    clock = InstantClock()
    tool = Slow(runtime=quiet_runtime())
    response = clock.run(tool.read())
    assert (response.data, clock.elapsed_s) == ("old", 8)
    assert tool.ended_at == clock.start_s + 8


def test_no_retry_waits_into_the_reserve() -> None:
    clock = InstantClock()
    response = clock.run(Slow(runtime=quiet_runtime()).busy())
    assert response.data == "old"
    assert len(NOTED) == 2
    assert NOTED[0] == pytest.approx(8)
    assert clock.elapsed_s == pytest.approx(7.9)


def test_a_fallback_that_outlasts_the_deadline_ends_with_it() -> None:
    clock = InstantClock()
    tool = Slow(runtime=quiet_runtime())
    tool.fallback_took_s = 60
    error = clock.run(tool.read()).error
    assert error is not None
    assert (error.code, clock.elapsed_s) == ("DEADLINE_EXCEEDED", 10)


def test_a_caller_who_leaves_gets_no_fallback() -> None:
    async def leave(tool: Slow) -> bool:
        running = asyncio.create_task(tool.read())
        await asyncio.sleep(3)
        running.cancel()
        await asyncio.wait([running])
        return running.cancelled()

    metrics = Recording()
    assert InstantClock().run(leave(Slow(runtime=quiet_runtime(metrics=metrics))))
    assert (metrics.of("finished"), metrics.of("recovery")) == (["cancelled"], [])


def test_a_function_that_asks_for_what_is_not_there_is_refused_when_the_tool_is_made() -> None:
    def wrong(nobody_knows: int) -> int:
        return nobody_knows

    class Wrong(BaseTool):
        @operation(recovery=[Fallback(wrong)])
        async def work(self, number: int) -> int:
            """Work."""
            return number

    with pytest.raises(ConfigurationError, match="nobody_knows"):
        Wrong(runtime=quiet_runtime())


@pytest.mark.parametrize("reserve_s", [-1, float("inf"), float("nan")])
def test_a_reserve_that_makes_no_sense_is_refused(reserve_s: float) -> None:
    with pytest.raises(ValueError, match="reserve_s"):
        Fallback(plain, reserve_s=reserve_s)


def test_a_reserve_that_is_the_whole_deadline_is_refused() -> None:
    class Wrong(BaseTool):
        @operation(timeout=2, recovery=[Fallback(plain, reserve_s=2)])
        async def work(self) -> int:
            """Work."""
            return 1

    with pytest.raises(ConfigurationError, match="reserves all"):
        Wrong(runtime=quiet_runtime())


def test_two_fallbacks_stand_behind_one_another() -> None:
    manager = RecoveryManager()
    manager.add(Fallback(lambda: 2), Fallback(broken))

    class Twice(BaseTool):
        @operation(read_only=True)
        async def work(self) -> int:
            """Fail."""
            raise Unavailable

    tool = Twice(runtime=quiet_runtime(recovery=manager))
    assert asyncio.run(tool.work()).data == 2
    assert tool.describe()["work"].count("fallback") == 2


@pytest.mark.parametrize("on", [3, [3], [Unavailable, "TIMEOUT"]])
def test_what_is_no_error_class_is_refused_when_the_fallback_is_made(on: Any) -> None:
    with pytest.raises(TypeError, match="error classes"):
        Fallback(plain, on=on)


def test_a_value_is_no_fallback() -> None:
    with pytest.raises(TypeError, match="takes a function"):
        Fallback(3)  # type: ignore[arg-type]  # what a newcomer writes
