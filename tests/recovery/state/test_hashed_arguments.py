"""What a state file says of the arguments of a call with a key: a hash that nobody can look up."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import SecretStr

from failsoft import BaseTool, Runtime, Settings, ToolResponse, operation
from failsoft.events import Events
from tests.doors import META_KEY, CallScope, KeyedHashes, ids_of_key, is_record_of, key_id, open_state


class Shop(BaseTool):
    """A shop."""

    @operation()
    async def pay(self, pin: int) -> str:
        """Pay."""
        return "paid"


def digests(home: Path, pin: int, monkeypatch: pytest.MonkeyPatch) -> set[bytes]:
    """Return the hashes in the store of a user who keeps it in this folder, after one call."""
    home.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(home))

    async def main() -> None:
        events = Events()
        state = open_state(f"sqlite:{home / 'state.sqlite'}", events)
        async with Shop(runtime=Runtime(settings=Settings(), events=events, state=state)) as shop:
            answer = await shop.operations["pay"].call({"pin": pin}, CallScope(meta={META_KEY: "k1"}))
        await state.close()
        if not answer.success:
            raise RuntimeError(answer)

    asyncio.run(main())
    kept = b"".join(file.read_bytes() for file in sorted(home.glob("state.sqlite*")))
    return set(re.findall(rb"\b[0-9a-f]{16,}\b", kept))


def test_the_hash_of_an_argument_differs_from_one_user_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = (digests(tmp_path / name, 4711, monkeypatch) for name in ("ada", "bob"))
    another = digests(tmp_path / "another", 815, monkeypatch)
    if not ada - another:
        raise RuntimeError(ada)
    assert (ada & bob) - another == set()


def test_the_key_of_a_caller_is_not_found_by_its_plain_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = hashlib.sha256(b"k1").hexdigest()[:16].encode()
    assert plain not in digests(tmp_path / "ada", 4711, monkeypatch)


@pytest.mark.parametrize(
    ("made", "asked", "is_found"), [("", "a" * 16, True), ("a" * 16, "a" * 16, True), ("a" * 16, "", False)]
)
def test_a_record_is_found_by_the_key_that_was_sent_with_and_without_a_key_of_the_hashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str, asked: str, is_found: bool
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    record = {"key": key_id("k1", made.encode())}
    ids = ids_of_key("k1", Settings(state_key=SecretStr(asked) if asked else None))
    assert is_record_of(record, ids) is is_found


def answered(home: Path, pin: int, monkeypatch: pytest.MonkeyPatch, key: str | None = None) -> tuple[Any, Any]:
    """Return the code and the effect, or None and the data, of a call with a key over one store."""
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("XDG_STATE_HOME", str(home))

    async def main() -> ToolResponse[Any]:
        events = Events()
        state = open_state(f"sqlite:{home.parent / 'state.sqlite'}", events)
        settings = Settings(state_key=None if key is None else SecretStr(key))
        async with Shop(runtime=Runtime(settings=settings, events=events, state=state)) as shop:
            answer = await shop.operations["pay"].call({"pin": pin}, CallScope(meta={META_KEY: "k1"}))
        await state.close()
        return answer

    answer = asyncio.run(main())
    return (None, answer.metadata.cache_hit) if answer.error is None else (answer.error.code, answer.error.effect)


def test_the_key_is_made_once_for_each_user_and_nobody_else_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [answered(tmp_path / "ada", pin, monkeypatch) for pin in (4711, 4711, 815)]
    assert answers == [(None, None), (None, True), ("IDEMPOTENCY_CONFLICT", "none")]
    (file,) = (tmp_path / "ada").rglob("state.key")
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_call_whose_arguments_were_hashed_with_another_key_is_refused_and_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [answered(tmp_path / name, 4711, monkeypatch) for name in ("ada", "bob", "ada")]
    assert answers == [(None, None), ("IDEMPOTENCY_OUTCOME_UNKNOWN", "unknown"), (None, True)]


def test_a_key_that_is_set_serves_all_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [answered(tmp_path / name, 4711, monkeypatch, "k" * 16) for name in ("ada", "bob")]
    assert answers == [(None, None), (None, True)]
    assert not list(tmp_path.rglob("state.key"))


@pytest.mark.parametrize(("pin", "expected"), [(4711, (None, True)), (815, ("IDEMPOTENCY_CONFLICT", "none"))])
def test_hashes_of_earlier_versions_have_no_key_and_are_compared_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pin: int, expected: Any
) -> None:
    blocked = tmp_path / "file"
    blocked.mkdir()
    (blocked / "failsoft").write_text("no folder")  # so that no key can be made
    assert answered(blocked, 4711, monkeypatch) == (None, None)
    assert answered(tmp_path / "ada", pin, monkeypatch) == expected


def test_a_key_that_others_may_write_refuses_calls_with_a_key_before_they_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "ada" / "failsoft"
    folder.mkdir(parents=True)
    (folder / "state.key").write_text("k" * 64)
    (folder / "state.key").chmod(0o666)
    assert answered(tmp_path / "ada", 4711, monkeypatch) == ("STATE_UNUSABLE", "none")


def test_the_hash_of_an_argument_differs_from_one_call_to_the_next() -> None:
    call: Any = SimpleNamespace(arguments={"pin": 4711, "name": "ä"}, bound=SimpleNamespace(input_schema={}))
    keys = (("key:1", b"k"), ("key:2", b"k"), ("key:1", b""))
    one, other, plain = (KeyedHashes(call, record, key) for record, key in keys)
    assert [one.is_same(hashes.text) for hashes in (one, other, plain)] == [True, False, True]
    assert (plain.is_same(one.text), one.is_same("{}"), one.changed("{}")) == (None, False, ("name", "pin"))


@contextmanager
def no_descriptors() -> Iterator[None]:
    """Let no file be opened; a lower limit would be too low for threads that poll."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    next_free = os.dup(0)
    os.close(next_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next_free, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_key_that_cannot_be_read_for_a_moment_is_read_by_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    async def main() -> list[Any]:
        events = Events()
        state = open_state(f"sqlite:{tmp_path / 'state.sqlite'}", events)
        async with Shop(runtime=Runtime(settings=Settings(), events=events, state=state)) as shop:
            await shop.operations["pay"].call({"pin": 815})
            with no_descriptors():
                refused = await shop.operations["pay"].call({"pin": 4711}, CallScope(meta={META_KEY: "k1"}))
            paid = await shop.operations["pay"].call({"pin": 4711}, CallScope(meta={META_KEY: "k1"}))
        await state.close()
        assert refused.error is not None
        return [refused.error.code, refused.error.effect, paid.data]

    assert asyncio.run(main()) == ["STATE_UNAVAILABLE", "none", "paid"]
    assert len(list(tmp_path.rglob("state.key"))) == 1
