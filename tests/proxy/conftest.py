"""A proxy in front of a server, over real pipes."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.zygote import PYTHON

HOSTILE = Path(__file__).with_name("hostile.py")


def with_variables(command: list[str], variables: dict[str, str]) -> list[str]:
    """Return a command that gets variables which a server behind a proxy does not inherit."""
    return ["/usr/bin/env", *(f"{name}={value}" for name, value in variables.items()), *command]


def proxy_parameters(
    *options: str, upstream: list[str], env: dict[str, str] | None = None, python: str = PYTHON
) -> StdioServerParameters:
    words = ["-m", "failsoft", "proxy", *options, "--", *upstream]
    environment = {**os.environ, "FAILSOFT_DEFAULT_TIMEOUT_S": "5", **(env or {})}
    return StdioServerParameters(command=python, args=words, env=environment)


@asynccontextmanager
async def proxied(
    *options: str,
    upstream: list[str],
    env: dict[str, str] | None = None,
    mode: str = "auto",
    python: str = PYTHON,
    **callbacks: Any,
) -> AsyncIterator[Client]:
    """Yield a client of `failsoft proxy OPTIONS -- UPSTREAM`."""
    transport = stdio_client(proxy_parameters(*options, upstream=upstream, env=env, python=python))
    async with Client(transport, mode=mode, cache=None, **callbacks) as client:
        yield client
