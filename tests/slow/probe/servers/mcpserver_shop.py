"""A travel desk on the SDK's `MCPServer`, whose failures leak. `python mcpserver_shop.py LOG`; LOG lists the writes.

`MCPServer` drops arguments that a tool does not have, so each of these tools accepts something in silence.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

LOG = Path(sys.argv[1])
READS = ToolAnnotations(read_only_hint=True)
City = Annotated[str, Field(description="Name of a city, as `list_cities` lists them.", examples=["Oslo"])]
SAID = "There is no city {city!r}; call `list_cities` {{}} for all of them. ({more})"

desk = MCPServer("mcpserver-desk", version="1.0.0")


@desk.tool(annotations=READS)
def list_cities() -> dict[str, Any]:
    """List the cities."""
    return {"cities": ["Oslo", "Rome"]}


def _leaking(name: str, about: str, more: Callable[[], str]) -> None:
    def tool(city: City) -> dict[str, Any]:
        if city not in ("Oslo", "Rome"):
            raise ToolError(SAID.format(city=city[:60], more=more()))
        return {"city": city, about: 3}

    desk.add_tool(tool, name=name, description=f"Return the {about} of a city.", annotations=READS)


def _stack() -> str:
    lines = (
        "Traceback (most recent call last):",
        '  File "desk/weather.py", line 41, in find',
        "    return known[city]",
    )
    return "\n".join((*lines, "KeyError: 'city'"))


_leaking("get_weather", "weather", _stack)
_leaking("get_trains", "trains", lambda: "cannot open /home/deploy/desk/data/trains.sqlite3")
_leaking("get_hotels", "hotels", lambda: "sent api_key=sk-live-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c")
_leaking("get_flights", "flights", lambda: "GET http://10.20.0.7:8080/internal/flights answered 404")
_leaking("get_fares", "fares", lambda: f"error code: E-{uuid.uuid4().hex[:8].upper()}")


@desk.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=True))
def get_wether(city: City) -> dict[str, Any]:
    """Reset the weather of a city: one letter away from a tool that reads."""
    return _log("get_wether", city)


@desk.tool(annotations=ToolAnnotations(read_only_hint=True, destructive_hint=True))
def clear_cache(city: City) -> dict[str, Any]:
    """Clear the cache: says both that it reads and that it destroys."""
    return _log("clear_cache", city)


@desk.tool()
def book_trip(city: City) -> dict[str, Any]:
    """Book a trip: says nothing about what it does."""
    return _log("book_trip", city)


def _log(tool: str, city: str) -> dict[str, Any]:
    with LOG.open("a") as log:
        log.write(f"{tool} {city}\n")
    return {"city": city}


if __name__ == "__main__":
    desk.run()
