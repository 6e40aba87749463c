"""After a crash: who finishes it, and what is left alone."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.doors import Files, Journals, Recovered, Roots
from tests.tools.files.faults import raises
from tests.tools.files.killed import TIMES, crash
from tests.tools.files.shelf import LIMIT, NEW, OLD, Shelf
from tests.zygote import PYTHON

RECOVER = """
import sys
from pathlib import Path
from tests.tools.files.shelf import Shelf
files = Shelf(Path(sys.argv[1])).files()
sys.stdin.readline()
print(*(found.outcome for found in files.recover()))
"""


def paths(shelf: Shelf) -> tuple[str, ...]:
    return tuple(shelf.path(name) for name in ("a", "b", "c"))


def read(files: Files, shelf: Shelf, name: str) -> bytes:
    """Read a file as the next call that edits it does."""
    with files.transaction([shelf.path(name)], wait_s=30) as work:
        return work.read(shelf.path(name), bytes_at_most=LIMIT).data


@pytest.mark.parametrize("renames", [0, 1])
def test_the_next_start_finishes_what_was_decided(tmp_path: Path, renames: int) -> None:
    shelf = crash(tmp_path, renames)
    assert any(name.startswith(".failsoft-") for name in shelf.seen())

    assert shelf.files().recover() == [Recovered(outcome="forward", paths=paths(shelf))]
    assert shelf.files().recover() == []
    assert shelf.seen() == shelf.after


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_the_next_call_on_any_of_its_files_finishes_it_first(tmp_path: Path, name: str) -> None:
    shelf = crash(tmp_path, 1)

    assert read(shelf.files(), shelf, name) == shelf.data(name, NEW)
    assert shelf.seen() == shelf.after
    assert shelf.journals() == []


def test_a_call_on_another_file_does_not_care(tmp_path: Path) -> None:
    shelf = crash(tmp_path, 1)
    (shelf.root / "d").write_bytes(b"another")

    assert read(shelf.files(), shelf, "d") == b"another"
    assert len(shelf.journals()) == 1


def test_what_cannot_be_carried_through_is_taken_back(tmp_path: Path) -> None:
    shelf = crash(tmp_path, 1)
    (staged,) = [file for file in shelf.root.glob(".failsoft-*.new") if file.read_bytes() == shelf.data("b", NEW)]
    staged.write_bytes(b"half")

    assert shelf.files().recover() == [Recovered(outcome="back", paths=paths(shelf))]
    assert shelf.seen() == shelf.before
    assert shelf.journals() == []


def test_what_was_over_before_the_crash_is_only_swept(tmp_path: Path) -> None:
    """All files were in their places; a file that was put back since then does not undo the rest."""
    shelf = crash(tmp_path, 1)
    (path,) = (shelf.state / "journals").iterdir()
    said = path.read_bytes()
    shelf.files().recover()
    path.write_bytes(said)
    with Journals(path.parent).taken(path) as journal:
        assert journal is not None
        journal.write("done", durable=False)
    (shelf.root / "b").write_bytes(shelf.data("b", OLD))

    assert [found.outcome for found in shelf.files().recover()] == ["forward"]
    assert shelf.seen() == shelf.after | {"b": shelf.data("b", OLD)}
    assert shelf.journals() == []


def test_only_the_backup_of_the_transaction_is_taken_back(tmp_path: Path) -> None:
    shelf = crash(tmp_path, 0)
    (shelf.root / "a.bak.1").write_bytes(b"somebody's")
    (name,) = shelf.journals()
    journal = shelf.state / "journals" / name
    journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])
    assert "a.bak" in shelf.seen()

    assert [found.outcome for found in shelf.files().recover()] == ["back"]
    assert shelf.seen() == shelf.before | {"a.bak.1": b"somebody's"}


class TestChangedByOthers:
    """A change made to a file after the crash is kept, and is reported."""

    @pytest.mark.parametrize("name", ["a", "b"])
    def test_before_anything_was_renamed_the_rest_stays_old(self, tmp_path: Path, name: str) -> None:
        shelf = crash(tmp_path, 0)
        (shelf.root / name).write_bytes(b"theirs")

        found = shelf.files().recover()

        assert found == [Recovered(outcome="back", paths=paths(shelf), conflicts=(shelf.path(name),))]
        assert shelf.seen() == shelf.before | {name: b"theirs"}

    @pytest.mark.parametrize("name", ["b", "c"])
    def test_after_a_rename_the_rest_becomes_new(self, tmp_path: Path, name: str) -> None:
        shelf = crash(tmp_path, 1)
        (shelf.root / name).write_bytes(b"theirs")

        found = shelf.files().recover()

        assert found == [Recovered(outcome="forward", paths=paths(shelf), conflicts=(shelf.path(name),))]
        assert shelf.seen() == shelf.after | {name: b"theirs"}

    @pytest.mark.parametrize(
        "change",
        [
            lambda file: file.unlink(),
            lambda file: (file.unlink(), file.mkdir()),
            lambda file: (file.unlink(), file.symlink_to("../../outside")),
        ],
        ids=["removed", "folder", "link"],
    )
    def test_what_is_no_file_any_more_is_left_alone(self, tmp_path: Path, change: Callable[[Path], object]) -> None:
        shelf = crash(tmp_path, 1)
        (tmp_path / "outside").write_bytes(b"outside")
        change(shelf.root / "b")

        (found,) = shelf.files().recover()

        assert (found.outcome, found.conflicts) == ("forward", (shelf.path("b"),))
        assert (tmp_path / "outside").read_bytes() == b"outside"
        assert not list(shelf.root.glob(".failsoft-*"))
        assert shelf.journals() == []

    @pytest.mark.parametrize("instead", ["nothing", "folder", "link"])
    def test_a_folder_that_was_moved_is_left_alone(self, tmp_path: Path, instead: str) -> None:
        shelf = crash(tmp_path, 1)
        left = shelf.seen()
        moved = tmp_path / "moved"
        shelf.root.rename(moved)
        if instead == "folder":
            shelf.root.mkdir()
        elif instead == "link":
            shelf.root.symlink_to(moved)

        (found,) = Files(Roots([shelf.folder]), state_folder=shelf.state).recover()

        assert {shelf.path("a"), shelf.path("b")} <= set(found.conflicts)
        assert {file.name: file.read_bytes() for file in moved.iterdir()} == left
        assert shelf.journals() == []


class TestElsewhere:
    """A transaction is finished whole or not at all, so one that names files outside our roots is not ours."""

    def test_it_is_left_to_a_server_that_may(self, tmp_path: Path) -> None:
        shelf = crash(tmp_path, 1)
        left = shelf.seen()
        (tmp_path / "other").mkdir()
        stranger = Files(Roots([tmp_path / "other"]), state_folder=shelf.state)

        assert stranger.recover() == [Recovered(outcome="elsewhere", paths=paths(shelf))]
        assert shelf.seen() == left
        assert [found.outcome for found in shelf.files().recover()] == ["forward"]

    def test_its_files_are_not_touched_meanwhile(self, tmp_path: Path) -> None:
        shelf = crash(tmp_path, 1)
        guarded = Files(Roots([shelf.root], off_limits=[shelf.root / "c"]), state_folder=shelf.state)

        with raises("unfinished") as caught:
            read(guarded, shelf, "b")

        assert (caught.value.path, caught.value.effect) == (shelf.path("b"), "none")


class TestAtTheSameTime:
    def test_a_running_transaction_is_no_crash(self, shelf: Shelf) -> None:
        files, other = shelf.files(), shelf.files()
        found: list[Recovered] = []

        def look() -> bool:
            found.extend(other.recover())
            return False

        shelf.change(files, give_up=look)

        assert found == []
        assert shelf.seen() == shelf.after

    def test_who_holds_a_file_is_not_disturbed_and_a_start_does_not_wait(self, tmp_path: Path) -> None:
        shelf = crash(tmp_path, 1)
        files = shelf.files()
        (held,) = shelf.journals()
        hidden = shelf.state / "hidden"
        (shelf.state / "journals" / held).rename(hidden)

        with files.transaction([shelf.path("b")], wait_s=0):
            hidden.rename(shelf.state / "journals" / held)
            assert [found.outcome for found in shelf.files().recover()] == ["waiting"]
            with raises("locked"), shelf.files().transaction([shelf.path("b")], wait_s=0):
                pass
        assert [found.outcome for found in shelf.files().recover()] == ["forward"]

    def test_of_several_that_start_together_one_finishes_it(self, tmp_path: Path) -> None:
        shelf = crash(tmp_path, 1)
        command = [PYTHON, "-c", RECOVER, shelf.folder]
        starts = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
        for start in starts:
            assert start.stdin is not None
            start.stdin.write("go\n")
            start.stdin.flush()
        said = [start.communicate(timeout=60)[0].strip() for start in starts]

        assert sorted(said) == ["", "", "", "forward"]
        assert shelf.seen() == shelf.after


def test_a_shelf_is_what_these_tests_say(tmp_path: Path) -> None:
    shelf = crash(tmp_path, 1)

    seen = {name: data for name, data in shelf.seen().items() if not name.startswith(".")}

    assert seen == {"a": b"new a" * TIMES, "a.bak": b"old a" * TIMES, "b": shelf.data("b", OLD)}
