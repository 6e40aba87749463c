"""What libraries log while a server runs: all of it goes the way of the server's own lines."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.cli.serving import serving
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio
BOUND_S = 60
LOGGERS = ("mcp.server.lowlevel.server", "uvicorn.error", "uvicorn.access", "starlette", "some.library", "root")
NOISY = f"""
import asyncio
import gc
import logging
import warnings

from failsoft import BaseTool, operation

logging.getLogger("imported").warning("token=hunter2")


class Noisy(BaseTool):
    '''A tool above noisy libraries.'''

    @operation(read_only=True)
    async def make_noise(self) -> bool:
        '''Have libraries log.'''
        for name in {LOGGERS!r}:
            logging.getLogger(name).warning("noise %s", "token=hunter2")
            logging.getLogger(name).info("of no interest")
        warnings.warn("noise")
        task = asyncio.get_running_loop().create_future()
        task.set_exception(ValueError("noise"))
        del task
        gc.collect()
        return True
"""


@pytest.fixture
def noisy(tmp_path: Path) -> Path:
    (tmp_path / "noisy.py").write_text(NOISY)
    return tmp_path


def judge(lines: list[str], *others: str) -> None:
    """Fail unless every line is one of the log, and every library's record is among them, without its secret."""
    reported: list[dict[str, Any]] = [json.loads(line) for line in lines]
    assert {line["logger"] for line in reported} == {*LOGGERS, *others, "py.warnings", "asyncio"}
    assert not any("hunter2" in line or "of no interest" in line for line in lines)
    assert all({"timestamp", "level", "service", "environment", "message"} <= line.keys() for line in reported)


async def test_over_stdio(noisy: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    log = tmp_path_factory.mktemp("log") / "server.log"
    command = ["-m", "failsoft", "serve", "--app", "noisy:Noisy"]
    server = StdioServerParameters(command=PYTHON, args=command, cwd=noisy)
    with log.open("w") as errors, anyio.fail_after(BOUND_S):
        async with Client(stdio_client(server, errlog=errors)) as client:
            assert not (await client.call_tool("make_noise")).is_error
    judge(log.read_text().splitlines(), "imported")


async def test_over_http(noisy: Path) -> None:
    with serving(noisy, "--app", "noisy:Noisy") as (url, process), anyio.fail_after(BOUND_S):
        async with Client(f"{url}/mcp") as client:
            assert not (await client.call_tool("make_noise")).is_error
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        rest = await anyio.to_thread.run_sync(process.stderr.read)
    judge(rest.splitlines())


async def test_a_server_that_is_ended_right_after_its_start_says_nothing_of_the_sdk(noisy: Path) -> None:
    with serving(noisy, "--app", "noisy:Noisy") as (_url, process), anyio.fail_after(BOUND_S):
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        rest = await anyio.to_thread.run_sync(process.stderr.read)
    assert not [line for line in rest.splitlines() if "MCP SDK" in line]


# With JSON logs every line is JSON.

JSON_LINES = {"FAILSOFT_LOG_JSON": "true"}
STUCK = """
from failsoft import BaseTool, operation


class Stuck(BaseTool):
    '''A toolset that never comes up.'''

    async def startup(self) -> None:
        raise RuntimeError("no fuel")

    @operation(read_only=True)
    async def wait(self) -> str:
        '''Return nothing, ever.'''
        return ""
"""


def served(app: str) -> dict[str, Any]:
    """Return how a process is started that serves an app with JSON logs."""
    command = [PYTHON, "-m", "failsoft", "serve", "--app", app, "--transport", "http", "--port", "0"]
    return {"command": command, "env": {**os.environ, **JSON_LINES}}


def other_than_json(lines: list[str]) -> list[str]:
    """Return the lines that no log collector can read."""
    return [line for line in lines if not line.startswith('{"')]


async def test_the_banner_is_json_where_the_log_is(noisy: Path) -> None:
    said = ""
    async with await anyio.open_process(**served("noisy:Noisy"), cwd=noisy) as process:
        with anyio.fail_after(BOUND_S):
            while "/mcp" not in said or not said.endswith("\n"):
                said += (await process.stderr.receive()).decode()
        process.kill()
    assert other_than_json(said.splitlines()) == []


async def test_a_failed_start_is_json_where_the_log_is(noisy: Path) -> None:
    (noisy / "stuck.py").write_text(STUCK)
    with anyio.fail_after(BOUND_S):
        ended = await anyio.run_process(**served("stuck:Stuck"), cwd=noisy, check=False)
    if ended.returncode != 4 or b"INIT_ERROR" not in ended.stderr:
        raise RuntimeError(ended)
    assert other_than_json(ended.stderr.decode().splitlines()) == []
