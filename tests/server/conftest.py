"""Connections to a server over every transport and era, and servers in processes of their own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from failsoft import mcp_server
from tests.server.processes import SERVING, Served
from tests.server.served_tools import TOOLS
from tests.server.transports import TRANSPORTS
from tests.zygote import PYTHON

MODERN, LEGACY = "2026-07-28", "legacy"


@pytest.fixture(scope="package")
def anyio_backend() -> str:
    """Run async tests on asyncio; for the package, so that connections can be shared."""
    return "asyncio"


@pytest.fixture
def served() -> Iterator[Callable[..., Served]]:
    """Start servers as `served("http", "tools=polite", NAME="value")`; all of them have ended when the test has."""
    with contextlib.ExitStack() as stack:

        def start(*arguments: str, **environment: str) -> Served:
            server = Served(*arguments, **environment)
            stack.callback(server.close)
            return server

        yield start


@pytest.fixture(scope="package")
def http_url() -> Iterator[str]:
    """Serve all test tools over HTTP, in one process for all tests of the package."""
    server = Served("http")
    try:
        yield server.wait_for("ready")
    finally:
        server.close()


@pytest.fixture(scope="module", params=TRANSPORTS)
async def client(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    """Connect to a server with all test tools, over each transport in each era."""
    transport, _, era = request.param.partition("-")
    mode = MODERN if era == "modern" else LEGACY
    target: Any
    if transport == "memory":
        target = mcp_server(TOOLS)
    elif transport == "stdio":
        target = StdioServerParameters(command=PYTHON, args=[str(SERVING), "stdio"], env=dict(os.environ))
    else:
        target = f"{request.getfixturevalue('http_url')}/mcp"
    async with Client(target, mode=mode) as connected:
        yield connected
