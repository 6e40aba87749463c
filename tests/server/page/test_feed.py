"""`/events`: the status whole, then what has changed, to a bounded number of readers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from referencing import Registry, Resource

from failsoft import NotFound, Settings, asgi_app
from failsoft.testing import fresh_runtime
from tests.doors import feed_module
from tests.server.http.test_app import opened
from tests.server.http.test_status import SCHEMA, Shop

pytestmark = pytest.mark.anyio
CHANGE = json.loads((Path(__file__).parents[3] / "docs/schemas/status-change.schema.json").read_text())
SCHEMAS = Registry().with_resource("status.schema.json", Resource.from_contents(SCHEMA))
TOKEN = "the token of a reader"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send events more often than people read."""
    monkeypatch.setattr(feed_module, "_EVERY_S", 0.01)
    monkeypatch.setattr(feed_module, "_SELDOM_S", 0.02)
    monkeypatch.setattr(feed_module, "_LOOK_S", 0.01)


@pytest.fixture
def shop() -> Shop:
    shop = Shop(runtime=fresh_runtime(settings=Settings(auth_token=TOKEN)))
    shop.answers = []
    return shop


class Reader:
    """Reads the events of an app as an ASGI server would pass them on."""

    def __init__(self, app: Any, token: str = TOKEN, **more: str) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.is_over = False
        self.may_read = asyncio.Event()
        self.may_read.set()
        self._parts: asyncio.Queue[bytes] = asyncio.Queue()
        self._gone = asyncio.Event()
        self.begun = asyncio.Event()
        headers = [(b"host", b"127.0.0.1:8321"), (b"authorization", f"Bearer {token}".encode())]
        headers += [(name.replace("_", "-").encode(), value.encode()) for name, value in more.items()]
        scope = {"type": "http", "method": "GET", "path": "/events", "query_string": b"", "headers": headers}
        scope |= {"asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1", "scheme": "http"}
        self._task = asyncio.create_task(app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.begun.set()
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            return
        await self.may_read.wait()
        for event in message["body"].split(b"\n\n")[:-1]:
            self._parts.put_nowait(event)
        self.is_over = not message.get("more_body", False)

    async def event(self, *, named: str = "") -> tuple[str, Any]:
        """Return the next event, or the next with that name."""
        with anyio.fail_after(20):
            while True:
                name, data = (await self._parts.get()).decode().split("\n")
                if not named or name == f"event: {named}":
                    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))

    async def leave(self) -> None:
        self._gone.set()
        with anyio.fail_after(20):
            await self._task

    async def ended(self) -> None:
        with anyio.fail_after(20):
            await self._task


@asynccontextmanager
async def serving(shop: Shop) -> AsyncIterator[Any]:
    app = asgi_app(shop, name="shop")
    async with opened(app):
        yield app


async def test_a_reader_gets_the_status_and_the_last_hour_and_then_what_has_changed(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "_SMALL_BYTES", 0)
    async with serving(shop) as app:
        for _ in range(20):
            await shop.sell(item="nothing")
        reader = Reader(app)
        name, status = await reader.event()
        jsonschema.validate(status, SCHEMA)
        assert (name, status["name"], len(status["recent"])) == ("status", "shop", 20)
        assert reader.headers["content-type"].startswith("text/event-stream")
        assert reader.headers["cache-control"] == "no-store"
        name, history = await reader.event()
        assert (name, [*history]) == ("history", ["at", "errors"])
        shop.answers = [NotFound("There is no tea.")]
        await shop.price(item="tea")
        while True:
            name, change = await reader.event(named="change")
            if change["recent"]:
                break
        jsonschema.Draft202012Validator(CHANGE, registry=SCHEMAS).validate(change)
        assert [call["code"] for call in change["recent"]] == ["NOT_FOUND"]
        assert [(row["operation"], row["calls"]["error"]) for row in change["rows"]["operations"]] == [("price", 1)]
        await reader.leave()


async def test_a_small_status_is_sent_whole_each_time(shop: Shop) -> None:
    async with serving(shop) as app:
        reader = Reader(app)
        names = [(await reader.event())[0] for _ in range(4)]
        assert names == ["status", "history", "status", "status"]
        await reader.leave()


async def test_readers_share_what_is_gathered_and_without_readers_nothing_is(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    gathered = 0
    snapshot = feed_module.Status.snapshot

    async def counted(status: Any) -> Any:
        nonlocal gathered
        gathered += 1
        return await snapshot(status)

    monkeypatch.setattr(feed_module.Status, "snapshot", counted)
    async with serving(shop) as app:
        readers = [Reader(app) for _ in range(3)]
        for reader in readers:
            for _ in range(4):
                await reader.event(named="status")
        assert gathered < 12
        for reader in readers:
            await reader.leave()
        before = gathered
        await anyio.sleep(0.1)
        assert gathered == before
        late = Reader(app)
        assert (await late.event())[0] == "status"
        assert (await late.event(named="status"))[0] == "status"
        await late.leave()


async def test_a_slow_reader_misses_changes_and_gets_the_whole(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "_SMALL_BYTES", 0)
    async with serving(shop) as app:
        for _ in range(20):
            await shop.sell(item="nothing")
        slow, quick = Reader(app), Reader(app)
        await slow.event(named="history")
        slow.may_read.clear()
        for _ in range(6):
            await quick.event(named="change")
        slow.may_read.set()
        await slow.event(named="status")
        await slow.leave()
        await quick.leave()


async def test_a_reader_that_takes_nothing_loses_its_place(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "_SLOW_S", 0.05)
    monkeypatch.setattr(feed_module, "READERS_AT_MOST", 1)
    async with serving(shop) as app:
        stuck = Reader(app)
        stuck.may_read.clear()
        with anyio.fail_after(20):
            await stuck.begun.wait()
        refused = Reader(app)
        await refused.ended()
        assert (refused.status, refused.headers["retry-after"]) == (503, "5")
        await stuck.ended()
        other = Reader(app)
        assert (await other.event())[0] == "status"
        await other.leave()


async def test_readers_that_come_at_once_are_bounded_too(shop: Shop) -> None:
    async with serving(shop) as app:
        readers = [Reader(app) for _ in range(2 * feed_module.READERS_AT_MOST)]
        with anyio.fail_after(20):
            for reader in readers:
                await reader.begun.wait()
        assert sum(reader.status == 200 for reader in readers) == feed_module.READERS_AT_MOST
        for reader in readers:
            await reader.leave()


async def test_the_events_end_when_the_server_drains(shop: Shop) -> None:
    async with serving(shop) as app:
        reader = Reader(app)
        await reader.event(named="status")
        app.state.assembly.lifecycle.drain()
        name, ended = await reader.event(named="end")
        assert (name, ended["name"], ended["phase"]) == ("end", "shop", "draining")
        assert [finding["key"] for finding in ended["headline"]["findings"]] == ["phase"]
        await reader.ended()
        assert reader.is_over


async def test_events_take_the_token(shop: Shop) -> None:
    async with serving(shop) as app:
        reader = Reader(app, token="another")
        await reader.ended()
        assert reader.status == 401


async def test_the_page_of_another_site_takes_no_place(shop: Shop) -> None:
    async with serving(shop) as app:
        reader = Reader(app, sec_fetch_site="cross-site")
        await reader.ended()
        assert reader.status == 403
