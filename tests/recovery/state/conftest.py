"""A Redis server for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.recovery.state.redis_server import RedisServer


@pytest.fixture
def redis_server() -> Iterator[RedisServer]:
    server = RedisServer()
    try:
        yield server
    finally:
        server.close()
