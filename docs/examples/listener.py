# --8<-- [start:program]
import asyncio

from failsoft import (
    AttemptEvent,
    BaseTool,
    RecoveryEvent,
    Retry,
    Unavailable,
    operation,
)

ANSWERS = iter([None, 21.5])


class Weather(BaseTool):
    """A weather service that is busy now and then."""

    @operation(read_only=True, recovery=[Retry(base_s=0.01)])
    async def temperature(self, city: str) -> float:
        """Return the temperature of a city in degrees Celsius."""
        measured = next(ANSWERS)
        if measured is None:
            raise Unavailable(message=f"No station near {city} answers.")
        return measured


def note(event: object) -> None:
    if isinstance(event, AttemptEvent):
        print("run", event.attempt, event.result, event.code)
    elif isinstance(event, RecoveryEvent):
        print(event.strategy, event.result)


async def main() -> None:
    weather = Weather()
    stop = weather.runtime.events.subscribe(note, AttemptEvent, RecoveryEvent)
    await weather.temperature(city="Oslo")
    stop()


asyncio.run(main())
# --8<-- [end:program]
