"""A journal says what was decided, wherever it is cut off."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.doors import JournalEntry, JournalRecord, Journals
from tests.tools.files.killed import crash

NOTHING = JournalRecord((), is_committed=False, is_done=False)


@pytest.fixture
def journals(tmp_path: Path) -> Journals:
    return Journals(tmp_path / "journals")


@pytest.fixture
def entries() -> list[JournalEntry]:
    return [
        JournalEntry(
            path=f"/tree/{name}", key=name, stem=f".failsoft-{name}", before="1" * 64, after="2" * 64, sizes=[1, 2]
        )
        for name in ("a", "ü")
    ]


def test_a_journal_is_read_as_it_was_written_up_to_where_it_is_cut_off(
    journals: Journals, entries: list[JournalEntry]
) -> None:
    journal = journals.begin(entries, durable=True)
    lengths = [journal.path.stat().st_size]
    for word in ("commit", "done"):
        journal.write(word, durable=True)
        lengths.append(journal.path.stat().st_size)
    whole = journal.path.read_bytes()

    for length in range(len(whole) + 1):
        journal.path.write_bytes(whole[:length])
        lines = sum(length >= end for end in lengths)
        expected = JournalRecord(tuple(entries), is_committed=lines > 1, is_done=lines > 2) if lines else NOTHING
        assert journals.peek(journal.path) == journal.read() == expected
    journal.close()


def test_a_byte_that_changed_is_noticed(journals: Journals, entries: list[JournalEntry]) -> None:
    journal = journals.begin(entries, durable=False)
    first = journal.path.stat().st_size
    journal.write("commit", durable=False)
    whole = journal.path.read_bytes()

    for place in range(len(whole)):
        journal.path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        record = journals.peek(journal.path)
        assert record is not None
        assert record.is_damaged == (place < first)
        assert not record.is_committed
    journal.close()


def test_a_journal_is_had_only_when_its_owner_is_gone(journals: Journals, entries: list[JournalEntry]) -> None:
    journal = journals.begin(entries, durable=False)

    with journals.taken(journal.path) as other:
        assert other is None
    journal.close()
    with journals.taken(journal.path) as other, journals.taken(journal.path) as third:
        assert other is not None
        assert third is None
        other.remove()
    assert journals.left() == []
    assert journals.peek(journal.path) is None


def test_a_journal_that_is_taken_for_an_orphan_while_it_is_made_is_made_again(
    journals: Journals, entries: list[JournalEntry], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its creation and its lock, another process finds it empty and unlocked, and removes it."""
    flock = fcntl.flock
    removed = []

    def meddle(descriptor: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        (path,) = journals.left()
        with journals.taken(path) as orphan:
            assert orphan is not None
            assert orphan.read() == NOTHING
            orphan.remove()
            removed.append(path)
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", meddle)
    journal = journals.begin(entries, durable=False)

    assert journals.left() == [journal.path]
    assert removed
    assert removed != [journal.path]
    journal.close()


@pytest.mark.parametrize("renames", [0, 1])
def test_wherever_the_journal_of_a_crash_is_cut_off_the_files_are_never_mixed(tmp_path: Path, renames: int) -> None:
    shelf = crash(tmp_path, renames)
    (name,) = shelf.journals()
    journal = shelf.state / "journals" / name
    whole = journal.read_bytes()
    first = whole.index(b"\n") + 1
    saved = shelf.folder / "saved"
    shelf.root.rename(saved)

    for length in range(first, len(whole) + 1):
        subprocess.run(["cp", "-a", saved, shelf.root], check=True)
        journal.write_bytes(whole[:length])

        recovered = [found.outcome for found in shelf.files().recover()]

        is_forward = renames > 0 or length == len(whole)
        assert recovered == ["forward" if is_forward else "back"]
        assert shelf.seen() == (shelf.after if is_forward else shelf.before)
        assert shelf.journals() == []
        shutil.rmtree(shelf.root)


def test_a_first_line_that_is_cut_off_says_that_nothing_had_been_begun(tmp_path: Path) -> None:
    """It is written before anything is staged, so there is nothing to take back."""
    shelf = crash(tmp_path, 0)
    (name,) = shelf.journals()
    journal = shelf.state / "journals" / name
    whole = journal.read_bytes()
    seen = shelf.seen()

    for length in range(whole.index(b"\n") + 1):
        journal.write_bytes(whole[:length])
        assert shelf.files().recover() == []
        assert shelf.journals() == []
        assert shelf.seen() == seen


def test_a_damaged_journal_is_kept_for_a_person_and_named_once(tmp_path: Path) -> None:
    shelf = crash(tmp_path, 1)
    (name,) = shelf.journals()
    journal = shelf.state / "journals" / name
    journal.write_bytes(journal.read_bytes().replace(b"begin", b"bogus"))
    seen = shelf.seen()

    assert [found.outcome for found in shelf.files().recover()] == ["damaged"]
    assert shelf.files().recover() == []
    assert shelf.journals() == [name.replace(".journal", ".damaged")]
    assert shelf.seen() == seen
