"""The log on disk: order, other writers, torn ends, damage, and files put aside."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.doors import BEGINNING, NotWritten, audit_entries as entries, default_head, find, newest, segments, verify
from tests.framework.audit.parts import fact, log_file, on_disk, seconds, write

KEY = b"a key of sixteen"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit-log.jsonl"


def ids(path: Path) -> list[str]:
    return [entry["error_id"] for entry in entries(path) if entry.get("event") != "repair"]


def test_entries_stand_in_the_order_in_which_they_were_written(path: Path) -> None:
    file = log_file(path)
    file.append([fact(1), fact(2)], seconds())
    file.append([fact(3)], seconds())
    assert [entry["seq"] for entry in on_disk(path)] == [1, 2, 3]
    assert ids(path) == ["id-1", "id-2", "id-3"]
    assert verify(path).is_whole
    assert (path.stat().st_mode & 0o777) == 0o600


@pytest.mark.parametrize("key", [None, KEY], ids=["hash", "hmac"])
def test_two_writers_take_turns_in_one_chain(path: Path, key: bytes | None) -> None:
    one, other = log_file(path, key=key), log_file(path, key=key)
    for number in range(10):
        (one if number % 3 else other).append([fact(number)], seconds())
    assert ids(path) == [f"id-{number}" for number in range(10)]
    assert verify(path, key=key).entries == 10
    assert not verify(path, key=None if key else KEY).is_whole


def test_a_writer_goes_on_where_the_one_before_it_stopped(path: Path) -> None:
    for number in range(5):
        write(path, number)
    assert [entry["seq"] for entry in on_disk(path)] == [1, 2, 3, 4, 5]
    assert verify(path).is_whole


# A writer that was stopped half-way.


def test_wherever_the_last_line_breaks_no_complete_entry_is_lost(path: Path) -> None:
    write(path, 1, 2)
    before, head = path.read_bytes(), default_head(path).read_bytes()
    write(path, 3)
    after = path.read_bytes()
    for length in range(len(before), len(after) + 1):
        path.write_bytes(after[:length])
        default_head(path).write_bytes(head)
        write(path, 4)
        complete = ["id-1", "id-2", "id-3"] if length >= len(after) - 1 else ["id-1", "id-2"]
        assert ids(path) == [*complete, "id-4"]
        found = verify(path)
        assert found.is_whole, (length, found.broken)
        is_torn = len(before) < length < len(after) - 1
        repairs = [entry for entry in on_disk(path) if entry.get("event") == "repair"]
        assert [entry["dropped_bytes"] for entry in repairs] == ([length - len(before)] if is_torn else [])


def test_a_torn_end_is_repaired_without_an_entry_too_and_the_log_says_so(path: Path) -> None:
    write(path, 1)
    with path.open("ab") as stream:
        stream.write(b'{"half":')
    assert verify(path).broken.line == 2
    file = log_file(path)
    file.append([], seconds())
    assert verify(path).is_whole
    file.append([fact(2)], seconds())
    assert [entry.get("event") for entry in on_disk(path)] == [None, "repair", None]


def test_a_torn_end_left_by_another_process_is_repaired_by_a_writer_that_was_there_already(path: Path) -> None:
    file = log_file(path)
    file.append([fact(1)], seconds())
    with path.open("ab") as stream:
        stream.write(b"x" * 10)
    file.append([fact(2)], seconds())
    assert ids(path) == ["id-1", "id-2"]
    assert verify(path).is_whole


# Damage.


def _change(path: Path, number: int, old: bytes, new: bytes) -> None:
    lines = path.read_bytes().split(b"\n")
    lines[number] = lines[number].replace(old, new)
    path.write_bytes(b"\n".join(lines))


def _without(path: Path, number: int) -> None:
    lines = path.read_bytes().split(b"\n")
    del lines[number]
    path.write_bytes(b"\n".join(lines))


def _swapped(path: Path) -> None:
    lines = path.read_bytes().split(b"\n")
    lines[1], lines[2] = lines[2], lines[1]
    path.write_bytes(b"\n".join(lines))


DAMAGE = {
    "a word changed": (lambda path: _change(path, 1, b"NOT_FOUND", b"NOT_FOUNT"), 2),
    "a line taken out": (lambda path: _without(path, 1), 2),
    "the first line taken out": (lambda path: _without(path, 0), None),
    "two lines swapped": (_swapped, 2),
    "rubbish in between": (lambda path: _change(path, 2, b"{", b"{\n{"), 3),
    "an empty line": (lambda path: _change(path, 2, b"{", b"\n{"), 3),
    "a blank more": (lambda path: _change(path, 3, b'{"', b'{ "'), 4),
    "the last word changed": (lambda path: _change(path, 3, b"NOT_FOUND", b"NOT_FOUNT"), 4),
    "the last entry cut off": (lambda path: _without(path, 3), None),
    "all but the first cut off": (lambda path: path.write_bytes(path.read_bytes().split(b"\n")[0] + b"\n"), None),
}


@pytest.mark.parametrize("what", [name for name in DAMAGE if name != "the first line taken out"])
def test_a_damaged_log_is_refused_and_left_as_it_is(path: Path, what: str) -> None:
    write(path, 1, 2, 3, 4)
    harm, line = DAMAGE[what]
    harm(path)
    damaged = path.read_bytes()
    file = log_file(path)
    for _ in range(2):
        with pytest.raises(NotWritten) as caught:
            file.append([fact(5)], seconds())
        assert not caught.value.is_locked
        assert "damaged" in caught.value.reason
    assert path.read_bytes() == damaged
    found = verify(path)
    assert found.broken is not None
    assert found.broken.line == line


def test_a_log_that_begins_later_without_a_checkpoint_is_broken(path: Path) -> None:
    write(path, 1, 2, 3)
    _without(path, 0)
    found = verify(path)
    assert not found.is_whole
    assert (found.first, found.entries) == (2, 2)


@pytest.mark.parametrize("what", ["a word changed", "the last entry cut off", "all but the first cut off"])
def test_damage_done_while_a_writer_is_there_is_noticed_by_the_next_one(path: Path, what: str) -> None:
    file = log_file(path)
    file.append([fact(1), fact(2), fact(3), fact(4)], seconds())
    DAMAGE[what][0](path)
    if path.stat().st_size < 100 or what != "a word changed":
        with pytest.raises(NotWritten):
            file.append([fact(5)], seconds())
    with pytest.raises(NotWritten):
        write(path, 6)
    assert not verify(path).is_whole


@pytest.mark.parametrize("is_known", [True, False], ids=["its own writer", "another writer"])
def test_the_error_of_a_damaged_log_names_the_last_entry_before_the_damage(path: Path, is_known: bool) -> None:
    file = log_file(path)
    file.append([fact(1), fact(2), fact(3)], seconds())
    with path.open("ab") as stream:
        stream.write(b"rubbish\n")
    with pytest.raises(NotWritten) as caught:
        (file if is_known else log_file(path)).append([fact(4)], seconds())
    assert "after entry 3 " in caught.value.reason


def test_the_log_works_again_once_it_is_repaired(path: Path) -> None:
    write(path, 1, 2, 3)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"id-2", b"id-9"))
    file = log_file(path)
    with pytest.raises(NotWritten):
        file.append([fact(4)], seconds())
    path.write_bytes(whole)
    file.append([fact(4)], seconds())
    assert ids(path) == ["id-1", "id-2", "id-3", "id-4"]


# The head.


def test_a_head_that_was_made_up_is_refused(path: Path) -> None:
    write(path, 1, 2, key=KEY)
    head = default_head(path)
    whole = head.read_bytes()
    for made_up in (b"x", whole.replace(b'"seq":2', b'"seq":1'), b"{}".ljust(255) + b"\n", whole[:100]):
        head.write_bytes(made_up)
        with pytest.raises(NotWritten):
            write(path, 3, key=KEY)
        assert not verify(path, key=KEY).is_whole
    head.write_bytes(whole)
    assert verify(path, key=KEY).is_whole


def test_a_whole_log_rewritten_without_the_key_does_not_pass(path: Path) -> None:
    write(path, 1, 2, key=KEY)
    path.unlink()
    default_head(path).unlink()
    write(path, 1, 2)
    assert verify(path).is_whole
    assert (verify(path, key=KEY).broken.file, verify(path, key=KEY).broken.line) == (path.name, 1)


def test_a_log_rewritten_from_its_beginning_does_not_fit_the_head(path: Path) -> None:
    write(path, 1, 2, 3)
    head = default_head(path).read_bytes()
    path.unlink()
    default_head(path).unlink()
    write(path, 1, 9, 3)
    default_head(path).write_bytes(head)
    assert verify(path).broken.line == 3
    with pytest.raises(NotWritten):
        write(path, 4)


def test_a_log_without_its_head_is_broken(path: Path) -> None:
    write(path, 1, 2)
    default_head(path).unlink()
    assert not verify(path).is_whole


@pytest.mark.parametrize("where", ["in the file", "put aside", "in both"])
def test_a_log_whose_head_is_gone_is_not_written_to_until_the_loss_is_on_record(path: Path, where: str) -> None:
    write(path, 1, 2, 3)
    path.write_bytes(path.read_bytes().partition(b"\n")[0] + b"\n")
    default_head(path).unlink()
    if where != "in the file":
        path.rename(path.with_name(f"{path.name}.{1:012}"))
    if where == "in both":
        path.touch()
    before = {file: file.read_bytes() for file in path.parent.glob(f"{path.name}*") if file.stat().st_size}
    for _ in range(2):
        with pytest.raises(NotWritten, match="--accept-loss"):
            write(path, 4)
    with pytest.raises(NotWritten, match="--accept-loss"):
        log_file(path).archive(seconds())
    assert before == {file: file.read_bytes() for file in path.parent.glob(f"{path.name}*") if file.stat().st_size}
    assert not default_head(path).exists()
    assert not verify(path).is_whole
    log_file(path).archive(seconds(), lost=BEGINNING)
    write(path, 4)
    assert [(entry.get("event"), entry.get("reason")) for entry in on_disk(path)] == [
        ("checkpoint", "loss"),
        (None, None),
    ]
    assert verify(path).is_whole


def test_a_log_that_never_had_an_entry_needs_no_head(path: Path) -> None:
    file = log_file(path)
    file.append([], seconds())
    default_head(path).unlink()
    write(path, 1)
    assert verify(path).is_whole


def test_a_head_that_cannot_be_begun_is_refused_and_nothing_is_written(path: Path) -> None:
    default_head(path).parent.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(default_head(path).parent, ignore_errors=True)
    default_head(path).parent.write_text("")
    for _ in range(2):
        with pytest.raises(NotWritten):
            write(path, 1)
    assert not path.exists() or not path.stat().st_size
    default_head(path).parent.unlink()
    write(path, 1)
    assert verify(path).is_whole


def test_a_head_that_cannot_be_kept_does_not_cost_the_entry(path: Path) -> None:
    default_head(path).mkdir()
    file = log_file(path)
    with pytest.raises(NotWritten):
        file.append([fact(1)], seconds())
    default_head(path).rmdir()
    file.append([fact(1)], seconds())
    default_head(path).unlink()
    default_head(path).mkdir()
    file.append([fact(2)], seconds())
    assert ids(path) == ["id-1", "id-2"]


# Files put aside.


def test_a_full_file_is_put_aside_and_the_chain_goes_on(path: Path) -> None:
    file = log_file(path, max_bytes=1_000)
    for number in range(20):
        file.append([fact(number)], seconds())
    aside = segments(path)
    assert len(aside) > 2
    assert all(part.stat().st_size >= 1_000 for part in aside)
    assert [int(part.name.rpartition(".")[2]) for part in aside] == [on_disk(part)[-1]["seq"] for part in aside]
    assert ids(path) == [f"id-{number}" for number in range(20)]
    found = verify(path)
    assert (found.is_whole, found.entries, found.files) == (True, 20, [*(part.name for part in aside), path.name])
    assert newest(path, "code", "NOT_FOUND", limit=7, bytes_at_most=1 << 20)[0] == list(entries(path))[-7:]
    assert [entry["seq"] for entry in find(path, "id-0")] == [1]


def test_several_writers_put_files_aside_without_losing_each_other(path: Path) -> None:
    writers = [log_file(path, max_bytes=1_000) for _ in range(3)]
    for number in range(30):
        writers[number % 3].append([fact(number)], seconds())
    assert ids(path) == [f"id-{number}" for number in range(30)]
    assert verify(path).is_whole


def test_a_file_put_aside_that_is_missing_or_changed_shows(path: Path) -> None:
    file = log_file(path, max_bytes=1_000)
    for number in range(20):
        file.append([fact(number)], seconds())
    first, second, *_ = segments(path)
    kept = second.read_bytes()
    second.unlink()
    assert verify(path).broken.line == 1
    second.write_bytes(kept.replace(b"NOT_FOUND", b"NOT_FOUNT", 1))
    assert verify(path).broken.file == second.name
    second.write_bytes(kept)
    assert verify(path).is_whole
    first.unlink()
    assert not verify(path).is_whole


def test_a_writer_killed_between_putting_aside_and_beginning_anew_loses_nothing(path: Path) -> None:
    write(path, 1, 2, 3)
    path.rename(path.with_name(f"{path.name}.{3:012}"))
    write(path, 4)
    path_was_made = on_disk(path)
    assert [entry["seq"] for entry in path_was_made] == [4]
    assert verify(path).entries == 4


def test_a_log_that_was_moved_away_goes_on_from_its_head(path: Path, tmp_path: Path) -> None:
    file = log_file(path)
    file.append([fact(1), fact(2)], seconds())
    path.rename(tmp_path / "archive.jsonl")
    file.append([fact(3)], seconds())
    assert [entry["seq"] for entry in on_disk(path)] == [3]
    assert on_disk(path)[0]["prev"] == on_disk(tmp_path / "archive.jsonl")[-1]["hash"]
    found = verify(path)
    assert (found.is_whole, found.first) == (False, 3)


def test_a_log_that_was_emptied_is_missed(path: Path) -> None:
    write(path, 1, 2)
    path.write_bytes(b"")
    assert not verify(path).is_whole
    path.unlink()
    assert not verify(path).is_whole


# What stands in the way.


@pytest.mark.parametrize("obstacle", ["folder", "link", "fifo", "no folder", "a file for a folder"])
def test_what_is_no_file_is_refused(path: Path, tmp_path: Path, obstacle: str) -> None:
    if obstacle == "folder":
        path.mkdir()
    elif obstacle == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif obstacle == "fifo":
        os.mkfifo(path)
    elif obstacle == "no folder":
        path = tmp_path / "gone" / "audit-log.jsonl"
    else:
        (tmp_path / "file").write_text("")
        path = tmp_path / "file" / "audit-log.jsonl"
    with pytest.raises(NotWritten) as caught:
        write(path, 1)
    assert str(tmp_path) not in caught.value.reason
    assert not (tmp_path / "elsewhere").exists()


def test_reading_back_leaves_out_what_is_no_entry(path: Path) -> None:
    write(path, 1, 2)
    with path.open("ab") as stream:
        stream.write(b"rubbish\n[1]\n\n" + b"[" * 100_000 + b"\nhalf")
    assert ids(path) == ["id-1", "id-2"]
    assert list(entries(path.with_name("nothing"))) == []


def test_a_long_log_is_read_from_its_end(path: Path) -> None:
    file = log_file(path)
    file.append([fact(number, message="x" * 1_000) for number in range(3_000)], seconds())
    last, has_more = newest(path, "code", "NOT_FOUND", limit=3, bytes_at_most=1 << 24)
    assert ([entry["error_id"] for entry in last], has_more) == (["id-2997", "id-2998", "id-2999"], True)
    assert verify(path).entries == 3_000


def test_a_verdict_can_be_written_as_json(path: Path) -> None:
    write(path, 1)
    assert json.loads(json.dumps(verify(path).to_dict()))["whole"] is True
