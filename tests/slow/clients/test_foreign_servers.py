"""The proxy in front of servers of others: successes as they are, failures typed, a killed process started again."""

from __future__ import annotations

import asyncio
import functools
import http.server
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.proxy.conftest import proxied, with_variables
from tests.thorough import THOROUGH

pytestmark = pytest.mark.anyio
LATE = ("UNAVAILABLE", "CIRCUIT_OPEN", "DEADLINE_EXCEEDED", "TIMEOUT")


@dataclass(frozen=True)
class Case:
    """A server, calls that succeed, one that fails, and the one that is repeated while the process is killed."""

    command: Callable[[Path, Path], list[str]]
    successes: list[tuple[str, dict[str, Any]]]
    failing: tuple[str, dict[str, Any]]
    environment: dict[str, str] = field(default_factory=dict)


def node(package: str, *arguments: str) -> Callable[[Path, Path], list[str]]:
    def command(folder: Path, work: Path) -> list[str]:
        script = folder / "node_modules" / "@modelcontextprotocol" / package / "dist" / "index.js"
        return ["node", str(script), *(word.replace("WORK", str(work)) for word in arguments)]

    return command


def python(program: str, *arguments: str) -> Callable[[Path, Path], list[str]]:
    def command(folder: Path, work: Path) -> list[str]:
        words = [word.replace("WORK", str(work)) for word in arguments]
        return [str(folder / "servers" / "bin" / program), *words]

    return command


ENTITY = {"entities": [{"name": "tea", "entityType": "drink", "observations": ["hot"]}]}
THOUGHT = {"thought": "One.", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
NOON = {"source_timezone": "Europe/Rome", "time": "12:00", "target_timezone": "Asia/Tokyo"}
CASES = {
    "everything": Case(
        node("server-everything"),
        [("echo", {"message": "ünïcode"}), ("get-sum", {"a": 2, "b": 40}), ("get-tiny-image", {})],
        ("get-sum", {"a": "two"}),
    ),
    "filesystem": Case(
        node("server-filesystem", "WORK"),
        [("list_directory", {"path": "WORK"}), ("read_text_file", {"path": "WORK/menu.txt"})],
        ("read_text_file", {"path": "WORK/gone.txt"}),
    ),
    "memory": Case(
        node("server-memory"),
        [("create_entities", ENTITY), ("read_graph", {}), ("search_nodes", {"query": "tea"})],
        ("create_entities", {"entities": [{"name": 3}]}),
        {"MEMORY_FILE_PATH": "WORK/memory.json"},
    ),
    "sequential-thinking": Case(
        node("server-sequential-thinking"),
        [("sequentialthinking", THOUGHT)],
        ("sequentialthinking", {"thought": 1}),
    ),
    "git": Case(
        python("mcp-server-git", "--repository", "WORK"),
        [("git_status", {"repo_path": "WORK"}), ("git_log", {"repo_path": "WORK", "max_count": 1})],
        ("git_show", {"repo_path": "WORK", "revision": "no-such-revision"}),
    ),
    "time": Case(python("mcp-server-time"), [("convert_time", NOON)], ("get_current_time", {"timezone": "Mars/One"})),
    "fetch": Case(
        python("mcp-server-fetch", "--ignore-robots-txt", "--allow-private-ips"),
        [("fetch", {"url": "URL/menu.txt", "raw": True})],
        ("fetch", {"url": "URL/gone.txt"}),
    ),
    "sqlite": Case(
        python("mcp-server-sqlite", "--db-path", "WORK/shop.db"),
        [("list_tables", {}), ("read_query", {"query": "SELECT 1 AS one"})],
        ("read_query", {"query": 5}),
    ),
}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Return a folder with a file in it, under version control."""
    (tmp_path / "menu.txt").write_text("tea 2.50\ncafé 3.00\n")
    git = functools.partial(subprocess.run, cwd=tmp_path, check=True, capture_output=True)
    git(["git", "init", "-q", "."])
    git(["git", "add", "menu.txt"])
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    git(["git", *who, "commit", "-q", "-m", "Add the menu"])
    return tmp_path


@pytest.fixture
def website(work: Path) -> Iterator[str]:
    """Yield the URL of a web server for the folder."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(work))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def filled(value: Any, work: Path, url: str) -> Any:
    if isinstance(value, dict):
        return {name: filled(item, work, url) for name, item in value.items()}
    return value.replace("WORK", str(work)).replace("URL", url) if isinstance(value, str) else value


def wire(result: Any) -> dict[str, Any]:
    tree: dict[str, Any] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {name: tree.get(name) for name in ("content", "structuredContent", "isError")}


@pytest.mark.parametrize("name", CASES)
async def test_successes_are_the_bare_servers_and_failures_are_typed(name, foreign, work, website):
    case = CASES[name]
    command = case.command(foreign, work)
    environment = {**os.environ, **filled(case.environment, work, website)}
    bare = stdio_client(StdioServerParameters(command=command[0], args=command[1:], env=environment))
    async with Client(bare, cache=None) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        expected = [wire(await client.call_tool(tool, filled(given, work, website))) for tool, given in case.successes]
    if "MEMORY_FILE_PATH" in case.environment:
        (work / "memory.json").unlink()
    command = with_variables(command, filled(case.environment, work, website))
    async with proxied("--name", name, upstream=command) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} >= set(names)
        found = [wire(await client.call_tool(tool, filled(given, work, website))) for tool, given in case.successes]
        tool, given = case.failing
        failed = await client.call_tool(tool, filled(given, work, website))
    assert found == expected
    assert failed.is_error
    assert failed.structured_content is not None
    assert {"code", "retry", "effect", "message"} <= failed.structured_content["error"].keys()


@pytest.mark.parametrize("name", CASES if THOROUGH else ["everything", "time"])  # one in Node, one in Python
async def test_calls_go_on_when_the_servers_process_is_killed(name, foreign, work, website):
    case = CASES[name]
    tool, given = case.successes[0]
    marker = f"killed-{name}"
    environment = {"FAILSOFT_DEFAULT_TIMEOUT_S": "20"}
    command = with_variables(case.command(foreign, work), filled(case.environment, work, website))
    async with proxied("--name", marker, upstream=command, env=environment, python=sys.executable) as client:
        arguments = filled(given, work, website)
        outcomes: list[str] = []

        async def load() -> None:
            for _ in range(15):
                result = await client.call_tool(tool, arguments)
                outcomes.append(result.structured_content["error"]["code"] if result.is_error else "ok")

        async def kill() -> None:
            await anyio.sleep(0.05)
            os.kill(upstream_of(marker), signal.SIGKILL)

        with anyio.fail_after(120):
            await asyncio.gather(load(), load(), kill())
            while (await client.call_tool(tool, arguments)).is_error:  # noqa: ASYNC110 - another process starts
                await anyio.sleep(0.2)
        assert len(outcomes) == 30
        assert set(outcomes) <= {"ok", *LATE}


def upstream_of(marker: str) -> int:
    """Return the process that the proxy of this name has started."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                parents[int(entry.name)] = (int((entry / "stat").read_text().rpartition(")")[2].split()[1]), words)
            except OSError:
                continue
    proxy = next(pid for pid, (_, words) in parents.items() if b"proxy" in words and marker.encode() in words)
    return next(pid for pid, (parent, words) in parents.items() if parent == proxy and b"failsoft-watch" not in words)
