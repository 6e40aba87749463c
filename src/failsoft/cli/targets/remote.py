"""Client of a running server given by its URL: lists and calls its tools over MCP."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, Tool

from failsoft.cli.faults import missing, usage
from failsoft.cli.screen.progress_line import Waiting
from failsoft.cli.targets.typed_arguments import from_words
from failsoft.framework.errors import ToolError, Unauthenticated, Unavailable
from failsoft.framework.text import bounded

T = TypeVar("T")
_ANSWERS_WITHIN_S = 30.0
_CALL_WITHIN_S = 3_600.0
_TOKEN = "FAILSOFT_TOKEN"  # noqa: S105 - the name of a variable


def list_remote(url: str, token: str | None) -> list[Tool]:
    """Return the tools of the server at this URL.

    Raises:
        UNAVAILABLE: No MCP server answers there.
        UNAUTHENTICATED: It asks for a token, or for another one.
    """

    async def ask(client: Client) -> list[Tool]:
        return list((await client.list_tools()).tools)

    return ask_server(url, token, ask)


def call_remote(
    url: str, token: str | None, operation: str, arguments: Mapping[str, Any], words: Sequence[str]
) -> tuple[dict[str, Any], bool]:
    """Return the answer to a call as JSON, and whether it is a failure.

    Args:
        url: Of the server; `/mcp` is added where there is no path.
        token: Sent as a bearer token.
        operation: The tool's name.
        arguments: JSON values by name.
        words: `KEY=VALUE`, read by the tool's schema; they replace arguments of the same name.

    Raises:
        UNAVAILABLE: No MCP server answers there.
        UNAUTHENTICATED: It asks for a token, or for another one.
        NOT_FOUND: It has no such tool; the closest name is in the message.
    """

    async def ask(client: Client) -> tuple[dict[str, Any], bool]:
        known = {tool.name: tool for tool in (await client.list_tools()).tools}
        if operation not in known:
            raise missing(
                kind="tool",
                name=operation,
                known=list(known),
                command=f"failsoft call {{}} --url {url}",
                listing=f"failsoft tools --url {url}",
            )
        given = {**arguments, **from_words(words, known[operation].input_schema)}
        with Waiting(operation) as waiting:

            async def show(progress: float, total: float | None, message: str | None) -> None:
                await waiting.report(progress, total, message)

            result = await client.call_tool(operation, given, progress_callback=show)
        return _answer(result), bool(result.is_error)

    return ask_server(url, token, ask)


def _answer(result: CallToolResult) -> dict[str, Any]:
    """Return the structured content, or the content blocks if there is none."""
    if result.structured_content is not None:
        return dict(result.structured_content)
    blocks = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content]
    return {"isError": bool(result.is_error), "content": blocks}


def ask_server(url: str, token: str | None, ask: Callable[[Client], Awaitable[T]]) -> T:
    """Connect a client to the server at this URL, pass it to a function, and return the result.

    Raises:
        UNAVAILABLE: No MCP server answers there.
        UNAUTHENTICATED: It asks for a token, or for another one.
        INVALID_PARAM: The URL is not an HTTP address.
    """
    address = _address(url)
    statuses: list[int] = []

    async def note(response: httpx2.Response) -> None:
        statuses.append(response.status_code)

    async def asked() -> T:
        given = token or os.environ.get(_TOKEN)
        headers = {"Authorization": f"Bearer {given}"} if given else {}
        limits = httpx2.Timeout(_CALL_WITHIN_S, connect=_ANSWERS_WITHIN_S)
        hooks = {"response": [note]}  # the SDK's own error does not contain the status
        async with (
            httpx2.AsyncClient(headers=headers, timeout=limits, follow_redirects=True, event_hooks=hooks) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            return await ask(client)

    try:
        return asyncio.run(asked())
    except BaseException as error:
        status = statuses[-1] if statuses else 0
        raise _failure(error, address, status, has_token=bool(token or os.environ.get(_TOKEN))) from error


def _address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise usage(message=f"'{bounded(url)}' is no HTTP address.", hint="--url http://127.0.0.1:8321/mcp")
    return url if parts.path.strip("/") else url.rstrip("/") + "/mcp"


def _failure(error: BaseException, address: str, status: int, *, has_token: bool) -> BaseException:
    """Return the typed error for an exception of the client, often in nested groups."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, ToolError) or not isinstance(error, Exception):
        return error
    if status in {401, 403}:
        said = "does not accept this token" if has_token else "asks for a token"
        return Unauthenticated(message=f"{address} {said}.", operator_hint=f"--token TOKEN, or {_TOKEN}")
    if isinstance(error, (MCPError, httpx2.HTTPError, OSError)):
        return Unavailable(
            message=f"No MCP server answers at {address} ({type(error).__name__}: {bounded(str(error))})."
        )
    return error
