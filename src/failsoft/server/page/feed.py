"""The status as server-sent events (`/events`): whole first, then what has changed since.

The status is gathered once for all readers of a process, 32 at most, and only while there are any. A slow one misses
changes and gets the whole again; one that takes nothing gives up its place. A stream ends when the server drains, and
after a minute, when its reader comes again: a token that has expired stops reading, and an ASGI server that waits for
its connections before it ends waits no longer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from pydantic_core import to_json
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from failsoft.framework.safe.author_reports import logger
from failsoft.server.lifecycle import Lifecycle
from failsoft.server.page.status import Snapshot, Status

READERS_AT_MOST = 32
_EVERY_S, _SELDOM_S = 1.0, 3.0
_SHARE = 100
"""Gathering takes a hundredth of the time at most, as long as that makes no event later than `_SELDOM_S`."""
_LOOK_S = 0.25
_SLOW_S = 20.0
_STREAM_AT_MOST_S = 60.0
_SMALL_BYTES = 4_096
"""Up to this size the whole status is sent again."""
DATA = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'",
}
"""Headers of whatever the page reads."""
_OF_EVENTS = {**DATA, "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no"}
_HEADERS = tuple((name.encode(), value.encode()) for name, value in _OF_EVENTS.items())
_ROWS = {"operations": ("tool", "operation"), "errors": ("tool", "operation", "code")}
"""Lists whose rows are sent alone if they have changed, with the keys that tell them apart."""


class _Step(NamedTuple):
    """What is sent at one moment: to a reader that has the step before, and to any other."""

    number: int
    change: bytes
    whole: bytes


class Feed:
    """The streams of one server in one process.

    Args:
        status: What is sent.
        lifecycle: Says when the streams end.
    """

    def __init__(self, status: Status, lifecycle: Lifecycle) -> None:
        self._status, self._lifecycle = status, lifecycle
        self._step: _Step | None = None
        self._stepped = asyncio.Event()
        self._pumping: asyncio.Task[None] | None = None
        self.readers = 0

    @property
    def is_full(self) -> bool:
        """Whether there is no place for another reader."""
        return self.readers >= READERS_AT_MOST

    def stream(self) -> Response:
        """Return a response that sends the status until its reader leaves."""
        return _Stream(self)

    @contextmanager
    def place(self) -> Iterator[None]:
        """Hold the place of a reader; the status is gathered while there is any."""
        self.readers += 1
        try:
            yield
        finally:
            self.readers -= 1
            if not self.readers and self._pumping is not None:
                self._pumping.cancel()
                self._pumping = self._step = None

    async def send_to(self, send: Send) -> None:
        """Send the status to one reader until the server drains, or the reader takes nothing."""
        self._begin()
        until, seen = time.monotonic() + _STREAM_AT_MOST_S, -1
        history = _event("history", to_json(self._status.history()))
        while time.monotonic() < until:
            while self._step is None or self._step.number == seen:
                if self._pumping is None or self._pumping.done():
                    return
                await self._stepped.wait()
            step = self._step
            text = step.change if step.number == seen + 1 else step.whole + history
            history, seen = b"", step.number
            with suppress(TimeoutError):
                async with asyncio.timeout(_SLOW_S):
                    await send({"type": "http.response.body", "body": text, "more_body": True})
                    continue
            return

    def _begin(self) -> None:
        if self._pumping is None or self._pumping.done():
            self._step = None
            self._pumping = asyncio.create_task(self._pump(), name="failsoft status events")

    async def _pump(self) -> None:
        """Gather the status again and again, while the server runs and somebody reads."""
        before: Snapshot | None = None
        number = 0
        try:
            while not self._lifecycle.is_ending:
                began = time.monotonic()
                now = await self._status.snapshot()
                whole = _event("status", now.text)
                change = whole if before is None else await asyncio.to_thread(_change, before.facts, now.facts, whole)
                before, number = now, number + 1
                self._tell(_Step(number, change, whole))
                await self._rest(min(_SELDOM_S, max(_EVERY_S, _SHARE * (time.monotonic() - began))))
            ended = _event("end", to_json(self._status.public() if before is None else self._status.ended(before)))
            self._tell(_Step(number + 1, ended, ended))
        except Exception as error:  # noqa: BLE001 - readers see that the stream ends, and come again
            logger.opt(exception=error).error("The status could not be gathered for the page")
        finally:
            self._wake()

    def _tell(self, step: _Step) -> None:
        self._step = step
        self._wake()

    def _wake(self) -> None:
        """Wake the streams, each once: an event that stays set would let them spin."""
        stepped, self._stepped = self._stepped, asyncio.Event()
        stepped.set()

    async def _rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self._lifecycle.is_ending:  # noqa: ASYNC110 - nobody tells it
            await asyncio.sleep(min(left, _LOOK_S))


class _Stream(Response):
    """A response of events, which ends when its reader leaves."""

    def __init__(self, feed: Feed) -> None:
        super().__init__()
        self._feed = feed

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the reader leaves or they end."""
        with self._feed.place():  # before anything is awaited: many may come at once
            await send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS]})
            has_left = await self._sent(receive, send)
        if not has_left:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SLOW_S):
                    await send({"type": "http.response.body", "body": b""})

    async def _sent(self, receive: Receive, send: Send) -> bool:
        """Send the events; return whether the reader has left."""
        sending = asyncio.create_task(self._feed.send_to(send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait([sending, leaving], return_when=asyncio.FIRST_COMPLETED)
            return leaving.done()
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.wait([sending, leaving])


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _event(name: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


def _change(before: Mapping[str, Any], now: Mapping[str, Any], whole: bytes) -> bytes:
    """Return the event that turns one status into the next; the whole again if that is about as small."""
    if len(whole) <= _SMALL_BYTES:
        return whole
    changed: dict[str, Any] = {"set": {}, "rows": {}, "recent": []}
    for key, value in now.items():
        if value == before.get(key):
            continue
        if key == "recent" and (added := _added(before[key], value)):
            changed["recent"] = added
        elif key in _ROWS and (rows := _changed_rows(before[key], value, _ROWS[key])):
            changed["rows"][key] = rows
        else:
            changed["set"][key] = value
    text = _event("change", to_json(changed, inf_nan_mode="null"))
    return text if 2 * len(text) < len(whole) else whole


def _added(before: list[Any], now: list[Any]) -> list[Any]:
    """Return the calls in front of those that were there; none if something else has changed."""
    if not before:
        return []
    count = next((at for at, call in enumerate(now) if call == before[0]), len(now))
    return now[:count] if now[count:] == before[: len(now) - count] else []


def _changed_rows(before: list[Any], now: list[Any], names: tuple[str, ...]) -> list[Any]:
    """Return the rows that differ; none if there are others than before."""
    if [[row[name] for name in names] for row in before] != [[row[name] for name in names] for row in now]:
        return []
    return [row for row, old in zip(now, before, strict=True) if row != old]
