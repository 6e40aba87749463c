# --8<-- [start:imports]
import asyncio
import json

from failsoft import (
    BaseTool,
    RecoveryManager,
    RecoveryResult,
    ToolError,
    Unavailable,
    operation,
)
from failsoft.recovery import Call

# --8<-- [end:imports]

# --8<-- [start:strategy]
NEAREST = {"Oslo": "Drammen"}


class NearestStation:
    """Asks the station next to the one that is silent."""

    name = "nearest_station"

    async def attempt(self, error: ToolError, call: Call) -> RecoveryResult | None:
        silent = call.arguments["station"]
        nearest = NEAREST.get(silent)
        if nearest is None:
            return None
        return RecoveryResult(
            value=await call.retry(station=nearest),
            message=f"{silent} is silent; this is {nearest}.",
            changed={"station": nearest},
            degraded=True,
        )


# --8<-- [end:strategy]


# --8<-- [start:tool]
manager = RecoveryManager()
manager.register(Unavailable, NearestStation())


class Weather(BaseTool):
    """Stations, of which one is silent."""

    recovery = manager

    @operation(read_only=True)
    async def temperature(self, station: str) -> float:
        """Return the temperature at a station in degrees Celsius."""
        if station == "Oslo":
            raise Unavailable(message="The station in Oslo does not answer.")
        return 20.0


# --8<-- [end:tool]


# --8<-- [start:run]
async def main() -> None:
    response = await Weather().temperature(station="Oslo")
    print(json.dumps(response.to_dict()["metadata"]["recovery"], indent=2))


asyncio.run(main())
# --8<-- [end:run]
