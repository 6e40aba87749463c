"""uvicorn's httptools protocol with time limits on headers and bodies, a bound on headers, and a cap on connections."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Literal, NoReturn, TypeAlias
from weakref import WeakKeyDictionary

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from failsoft.server.http.process.connections import ConnectionLimits, Connections

Phase: TypeAlias = Literal["idle", "header", "body", "complete"]
_HEADER_BYTES_AT_MOST = 65_536
_HEADERS_AT_MOST = 200
_PAUSED_S = 0.05
"""How soon a client is looked at again from which nothing is read, in seconds."""
_of_server: WeakKeyDictionary[Config, Connections] = WeakKeyDictionary()


class _TooMuchHeader(Exception):
    """The header, or the trailer of a chunked body, exceeds its limit."""


class LimitedProtocol(HttpToolsProtocol):
    """Protocol of one connection.

    Args:
        limits: The limits of the server; the other arguments are uvicorn's.
    """

    def __init__(
        self,
        limits: ConnectionLimits,
        *,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits
        self._all = _of_server.setdefault(config, Connections(limits))
        self._timer: asyncio.TimerHandle | None = None
        self._due: float | None = None
        """When the client has to have sent more, on the loop's clock; None while nothing is expected of it."""
        self._header_bytes = 0
        self._known_bytes = 0
        self._is_oversized = False
        self._unanswered: deque[RequestResponseCycle] = deque()
        self.phase: Phase = "header"

    @property
    def is_busy(self) -> bool:
        """Whether a complete request is being processed."""
        return self.phase == "complete"

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
        if self._timer is not None:
            self._timer.cancel()
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
            return  # upgrades are not supported: handled as a plain request
        else:
            if self.phase == "header" and self._header_bytes > _HEADER_BYTES_AT_MOST:
                self._is_oversized = True
                self._due = None
                self.send_400_response("")

    def send_400_response(self, msg: str) -> None:
        """Respond with 400, or 431 for a header that is too large."""
        if self._is_oversized:
            self._end_with(431)
        else:
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
        """Begin a request."""
        super().on_message_begin()
        self._known_bytes = 0
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
        """Expect nothing more: the app has its own time limits."""
        self._due = None
        self.phase = "complete"
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Start the header time-out of the next request; uvicorn's keep-alive limit applies too."""
        if self.phase == "complete" and not self.pipeline:
            self.phase = "idle"
        if self._unanswered:  # they are answered in the order in which they came
            self._unanswered.popleft()
        super().on_response_complete()

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
            self.transport.write(STATUS_LINE[status] + b"content-length: 0\r\nconnection: close\r\n\r\n")
        self.transport.close()
