"""Files that hold what the server relies on: refused where its group or other users may write them."""

from __future__ import annotations

import asyncio
import os
from grp import struct_group
from pathlib import Path

import pytest

from failsoft import AuditLog, BaseTool, NotFound, Runtime, Settings, ToolError, operation
from failsoft.events import Events
from tests.doors import META_KEY, CallScope, open_state

REFUSED = {"AUDIT_LOG_FAILED", "AUDIT_LOCK_FAILED", "CONFIG_ERROR", "INIT_ERROR", "STATE_UNAVAILABLE", "STATE_UNUSABLE"}
MODES = pytest.mark.parametrize("mode", [0o620, 0o602], ids=oct)


class Shop(BaseTool):
    """A shop."""

    @operation(read_only=True)
    async def find(self) -> None:
        """Find nothing."""
        raise NotFound(message="There is no such thing.")

    @operation()
    async def pay(self, amount: int) -> int:
        """Pay."""
        return amount


def found(**settings: Path) -> str | None:
    """Return the code of a failure that goes on record in a server of its own."""

    async def main() -> str | None:
        chosen = Settings(**settings)
        try:
            async with Shop(runtime=Runtime(settings=chosen, audit=AuditLog.from_settings(chosen))) as shop:
                answer = await shop.find()
        except ToolError as refused:
            return refused.code
        return answer.error and answer.error.code

    return asyncio.run(main())


def paid(url: str) -> str | None:
    """Return the code of the failure of a call with a key, in a server of its own; None if it succeeds."""

    async def main() -> str | None:
        events = Events()
        try:
            state = open_state(url, events)
            await state.check()
            async with Shop(runtime=Runtime(settings=Settings(), events=events, state=state)) as shop:
                answer = await shop.operations["pay"].call({"amount": 1}, CallScope(meta={META_KEY: "k1"}))
            await state.close()
        except ToolError as refused:
            return refused.code
        return answer.error and answer.error.code

    return asyncio.run(main())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Return settings of a log with one entry, all of whose files are the owner's only."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    key = tmp_path / "audit.key"
    key.write_text("0123456789abcdef" * 4)
    key.chmod(0o600)
    settings = {
        "audit_path": tmp_path / "audit-log.jsonl",
        "audit_key_file": key,
        "audit_head_path": tmp_path / "audit.head",
    }
    if found(**settings) != "NOT_FOUND" or not settings["audit_head_path"].exists():
        raise RuntimeError
    return settings


@MODES
@pytest.mark.parametrize("file", ["audit_key_file", "audit_head_path"])
def test_a_key_or_head_that_others_may_write_is_refused(place: dict[str, Path], file: str, mode: int) -> None:
    place[file].chmod(mode)
    assert found(**place) in REFUSED


@MODES
def test_a_store_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "state.sqlite"
    if paid(f"sqlite:{file}") is not None:
        raise RuntimeError
    file.chmod(mode)
    assert paid(f"sqlite:{file}") in REFUSED


FOLDERS = pytest.mark.parametrize(
    ("mode", "is_refused"), [(0o707, True), (0o777, True), (0o1777, False), (0o775, True)]
)


@pytest.fixture
def _shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every group another member, as the system's list of groups may say."""
    monkeypatch.setattr("grp.getgrgid", lambda number: struct_group(("staff", "x", number, ["somebody"])))


@pytest.mark.usefixtures("_shared")
@FOLDERS
@pytest.mark.parametrize("file", ["audit_key_file", "audit_head_path"])
def test_a_key_or_head_that_others_may_replace_is_refused(
    place: dict[str, Path], tmp_path: Path, file: str, mode: int, is_refused: bool
) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    moved = place[file].rename(folder / "kept")
    folder.chmod(mode)
    assert (found(**{**place, file: moved}) in REFUSED) is is_refused


@pytest.mark.usefixtures("_shared")
@FOLDERS
def test_a_store_that_others_may_replace_is_refused(tmp_path: Path, mode: int, is_refused: bool) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(mode)
    assert (paid(f"sqlite:{folder / 'state.sqlite'}") in REFUSED) is is_refused


def test_a_folder_that_a_group_without_others_may_write_holds_a_store(tmp_path: Path) -> None:
    tmp_path.chmod(0o775)
    assert paid(f"sqlite:{tmp_path / 'state.sqlite'}") is None


def test_a_store_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "state.sqlite", 0o600)
    assert paid(f"sqlite:{tmp_path / 'state.sqlite'}") in REFUSED
