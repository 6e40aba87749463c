"""Another program changes a file between two system calls of a transaction: its version stays, the answer is true."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.doors import Files, file_exchange_module
from tests.tools.files.faults import raises
from tests.tools.files.faulty_system import watched
from tests.tools.files.killed import crash
from tests.tools.files.shelf import Shelf


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "shelf", times=3)


def _replace(file: Path) -> None:
    other = file.with_name("theirs")
    other.write_bytes(b"theirs")
    other.rename(file)


def _append(file: Path) -> None:
    with file.open("ab") as opened:
        opened.write(b"theirs")


def _become_a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _become_a_link(file: Path) -> None:
    file.unlink()
    file.symlink_to("/etc/passwd")


def _become_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


CHANGES = [_replace, _append, lambda file: file.chmod(0o600), _become_a_pipe, _become_a_link, _become_a_folder]


def facts_of(file: Path) -> tuple[object, ...]:
    facts = file.lstat()
    return facts.st_ino, facts.st_mode, facts.st_size, facts.st_mtime_ns


def before_rename(which: int, act: Callable[[], object]) -> Callable[..., None]:
    """Return what acts once, before the n-th rename."""
    left = [which]

    def interfere(number: int, name: str, call: Callable[..., object], arguments: tuple[object, ...]) -> None:
        left[0] -= name == "rename"
        if not left[0]:
            left[0] = -1
            act()

    return interfere


@pytest.mark.parametrize("change", CHANGES)
def test_what_another_program_does_right_before_the_rename_stays(
    shelf: Shelf, change: Callable[[Path], object]
) -> None:
    files = shelf.set_up()
    file = shelf.root / "a"
    theirs: list[object] = []

    def act() -> None:
        change(file)
        theirs.append(facts_of(file))

    with watched(before_rename(1, act)), raises("changed") as caught:
        shelf.change_one(files)

    assert caught.value.effect == "none"
    assert theirs == [facts_of(file)]
    assert not list(shelf.root.glob(".failsoft-*"))
    assert shelf.journals() == []


def test_a_file_that_is_removed_right_before_the_rename_is_not_made_again(shelf: Shelf) -> None:
    files = shelf.set_up()

    with watched(before_rename(1, (shelf.root / "a").unlink)), raises() as caught:
        shelf.change_one(files)

    assert (caught.value.kind, caught.value.effect) == ("vanished", "none")
    assert not (shelf.root / "a").exists()


def test_a_file_that_is_replaced_again_while_it_is_restored_has_the_latest_version(shelf: Shelf) -> None:
    files = shelf.set_up()
    file = shelf.root / "a"
    versions = iter(range(3))

    def interfere(number: int, name: str, call: Callable[..., object], arguments: tuple[object, ...]) -> None:
        if name == "rename" and (version := next(versions, None)) is not None:
            other = file.with_name("theirs")
            other.write_bytes(b"version %d" % version)
            other.replace(file)

    with watched(interfere), raises("changed") as caught:
        shelf.change_one(files)

    assert caught.value.effect == "none"
    assert file.read_bytes() == b"version 2"


def test_where_names_cannot_be_exchanged_it_is_a_plain_rename(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_exchange_module, "exchanged", lambda *_: False)

    shelf.change(shelf.set_up())

    assert shelf.seen() == shelf.after


def test_a_file_that_was_edited_further_before_the_others_failed_is_not_said_to_be_as_before(shelf: Shelf) -> None:
    """The first is renamed, another program appends to it, then the second turns out to be changed."""
    files = shelf.set_up()

    def act() -> None:
        _append(shelf.root / "a")
        _replace(shelf.root / "b")

    with watched(before_rename(2, act)), raises("changed") as caught:
        shelf.change(files)

    assert (caught.value.path, caught.value.effect) == (shelf.path("b"), "unknown")
    assert shelf.seen()["a"] == shelf.data("a", "new ") + b"theirs"
    assert shelf.seen()["b"] == b"theirs"
    assert caught.value.backups == {shelf.path("a"): shelf.path("a.bak")}


def test_what_another_program_does_right_before_the_way_back_stays(shelf: Shelf) -> None:
    files = shelf.set_up()

    steps = iter([lambda: None, lambda: _replace(shelf.root / "b")])

    def interfere(number: int, name: str, call: Callable[..., object], arguments: tuple[object, ...]) -> None:
        if name == "rename" and str(arguments[0]).endswith(".new"):
            next(steps, lambda: None)()
        elif name == "rename" and str(arguments[0]).endswith(".old"):
            _replace(shelf.root / "a")

    with watched(interfere), raises("changed") as caught:
        shelf.change(files)

    assert caught.value.effect == "unknown"
    assert shelf.seen()["a"] == shelf.seen()["b"] == b"theirs"


def test_a_backup_never_has_the_mode_of_another_file(shelf: Shelf) -> None:
    """Else whoever may write in the folder could have the bytes of a file that they may not read."""
    files = shelf.set_up()
    file = shelf.root / "a"
    file.chmod(0o600)
    modes: set[int] = set()

    def interfere(number: int, name: str, call: Callable[..., object], arguments: tuple[object, ...]) -> None:
        if name == "open" and arguments[0] == "a" and any(shelf.root.glob(".failsoft-*.new")):
            _replace(file)
            file.chmod(0o666)
        modes.update(stat.S_IMODE(path.stat().st_mode) for path in shelf.root.glob(".failsoft-*.bak"))

    with watched(interfere), raises("changed") as caught:
        shelf.change(files)

    assert caught.value.effect == "none"
    assert modes <= {0o600}


@pytest.mark.parametrize("renames", [0, 1])
def test_a_recovery_reads_no_file_of_another_size(tmp_path: Path, renames: int) -> None:
    """A sparse file of some TB would take hours."""
    shelf = crash(tmp_path, renames)
    for name in ("b", *(file.name for file in shelf.root.glob(".failsoft-*-1.new"))):
        (shelf.root / name).unlink()
        with (shelf.root / name).open("wb") as file:
            file.truncate(4 << 40)

    recovered = Files(shelf.files().roots, state_folder=shelf.state).recover()

    outcome = "forward" if renames else "back"
    assert [(one.outcome, shelf.path("b") in one.conflicts) for one in recovered] == [(outcome, True)]
    assert (shelf.root / "b").stat().st_size == 4 << 40
