"""`failsoft state` by name: a name that nothing has, a key in clear, what callers and the audit log learn."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from failsoft import Runtime, Settings
from failsoft.events import Events
from tests.cli.commands.operate.test_state import Shop, listed, pay
from tests.doors import META_KEY, CallScope, open_state, run

KEY = "order-4711"


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:{tmp_path / 'state.sqlite'}"
    monkeypatch.setenv("FAILSOFT_STATE_URL", url)
    return url


def paid(url: str, key: str) -> None:
    """Pay as a server of its own would, so that the breaker and the key are known."""
    if pay(url, key) != 1:
        raise RuntimeError


async def refused(url: str) -> dict[str, Any]:
    """Return the failure of a call that a breaker refuses."""
    events = Events()
    async with Shop(runtime=Runtime(settings=Settings(), events=events, state=open_state(url, events))) as shop:
        answer = await shop.operations["pay"].call({"amount": 1}, CallScope(meta={META_KEY: "another"}))
    await shop.runtime.state.close()
    if answer.error is None or answer.error.code != "CIRCUIT_OPEN":
        raise RuntimeError(answer)
    error: dict[str, Any] = answer.to_dict()["error"]
    return error


@pytest.mark.parametrize("command", ["open", "close", "reset"])
def test_a_misspelt_breaker_is_refused_with_the_closest_name(
    url: str,
    command: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    paid(url, KEY)
    code = run(["state", command, "strpie"])
    assert code in {1, 2}
    assert "stripe" in capsys.readouterr().err


def test_a_breaker_held_by_an_operator_says_so_to_callers(url: str) -> None:
    if run(["state", "open", "stripe"]) != 0:
        raise RuntimeError
    assert "operator" in asyncio.run(refused(url))["message"].lower()


def test_a_key_is_found_by_its_clear_text(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    paid(url, KEY)
    assert [(entry["kind"], entry["state"]) for entry in listed(capsys, KEY)] == [("key", "done")]


def test_a_key_is_forgotten_by_its_clear_text(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    paid(url, KEY)
    assert run(["state", "forget", KEY]) == 0
    assert [entry for entry in listed(capsys) if entry["kind"] == "key"] == []


@pytest.mark.parametrize("change", [("open", "stripe"), ("reset", "stripe"), ("forget", "key:*")])
def test_each_change_is_on_record(
    url: str,
    change: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paid(url, KEY)
    log = tmp_path / "audit-log.jsonl"
    monkeypatch.setenv("FAILSOFT_AUDIT_PATH", str(log))
    if run(["state", *change]) != 0:
        raise RuntimeError
    entries = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    assert len(entries) == 1


def test_a_name_is_on_one_line_without_control_characters(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = "shop\x1b[2J\x9b\nbreaker  forged"
    for words in (["open", name], ["list", name], ["list", name, "--state", "done"], ["forget", name]):
        assert run(["state", *words]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert all(map(str.isprintable, shown))
    assert not [line for line in shown if line.startswith("breaker  forged")]
