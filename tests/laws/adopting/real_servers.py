"""Twelve MCP servers that others wrote: how each one is started bare, and with failsoft in or before it."""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from tests.laws.adopting.calls import Call
from tests.laws.adopting.real_calls import CALLS
from tests.proxy.conftest import proxied
from tests.zygote import PYTHON

__all__ = ["SERVERS", "Outcome", "Server", "outcomes", "website", "work_folder"]

LAUNCH = str(Path(__file__).with_name("launch.py"))
TEA = (
    "CREATE TABLE tea (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL CHECK (price > 0))",
    "INSERT INTO tea VALUES (1, 'Assam', 2.5)",
)


@dataclass(frozen=True)
class Server:
    """A server.

    Args:
        program: What is started: a package of npm (`server-memory`), or a program of a virtual environment.
        site: The environment, of those that `FOREIGN_SERVERS` holds; "" for npm.
        adapter: `sdk` or `fastmcp` where one line in the process adopts it; "" for the proxy.
    """

    program: str
    words: tuple[str, ...] = ()
    site: str = ""
    adapter: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    setup: tuple[tuple[str, dict[str, Any]], ...] = ()

    def command(self, folder: Path, work: Path, how: str) -> list[str]:
        """Return the command; how is `bare`, `sdk` or `fastmcp`."""
        words = [word.replace("WORK", str(work)) for word in self.words]
        if not self.site:
            script = folder / "node_modules" / "@modelcontextprotocol" / self.program / "dist" / "index.js"
            settings = [f"{name}={value}".replace("WORK", str(work)) for name, value in self.environment]
            return ["env", *settings, "node", str(script), *words]
        if not self.adapter:
            return [str(folder / self.site / "bin" / self.program), *words]
        packages = next((folder / self.site / "lib").glob("python3*/site-packages"))
        return [PYTHON, LAUNCH, how, str(packages), self.program, *words]

    def is_installed(self, folder: Path) -> bool:
        """Return whether the files of the server are there."""
        if not self.site:
            return (folder / "node_modules" / "@modelcontextprotocol" / self.program).exists()
        return (folder / self.site / "bin" / self.program).exists()


SERVERS = {
    "everything": Server("server-everything"),
    "filesystem": Server("server-filesystem", ("WORK",)),
    "memory": Server("server-memory", environment=(("MEMORY_FILE_PATH", "WORK/memory.json"),)),
    "memory-broken": Server("server-memory", environment=(("MEMORY_FILE_PATH", "WORK/broken.json"),)),
    "sequential-thinking": Server("server-sequential-thinking"),
    "fetch": Server("mcp-server-fetch", ("--ignore-robots-txt", "--allow-private-ips"), "servers"),
    "sqlite": Server("mcp-server-sqlite", ("--db-path", "WORK/shop.db"), "servers"),
    "calculator": Server("mcp-server-calculator", (), "servers"),
    "git": Server("mcp-server-git", ("--repository", "WORK"), "adopted", "sdk"),
    "time": Server("mcp-server-time", (), "adopted", "sdk"),
    "excel": Server(
        *("excel-mcp-server", ("stdio", "--allow-dir", "WORK"), "adopted", "sdk"),
        setup=(
            ("create_workbook", {"path": "shop.xlsx", "sheets": ["Stock", "Sold"]}),
            (
                "write_range",
                {"path": "shop.xlsx", "sheet": "Stock", "at": "A1", "rows": [["tea", 3], ["milk", 4], ["rice", 5]]},
            ),
        ),
    ),
    "better-files": Server("better-mcps-filesystem", ("WORK",), "adopted", "fastmcp"),
    "duckdb": Server(
        *("mcp-server-motherduck", ("--db-path", ":memory:", "--read-write"), "adopted", "fastmcp"),
        setup=tuple(("execute_query", {"sql": sql}) for sql in TEA),
    ),
}


@dataclass(frozen=True)
class Outcome:
    """What one call gave: whether it failed, all that a client can read of it, and our code and category."""

    call: Call
    failed: bool
    text: str
    everything: str
    code: str = ""
    category: str = ""


@contextmanager
def website() -> Iterator[str]:
    """Yield the URL of a web server: `/status/N` answers with N and a body that says so, anything else with 404."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            number = self.path.removeprefix("/status/")
            menu = self.path == "/menu.txt"
            self.send_response(200 if menu else int(number) if number.isdecimal() else 404)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            self.wfile.write(b"tea 2.50\n" if menu else json.dumps({"detail": f"no {self.path}"}).encode())

        def log_message(self, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def work_folder(work: Path) -> None:
    """Make the folder anew: a repository with two branches, one of them in conflict with a changed file."""
    shutil.rmtree(work, ignore_errors=True)
    (work / "folder").mkdir(parents=True)
    who = {f"GIT_{role}_{what}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    dates = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
    git = functools.partial(
        subprocess.run, cwd=work, check=True, capture_output=True, env={**os.environ, **who, **dates}
    )
    (work / "menu.txt").write_text("tea 2.50\ncafé 3.00\n", encoding="utf-8")
    (work / "other.txt").write_text("milk\n", encoding="utf-8")
    for words in (["init", "-q", "-b", "main", "."], ["add", "menu.txt"], ["commit", "-q", "-m", "Add the menu"]):
        git(["git", *words])
    git(["git", "checkout", "-q", "-b", "stable"])
    (work / "menu.txt").write_text("tea 2.70\n", encoding="utf-8")
    for words in (["commit", "-q", "-a", "-m", "Change the menu"], ["checkout", "-q", "main"]):
        git(["git", *words])
    (work / "menu.txt").write_text("tea 9.00\n", encoding="utf-8")
    (work / "latin1.txt").write_bytes("café".encode("latin-1"))
    (work / "broken.xlsx").write_bytes(b"this is no workbook")
    (work / "broken.json").write_text('{"type":"entity","name":"tea"\nnot json at all\n', encoding="utf-8")
    connection = sqlite3.connect(work / "shop.db")
    for statement in TEA:
        connection.execute(statement)
    connection.commit()
    connection.close()


async def outcomes(name: str, folder: Path, work: Path, url: str, how: str) -> list[Outcome]:
    """Return what all calls of a server give; how is `bare`, `adopted` (in the process, if it can be) or `proxied`."""
    work_folder(work)
    server = SERVERS[name]
    async with _connected(server, folder, work, how) as client:
        for tool, arguments in server.setup:
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, result
        return [await _outcome(client, call, work, url) for call in CALLS[name]]


@asynccontextmanager
async def _connected(server: Server, folder: Path, work: Path, how: str) -> AsyncIterator[Client]:
    if how == "proxied" or (how == "adopted" and not server.adapter):
        command = server.command(folder, work, "bare")
        async with proxied("--name", "upstream", upstream=command) as client:
            yield client
        return
    command = server.command(folder, work, server.adapter if how == "adopted" else "bare")
    started = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with Client(stdio_client(started), cache=None) as client:
        yield client


async def _outcome(client: Client, call: Call, work: Path, url: str) -> Outcome:
    arguments = _filled(call.arguments, work, url)
    try:
        result = await client.call_tool(call.tool, arguments)
    except MCPError as error:
        data = json.dumps(error.error.data, ensure_ascii=False) if error.error.data else ""
        said = f"{error.error.message} {data}"
        return Outcome(call, failed=True, text=said, everything=said, code=f"JSON-RPC {error.error.code}")
    text = "\n".join(block.text for block in result.content if block.type == "text")
    structured = result.structured_content
    told = (result.meta or {}).get("dev.failsoft/error", {})
    return Outcome(
        call,
        failed=bool(result.is_error),
        text=text,
        everything=text if structured is None else f"{text}\n{json.dumps(structured, ensure_ascii=False)}",
        code=told.get("code", ""),
        category=told.get("category", ""),
    )


def _filled(value: Any, work: Path, url: str) -> Any:
    if isinstance(value, dict):
        return {name: _filled(item, work, url) for name, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, work, url) for item in value]
    return value.replace("WORK", str(work)).replace("URL", url) if isinstance(value, str) else value
