"""What the processes of a proxy are given, and which files it reads."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.proxy.conftest import proxied
from tests.proxy.test_foreign_lists import GOOD, command
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio
SECRETS = {"SHOP_TOKEN": "t-1", "AWS_SECRET_ACCESS_KEY": "k-2", "FAILSOFT_AUTH_TOKEN": "f" * 32, "DATABASE_URL": "p-3"}
BOUND_S = 5.0


async def environment(folder: Path, *options: str) -> dict[str, str]:
    """Return the variables of an upstream's process, which a proxy with secrets has started."""
    upstream = command(folder, [{**GOOD, "name": "environment"}])
    async with proxied(*options, upstream=upstream, env=SECRETS) as client:
        found: dict[str, str] = json.loads((await client.call_tool("environment", {})).content[0].text)
    return found


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason=(
        "a server behind `proxy -- COMMAND` inherits every variable of the proxy, secrets included; it should "
        "get what is safe, and what --env names"
    ),
)
async def test_a_server_behind_a_command_inherits_no_secret(tmp_path):
    found = await environment(tmp_path)
    assert "PATH" in found
    assert sorted(SECRETS.keys() & found.keys()) == []


async def test_a_server_that_a_file_names_inherits_no_secret(tmp_path):
    program, *words = command(tmp_path, [{**GOOD, "name": "environment"}])
    own = {name: os.environ[name] for name in ("PYTHONPATH", "TMPDIR") if name in os.environ}
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"shop": {"command": program, "args": words, "env": own}}}))
    words = ["-m", "failsoft", "proxy", "--config", str(file)]
    environment = {**os.environ, **SECRETS}
    transport = stdio_client(StdioServerParameters(command=PYTHON, args=words, env=environment))
    async with Client(transport, cache=None) as client:
        found = json.loads((await client.call_tool("environment", {})).content[0].text)
    assert sorted(SECRETS.keys() & found.keys()) == []


async def exit_code(*words: str) -> int | str:
    """Return the exit code of a command, or `hangs`."""
    process = await asyncio.create_subprocess_exec(
        PYTHON, "-m", "failsoft", *words, stdin=-3, stdout=-3, stderr=-3, start_new_session=True
    )
    try:
        return await asyncio.wait_for(process.wait(), BOUND_S)
    except TimeoutError:
        return "hangs"
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


@pytest.mark.parametrize("option", ["--config", "--overrides"])
@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason=(
        "a FIFO in place of --config or --overrides blocks the proxy for ever; it should be refused with exit code 3"
    ),
)
async def test_a_fifo_in_place_of_a_file_is_refused(tmp_path, option):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    target = [] if option == "--config" else ["--", *command(tmp_path, [GOOD])]
    assert await exit_code("proxy", option, str(fifo), *target) == 3


async def test_a_fifo_in_place_of_the_recovery_file_is_refused(tmp_path, monkeypatch):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    monkeypatch.setenv("FAILSOFT_RECOVERY_FILE", str(fifo))
    assert await exit_code("serve", "files", "--root", str(tmp_path)) == 3
