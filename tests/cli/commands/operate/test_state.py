"""`failsoft state`: what an operator sees and sets in the store of a server."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from failsoft import BaseTool, CircuitBreaker, Runtime, Settings, Unavailable, operation
from failsoft.events import Events
from tests.doors import META_KEY, NOTHING, CallScope, SqliteBackend, Write, open_state, run


class Shop(BaseTool):
    """A shop."""

    runs = 0

    @operation(recovery=[CircuitBreaker("warehouse", min_calls=1, open_s=3_600)])
    async def drop(self) -> None:
        """Fail."""
        raise Unavailable(message="down")

    @operation(recovery=[CircuitBreaker("stripe")])
    async def pay(self, amount: int) -> int:
        """Pay."""
        self.runs += 1
        return self.runs


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:{tmp_path / 's.sqlite'}"
    monkeypatch.setenv("FAILSOFT_STATE_URL", url)
    return url


def pay(url: str, key: str = "k1") -> Any:
    """Pay as a server of its own would, and return the answer."""

    async def main() -> Any:
        events = Events()
        tool = Shop(runtime=Runtime(settings=Settings(), events=events, state=open_state(url, events)))
        response = await tool.operations["pay"].call({"amount": 1}, CallScope(meta={META_KEY: key}))
        await tool.runtime.state.close()
        return response.data if response.error is None else response.error.code

    return asyncio.run(main())


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert run(["state", "list", *arguments, "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_keys_and_breakers_are_listed_held_and_forgotten(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert pay(url) == 1
    assert {(entry["kind"], entry["state"]) for entry in listed(capsys)} >= {("key", "done"), ("breaker", "closed")}
    assert run(["state", "open", "stripe"]) == 0
    assert pay(url, "k2") == "CIRCUIT_OPEN"
    assert [entry["state"] for entry in listed(capsys, "stripe")] == ["open (held)"]
    assert run(["state", "list", "stripe"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == [
        *("kind", "name", "state", "age", "ends", "in", "size", "scope")
    ]
    assert run(["state", "reset", "stripe"]) == 0
    assert pay(url, "k3") == 1
    assert run(["state", "forget", "key:*"]) == 0
    assert [entry for entry in listed(capsys) if entry["kind"] == "key"] == []
    capsys.readouterr()
    for words in (["forget", "nothing"], ["close", "no*"], ["reset", "nothing"]):
        assert run(["state", *words]) == 1
        ended = capsys.readouterr()
        assert (ended.out, ended.err.split(":")[0]) == ("", "NOT_FOUND")


def test_a_breaker_can_be_held_before_its_server_runs(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["state", "open", "stripe"]) == 0
    assert capsys.readouterr().out == "stripe: held open, although no server has used a breaker of this name\n"
    assert pay(url) == "CIRCUIT_OPEN"
    assert run(["state", "close", "stripe"]) == 0
    assert pay(url) == 1
    assert capsys.readouterr().out == "stripe: held closed\n"


def test_memory_cannot_be_looked_into(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FAILSOFT_STATE_URL", "memory:")
    assert run(["state", "list"]) == 3
    assert "memory" in capsys.readouterr().err


def test_the_list_is_narrowed_and_says_what_each_record_takes(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert pay(url) == 1
    ((key,), (breaker,)) = (listed(capsys, "--kind", kind) for kind in ("key", "breaker"))
    assert (key["toolset"], key["state"], breaker["toolset"]) == ("shop", "done", "")
    assert key["size_bytes"] >= 256
    assert 0 < key["expires_in_s"] <= 24 * 3600
    assert [one["key"] for one in listed(capsys, "--toolset", "shop", "--state", "done")] == [key["key"]]
    assert listed(capsys, "--server", key["server"], "--state", "unknown") == []
    assert run(["state", "open", "stripe"]) == 0
    assert [entry["name"] for entry in listed(capsys, "--state", "open")] == ["stripe"]
    capsys.readouterr()
    assert run(["state", "list"]) == 0
    assert "of the quota" in capsys.readouterr().out


def test_an_open_breaker_shows_since_when_and_until_when(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        events = Events()
        tool = Shop(runtime=Runtime(settings=Settings(), events=events, state=open_state(url, events)))
        while (await tool.drop()).error.code != "CIRCUIT_OPEN":  # type: ignore[union-attr]  # it always fails
            pass
        await tool.runtime.state.close()

    asyncio.run(main())
    (breaker,) = listed(capsys, "--kind", "breaker")
    assert (breaker["state"], breaker["held_by"]) == ("open", None)
    assert 3_000 < breaker["probe_in_s"] <= 3_600
    assert 0 <= breaker["age_s"] < 600
    assert run(["state", "list", "warehouse"]) == 0
    assert "probe in 60 min" in capsys.readouterr().out
    assert run(["state", "open", "warehouse"]) == 0
    (held,) = listed(capsys, "warehouse")
    assert (held["held_by"].split(":")[0], held["probe_in_s"]) == ("operator", None)


def test_every_record_has_an_age(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert pay(url) == 1
    assert {entry["kind"] for entry in listed(capsys) if not 0 <= entry["age_s"] < 600} == set()


@pytest.mark.parametrize("first", ["0", "7", "f"])
def test_what_the_version_before_wrote_has_no_age_and_no_name_of_an_operator(
    url: str, first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    state = {"name": "open", "era": 1, "until": 0.0, "break_s": 0.0, "probe": "", "held": 1, "window": []}

    async def main() -> None:
        backend = SqliteBackend(Path(url.removeprefix("sqlite:")))
        random = first + os.urandom(9).hex()[1:]
        await backend.swap("failsoft:breaker:stripe", NOTHING, Write(random, state, 3_600))
        await backend.close()

    asyncio.run(main())
    (held,) = listed(capsys, "stripe")
    assert (held["state"], held["held_by"], held["age_s"]) == ("open (held)", "an operator", None)


@pytest.mark.parametrize(
    "words", [["state", "list"], ["state", "forget", "*"], ["state", "reset", "a"], ["find", "abcd"]]
)
@pytest.mark.parametrize("is_option", [False, True])
def test_a_store_that_is_not_there_is_refused_and_not_made(
    words: list[str],
    is_option: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "typo" / "s.sqlite"
    if is_option and words[0] == "find":
        words = [*words, "--state", f"sqlite:{file}"]
    else:
        monkeypatch.setenv("FAILSOFT_STATE_URL", f"sqlite:{file}")
    assert run(words) == 3
    assert str(file) in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_default_store_is_searched_and_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    file = tmp_path / "failsoft" / "state.sqlite"
    assert run(["state", "list"]) == 0
    assert str(file) in capsys.readouterr().out
    assert run(["find", "order-4711"]) == 3
    assert str(file) in capsys.readouterr().err
    assert not file.parent.exists()
    assert pay(f"sqlite:{file}", "order-4711") == 1
    assert run(["find", "order-4711"]) == 0
    assert str(file) in capsys.readouterr().err
    assert run(["find", "order-4712"]) == 1
    assert str(file) in capsys.readouterr().err


def test_what_is_misspelt_is_named_with_what_may_be_meant(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pay(url) == 1
    assert run(["state", "list", "--kind", "breakr"]) == 0
    assert "no record has --kind breakr; in the store: breaker, key" in capsys.readouterr().out
    file = tmp_path / "s.sqlite"
    for address in ("nonsense", str(file)):
        assert run(["find", "order-4711", "--state", address]) == 2
        assert "--state must be memory:, sqlite:PATH" in (shown := capsys.readouterr().err)
    assert f"--state sqlite:{file}" in shown
    monkeypatch.setenv("FAILSOFT_STATE_UR", url)
    monkeypatch.setenv("FAILSOFT_STATE_URL", f"sqlite:{tmp_path}")
    assert run(["state", "list"]) == 3
    shown = capsys.readouterr().err
    assert "FAILSOFT_STATE_UR is not read; did you mean FAILSOFT_STATE_URL?" in shown
    assert f"{tmp_path}: it is not a regular file (denied)" in shown
