"""Servers like those of both libraries' examples: one function per example adds its parts to a server."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Any

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

__all__ = ["CALLS", "REFUSED", "add_examples"]


class Guest(BaseModel):
    """A guest of the party."""

    name: Annotated[str, Field(max_length=10)]


class Party(BaseModel):
    """A list of guests."""

    guests: list[Guest]


class Forecast(BaseModel):
    """The weather of a day, as a model with descriptions."""

    degrees: float = Field(description="In degrees Celsius")
    seen_at: datetime = Field(default=datetime(2026, 1, 31, 12, tzinfo=UTC), description="When it was observed")


class Summary(TypedDict):
    """The weather as a dictionary with known keys."""

    city: str
    degrees: float


@dataclass
class Alert:
    """The weather as a data class."""

    areas: list[str]
    until: date


def add_examples(server: Any, context: Any) -> None:
    """Add tools, a resource, a template and a prompt to a server.

    Args:
        server: An `MCPServer` or a `FastMCP`.
        context: The library's class of contexts.
    """
    _echo(server)
    _party(server)
    _greetings(server)
    _weather(server)
    _steps(server, context)


def _echo(server: Any) -> None:
    @server.tool()
    def echo(text: str) -> str:
        """Return the text."""
        return text

    @server.tool()
    def echo_whole(text: str) -> CallToolResult:
        """Return the text as a whole result, with metadata."""
        content = [TextContent(type="text", text=text)]
        return CallToolResult(content=content, structured_content={"text": text}, _meta={"words": 1})

    @server.resource("echo://static")
    def static() -> str:
        """Return a constant."""
        return "An echo"

    @server.resource("echo://{text}")
    def template(text: str) -> str:
        """Return what is in the address."""
        return f"An echo of {text}"

    @server.prompt("echo")
    def prompt(text: str) -> str:
        """Return the text as a prompt."""
        return text


def _party(server: Any) -> None:
    @server.tool()
    def list_guests(party: Party, more: Annotated[list[str], Field(max_length=2)]) -> list[str]:
        """List the names of all guests."""
        return [guest.name for guest in party.guests] + more


def _greetings(server: Any) -> None:
    @server.tool(description="\N{WAVING HAND SIGN} Grüße, 漢字")
    def greet(
        name: str = Field(default="世界", description="Who is greeted"),
        times: int = Field(default=1, description="How often"),
    ) -> str:
        """Greet somebody."""
        return "\n".join([f"¡Hola, {name}!"] * times)


def _weather(server: Any) -> None:
    @server.tool()
    def forecast(city: str) -> Forecast:
        """Return a model."""
        return Forecast(degrees=len(city) + 0.5)

    @server.tool()
    def summary(city: str) -> Summary:
        """Return a typed dictionary."""
        return {"city": city, "degrees": 1.0}

    @server.tool()
    def metrics(cities: list[str]) -> dict[str, dict[str, float]]:
        """Return dictionaries in a dictionary."""
        return {city: {"degrees": 20.0, "humidity": 0.5} for city in cities}

    @server.tool()
    def warnings(since: datetime) -> list[Alert]:
        """Return data classes."""
        return [Alert(["coast"], since.date())]

    @server.tool()
    def untyped(city: str):  # type: ignore[no-untyped-def]
        """Return something without saying what."""
        return [city, {"degrees": None}]


def _steps(server: Any, context: Any) -> None:
    async def steps(count: int, ctx: Any) -> str:
        """Report progress."""
        for number in range(count):
            await ctx.report_progress(number + 1, count)
        return f"{count} steps"

    steps.__annotations__["ctx"] = context
    server.tool()(steps)


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("echo", {"text": "a\u2028b"}),
    ("echo_whole", {"text": "a"}),
    ("list_guests", {"party": {"guests": [{"name": "Ann"}, {"name": "Bo"}]}, "more": ["Cy"]}),
    ("list_guests", {"party": {"guests": []}, "more": []}),
    ("greet", {}),
    ("greet", {"name": "Zoë", "times": 2}),
    ("forecast", {"city": "Oslo"}),
    ("summary", {"city": "Oslo"}),
    ("metrics", {"cities": ["Oslo", "Rom"]}),
    ("warnings", {"since": "2026-01-31T12:00:00"}),
    ("untyped", {"city": "Oslo"}),
    ("steps", {"count": 2}),
]
REFUSED: list[tuple[str, dict[str, Any], set[str]]] = [
    ("echo", {}, {"text"}),
    (
        "list_guests",
        {"party": {"guests": [{"name": "A" * 11}, {}]}},
        {"party.guests.0.name", "party.guests.1.name", "more"},
    ),
    ("greet", {"nam": "Zoë", "times": "2"}, {"nam", "times"}),
    ("warnings", {"since": 5}, {"since"}),
    ("steps", {"count": 1.5, "ctx": {}}, {"count", "ctx"}),
]
