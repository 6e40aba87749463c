# --8<-- [start:tool]
import asyncio

from failsoft import BaseTool, Retry, Unavailable, operation

ANSWERS = iter([None, None, 21.5])


class Weather(BaseTool):
    """A weather service that is busy now and then."""

    @operation(read_only=True, recovery=[Retry(attempts=3, base_s=0.01)])
    async def temperature(self, city: str) -> float:
        """Return the temperature of a city in degrees Celsius."""
        measured = next(ANSWERS)
        if measured is None:
            raise Unavailable(message=f"No station near {city} answers.")
        return measured


# --8<-- [end:tool]


# --8<-- [start:run]
async def main() -> None:
    response = await Weather().temperature(city="Oslo")
    print(response.data)
    receipt = response.metadata.recovery
    assert receipt is not None
    print(receipt.strategy, receipt.attempts)


asyncio.run(main())
# --8<-- [end:run]
