"""What the processes behind a proxy inherit."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from failsoft.client import Client as TypedClient
from tests.proxy.conftest import proxied
from tests.proxy.test_foreign_lists import GOOD, command
from tests.proxy.test_operating import run_proxy
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio
SECRETS = {"SHOP_TOKEN": "t-1", "AWS_SECRET_ACCESS_KEY": "k-2", "FAILSOFT_AUTH_TOKEN": "f" * 32, "DATABASE_URL": "p-3"}


async def environment(folder: Path, *options: str) -> dict[str, str]:
    """Return the variables of an upstream's process, which a proxy with secrets has started."""
    upstream = command(folder, [{**GOOD, "name": "environment"}])
    async with proxied(*options, upstream=upstream, env=SECRETS) as client:
        found: dict[str, str] = json.loads((await client.call_tool("environment", {})).content[0].text)
    return found


async def test_a_server_behind_a_command_inherits_no_secret(tmp_path):
    found = await environment(tmp_path)
    if "PATH" not in found:
        raise RuntimeError
    assert sorted(SECRETS.keys() & found.keys()) == []


async def test_a_server_gets_the_variables_that_the_options_name(tmp_path):
    found = await environment(tmp_path, "--env", "SHOP_TOKEN", "--env", "DATABASE_URL")
    assert {name: found[name] for name in ("SHOP_TOKEN", "DATABASE_URL")} == {
        "SHOP_TOKEN": "t-1",
        "DATABASE_URL": "p-3",
    }


@pytest.mark.parametrize("words", [["--env", "NO_SUCH_VARIABLE_OF_OURS"], ["--env", "SHOP_TOKEN=t-1"]])
def test_a_variable_that_is_not_set_or_has_a_value_is_a_configuration_error(words):
    done = run_proxy(*words, "--", PYTHON)
    assert done.returncode == 3
    assert "--env" in done.stderr
    assert "t-1" not in done.stderr


def test_variables_are_refused_where_no_program_would_get_them():
    done = run_proxy("--env", "PATH", "--url", "http://127.0.0.1:1/mcp")
    assert (done.returncode, "--env" in done.stderr) == (3, True)


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


async def test_a_server_that_the_client_starts_inherits_no_secret(tmp_path, monkeypatch):
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    async with TypedClient(command(tmp_path, [{**GOOD, "name": "environment"}])) as client:
        found = json.loads(await client.call("environment"))
    assert "PATH" in found
    assert sorted(SECRETS.keys() & found.keys()) == []
