"""uvicorn's protocol with time-outs for slow requests, a bound on headers, and a bound on connections.

They apply before authentication. At the bound the oldest connection without a complete request is closed to admit the
new one, then one with an unread answer or a stream of events. Calls are bounded below that, by `CallPlaces`.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias
from weakref import WeakKeyDictionary

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from failsoft.framework.safe.author_reports import logger
from failsoft.server.protocol.caller import connections_of

if TYPE_CHECKING:
    from failsoft.framework.settings import Settings

DropReason: TypeAlias = Literal["header_timeout", "body_timeout", "unread", "too_many", "invalid"]
_REPORTED_EVERY_S = 60.0
_NO_REQUEST, _UNREAD, _BUSY = range(3)
"""Claims to a connection: no complete request; an answer or stream that may be read; a call that is waited for."""
Phase: TypeAlias = Literal["idle", "header", "body", "complete"]
_HEADER_BYTES_AT_MOST = 65_536
_HEADERS_AT_MOST = 200
_UNREAD_TIMES = 6
"""How many times as long a client may take nothing of an answer as it may send nothing of a request."""
_PAUSED_S = 0.05
"""How soon a client is looked at again from which nothing is read, in seconds."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of one process.

    Args:
        header_timeout_s: Seconds for the whole header of a request.
        body_timeout_s: Seconds of silence within a body.
        connections: Connections at most.
    """

    header_timeout_s: float = 10.0
    body_timeout_s: float = 10.0
    connections: int = 1_000

    @classmethod
    def from_settings(cls, settings: Settings) -> ConnectionLimits:
        """Return the limits of the settings."""
        return cls(
            header_timeout_s=settings.header_timeout_s,
            body_timeout_s=settings.body_timeout_s,
            connections=connections_of(settings),
        )


class Connections:
    """The connections of one server in one process."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._open: dict[LimitedProtocol, None] = {}
        self._dropped: Counter[DropReason] = Counter()
        self._reporting: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, new: LimitedProtocol) -> bool:
        """Admit a new connection, closing the oldest with the least claim; return False if it was dropped itself."""
        if len(self._open) >= self.limits.connections and not self._make_room(new):
            return False
        self._open[new] = None
        return True

    def leave(self, connection: LimitedProtocol) -> None:
        """Forget a connection that has ended."""
        self._open.pop(connection, None)

    def count(self, reason: DropReason, loop: asyncio.AbstractEventLoop) -> None:
        """Count a dropped connection; logs at most once a minute."""
        self._dropped[reason] += 1
        if self._reporting is None:
            self._reporting = loop.call_later(0, self._report, loop)

    def _make_room(self, new: LimitedProtocol) -> bool:
        self.count("too_many", new.loop)
        weak = (one for claim in (_NO_REQUEST, _UNREAD) for one in self._open if one.claim() == claim)
        victim = next(weak, new)
        self.leave(victim)
        victim.drop()
        return victim is not new

    def _report(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._dropped:
            self._reporting = None
            return
        logger.bind(dropped=dict(self._dropped), open=len(self)).warning("Connections were dropped")
        self._dropped.clear()
        self._reporting = loop.call_later(_REPORTED_EVERY_S, self._report, loop)


_of_server: WeakKeyDictionary[Config, Connections] = WeakKeyDictionary()


class _TooMuchHeader(Exception):
    """The header, or the trailer of a chunked body, exceeds its limit."""


class LimitedProtocol(HttpToolsProtocol):
    """Protocol of one connection.

    Args:
        limits: The limits of the server; the other arguments are uvicorn's.
        on_refused: Called with the status of a refusal that the app does not see.
    """

    def __init__(
        self,
        limits: ConnectionLimits,
        *,
        on_refused: Callable[[int], None] | None = None,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits
        self._on_refused = on_refused
        self._all = _of_server.setdefault(config, Connections(limits))
        self._timer: asyncio.TimerHandle | None = None
        self._due: float | None = None
        """When the client has to have sent more, on the loop's clock; None while nothing is expected of it."""
        self._header_bytes = 0
        self._known_bytes = 0
        self._is_oversized = False
        self._reader_timer: asyncio.TimerHandle | None = None
        self._unanswered: deque[RequestResponseCycle] = deque()
        self.phase: Phase = "header"

    def claim(self) -> int:
        """Return how much is lost if the connection is closed for another: one of the three claims."""
        if self.phase != "complete":
            return _UNREAD if self.transport.get_write_buffer_size() else _NO_REQUEST
        is_stream = self.scope["method"] == "GET" and self.cycle.response_started
        return _UNREAD if is_stream or self.flow.write_paused else _BUSY

    def drop(self) -> None:
        """Close the connection without waiting for the client."""
        self._due = None
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it, too
        """Register the connection and start the header time-out."""
        super().connection_made(transport)
        if self._all.admit(self):
            self._await_header()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection. Of pipelined requests uvicorn reports the loss to the last one, which does not run."""
        self._due = None
        for timer in (self._timer, self._reader_timer):
            if timer is not None:
                timer.cancel()
        self._all.leave(self)
        super().connection_lost(exc)
        for cycle in self._unanswered:
            cycle.disconnected = True
            cycle.message_event.set()
        self._unanswered.clear()

    def data_received(self, data: bytes) -> None:
        """Parse received data as uvicorn does; invalid HTTP is counted instead of logged line by line."""
        self._unset_keepalive_if_required()
        if self.phase == "idle":
            self._await_header()
        if self.phase == "header":
            self._header_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self._all.count("invalid", self.loop)
            self._due = None
            self.send_400_response("Invalid HTTP request received.")
        except httptools.HttpParserUpgrade:
            pass  # upgrades are not supported: handled as a plain request
        else:
            if self.phase == "header" and self._header_bytes > _HEADER_BYTES_AT_MOST:
                self._is_oversized = True
                self._due = None
                self.send_400_response("")
        if self.phase == "idle":  # the end of a body has come after its answer
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def send_400_response(self, msg: str) -> None:
        """Respond with 400, or 431 for a header that is too large."""
        if self._is_oversized:
            self._end_with(431)
        else:
            self._tell_refused(400)
            super().send_400_response(msg)

    def on_url(self, url: bytes) -> None:
        """Handle a part of the URL."""
        self._known_bytes += len(url)
        if self._known_bytes > _HEADER_BYTES_AT_MOST:
            self._refuse_header()
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Handle a header field within the size limit; a trailer field is dropped, since it comes after admission."""
        self._known_bytes += len(name) + len(value)
        if self._known_bytes > _HEADER_BYTES_AT_MOST or len(self.headers) >= _HEADERS_AT_MOST:
            self._refuse_header()
        if self.phase == "header":
            super().on_header(name, value.strip(b" \t"))  # optional white space is not part of it (RFC 9110, 5.5)

    def _refuse_header(self) -> NoReturn:
        self._is_oversized = True
        raise _TooMuchHeader

    def on_message_begin(self) -> None:
        """Begin a request; one that comes with the end of a body that was answered before has its time, too."""
        super().on_message_begin()
        self._known_bytes = 0
        if self.phase == "idle":
            self._await_header()
        self.phase = "header"

    def on_headers_complete(self) -> None:
        """Start the body time-out."""
        self._header_bytes = 0
        self.phase = "body"
        super().on_headers_complete()
        self._unanswered.append(self.cycle)
        self._expect_within(self._limits.body_timeout_s)

    def on_body(self, body: bytes) -> None:
        """Handle a part of the body."""
        self._expect_within(self._limits.body_timeout_s)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Expect nothing more: the app has its own time limits, unless it answered before the body had come."""
        self._due = None
        self.phase = "idle" if self.cycle.response_complete else "complete"
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Start the header time-out of the next request; uvicorn's keep-alive limit applies too."""
        if self.phase == "complete" and not self.pipeline:
            self.phase = "idle"
        if self._unanswered:  # they are answered in the order in which they came
            self._unanswered.popleft()
        super().on_response_complete()
        if self.phase == "header" and not self._unanswered:
            self._await_header()
        if self.pipeline:
            self.flow.pause_reading()  # uvicorn reads on, with a new batch of requests for each answer

    def pause_writing(self) -> None:
        """Watch whether the client reads."""
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        """Trust the client again."""
        super().resume_writing()
        if self._reader_timer is not None:
            self._reader_timer.cancel()

    def _watch_reader(self) -> None:
        limit_s, unread = _UNREAD_TIMES * self._limits.body_timeout_s, self.transport.get_write_buffer_size()
        self._reader_timer = self.loop.call_later(limit_s, self._check_reader, unread)

    def _check_reader(self, unread: int) -> None:
        if self.transport.get_write_buffer_size() < unread:
            self._watch_reader()
        else:
            self._all.count("unread", self.loop)
            self.drop()

    def _await_header(self) -> None:
        self.phase, self._header_bytes = "header", 0
        self._expect_within(self._limits.header_timeout_s)

    def _expect_within(self, limit_s: float) -> None:
        """Expect more of the client within a time. A timer that ends before that looks again then."""
        self._due = due = self.loop.time() + limit_s
        if self._timer is not None and self._timer.when() > due:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = self.loop.call_at(due, self._check_time_out)

    def _check_time_out(self) -> None:
        """Close the connection if the client has been silent for too long; paused reading does not count."""
        self._timer = None
        if self._due is None:
            return
        if self.phase == "body" and self.flow.read_paused:
            self._due = max(self._due, self.loop.time() + _PAUSED_S)
        if self._due > self.loop.time():
            self._timer = self.loop.call_at(self._due, self._check_time_out)
            return
        self._due = None
        self._all.count("body_timeout" if self.phase == "body" else "header_timeout", self.loop)
        self._end_with(408)

    def _end_with(self, status: int) -> None:
        """Respond with a bare status, unless a response has begun, and close."""
        is_answering = self.phase == "body" and self.cycle.response_started
        if not is_answering and not self.transport.is_closing():
            self._tell_refused(status)
            self.transport.write(STATUS_LINE[status] + b"content-length: 0\r\nconnection: close\r\n\r\n")
        self.transport.close()

    def _tell_refused(self, status: int) -> None:
        if self._on_refused is not None:
            self._on_refused(status)
