"""The same tool on FastMCP, with the middlewares that do what ours does by default."""

from __future__ import annotations

from typing import Any

from fastmcp import FastMCP
from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware, RetryMiddleware
from fastmcp.server.middleware.logging import LoggingMiddleware
from fastmcp.server.middleware.timing import TimingMiddleware
from sample_tool import Document, find

__all__ = ["server"]


def server() -> FastMCP[Any]:
    """Return a FastMCP server with error handling, retry, timing and logging."""
    made: FastMCP[Any] = FastMCP(
        "peer",
        middleware=[ErrorHandlingMiddleware(), RetryMiddleware(), TimingMiddleware(), LoggingMiddleware()],
    )

    @made.tool
    async def get_document(path: str, limit: int = 10) -> Document:
        """Return a document."""
        return find(path, limit)

    return made
