"""A server that restarts when a file of its application changes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import anyio.lowlevel
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.cli.serving import serving

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
ANSWERS_WITHIN_S = 60


async def _copies(url: str) -> object:
    """Return how many copies of a book there are; None while the server restarts."""
    try:
        async with Client(f"{url}/mcp") as client:
            return (await client.call_tool("get_book", {"title": "Dune"})).structured_content["data"]
    except Exception:  # noqa: BLE001 - whatever the client raises while nothing answers
        return None


async def _becomes(expected: object, ask) -> None:
    async with asyncio.timeout(ANSWERS_WITHIN_S):
        while await ask() != expected:
            await anyio.lowlevel.checkpoint()


def _change(folder: Path, old: str, new: str) -> None:
    file = folder / "library.py"
    file.write_text(file.read_text().replace(old, new))


async def test_a_change_reaches_http_clients_at_the_same_address(folder: Path) -> None:
    with serving(folder, "--app", "library:Library", "--reload") as (url, process):
        assert await _copies(url) == 2
        _change(folder, '"Dune": 2', '"Dune": 7')
        await _becomes(7, lambda: _copies(url))
        _change(folder, "BOOKS = {", "BOOKS = (")
        await _becomes(None, lambda: _copies(url))
        _change(folder, "BOOKS = (", "BOOKS = {")
        await _becomes(7, lambda: _copies(url))
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_stdio_client_keeps_its_connection(folder: Path, mode: str) -> None:
    arguments = ["-m", "failsoft", "serve", "--app", "library:Library", "--reload"]
    server = StdioServerParameters(command=sys.executable, args=arguments, cwd=folder, env=dict(os.environ))
    async with Client(server, mode=mode) as client:

        async def copies() -> object:
            return (await client.call_tool("get_book", {"title": "Dune"})).structured_content["data"]

        assert await copies() == 2
        _change(folder, '"Dune": 2', '"Dune": 7')
        await _becomes(7, copies)
