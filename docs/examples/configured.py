# --8<-- [start:program]
from pathlib import Path

from failsoft import BaseTool, Runtime, Settings, operation


class Weather(BaseTool):
    """A weather service."""

    @operation(read_only=True)
    async def temperature(self, city: str) -> float:
        """Return the temperature of a city in degrees Celsius."""
        return 21.5


file = Path(__file__).with_name("recovery.toml")
weather = Weather(runtime=Runtime(settings=Settings(recovery_file=file)))
print("\n".join(weather.describe()["temperature"]))
# --8<-- [end:program]
