"""With the settings as they are, every change to a log is found."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from failsoft import AuditLog, AuditLogFailed, Settings
from tests.doors import (
    BEGINNING,
    Head,
    Seal,
    canonical,
    default_head,
    default_key_file,
    read_key,
    segments,
    verify,
)
from tests.framework.audit.parts import fact

OTHER = Seal(b"the key of somebody else")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace" / "audit-log.jsonl"


def record(path: Path, *numbers: int) -> None:
    log = AuditLog.from_settings(Settings(audit_path=path, audit_max_bytes=1_000))
    assert log is not None

    async def write() -> None:
        for number in numbers:
            await log.record(fact(number))

    asyncio.run(write())
    log.close()


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def put(path: Path, changed: list[bytes]) -> None:
    path.write_bytes(b"".join(changed))


def swap(path: Path) -> None:
    first, second, *rest = lines(path)
    put(path, [second, first, *rest])


def rewrite(path: Path) -> None:
    """Write another log from its beginning, as well as that goes without the key."""
    for file in (*segments(path), path):
        file.unlink()
    put(path, forged(*range(20, 32)))


def forged(*numbers: int) -> list[bytes]:
    """Return the lines of a log that was sealed with another key."""
    made, end = [], BEGINNING
    for number in numbers:
        line, end = OTHER.line(fact(number), end)
        made.append(line)
    return made


def roll_back(path: Path) -> None:
    shutil.rmtree(path.parent)
    shutil.copytree(path.parent.with_name("earlier"), path.parent)


CHANGES: dict[str, Callable[[Path], object]] = {
    "edit": lambda path: path.write_bytes(path.read_bytes().replace(b"NOT_FOUND", b"NOT_FOUNT", 1)),
    "delete": lambda path: put(path, [lines(path)[0], *lines(path)[2:]]),
    "insert": lambda path: put(path, [*lines(path)[:1], lines(segments(path)[0])[0], *lines(path)[1:]]),
    "swap": swap,
    "duplicate": lambda path: put(path, [lines(path)[0], *lines(path)]),
    "cut head": lambda path: [put(segments(path)[0], lines(segments(path)[0])[1:])],
    "cut tail": lambda path: put(path, lines(path)[:-1]),
    "cut the current file": lambda path: path.unlink(),
    "first segment": lambda path: segments(path)[0].unlink(),
    "segment in between": lambda path: segments(path)[1].unlink(),
    "all segments": lambda path: [file.unlink() for file in segments(path)],
    "everything": lambda path: [file.unlink() for file in (*segments(path), path)],
    "rewrite": rewrite,
    "roll back": roll_back,
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_found(path: Path, change: str) -> None:
    record(path, *range(6))
    shutil.copytree(path.parent, path.parent.with_name("earlier"))
    record(path, *range(6, 18))
    while len(lines(path)) < 3:
        record(path, 18)
    assert verify(path).is_whole
    assert len(segments(path)) > 2
    CHANGES[change](path)
    assert not verify(path).is_whole
    with suppress(AuditLogFailed):
        record(path, 99)  # a server that goes on does not make it whole again
    assert not verify(path).is_whole


def test_key_and_head_lie_in_the_state_folder_readable_by_their_user_alone(path: Path) -> None:
    record(path, 1)
    assert {entry.name for entry in path.parent.iterdir()} == {path.name}
    for file in (default_key_file(), default_head(path)):
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.parent.stat().st_mode & 0o777 == 0o700
    key = read_key(default_key_file())
    record(path, 2)
    assert read_key(default_key_file()) == key


def test_a_head_path_of_state_is_the_default(path: Path) -> None:
    log = AuditLog.from_settings(Settings(audit_path=path, audit_head_path="state:"))
    asyncio.run(log.record(fact(1)))
    log.close()
    assert default_head(path).is_file()
    assert log.verify().is_whole


def test_a_log_in_place_of_another_is_not_taken_over(path: Path) -> None:
    record(path, 1, 2, 3)
    put(path, forged(1, 2, 3, 4, 5))
    with pytest.raises(AuditLogFailed):
        record(path, 6)
    assert not verify(path).is_whole


def test_a_log_without_a_key_is_none_of_ours(path: Path) -> None:
    entry = {**fact(1), "alg": "sha256", "prev": BEGINNING.hash, "seq": 1}
    body = canonical(entry)
    put(path, [b'%s,"hash":"%s"}\n' % (body[:-1], hashlib.sha256(body).hexdigest().encode())])
    before = path.read_bytes()
    with pytest.raises(AuditLogFailed):
        record(path, 2)
    assert path.read_bytes() == before
    assert not verify(path).is_whole


def test_a_checkpoint_cannot_be_made_up_by_an_entry_without_the_key(path: Path) -> None:
    record(path, 1, 2, 3)
    rest = lines(path)[1:]
    before = json.loads(rest[0])
    facts = {"event": "checkpoint", "closed": [{"last": 1, "last_hash": before["prev"]}]}
    put(path, [*rest, OTHER.line(facts, Head(3, json.loads(rest[-1])["hash"]))[0]])
    assert not verify(path).is_whole


def test_a_key_that_cannot_be_made_fails_the_call_and_says_why(path: Path) -> None:
    default_key_file().mkdir(parents=True)
    with pytest.raises(AuditLogFailed, match="its key cannot be read or made"):
        record(path, 1)
