"""The circuit breaker on calls: when it opens, which call probes, what counts, and what callers get."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from failsoft import CircuitEvent, ReportedFailure, Retry, Timeout, ToolError, Unavailable
from failsoft.recovery import Bulkhead, Circuit, CircuitBreaker
from failsoft.testing import CapturedEvents, fresh_runtime
from tests.doors import UNCOUNTED, SqliteBackend, Steps, Write, admit, peek, rate_at_least, registry, report
from tests.framework.recording import Recording
from tests.recovery.protected import Protected, codes, on_instant_clock, protected
from tests.thorough import examples


def fails(error: Any = Unavailable) -> Callable[[], Any]:
    def work() -> Any:
        raise error

    return work


def circuit_of(tool: Protected) -> Circuit:
    circuit = CircuitBreaker.of(tool.operations["fetch"])
    assert circuit is not None
    return circuit


async def opened(*strategies: Any, **options: Any) -> Protected:
    """Return a toolset whose circuit has just been opened by failures."""
    tool = protected(*strategies, work=fails(), **options)
    assert [await tool.code() for _ in range(5)] == ["UNAVAILABLE"] * 5
    assert await tool.code() == "CIRCUIT_OPEN"
    tool.work = lambda: "well again"
    return tool


def test_enough_failures_in_the_window_open_it_and_further_calls_are_not_sent() -> None:
    async def main() -> None:
        tool = protected(CircuitBreaker(failure_ratio=0.5, min_calls=4, open_s=30, confidence=0.5))
        assert await codes(tool.code() for _ in range(3)) == ["ok"] * 3
        tool.work = fails()
        assert [await tool.code() for _ in range(5)] == ["UNAVAILABLE"] * 3 + ["CIRCUIT_OPEN"] * 2
        assert tool.runs == 6

    on_instant_clock(main())


def test_fewer_calls_than_the_minimum_decide_nothing() -> None:
    async def main() -> None:
        tool = protected(CircuitBreaker(min_calls=10), work=fails())
        assert [await tool.code() for _ in range(9)] == ["UNAVAILABLE"] * 9
        assert await tool.code() == "UNAVAILABLE"
        assert await tool.code() == "CIRCUIT_OPEN"

    on_instant_clock(main())


def test_what_has_left_the_window_no_longer_counts() -> None:
    async def main() -> None:
        tool = protected(CircuitBreaker(min_calls=4, window_s=10), work=fails())
        for _ in range(12):
            assert await tool.code() == "UNAVAILABLE"
            await asyncio.sleep(3.5)

    on_instant_clock(main())


def test_successes_count_at_the_time_at_which_they_happened() -> None:
    async def main() -> None:
        tool = protected(CircuitBreaker(failure_ratio=0.5, min_calls=5, window_s=10))
        assert [await tool.code() for _ in range(100)] == ["ok"] * 100
        await asyncio.sleep(11)
        tool.work = fails()
        assert [await tool.code() for _ in range(6)] == ["UNAVAILABLE"] * 5 + ["CIRCUIT_OPEN"]

    on_instant_clock(main())


def test_a_caller_who_is_turned_away_learns_how_long_is_left_and_why() -> None:
    async def main() -> None:
        metrics = Recording()
        tool = await opened(CircuitBreaker(open_s=30), metrics=metrics)
        await asyncio.sleep(12.5)
        answer = await tool.fetch()
        error = answer.error
        assert error is not None
        assert (error.code, error.category, error.effect, error.stop_reason) == (
            "CIRCUIT_OPEN",
            "circuit_open",
            "none",
            "circuit_open",
        )
        assert (error.retry.when, error.retry.after_seconds) == ("after_delay", pytest.approx(17.5))
        assert metrics.of("finished")[-1] == "rejected"
        assert metrics.of("attempted") == ["error"] * 5

    on_instant_clock(main())


def test_a_retry_does_not_hammer_an_open_circuit() -> None:
    async def main() -> None:
        tool = protected(Retry(attempts=5, base_s=0.1), CircuitBreaker(min_calls=2, open_s=1), work=fails())
        answer = await tool.fetch()
        assert answer.error is not None
        assert (answer.error.code, answer.error.stop_reason, tool.runs) == ("CIRCUIT_OPEN", "circuit_open", 2)

    on_instant_clock(main())


@pytest.mark.parametrize("waiting", [20, 1_000])
def test_of_all_who_wait_for_it_exactly_one_probes(waiting: int) -> None:
    async def main() -> None:
        tool = await opened(CircuitBreaker(open_s=30))
        before = tool.runs
        await asyncio.sleep(30)
        tool.work = lambda: asyncio.sleep(1, "well again")
        assert await codes(tool.code() for _ in range(waiting)) == ["CIRCUIT_OPEN"] * (waiting - 1) + ["ok"]
        assert tool.runs - before == 1
        assert await codes(tool.code() for _ in range(waiting)) == ["ok"] * waiting

    on_instant_clock(main())


def test_a_probe_that_fails_opens_it_for_another_while() -> None:
    async def main() -> None:
        tool = await opened(CircuitBreaker(open_s=30))
        tool.work = fails(Timeout)
        for break_s in (30, 60, 120, 240, 300, 300):
            await asyncio.sleep(break_s - 1)
            assert await tool.code() == "CIRCUIT_OPEN"
            await asyncio.sleep(1)
            assert await tool.code() == "TIMEOUT"
            assert await tool.code() == "CIRCUIT_OPEN"
        await asyncio.sleep(300)
        tool.work = lambda: "well again"
        assert await tool.code() == "ok"
        tool.work = fails()
        while await tool.code() != "CIRCUIT_OPEN":
            pass
        await asyncio.sleep(30)  # well in between, so the break is a short one again
        assert await tool.code() == "UNAVAILABLE"

    on_instant_clock(main())


def test_noise_does_not_open_it_and_an_outage_does() -> None:
    check_noise(1_800)


def check_noise(calls: int) -> None:
    """30 % of the calls fail at random, two a second: in an hour the plain rate opened it 57 times."""

    async def main() -> None:
        chance = random.Random(7)  # noqa: S311 - the same noise each time
        tool = protected(CircuitBreaker())
        tool.work = lambda: fails()() if chance.random() < 0.3 else "ok"
        seen = []
        for _ in range(calls):
            seen.append(await tool.code())
            await asyncio.sleep(0.5)
        assert seen.count("ok") / len(seen) > 0.65
        tool.work = fails()
        after = [await tool.code() for _ in range(40)]
        assert "CIRCUIT_OPEN" in after

    on_instant_clock(main())


def test_a_run_that_was_slow_counts_as_slow_however_it_ended() -> None:
    """Each caller gives up after three seconds: 300 of those left the circuit closed."""

    async def main() -> None:
        tool = protected(CircuitBreaker(slow_call_s=2, window_s=1_000), work=lambda: asyncio.sleep(3_600))
        for _ in range(5):
            calling = asyncio.create_task(tool.code())
            await asyncio.sleep(3)
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling
        assert await tool.code() == "CIRCUIT_OPEN"

    on_instant_clock(main())


def test_a_break_is_no_longer_than_it_is_by_whosever_clock() -> None:
    """A replica whose clock is 300 seconds ahead has opened a circuit for 5 seconds."""
    state = {"name": "open", "since": 1_300.0, "era": 1, "until": 1_305.0, "break_s": 5.0, "probe": "", "held": ""}
    state |= {"untold": "", "window": []}
    seen = admit(state, 1_000.0, "me", 60.0, 0, 10.0, 5.0)
    assert seen.answer == ["wait", "open", 1, 5.0, ""]
    assert admit(seen.state, 1_005.0, "me", 60.0, 0, 10.0, 5.0).answer[0] == "probe"


def test_a_probe_has_no_more_time_than_it_has_by_whosever_clock() -> None:
    """The probe began by a clock that was an hour ahead, and its process has died."""
    state = {"name": "open", "era": 1, "until": 4_600.0, "break_s": 5.0, "probe": "", "held": 0, "window": []}
    state = admit(state, 4_600.0, "dead", 60.0, 0, 10.0, 5.0).state
    seen = admit(state, 1_000.0, "me", 1.0, 0, 10.0, 5.0)
    assert seen.answer[:2] == ["wait", "half_open"]
    assert admit(seen.state, 1_059.0, "me", 1.0, 0, 10.0, 5.0).answer[0] == "wait"
    assert admit(seen.state, 1_060.0, "me", 1.0, 0, 10.0, 5.0).answer[0] == "probe"


@pytest.mark.parametrize("held", ["", "an operator"])
def test_calls_that_are_turned_away_write_nothing(tmp_path: Path, held: str) -> None:
    async def main() -> None:
        backend = SqliteBackend(tmp_path / "state.sqlite")
        state = {"name": "open", "era": 1, "until": backend.clock() + 300, "break_s": 300.0, "probe": "", "held": held}
        state |= {"window": [], "since": backend.clock(), "untold": ""}
        await backend.swap("breaker:x", "", Write("first", state, 600.0))
        steps = Steps(backend)
        for _ in range(3):
            assert (await steps.run(admit, "breaker:x", "me", 60.0, 0, 10.0, 5.0))[0] == ("held" if held else "wait")
        assert (await backend.read("breaker:x")).version == "first"
        await backend.close()

    asyncio.run(main())


@pytest.mark.parametrize("era", [0, 1])
def test_reports_of_calls_from_before_it_opened_write_nothing(tmp_path: Path, era: int) -> None:
    """Of a fleet they come all at once, when the service has become slow."""

    async def main() -> None:
        backend = SqliteBackend(tmp_path / "state.sqlite")
        state = {"name": "open", "era": 1, "until": backend.clock() + 300, "break_s": 300.0, "probe": "", "held": ""}
        state |= {"window": [], "since": backend.clock(), "untold": ""}
        await backend.swap("breaker:x", "", Write("first", state, 600.0))
        limits = (0.5, 0.5, 1.6, 5, 10.0, 5.0, 300.0)
        answer = await Steps(backend).run(report, "breaker:x", "", era, 0.0, 1, 1, 0, *limits)
        assert answer[:2] == ["open", 1]
        assert (await backend.read("breaker:x")).version == "first"
        await backend.close()

    asyncio.run(main())


def test_a_cancelled_probe_gives_its_place_to_the_next_caller() -> None:
    async def main() -> None:
        tool = await opened(CircuitBreaker(open_s=30))
        await asyncio.sleep(30)
        tool.work = lambda: asyncio.sleep(3600)
        for _ in range(3):
            probe = asyncio.create_task(tool.code())
            await asyncio.sleep(1)
            assert await tool.code() == "CIRCUIT_OPEN"
            probe.cancel()
            with pytest.raises(asyncio.CancelledError):
                await probe
        tool.work = lambda: "well again"
        assert await tool.code() == "ok"

    on_instant_clock(main())


def test_a_probe_that_never_ends_loses_its_place_when_its_time_is_up() -> None:
    """As if its process had died: the probe is not released."""

    async def main() -> None:
        tool = await opened(CircuitBreaker(open_s=30))
        circuit = CircuitBreaker().circuit(tool.operations["fetch"])
        await asyncio.sleep(30)
        assert (await circuit.admit(lease_s=600)).token
        assert await tool.code() == "CIRCUIT_OPEN"
        await asyncio.sleep(600)
        assert await tool.code() == "ok"

    on_instant_clock(main())


@pytest.mark.parametrize("category", sorted(UNCOUNTED - {"circuit_open"}))
def test_errors_that_say_nothing_about_the_dependency_never_open_it(category: str) -> None:
    error = next(kind for kind in registry.values() if kind.category == category)

    async def main() -> None:
        tool = protected(CircuitBreaker(min_calls=2), work=fails(error(message="x")))
        assert "CIRCUIT_OPEN" not in [await tool.code() for _ in range(20)]

    on_instant_clock(main())


@pytest.mark.parametrize(
    "error", [Unavailable, Timeout, ConnectionResetError("x"), TimeoutError(), KeyError("x"), SystemExit(3)]
)
def test_failures_of_the_dependency_open_it_however_they_are_raised(error: Any) -> None:
    async def main() -> None:
        tool = protected(CircuitBreaker(min_calls=3), work=fails(error))
        assert [await tool.code() for _ in range(4)][-1] == "CIRCUIT_OPEN"

    on_instant_clock(main())


def refused_statement() -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("SELEC 1")


@pytest.mark.parametrize("work", [refused_statement, fails(ReportedFailure(report="no such customer"))])
def test_failures_that_the_caller_has_to_fix_never_open_it(work: Any) -> None:
    async def main() -> None:
        tool = protected(CircuitBreaker(min_calls=2), work=work)
        assert "CIRCUIT_OPEN" not in [await tool.code() for _ in range(20)]

    on_instant_clock(main())


def test_a_probe_that_meets_the_callers_own_error_is_no_verdict() -> None:
    async def main() -> None:
        tool = await opened(CircuitBreaker(open_s=30))
        await asyncio.sleep(30)
        tool.work = fails(FileNotFoundError("x"))
        assert await tool.code() != "CIRCUIT_OPEN"
        tool.work = fails()
        assert [await tool.code(), await tool.code()] == ["UNAVAILABLE", "CIRCUIT_OPEN"]

    on_instant_clock(main())


def test_calls_that_take_too_long_open_it_though_they_succeed() -> None:
    async def main() -> None:
        tool = protected(CircuitBreaker(min_calls=4, window_s=60, slow_call_s=2), work=lambda: asyncio.sleep(2))
        assert [await tool.code() for _ in range(5)] == ["ok"] * 4 + ["CIRCUIT_OPEN"]
        quick = protected(CircuitBreaker(min_calls=4, window_s=60, slow_call_s=2), work=lambda: asyncio.sleep(1.9))
        assert [await quick.code() for _ in range(20)] == ["ok"] * 20

    on_instant_clock(main())


def test_time_that_runs_out_in_the_handler_counts_and_a_cancelled_call_does_not() -> None:
    async def main() -> None:
        tool = protected(CircuitBreaker(min_calls=3, window_s=10_000), work=lambda: asyncio.sleep(3600))
        for _ in range(10):
            call = asyncio.create_task(tool.code())
            await asyncio.sleep(1)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
        assert [await tool.code() for _ in range(4)] == ["DEADLINE_EXCEEDED"] * 3 + ["CIRCUIT_OPEN"]

    on_instant_clock(main())


def test_a_call_that_found_no_room_in_the_bulkhead_is_no_failure_of_the_dependency() -> None:
    async def main() -> None:
        tool = protected(CircuitBreaker(min_calls=2), Bulkhead(1), work=lambda: asyncio.sleep(1))
        assert await codes(tool.code() for _ in range(20)) == ["OVERLOADED"] * 19 + ["ok"]
        assert await tool.code() == "ok"

    on_instant_clock(main())


def test_failures_of_calls_from_before_it_opened_do_not_open_it_again() -> None:
    async def main() -> None:
        tool = protected(CircuitBreaker(min_calls=3, window_s=100, open_s=10))
        tool.work = late
        early = [asyncio.create_task(tool.code()) for _ in range(10)]
        await asyncio.sleep(1)
        tool.work = fails()
        assert [await tool.code() for _ in range(4)][-1] == "CIRCUIT_OPEN"
        tool.work = lambda: "well again"
        await asyncio.sleep(10)
        assert await tool.code() == "ok"
        assert await codes(_awaited(task) for task in early) == ["UNAVAILABLE"] * 10
        assert await tool.code() == "ok"

    async def late() -> None:
        await asyncio.sleep(15)
        raise Unavailable

    on_instant_clock(main())


async def _awaited(task: Awaitable[str]) -> str:
    return await task


def test_operations_share_a_circuit_by_the_name_of_their_dependency_and_by_nothing_else() -> None:
    async def main() -> None:
        runtime = fresh_runtime()
        failing, sharing = (protected(CircuitBreaker("api", min_calls=3), runtime=runtime) for _ in range(2))
        alone, another = (protected(CircuitBreaker(min_calls=3), runtime=runtime) for _ in range(2))
        failing.work = alone.work = fails()
        for tool in (failing, alone):
            assert [await tool.code() for _ in range(4)][-1] == "CIRCUIT_OPEN"
        assert await sharing.code() == "CIRCUIT_OPEN"
        assert await another.code() == "ok"

    on_instant_clock(main())


def test_it_is_held_open_or_closed_by_hand_until_it_is_reset() -> None:
    async def main() -> None:
        tool = protected(CircuitBreaker(min_calls=2, open_s=30))
        circuit = circuit_of(tool)
        assert await tool.code() == "ok"
        await circuit.open()
        await asyncio.sleep(3600)
        assert await tool.code() == "CIRCUIT_OPEN"
        await circuit.close()
        tool.work = fails()
        assert [await tool.code() for _ in range(20)] == ["UNAVAILABLE"] * 20
        await circuit.reset()
        assert [await tool.code() for _ in range(3)] == ["UNAVAILABLE"] * 2 + ["CIRCUIT_OPEN"]
        view = await circuit.view()
        assert (view.dependency, view.state, view.wait_s) == ("shop.fetch", "open", 30)

    on_instant_clock(main())


def test_a_view_counts_what_is_in_the_window() -> None:
    async def main() -> None:
        tool = protected(CircuitBreaker("api", min_calls=50))
        assert await codes(tool.code() for _ in range(7)) == ["ok"] * 7
        tool.work = fails()
        assert await codes(tool.code() for _ in range(3)) == ["UNAVAILABLE"] * 3
        view = await circuit_of(tool).view()
        assert (view.state, view.calls, view.failed, view.slow) == ("closed", 10, 3, 0)
        await asyncio.sleep(11)
        view = await circuit_of(tool).view()
        assert (view.calls, view.failed) == (0, 0)

    on_instant_clock(main())


def test_every_change_is_announced_once() -> None:
    async def main() -> None:
        runtime = fresh_runtime()
        with CapturedEvents(runtime, CircuitEvent) as captured:
            tool = await opened(CircuitBreaker(open_s=30), runtime=runtime)
            assert await codes(tool.code() for _ in range(10)) == ["CIRCUIT_OPEN"] * 10
            await asyncio.sleep(30)
            assert [await tool.code() for _ in range(3)] == ["ok"] * 3
        changes = [(event.was, event.state) for event in captured.of(CircuitEvent)]
        assert changes == [
            (None, "closed"),
            ("closed", "open"),
            ("open", "half_open"),
            ("half_open", "closed"),
        ]
        assert {event.dependency for event in captured.of(CircuitEvent)} == {"shop.fetch"}

    on_instant_clock(main())


@pytest.mark.parametrize(
    "options",
    [
        {"failure_ratio": 0},
        {"failure_ratio": 1.1},
        {"min_calls": 0},
        {"window_s": 0},
        {"open_s": -1},
        {"open_s": float("inf")},
        {"slow_call_s": 0},
        {"slow_ratio": 0},
        {"confidence": 1},
        {"confidence": 0.4},
        {"max_open_s": 0},
        {"window_s": float("nan")},
        {"min_calls": float("nan")},
    ],
)
def test_options_that_make_no_breaker_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="CircuitBreaker needs"):
        CircuitBreaker(**options)


def test_the_defaults_are_those_of_the_contract() -> None:
    assert astuple(CircuitBreaker()) == (None, 0.5, 5, 10, 5, 300, None, 0.5, 0.95)


@settings(max_examples=examples(25))
@given(st.integers(0, 60), st.sampled_from([Unavailable(), None]))
def test_a_call_cancelled_at_any_point_leaves_no_probe_behind(steps: int, outcome: ToolError | None) -> None:
    """Cancelled after so many turns of the event loop, wherever that is; the next call must be let through."""

    async def work() -> None:
        for _ in range(20):
            await asyncio.sleep(0)
        if outcome is not None:
            raise outcome

    async def main() -> None:
        tool = await opened(CircuitBreaker(open_s=30))
        await asyncio.sleep(30)
        tool.work = work
        probe = asyncio.create_task(tool.code())
        for _ in range(steps):
            await asyncio.sleep(0)
        has_ended = probe.done()
        probe.cancel()
        await asyncio.wait([probe])
        tool.work = lambda: "well again"
        expected = "CIRCUIT_OPEN" if has_ended and outcome is not None else "ok"
        assert await tool.code() == expected
        assert tool.running == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}

    on_instant_clock(main())


@pytest.mark.parametrize("longer_s", [11.0, 100.0])
def test_calls_leave_the_window_after_a_reload_has_made_it_longer(longer_s: float) -> None:
    """Slots are numbered by their length, so those of a shorter window seem to lie in the future."""
    limits = (0.5, 0.5, 1.6, 5)
    started = report(None, 1_000_000.0, "", 0, 0.0, 4, 1, 0, *limits, 10.0, 5.0, 300.0).state
    later = 1_000_000.0 + 3 * longer_s
    after = report(started, later, "", 0, 0.0, 1, 0, 0, *limits, longer_s, 5.0, 300.0).state
    assert peek(after, later, longer_s).answer[3:5] == [1, 0]
    assert peek(after, later + 3 * longer_s, longer_s).answer[3:5] == [0, 0]


@pytest.mark.parametrize(
    ("failed", "calls", "bound"), [(8, 10, 0.4902), (1, 10, 0.0179), (50, 100, 0.4038), (0, 10, 0.0), (3, 3, 1.0)]
)
def test_the_failure_rate_is_at_least_the_lower_end_of_wilsons_interval(failed: int, calls: int, bound: float) -> None:
    assert rate_at_least(failed, calls, 1.96) == pytest.approx(bound, abs=0.0001)
