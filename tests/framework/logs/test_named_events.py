"""Events that an operator watches the log for: each has its name, and one record."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from failsoft import (
    BaseTool,
    CircuitBreaker,
    RecoveryManager,
    Runtime,
    Settings,
    Unavailable,
    configure_logging,
    operation,
)
from failsoft.events import Events
from failsoft.testing import InstantClock, connected
from tests.doors import open_state
from tests.ports import reserved_ports


class Away(BaseTool):
    """Works on something that is never there."""

    @operation(read_only=True, recovery=[CircuitBreaker("away")])
    async def fetch(self) -> int:
        """Fail."""
        raise Unavailable


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    configure_logging("INFO", json_lines=True, stream=stream)
    yield stream
    logger.remove()
    logger.disable("failsoft")


def lines(log: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


async def wait_for_nothing(url: str) -> Any:
    """Return the answer to a call over a store that cannot be reached."""
    events = Events()
    runtime = Runtime(settings=Settings(), events=events, state=open_state(url, events))
    async with connected(Away(runtime=runtime)) as client:
        answer = await client.call_tool("fetch", {})
    await runtime.state.close()
    return answer


def test_a_lost_store_is_one_record_that_says_which_fault(log: io.StringIO) -> None:
    with reserved_ports(1) as (port,):
        asyncio.run(wait_for_nothing(f"redis://127.0.0.1:{port}"))
    if not any("state store" in line["message"] for line in lines(log)):
        raise RuntimeError(log.getvalue())
    assert [line.get("fault") for line in lines(log) if line.get("event") == "store_lost"] == ["lost"]


def change_the_recovery_file(folder: Path, text: str) -> None:
    """Replace the recovery file of a running server, and wait until it was looked at."""
    file = folder / "recovery.toml"
    file.write_text("defaults.retry.attempts = 2")
    tool = Away(runtime=Runtime(settings=Settings(recovery_file=file), recovery=RecoveryManager()))

    async def main() -> None:
        async with connected(tool):
            file.write_text(text)
            await asyncio.sleep(3)

    InstantClock().run(main())


def test_a_recovery_file_that_is_not_loaded_is_one_record(log: io.StringIO, tmp_path: Path) -> None:
    change_the_recovery_file(tmp_path, "defaults.retri = true")
    if not any("defaults.retri" in line["message"] for line in lines(log)):
        raise RuntimeError(log.getvalue())
    assert [line["event"] for line in lines(log) if line.get("event") == "reload_failed"] == ["reload_failed"]


def test_a_recovery_file_for_one_operation_is_loaded_for_one_operation(log: io.StringIO, tmp_path: Path) -> None:
    change_the_recovery_file(tmp_path, "defaults.retry.attempts = 4")
    (message,) = [line["message"] for line in lines(log) if "reloaded" in line["message"]]
    assert "1 operations" not in message
