"""What a failure needs around its server: the service behind it, a folder, and what happened before."""

import json
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import Any

from mcp import Client

from agents.answers.clinic_rooms import ClinicRooms
from agents.answers.ledger import Ledger
from agents.answers.parcels import Parcels
from agents.answers.upstream import Answer, Fault, Upstream, listening
from failsoft import BaseTool, Runtime, Settings, mcp_server

SERVERS: dict[str, Callable[..., BaseTool]] = {"clinic": ClinicRooms, "parcels": Parcels, "ledger": Ledger}
SERVED = {"DE", "AT", "NG"}
KEY = "dev.failsoft/idempotency-key"


@dataclass
class World:
    """One server with one client, and all that is behind it.

    Attributes:
        client: The client.
        upstream: The HTTP service.
        folder: Where the server keeps its files.
        kept: The values of earlier answers that later calls use, by name.
    """

    client: Client
    upstream: Upstream
    folder: Path
    kept: dict[str, str] = field(default_factory=dict)

    async def call(self, text: str, key: str = "") -> Any:
        """Make a call that is written as `tool {"argument": "value"}`."""
        tool, _, arguments = Template(text).substitute(self.kept).partition(" ")
        meta: Any = {KEY: key} if key else None
        return await self.client.call_tool(tool, json.loads(arguments or "{}"), meta=meta)


Step = Callable[[World], Awaitable[None]]


@dataclass(frozen=True)
class Failure:
    """A call that fails.

    Attributes:
        name: What it is called.
        wants: What the agent wants, with the facts that it knows.
        call: The call that it sends, as `tool {"argument": "value"}`.
        right: What it should do next: a call, `wait`, `look first`, `ask the person` or `stop`.
        before: What has happened before.
        repeats: How often the same call has failed already.
        key: The idempotency key that it sends.
    """

    name: str
    wants: str
    call: str
    right: str
    before: Step | None = None
    repeats: int = 0
    key: str = ""


def earlier(call: str, keep: str = "", field_name: str = "", key: str = "") -> Step:
    """Make a call before, and keep a field of what it returns."""

    async def step(world: World) -> None:
        result = await world.call(call, key)
        if keep:
            world.kept[keep] = result.structured_content["data"][field_name or keep]

    return step


def fault(kind: str, status: int = 0, detail: str = "", **rest: Any) -> Step:
    """Let requests of a kind fail."""

    async def step(world: World) -> None:
        body = {"error": {"code": status, "detail": detail}} if detail else None
        world.upstream.faults[kind] = Fault(status=status, body=body, **rest)

    return step


def file(path: str, text: str) -> Step:
    """Write a file of the server's folder."""

    async def step(world: World) -> None:
        (world.folder / path).parent.mkdir(exist_ok=True)
        (world.folder / path).write_text(text)

    return step


def sql(name: str, statement: str) -> Step:
    """Run a statement on a database of the server."""

    async def step(world: World) -> None:
        with closing(sqlite3.connect(world.folder / name)) as db:
            db.executescript(statement)

    return step


def locked(name: str) -> Step:
    """Let another program hold the lock of a database for as long as the failure lasts."""

    async def step(world: World) -> None:
        def hold() -> None:
            with closing(sqlite3.connect(world.folder / name)) as db:
                db.execute("BEGIN EXCLUSIVE")
                held.set()
                world.upstream.closing.wait(20)

        held = threading.Event()
        threading.Thread(target=hold, daemon=True).start()
        held.wait(5)

    return step


def steps(*parts: Step) -> Step:
    """Take several steps, in order."""

    async def step(world: World) -> None:
        for part in parts:
            await part(world)

    return step


def not_served(shipment: dict[str, Any]) -> Answer | None:
    """Refuse a country that the carrier does not serve, and a second shipment of an order."""
    if shipment["country"] not in SERVED:
        return 422, {"errors": [{"field": "country", "detail": f"no service to {shipment['country']} in May"}]}
    return None


def no_phone(message: dict[str, Any]) -> Answer | None:
    """Refuse a message to a patient without a telephone."""
    if message["to"] == "P-1002":
        return 422, {"detail": "P-1002 has blocked messages"}
    return None


@asynccontextmanager
async def world_of(server: str) -> AsyncIterator[World]:
    """Start a server with all that is behind it."""
    with TemporaryDirectory() as folder, listening() as upstream:
        upstream.records["prices"] = [
            {"id": "economy", "service": "economy", "zone": 1, "most_g": 31500, "cents": 549},
            {"id": "express", "service": "express", "zone": 1, "most_g": 20000, "cents": 1290},
        ]
        upstream.rules.update(shipments=not_served, messages=no_phone)
        runtime = Runtime(settings=Settings())
        toolset = SERVERS[server](Path(folder), upstream.url, runtime=runtime)
        async with Client(mcp_server([toolset], version="1.0")) as client:  # no size depends on the commit
            yield World(client, upstream, Path(folder))
