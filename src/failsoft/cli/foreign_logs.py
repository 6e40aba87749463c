"""What the libraries below a server log: in the server's own lines, and nothing that is no fault of anybody here."""

from __future__ import annotations

import logging

from starlette.requests import ClientDisconnect

__all__ = ["FOREIGN", "leave_out_what_is_no_fault"]

FOREIGN = ("",)
"""The loggers of the standard library that write into ours while we serve: the root, and so all of them."""


def leave_out_what_is_no_fault() -> None:
    """Drop what libraries say of every request, and the tracebacks of what is not broken."""
    root = logging.getLogger()
    root.setLevel(max(root.level, logging.WARNING))
    logging.getLogger("mcp.server.streamable_http").addFilter(_is_no_goodbye)
    logging.getLogger("uvicorn.error").addFilter(_is_no_failed_start)


def _is_no_goodbye(record: logging.LogRecord) -> bool:
    """Clients leave in the middle of a request every day; the SDK logs each with a stack, as an error."""
    return not (record.exc_info and isinstance(record.exc_info[1], ClientDisconnect))


def _is_no_failed_start(record: logging.LogRecord) -> bool:
    """Why a start-up failed is told by the error that we get; uvicorn (`lifespan/on.py`) tells it as a traceback."""
    return record.module != "on"
