"""Adapted servers of one name over one state store: each server has its own keys."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server.mcpserver import MCPServer

from failsoft import Runtime, Settings
from failsoft.adapters.mcpserver import FailSoft
from tests.zygote import PYTHON

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("transports")]

KEYED = {"dev.failsoft/idempotency-key": "note-7"}
PROGRAM = """
import sys
from pathlib import Path
from mcp.server.mcpserver import MCPServer
from failsoft.adapters.mcpserver import FailSoft

server = MCPServer("filesystem")
FailSoft(server)
file = Path(sys.argv[1])

@server.tool()
def write(text: str) -> str:
    with file.open("a") as notes:
        notes.write(text + "\\n")
    return f"written to {file.name}"

server.run()
"""


class Tenant(Enum):
    NORTH = "north"
    SOUTH = "south"


def add_write(server: Any, file: Path) -> Any:
    @server.tool()
    def write(text: str) -> str:
        with file.open("a") as notes:
            notes.write(text + "\n")
        return f"written to {file.name}"

    return server


def of_sdk(file: Path, runtime: Runtime) -> Any:
    server: Any = MCPServer("filesystem")
    FailSoft(server, runtime=runtime)
    return add_write(server, file)


def elsewhere(file: Path, runtime: Runtime) -> Any:
    server: Any = MCPServer("filesystem")
    FailSoft(server, runtime=runtime)
    return add_write(server, file)


def of_fastmcp(file: Path, runtime: Runtime) -> Any:
    from fastmcp import FastMCP  # noqa: PLC0415 - takes seconds to load

    from failsoft.adapters.fastmcp import FailSoftMiddleware  # noqa: PLC0415 - imports it

    return add_write(FastMCP("filesystem", middleware=[FailSoftMiddleware(runtime=runtime)]), file)


@pytest.fixture(params=[of_sdk, of_fastmcp], ids=["mcpserver", "fastmcp"])
def make(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'state.sqlite'}"


async def written(make: Callable[[Path, Runtime], Any], file: Path, store: str) -> tuple[str, bool]:
    """Return what a server that has just been made answers to the keyed call, and whether it is a replay."""
    runtime = Runtime(settings=Settings(state_url=store))
    try:
        async with connected(make(file, runtime)) as call:
            return said(await call("write", {"text": "hello"}, meta=KEYED))
    finally:
        await runtime.state.close()


@asynccontextmanager
async def connected(server: Any) -> AsyncIterator[Any]:
    if isinstance(server, MCPServer):
        async with Client(server) as client:
            yield client.call_tool
    else:
        from fastmcp import Client as FastMCPClient  # noqa: PLC0415 - takes seconds to load

        async with FastMCPClient(server) as client:
            yield client.call_tool_mcp


def said(result: Any) -> tuple[str, bool]:
    assert not result.is_error, result.content
    recovery = ((result.meta or {}).get("dev.failsoft/metadata") or {}).get("recovery") or {}
    return result.content[0].text, recovery.get("strategy") == "idempotency"


async def test_a_key_that_one_server_has_done_is_new_to_another_of_its_name(make, tmp_path, store):
    for name in ("a", "b"):
        assert await written(make, tmp_path / name, store) == (f"written to {name}", False)
    assert [(tmp_path / name).read_text() for name in ("a", "b")] == ["hello\n", "hello\n"]


async def test_a_key_is_known_to_the_same_server_when_it_is_made_again(make, tmp_path, store):
    assert [await written(make, tmp_path / "a", store) for _ in range(2)] == [
        ("written to a", False),
        ("written to a", True),
    ]
    assert (tmp_path / "a").read_text() == "hello\n"


async def test_servers_of_one_name_from_two_functions_have_their_own_keys(tmp_path, store):
    file = tmp_path / "a"
    assert [(await written(make, file, store))[1] for make in (of_sdk, elsewhere, of_sdk)] == [False, False, True]


def of_tenant(file: Path, runtime: Runtime, tenant: Any, port: int) -> Any:
    server: Any = MCPServer("filesystem")
    FailSoft(server, runtime=runtime)
    return add_write(server, file)


@pytest.mark.parametrize("tenants", [(1, 2), (UUID(int=1), UUID(int=2)), (Tenant.NORTH, Tenant.SOUTH)], ids=str)
async def test_servers_that_one_function_makes_for_several_tenants_have_their_own_keys(tmp_path, store, tenants):
    calls = [(tenants[0], 8001), (tenants[1], 8001), (tenants[0], 8002)]
    answers = [
        await written(partial(of_tenant, tenant=tenant, port=port), tmp_path / "a", store) for tenant, port in calls
    ]
    assert [is_replay for _, is_replay in answers] == [False, False, True]


async def from_program(*words: str, store: str, folder: Path) -> tuple[str, bool]:
    environment = {**os.environ, "FAILSOFT_STATE_URL": store}
    parameters = StdioServerParameters(command=PYTHON, args=[*words], env=environment, cwd=folder)
    async with Client(stdio_client(parameters), cache=None) as client:
        return said(await client.call_tool("write", {"text": "hello"}, meta=KEYED))


async def test_a_program_has_its_keys_after_a_restart_and_not_those_of_one_with_other_arguments(tmp_path, store):
    (tmp_path / "server.py").write_text(PROGRAM)
    answers = [await from_program("server.py", name, store=store, folder=tmp_path) for name in ("a", "b", "a")]
    assert answers == [("written to a", False), ("written to b", False), ("written to a", True)]


async def test_two_programs_of_one_name_have_their_own_keys(tmp_path, store):
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(PROGRAM)
    answers = [await from_program(name, "a", store=store, folder=tmp_path) for name in ("one.py", "two.py")]
    assert [is_replay for _, is_replay in answers] == [False, False]


async def test_replicas_that_listen_at_other_ports_share_their_keys(tmp_path, store):
    (tmp_path / "server.py").write_text(PROGRAM)
    options = (["--port", "8001"], ["--port=8002"])
    answers = [await from_program("server.py", "a", *more, store=store, folder=tmp_path) for more in options]
    assert [is_replay for _, is_replay in answers] == [False, True]
