"""Routes library logs through the server's own and drops noise."""

from __future__ import annotations

import logging

from starlette.requests import ClientDisconnect

LIBRARIES = ("",)
"""The standard library's loggers that are forwarded: the root logger, and so all of them."""


def drop_noise() -> None:
    """Drop log lines of libraries for every request, and tracebacks of normal events."""
    root = logging.getLogger()
    root.setLevel(max(root.level, logging.WARNING))
    logging.getLogger("mcp.server.streamable_http").addFilter(_is_no_disconnect)
    logging.getLogger("uvicorn.error").addFilter(_is_no_failed_start)


def _is_no_disconnect(record: logging.LogRecord) -> bool:
    """Clients leave in the middle of a request every day; the SDK logs each with a traceback, as an error."""
    return not (record.exc_info and isinstance(record.exc_info[1], ClientDisconnect))


def _is_no_failed_start(record: logging.LogRecord) -> bool:
    """Our own error says why a start failed; uvicorn (`lifespan/on.py`) logs the same as a traceback."""
    return record.module != "on"
