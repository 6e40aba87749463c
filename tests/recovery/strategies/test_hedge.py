"""Runs beside each other: when they start, which one counts, and that nothing of the others is left."""

from __future__ import annotations

import asyncio
import weakref
from typing import Any

import pytest

from failsoft import (
    AttemptTimeout,
    BaseTool,
    CallContext,
    ConfigurationError,
    Hedge,
    NotFound,
    RecoveryManager,
    Retry,
    RetryBudget,
    Unavailable,
    operation,
)
from failsoft.testing import InstantClock
from tests.doors import CallScope
from tests.framework.recording import Recording, noted, quiet_runtime, without_garbage_collection


class Uneven(BaseTool):
    """Each run has a configured duration and outcome; the value is the number of the run."""

    def __init__(self, *script: tuple[float, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.script = list(script)
        self.log: list[tuple[str, int]] = []

    async def _run(self, call: CallContext) -> int:
        number = call.attempt
        seconds, error = self.script.pop(0)
        self.log.append(("began", number))
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self.log.append(("cancelled", number))
            raise
        self.log.append(("ended", number))
        call.warn(f"from run {number}")
        call.documents_processed = number
        if error is not None:
            raise error
        return number

    @operation(read_only=True, timeout=60, recovery=[Hedge(1.0)])
    async def read(self, call: CallContext) -> int:
        """Change nothing."""
        return await self._run(call)

    @operation(idempotent=True, timeout=60, recovery=[Hedge(1.0, extra=2)])
    async def put(self, call: CallContext) -> int:
        """Do it again without harm."""
        return await self._run(call)

    @operation(idempotent=True, timeout=60, recovery=[Hedge(1.0, extra=2)])
    async def append(self, call: CallContext) -> int:
        """Find out that these arguments do harm twice."""
        call.idempotent = False
        return await self._run(call)

    @operation(read_only=True, timeout=60, recovery=[Hedge(1.0), Retry(base_s=0)])
    async def retried(self, call: CallContext) -> int:
        """Change nothing, and be retried."""
        return await self._run(call)

    @operation(read_only=True, timeout=60, recovery=[Hedge(1.0), RetryBudget(ratio=0.0, floor=1.0)])
    async def frugal(self, call: CallContext) -> int:
        """Change nothing, with a budget of one."""
        return await self._run(call)


def uneven(*script: tuple[float, Any]) -> tuple[Uneven, Recording]:
    metrics = Recording()
    return Uneven(*script, runtime=quiet_runtime(metrics=metrics)), metrics


def answer(tool: Uneven, name: str = "read", clock: InstantClock | None = None) -> Any:
    async def call() -> Any:
        response = await tool.execute_with_error_handling(name, {})
        assert len(asyncio.all_tasks()) == 1
        return response

    return (clock or InstantClock()).run(call())


def test_a_quick_answer_starts_no_other_run() -> None:
    tool, metrics = uneven((0.9, None))
    response = answer(tool)
    assert (response.data, tool.log) == (1, [("began", 1), ("ended", 1)])
    assert (metrics.of("attempted"), metrics.of("recovery"), metrics.of("finished")) == (["ok"], [], ["ok"])


def test_a_slow_run_gets_another_beside_it_and_the_first_answer_counts() -> None:
    clock = InstantClock()
    tool, metrics = uneven((30, None), (0.5, None))
    response = answer(tool, clock=clock)
    assert (response.data, clock.elapsed_s) == (2, 1.5)
    assert tool.log == [("began", 1), ("began", 2), ("ended", 2), ("cancelled", 1)]
    assert response.metadata.warnings == ["from run 2"]
    assert response.metadata.documents_processed == 2
    assert metrics.of("attempted") == ["ok", "cancelled"]
    assert metrics.of("recovery") == [("hedge", "recovered")]
    assert metrics.of("finished") == ["ok"]


def test_the_first_run_may_still_win() -> None:
    tool, metrics = uneven((1.5, None), (30, None))
    response = answer(tool)
    assert (response.data, response.metadata.warnings) == (1, ["from run 1"])
    assert metrics.of("attempted") == ["ok", "cancelled"]
    assert metrics.of("recovery") == [("hedge", "failed")]


def test_as_many_are_started_as_are_allowed_one_after_each_delay() -> None:
    clock = InstantClock()
    tool, metrics = uneven((30, None), (30, None), (0.25, None))
    assert (answer(tool, "put", clock).data, clock.elapsed_s) == (3, 2.25)
    assert sorted(metrics.of("attempted")) == ["cancelled", "cancelled", "ok"]


def test_a_run_whose_handler_narrows_its_declaration_gets_no_other_beside_it() -> None:
    clock = InstantClock()
    tool, metrics = uneven((30, None), (0.25, None), (0.25, None))
    assert (answer(tool, "append", clock).data, clock.elapsed_s) == (1, 30)
    assert tool.log == [("began", 1), ("ended", 1)]
    assert metrics.of("attempted") == ["ok"]


def test_an_error_that_waiting_may_cure_leaves_it_to_the_run_under_way() -> None:
    tool, metrics = uneven((1.5, Unavailable()), (1, None))
    assert answer(tool).data == 2
    assert metrics.of("attempted") == ["error", "ok"]


def test_an_error_that_another_run_would_repeat_decides_at_once() -> None:
    clock = InstantClock()
    tool, metrics = uneven((1.5, NotFound()), (30, None))
    response = answer(tool, clock=clock)
    assert (response.error.code, clock.elapsed_s) == ("NOT_FOUND", 1.5)
    assert metrics.of("attempted") == ["error", "cancelled"]
    assert response.metadata.warnings == ["from run 1"]


def test_if_all_fail_the_first_error_is_reported() -> None:
    tool, metrics = uneven((1.5, Unavailable(message="One.")), (1, Unavailable(message="Two.")))
    response = answer(tool)
    assert response.error.exception.message == "One."
    assert metrics.of("attempted") == ["error", "error"]
    assert metrics.of("finished") == ["error"]


def test_runs_that_fail_leave_no_reference_cycles() -> None:
    raised: list[weakref.ref[Unavailable]] = []

    class Down(BaseTool):
        @operation(read_only=True, timeout=60, recovery=[Hedge(1.0)])
        async def read(self) -> None:
            """Be down."""
            await asyncio.sleep(1.5)
            raise noted(Unavailable(), raised)

    async def main() -> None:
        tool = Down(runtime=quiet_runtime())
        with without_garbage_collection():
            assert not (await tool.read()).success
            assert len(raised) == 2
            assert [error() for error in raised] == [None, None]

    InstantClock().run(main())


def test_a_run_that_fails_alone_is_not_hedged() -> None:
    tool, metrics = uneven((0.5, Unavailable()))
    assert answer(tool).error.code == "UNAVAILABLE"
    assert metrics.of("attempted") == ["error"]


def test_retries_count_on_from_the_runs_of_the_race() -> None:
    tool, metrics = uneven((1.5, Unavailable()), (1.5, Unavailable()), (0.1, None))
    response = answer(tool, "retried")
    assert (response.data, response.metadata.recovery.attempts) == (3, 3)
    assert metrics.of("attempted") == ["error", "error", "ok"]


def test_without_a_token_there_is_no_further_run() -> None:
    clock = InstantClock()
    tool, metrics = uneven((5, None), (0.5, None), (5, None))
    with clock:
        assert answer(tool, "frugal", clock).data == 2
        assert answer(tool, "frugal", clock).data == 1
    assert metrics.of("attempted") == ["ok", "cancelled", "ok"]


def test_the_deadline_ends_all_runs() -> None:
    clock = InstantClock()
    tool, metrics = uneven((90, None), (90, None), (90, None))
    error = answer(tool, "put", clock).error
    assert (error.code, error.effect, error.stop_reason) == ("DEADLINE_EXCEEDED", "unknown", "deadline")
    assert metrics.of("attempted") == ["timeout"] * 3
    assert clock.elapsed_s == 60


def test_a_caller_who_leaves_ends_all_runs() -> None:
    async def leave(tool: Uneven) -> bool:
        running = asyncio.create_task(tool.read())
        await asyncio.sleep(2)
        running.cancel()
        await asyncio.wait([running])
        assert len(asyncio.all_tasks()) == 1
        return running.cancelled()

    tool, metrics = uneven((90, None), (90, None))
    assert InstantClock().run(leave(tool))
    assert (metrics.of("attempted"), metrics.of("finished")) == (["cancelled", "cancelled"], ["cancelled"])


@pytest.mark.parametrize("raised", [SystemExit(1), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError()])
def test_nothing_a_run_raises_ends_the_event_loop(raised: BaseException) -> None:
    tool, metrics = uneven((0.5, raised))
    response = answer(tool)
    assert response.error.category == "internal"
    assert metrics.of("attempted") == ["error"]


def test_progress_of_all_runs_only_ever_increases() -> None:
    reported: list[float] = []

    async def report(done: float, _total: float | None, _message: str | None) -> None:
        reported.append(done)

    class Reporting(BaseTool):
        @operation(read_only=True, timeout=60, recovery=[Hedge(1.0)])
        async def read(self, call: CallContext) -> None:
            """Report progress, twice at once."""
            for done in (1, 2, 3):
                await call.report_progress(done * call.attempt)
                await asyncio.sleep(0.75)

    tool = Reporting(runtime=quiet_runtime())
    InstantClock().run(tool.operations["read"].call({}, CallScope(report_progress=report)))  # type: ignore[arg-type]
    assert reported == sorted(set(reported))
    assert reported[:2] == [1, 2]


def test_all_runs_are_one_request() -> None:
    seen: list[tuple[str, int]] = []

    class Asking(BaseTool):
        @operation(read_only=True, timeout=60, recovery=[Hedge(1.0)])
        async def read(self, call: CallContext) -> None:
            """Note which request it belongs to."""
            seen.append((call.request_id, call.attempt))
            await asyncio.sleep(1.5)

    InstantClock().run(Asking(runtime=quiet_runtime()).read())
    assert [attempt for _, attempt in seen] == [1, 2]
    assert len({request for request, _ in seen}) == 1


@pytest.mark.parametrize(
    "options", [{"delay_s": -1}, {"delay_s": 1, "extra": 0}, {"delay_s": float("inf")}, {"extra": float("nan")}]
)
def test_options_that_make_no_sense_are_refused(options: Any) -> None:
    with pytest.raises(ValueError, match="Hedge"):
        Hedge(**options)


def test_an_operation_that_says_nothing_about_itself_is_not_hedged() -> None:
    class Writing(BaseTool):
        @operation(timeout=10)
        async def write(self) -> None:
            """Do it twice if it is run twice."""

    manager = RecoveryManager()
    manager.add(Hedge(1.0))
    with pytest.raises(ConfigurationError, match="neither read-only nor idempotent"):
        Writing(runtime=quiet_runtime(recovery=manager))


@pytest.mark.parametrize("recovery", [[Hedge(10)], [Hedge(2), AttemptTimeout(2)]])
def test_a_hedge_that_would_come_too_late_is_refused(recovery: Any) -> None:
    class Late(BaseTool):
        @operation(read_only=True, timeout=10, recovery=recovery)
        async def read(self) -> None:
            """Change nothing."""

    with pytest.raises(ConfigurationError, match="'read'"):
        Late(runtime=quiet_runtime())


def test_the_winner_does_not_wait_for_a_loser_that_is_slow_to_end() -> None:
    class Stubborn(BaseTool):
        runs = 0

        @operation(read_only=True, timeout=60, recovery=[Hedge(0.1)])
        async def read(self) -> int:
            """Answer at once the second time; the first run takes three seconds to end."""
            self.runs += 1
            if self.runs == 2:
                return 2
            try:
                await asyncio.sleep(3_600)
            finally:
                await asyncio.sleep(3)
            return 1

    async def main() -> float:
        loop = asyncio.get_running_loop()
        tool, began = Stubborn(runtime=quiet_runtime()), loop.time()
        assert (await tool.read()).data == 2
        return loop.time() - began

    assert InstantClock().run(main()) < 0.2


def test_without_a_delay_a_percentile_of_the_last_runs_decides() -> None:
    class Varied(BaseTool):
        runs = 0

        @operation(read_only=True, timeout=600, recovery=[Hedge()])
        async def read(self) -> int:
            """Take one second; every hundredth time much longer."""
            self.runs += 1
            await asyncio.sleep(100 if self.runs == 101 else 1)
            return self.runs

    clock = InstantClock()
    tool = Varied(runtime=quiet_runtime())

    async def main() -> float:
        for _ in range(100):
            assert (await tool.read()).success
        began = asyncio.get_running_loop().time()
        assert (await tool.read()).success
        return asyncio.get_running_loop().time() - began

    assert clock.run(main()) <= 3
    assert tool.runs == 102


class Timed(BaseTool):
    """Each run takes the next duration and notes when it began."""

    def __init__(self, *durations_s: float) -> None:
        super().__init__(runtime=quiet_runtime())
        self.left = list(durations_s)
        self.began: list[float] = []

    @operation(read_only=True, timeout=600, recovery=[Hedge(percentile=0.5)])
    async def read(self) -> None:
        """Take as long as the script says."""
        self.began.append(asyncio.get_running_loop().time())
        await asyncio.sleep(self.left.pop(0))


async def seconds_until_hedged(tool: Timed) -> float:
    """Return after how long the next call, a slow one, got its second run."""
    tool.began.clear()
    tool.left = [100, 0]
    assert (await tool.read()).success
    first, second = tool.began
    return second - first


def test_the_delay_is_the_percentile_that_was_set_and_not_the_shortest_run() -> None:
    async def main() -> float:
        tool = Timed(*range(1, 21))
        for _ in range(20):
            assert (await tool.read()).success
        return await seconds_until_hedged(tool)

    assert 10 < InstantClock().run(main()) < 12


def test_the_delay_follows_a_service_that_has_become_slower() -> None:
    async def main() -> float:
        tool = Timed(*[1] * 20)
        for _ in range(20):
            assert (await tool.read()).success
        for _ in range(60):
            tool.left = [10, 10]
            assert (await tool.read()).success
        return await seconds_until_hedged(tool)

    assert 10 < InstantClock().run(main()) < 12
