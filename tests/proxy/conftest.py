"""A proxy in front of a server, over real pipes; and the servers of others, installed once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

HOSTILE = Path(__file__).with_name("hostile.py")


def proxy_parameters(*options: str, upstream: list[str], env: dict[str, str] | None = None) -> StdioServerParameters:
    words = ["-m", "failsoft", "proxy", *options, "--", *upstream]
    environment = {**os.environ, "FAILSOFT_DEFAULT_TIMEOUT_S": "5", **(env or {})}
    return StdioServerParameters(command=sys.executable, args=words, env=environment)


@asynccontextmanager
async def proxied(
    *options: str, upstream: list[str], env: dict[str, str] | None = None, mode: str = "auto", **callbacks: Any
) -> AsyncIterator[Client]:
    """Yield a client of `failsoft proxy OPTIONS -- UPSTREAM`."""
    transport = stdio_client(proxy_parameters(*options, upstream=upstream, env=env))
    async with Client(transport, mode=mode, cache=None, **callbacks) as client:
        yield client


@pytest.fixture(scope="session")
def foreign() -> Path:
    """Return the folder of the servers of others, installed if they are not there yet."""
    script = Path(__file__).parents[2] / "scripts" / "fetch.sh"
    folder = Path(os.environ.get("FOREIGN_SERVERS", Path.home() / ".cache" / "failsoft-foreign-servers"))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    install = ["bash", str(script), "foreign_servers"]
    done = subprocess.run(install, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the servers of others cannot be installed: {done.stderr[-300:]}")
    return folder
