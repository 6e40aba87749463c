"""One real start of each kind, without the fork server that other tests start programs by."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

from tests.cli.commands.test_reload import becomes, change, copies_at
from tests.cli.conftest import run_in
from tests.cli.serving import serving
from tests.doors import ExitCode
from tests.proxy.conftest import HOSTILE, proxied

APP = ("--app", "library:Library")
BOUND_S = 120


async def assert_served(target: str | StdioServerParameters) -> None:
    """Fail unless the library answers."""
    with anyio.fail_after(BOUND_S):
        async with Client(target) as client:
            found = await client.call_tool("get_book", {"title": "Dune"})
            missing = await client.call_tool("get_book", {"title": "Duna"})
    assert found.structured_content is not None
    assert (found.is_error, found.structured_content["data"]) == (False, 2)
    assert missing.structured_content is not None
    assert (missing.is_error, missing.structured_content["error"]["code"]) == (True, "BOOK_NOT_FOUND")


@pytest.mark.anyio
async def test_a_server_over_stdio(folder: Path) -> None:
    arguments = ["-m", "failsoft", "serve", *APP]
    await assert_served(StdioServerParameters(command=sys.executable, args=arguments, cwd=folder))


@pytest.mark.anyio
@pytest.mark.parametrize("workers", ["1", "2"])
async def test_a_server_over_http(folder: Path, workers: str) -> None:
    with serving(folder, *APP, "--workers", workers, python=sys.executable) as (url, process):
        await assert_served(f"{url}/mcp")
        process.send_signal(signal.SIGTERM)
        assert await anyio.to_thread.run_sync(process.wait, BOUND_S) == ExitCode.OK


@pytest.mark.anyio
async def test_a_server_that_restarts_when_a_file_changes(folder: Path) -> None:
    with serving(folder, *APP, "--reload", python=sys.executable) as (url, process):
        assert await copies_at(url) == 2
        change(folder, '"Dune": 2', '"Dune": 7')
        await becomes(7, lambda: copies_at(url))
        process.send_signal(signal.SIGTERM)
        assert await anyio.to_thread.run_sync(process.wait, BOUND_S) == ExitCode.OK


@pytest.mark.anyio
async def test_a_proxy() -> None:
    async with proxied(upstream=[sys.executable, str(HOSTILE)], python=sys.executable) as client:
        assert (await client.call_tool("echo", {"text": "hi"})).content[0].text == "hi"
        failed = await client.call_tool("error", {})
    assert failed.structured_content is not None
    assert failed.structured_content["error"]["code"] == "UPSTREAM_ERROR"


def test_the_demo(tmp_path: Path) -> None:
    ran = run_in(tmp_path, "demo", "--json", python=sys.executable)
    assert (ran.code, ran.err) == (ExitCode.OK, "")
    assert (ran.json["behaved"], ran.json["faults"]) == (True, [])


def test_commands(folder: Path) -> None:
    found = run_in(folder, "call", "get_documentation", "path=intro.md", "--root", "docs", python=sys.executable)
    assert (found.code, found.err) == (ExitCode.OK, "toolset: docs, of the installed ones\n")
    assert found.json["data"]["documents"][0]["path"] == "intro.mdx"
    assert found.json["metadata"]["recovery"]["changed"] == {"path": "intro.mdx"}
    assert run_in(folder, "lint", *APP, python=sys.executable).code == ExitCode.OK


def test_a_command_at_a_terminal_of_its_own(folder: Path) -> None:
    child, terminal = pty.fork()
    if child == 0:
        try:
            os.chdir(folder)
            os.execv(sys.executable, [sys.executable, "-m", "failsoft", "call", "get_book", "title=Duna", *APP])  # noqa: S606 - our own
        finally:
            os._exit(99)
    seen = b""
    while chunk := _read(terminal):
        seen += chunk
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    assert (code, b"\x1b[" in seen, b"BOOK_NOT_FOUND" in seen) == (ExitCode.FAILED, True, True)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # Linux raises it when the child has ended
        return b""


def test_an_import_loads_neither_the_sdk_nor_what_serves() -> None:
    heavy = {"mcp", "prometheus_client", "starlette", "uvicorn", "typer", "rich"}
    code = f"import json, sys, failsoft; print(json.dumps(sorted(sys.modules.keys() & {heavy!r})))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=BOUND_S)
    assert json.loads(ran.stdout) == []
