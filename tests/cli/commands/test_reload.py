"""A server that restarts when a file of its application changes."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.cli.serving import serving
from tests.doors import fixed_port
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio
ANSWERS_WITHIN_S = 60


async def copies_at(url: str) -> Any:
    """Return how many copies of a book there are; None while the server restarts."""
    try:
        async with Client(f"{url}/mcp") as client:
            return (await client.call_tool("get_book", {"title": "Dune"})).structured_content["data"]
    except Exception:  # noqa: BLE001 - whatever the client raises while nothing answers
        return None


async def becomes(expected: object, ask) -> None:
    async with asyncio.timeout(ANSWERS_WITHIN_S):
        while await ask() != expected:  # noqa: ASYNC110 - another process starts
            await asyncio.sleep(0.02)


def change(folder: Path, old: str, new: str) -> None:
    """Replace a part of the application, and its size: byte code of this second would pass for that of the new file."""
    file = folder / "library.py"
    file.write_text(file.read_text().replace(old, new) + "#\n")


async def test_a_change_reaches_http_clients_at_the_same_address(folder: Path) -> None:
    with serving(folder, "--app", "library:Library", "--reload") as (url, process):
        assert await copies_at(url) == 2
        change(folder, '"Dune": 2', '"Dune": 7')
        await becomes(7, lambda: copies_at(url))
        change(folder, "BOOKS = {", "BOOKS = (")
        await becomes(None, lambda: copies_at(url))
        change(folder, "BOOKS = (", "BOOKS = {")
        await becomes(7, lambda: copies_at(url))
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0


async def test_the_command_ends_with_its_server(folder: Path) -> None:
    change(folder, "return BOOKS[title]", "return __import__('os').getpid()")
    with serving(folder, "--app", "library:Library", "--reload") as (url, process):
        os.kill(await copies_at(url), signal.SIGTERM)
        assert await anyio.to_thread.run_sync(process.wait, 60) == 0


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_stdio_client_keeps_its_connection(folder: Path, mode: str) -> None:
    arguments = ["-m", "failsoft", "serve", "--app", "library:Library", "--reload"]
    server = StdioServerParameters(command=PYTHON, args=arguments, cwd=folder, env=dict(os.environ))
    async with Client(server, mode=mode) as client:

        async def copies() -> object:
            return (await client.call_tool("get_book", {"title": "Dune"})).structured_content["data"]

        assert await copies() == 2
        change(folder, '"Dune": 2', '"Dune": 7')
        await becomes(7, copies)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps a port for a server that is not there")
@pytest.mark.parametrize("words", [("--port", "0"), ("--port=0",)])
async def test_the_port_of_a_server_that_restarts_is_not_given_to_others(words: tuple[str, ...]) -> None:
    with fixed_port(["serve", *words]) as arguments, socket.socket() as other, socket.socket() as server:
        port = int(re.split("[ =]", " ".join(arguments))[-1])
        with pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", port))
        server.listen()


async def test_a_handshake_that_was_refused_is_not_repeated(folder: Path) -> None:
    """A client that gave up waiting for its first answer tries the handshake of the older protocol."""
    envelope = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    old = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    arguments = [PYTHON, "-m", "failsoft", "serve", "--app", "library:Library", "--reload"]
    with subprocess.Popen(  # noqa: ASYNC220 - nothing else runs in this loop
        arguments, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:

        def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
            number = next(numbers)
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            answers = map(json.loads, iter(process.stdout.readline, b""))
            return next(answer for answer in answers if answer.get("id") == number)

        async def copies() -> object:
            called = {"name": "get_book", "arguments": {"title": "Dune"}, "_meta": envelope}
            answer = await anyio.to_thread.run_sync(ask, "tools/call", called)
            return answer["result"]["structuredContent"]["data"]

        numbers = itertools.count(1)
        assert "result" in ask("server/discover", {"_meta": envelope})
        assert "error" in ask("initialize", old)
        assert await copies() == 2
        change(folder, '"Dune": 2', '"Dune": 7')
        await becomes(7, copies)
        process.stdin.close()
        assert process.wait(60) == 0
