"""The same tool on FastMCP, with the middlewares that do what ours does by default."""

from __future__ import annotations

from typing import Any

from fastmcp import FastMCP
from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware, RetryMiddleware
from fastmcp.server.middleware.logging import LoggingMiddleware
from fastmcp.server.middleware.timing import TimingMiddleware
from sample_tool import Document, find

__all__ = ["server"]


def server(*, middleware: bool = True) -> FastMCP[Any]:
    """Return a FastMCP server with error handling, retry, timing and logging, or without any of them."""
    chosen = [ErrorHandlingMiddleware(), RetryMiddleware(), TimingMiddleware(), LoggingMiddleware()]
    made: FastMCP[Any] = FastMCP("peer", middleware=chosen if middleware else [])

    @made.tool
    async def get_document(path: str, limit: int = 10) -> Document:
        """Return a document."""
        return find(path, limit)

    return made
