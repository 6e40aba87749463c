# --8<-- [start:setup]
import pytest

from failsoft import (
    AttemptEvent,
    BaseTool,
    RateLimited,
    Retry,
    Runtime,
    Unavailable,
    operation,
)
from failsoft.testing import (
    CapturedEvents,
    Delay,
    FaultScript,
    Hang,
    InstantClock,
    connected,
    fails_with,
    http_error,
)


class Weather(BaseTool):
    """A weather service."""

    @operation(read_only=True, timeout=30, recovery=[Retry(attempts=3)])
    async def temperature(self, city: str) -> float:
        """Return the temperature of a city in degrees Celsius."""
        return 21.5


@pytest.fixture
def weather(failsoft_runtime: Runtime) -> Weather:
    return Weather(runtime=failsoft_runtime)


# --8<-- [end:setup]


# --8<-- [start:clock]
def test_a_service_that_hangs_ends_at_the_limit(
    failsoft_clock: InstantClock, weather: Weather
) -> None:
    with FaultScript(Hang()).replaces(weather.temperature):
        response = failsoft_clock.run(
            weather.execute_with_error_handling("temperature", {"city": "Oslo"})
        )
    assert response.error is not None
    assert response.error.code == "DEADLINE_EXCEEDED"
    assert failsoft_clock.elapsed_s == 30


# --8<-- [end:clock]


# --8<-- [start:failure]
def test_a_service_that_stays_busy_is_reported(
    failsoft_clock: InstantClock, weather: Weather
) -> None:
    with FaultScript(http_error(429, retry_after=2)).replaces(
        weather.temperature
    ) as script:
        response = failsoft_clock.run(
            weather.execute_with_error_handling("temperature", {"city": "Oslo"})
        )
    fails_with(response, RateLimited, next_step="temperature", effect="none")
    assert len(script.calls) == 3


# --8<-- [end:failure]


# --8<-- [start:script]
def test_the_third_answer_counts(
    failsoft_clock: InstantClock, failsoft_events: CapturedEvents, weather: Weather
) -> None:
    async def main() -> object:
        async with connected(weather) as client:
            return (
                await client.call_tool("temperature", {"city": "Oslo"})
            ).structured_content

    script = FaultScript(Unavailable(), TimeoutError(), Delay(2.0, 19.0))
    with script.replaces(weather.temperature):
        answer = failsoft_clock.run(main())
    assert isinstance(answer, dict)
    assert answer["data"] == 19.0
    assert script.calls == [{"city": "Oslo"}] * 3
    assert [event.result for event in failsoft_events.of(AttemptEvent)] == [
        "error",
        "timeout",
        "ok",
    ]


# --8<-- [end:script]
