"""Rate limits: how many get through, whose limit it is, and that the reported wait is exact."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from loguru import logger

from failsoft import configure_logging
from failsoft.recovery import RateLimit
from failsoft.testing import fresh_runtime
from tests.doors import KEPT, PARTS, CallScope, Changed, LocalState, take
from tests.framework.recording import Recording
from tests.recovery.protected import Protected, codes, on_instant_clock, protected
from tests.thorough import examples


async def as_principal(tool: Protected, principal: str | None) -> str:
    answer = await tool.operations["fetch"].call({}, CallScope(principal=principal))
    return "ok" if answer.error is None else answer.error.code


def test_calls_beyond_the_rate_are_turned_away_before_anything_is_done_for_them() -> None:
    async def main() -> None:
        metrics = Recording()
        tool = protected(RateLimit("100/minute"), metrics=metrics)
        assert await codes(tool.code() for _ in range(150)) == ["RATE_LIMITED"] * 50 + ["ok"] * 100
        assert tool.runs == 100
        assert metrics.of("finished").count("rejected") == 50

    on_instant_clock(main())


def test_refusals_share_a_log_line_a_minute_for_each_caller_and_other_failures_have_one_each() -> None:
    stream = io.StringIO()
    configure_logging("WARNING", json_lines=True, stream=stream)

    async def main() -> None:
        tool = protected(RateLimit("2/hour"))
        for name in ("ada", "bob", "ada", "ada", "bob"):
            await as_principal(tool, name)
        for _ in range(2):
            await tool.operations["fetch"].call({"no": 1}, CallScope(principal="ada"))

    on_instant_clock(main())
    logger.remove()
    logger.disable("failsoft")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    refused = [line["user"] for line in lines if line["code"] == "RATE_LIMITED"]
    assert (refused, len(lines)) == (["ada", "bob"], 4)


def test_the_reported_wait_is_exact() -> None:
    async def main() -> None:
        tool = protected(RateLimit("2/minute"))
        assert await tool.code() == "ok"
        await asyncio.sleep(10)
        assert await tool.code() == "ok"
        await asyncio.sleep(5.25)
        error = (await tool.fetch()).error
        assert error is not None
        assert (error.category, error.effect, error.retry.when) == ("rate_limited", "none", "after_delay")
        assert error.retry.after_seconds == pytest.approx(44.75, abs=0.01)
        await asyncio.sleep(error.retry.after_seconds or 0)
        assert [await tool.code(), await tool.code()] == ["ok", "RATE_LIMITED"]

    on_instant_clock(main())


def test_the_limit_is_an_operations_own_unless_something_is_named() -> None:
    async def main() -> None:
        runtime = fresh_runtime()

        def pair(**options: Any) -> list[Protected]:
            return [protected(RateLimit("1/hour", **options), runtime=runtime) for _ in range(2)]

        assert await codes(tool.code() for tool in pair()) == ["ok", "ok"]
        assert await codes(tool.code() for tool in pair(dependency="api")) == ["RATE_LIMITED", "ok"]
        assert await codes(tool.code() for tool in pair(per="server")) == ["RATE_LIMITED", "ok"]

    on_instant_clock(main())


def test_each_caller_has_a_limit_of_its_own_where_that_was_asked_for() -> None:
    async def main() -> None:
        tool = protected(RateLimit("1/hour", per="principal"))
        callers = ["ada", "bob", "ada", None, None, "bob"]
        assert [await as_principal(tool, caller) for caller in callers] == [
            "ok",
            "ok",
            "RATE_LIMITED",
            "ok",
            "RATE_LIMITED",
            "RATE_LIMITED",
        ]

    on_instant_clock(main())


def test_no_name_of_a_caller_is_in_a_key() -> None:
    async def main() -> None:
        tool = protected(RateLimit("5/hour", per="principal", dependency="api"))
        assert await as_principal(tool, "ada@example.org") == "ok"
        state = tool.runtime.state
        assert isinstance(state, LocalState)
        [kept] = await state.states.find("")
        assert kept.key.startswith("rate:")
        assert "ada" not in kept.key

    on_instant_clock(main())


@settings(max_examples=examples(60))
@given(
    st.integers(1, 40),
    st.sampled_from([1.0, 7.0, 60.0]),
    st.lists(st.tuples(st.floats(0, 0.2), st.integers(1, 20)), min_size=1, max_size=60),
)
def test_no_span_of_time_ever_holds_more_than_the_limit(
    limit: int, period_s: float, bursts: list[tuple[float, int]]
) -> None:
    now = 1_000.0
    state = LocalState(lambda: now)
    granted: list[float] = []
    for pause, times in bursts:
        now += pause * period_s
        for _ in range(times):
            is_granted, wait_s = state.change_now(take, "rate:x", limit, period_s, 1)
            if is_granted:
                granted.append(now)
            else:
                # No place is free that should be: at most one part of the window late.
                lately = [at for at in granted if at > now - period_s * (1 - 1 / PARTS)]
                inside = [at for at in granted if at > now - period_s * (1 + 1 / PARTS)]
                assert len(inside) >= limit
                assert 0 < wait_s <= period_s + 1e-6
                assert len(lately) <= limit
    for at in granted:
        assert len([other for other in granted if at - period_s < other <= at]) <= limit


def test_a_call_that_is_turned_away_writes_nothing() -> None:
    state = take(take(None, 1_000.0, 2, 60.0, 1).state, 1_030.0, 2, 60.0, 1).state
    assert take(state, 1_031.0, 2, 60.0, 1) == Changed(KEPT, [0, 29.0])
    full = take(state, 1_061.0, 1, 60.0, 1)
    assert full == Changed(KEPT, [0, 29.0]), "the one that has left the window need not be removed for it"


def test_a_clock_that_was_set_back_keeps_nobody_waiting_longer_than_the_period() -> None:
    """That of a Redis server, or of the replica of it that has taken over."""
    state = take(None, 5_000.0, 1, 60.0, 1).state
    refused = take(state, 1_400.0, 1, 60.0, 1)
    assert refused.answer == [0, 60.0]
    assert take(refused.state, 1_460.0, 1, 60.0, 1).answer == [1, 0.0]


@pytest.mark.parametrize(
    ("limit", "wait_s"),
    [
        ("1/minute", 60),
        ("1 per 2 seconds", 2),
        (" 1 PER 1 day ", 86_400),
        ("1 / 3hours", 10_800),
        ("1/month", 2_592_000),
    ],
)
def test_a_rate_is_a_number_and_a_period(limit: str, wait_s: float) -> None:
    async def main() -> None:
        tool = protected(RateLimit(limit))
        assert await tool.code() == "ok"
        error = (await tool.fetch()).error
        assert error is not None
        assert error.retry.after_seconds == pytest.approx(wait_s, rel=0.01)

    on_instant_clock(main())


@pytest.mark.parametrize(
    "arguments",
    [
        ("a lot",),
        ("100",),
        ("100/fortnight",),
        ("",),
        ("0/minute",),
        ("5 per 0 seconds",),
        ("5per minute",),
        ("5/\u017fecond",),
        ("5/m\u0131nute",),
        ("\uff15/minute",),
        ("9" * 5_000 + "/minute",),
        ("10/minute; 100/hour",),
        ("10/minute", "caller"),
        (10,),
    ],
)
def test_what_is_no_rate_is_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="RateLimit"):
        RateLimit(arguments[0], **({"per": arguments[1]} if len(arguments) > 1 else {}))


def test_a_limit_of_the_server_names_no_dependency() -> None:
    with pytest.raises(ValueError, match="RateLimit is per"):
        RateLimit("1/minute", per="server", dependency="api")
