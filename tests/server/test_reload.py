"""A recovery file that changes under a running server: noticed within a second, or at once at SIGHUP."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from failsoft import (
    BaseTool,
    ConfigurationError,
    RecoveryManager,
    Runtime,
    Settings,
    Unavailable,
    mcp_server,
    operation,
)
from failsoft.events import ReloadEvent
from failsoft.testing import InstantClock, connected


class Away(BaseTool):
    """Works on something that is never there; `runs` is how often it tried."""

    runs = 0

    @operation(read_only=True)
    async def fetch(self) -> int:
        """Fail."""
        self.runs += 1
        raise Unavailable


def serving(file: Path, text: str) -> Away:
    file.write_text(text)
    return Away(runtime=Runtime(settings=Settings(recovery_file=file), recovery=RecoveryManager()))


async def runs_of(client: Any, tool: Away) -> int:
    before = tool.runs
    await client.call_tool("fetch", {})
    return tool.runs - before


def test_a_change_of_the_file_is_noticed_and_a_bad_one_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "recovery.toml"
    tool = serving(file, "defaults.retry.attempts = 2")

    async def main() -> list[int]:
        counted = []
        async with connected(tool) as client:
            counted.append(await runs_of(client, tool))
            for text in ("defaults.retry.attempts = 4", "defaults.retri = true", "defaults.retry.attempts = 3  # back"):
                file.write_text(text)
                await asyncio.sleep(3)
                counted.append(await runs_of(client, tool))
            file.unlink()
            await asyncio.sleep(3)
            counted.append(await runs_of(client, tool))
        return counted

    assert InstantClock().run(main()) == [2, 4, 4, 3, 3]


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no SIGHUP")
def test_a_hang_up_reloads_at_once_and_is_handled_only_while_a_server_runs(tmp_path: Path) -> None:
    file = tmp_path / "recovery.toml"
    tool = serving(file, "defaults.retry.attempts = 2")
    before = signal.getsignal(signal.SIGHUP)

    async def main() -> int:
        async with connected(tool) as client:
            stamp = file.stat()
            file.write_text("defaults.retry.attempts = 5")
            os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # a change that the watch cannot see
            signal.raise_signal(signal.SIGHUP)
            await asyncio.sleep(0.5)  # of the test's clock; the next look at the file comes after 1 s
            return await runs_of(client, tool)

    assert InstantClock().run(main()) == 5
    assert signal.getsignal(signal.SIGHUP) is before


@pytest.mark.parametrize("bad", ["defaults.retri = true", "not toml", f"defaults.retry.attempts = {'9' * 5_000}"])
def test_listeners_learn_that_a_file_was_not_loaded_and_that_the_next_one_was(tmp_path: Path, bad: str) -> None:
    file = tmp_path / "recovery.toml"
    tool = serving(file, "defaults.retry.attempts = 2")
    seen: list[ReloadEvent] = []
    tool.runtime.events.subscribe(seen.append, ReloadEvent)

    async def main() -> None:
        async with connected(tool):
            for text in (bad, "defaults.retry.attempts = 3"):
                file.write_text(text)
                await asyncio.sleep(3)

    InstantClock().run(main())
    assert [event.ok for event in seen] == [False, True]
    assert seen[0].reason


def test_without_a_file_nothing_is_watched_and_no_signal_is_taken() -> None:
    before = signal.getsignal(signal.SIGHUP)

    async def main() -> None:
        async with connected(Away()):
            assert signal.getsignal(signal.SIGHUP) is before

    InstantClock().run(main())


def test_a_server_is_not_made_for_a_configuration_of_tools_that_it_does_not_serve(tmp_path: Path) -> None:
    tool = serving(tmp_path / "recovery.toml", "[tools.awai]\nretry = true")
    with pytest.raises(ConfigurationError, match=r"tools\.awai.*'away'"):
        mcp_server(tool)


def test_the_watch_goes_on_after_a_file_that_no_parser_takes(tmp_path: Path) -> None:
    file = tmp_path / "recovery.toml"
    tool = serving(file, "defaults.retry.attempts = 2")

    async def main() -> list[int]:
        counted = []
        async with connected(tool) as client:
            for text in (f"defaults.retry.attempts = {'9' * 5_000}", "defaults.retry.attempts = 3"):
                file.write_text(text)
                await asyncio.sleep(3)
                counted.append(await runs_of(client, tool))
        return counted

    assert InstantClock().run(main()) == [2, 3]


class Fragile:
    """Breaks when it is linked for the second time."""

    name = "fragile"
    linked = 0

    def links(self, bound: Any) -> list[Any]:
        self.linked += 1
        if self.linked == 2:
            raise RuntimeError
        return []


def test_the_watch_goes_on_after_a_strategy_that_breaks(tmp_path: Path) -> None:
    file = tmp_path / "recovery.toml"
    file.write_text("defaults.retry.attempts = 2")
    own = RecoveryManager()
    own.add(Fragile())
    tool = Away(runtime=Runtime(settings=Settings(recovery_file=file), recovery=own))

    async def main() -> list[int]:
        counted = []
        async with connected(tool) as client:
            for attempts in (3, 4):
                file.write_text(f"defaults.retry.attempts = {attempts}  # {'later' * attempts}")
                await asyncio.sleep(3)
                counted.append(await runs_of(client, tool))
        return counted

    assert InstantClock().run(main()) == [2, 4]
