"""The monitoring of an upstream goes on whatever its parts raise, and logs it."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from loguru import logger

from tests.doors import Front, Questions, from_command, upstream_module
from tests.proxy.test_foreign_lists import GOOD, command

pytestmark = pytest.mark.anyio
PATIENCE_S = 60


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


async def announce(upstream: Any, is_due: Any) -> None:
    """Say that the tools have changed until they are listed anew."""
    with anyio.fail_after(PATIENCE_S):
        while not is_due():
            await upstream._on_message(upstream_module.types.ToolListChangedNotification())
            await anyio.sleep(0.02)


@pytest.mark.parametrize("raised", [Unspeakable, SystemExit, BaseExceptionGroup("", [GeneratorExit()])])
async def test_an_upstream_is_connected_again_whatever_taking_its_tools_raised(tmp_path, raised):
    taken: list[int] = []

    async def take(tools: list[Any]) -> None:
        taken.append(len(tools))
        if len(taken) in {1, 3}:
            raise raised

    said: list[str] = []
    sink = logger.add(lambda line: said.append(line.record["message"]), level="WARNING")
    logger.enable("failsoft")
    target = from_command(command(tmp_path, [GOOD]), name="odd")
    front = Front(asks=False)
    questions = Questions("odd", front)
    upstream = upstream_module.Upstream(target, limit_bytes=1_000_000, front=front, questions=questions, on_tools=take)
    try:
        with anyio.fail_after(PATIENCE_S):
            await upstream.start()
            while not upstream.is_connected:  # noqa: ASYNC110 - connected in the background
                await anyio.sleep(0.02)
        await announce(upstream, lambda: len(taken) > 3)
    finally:
        await upstream.stop()
        logger.disable("failsoft")
        logger.remove(sink)
    assert "An upstream server is not available; it is started again" in said
    assert "The tools of an upstream cannot be listed" in said
