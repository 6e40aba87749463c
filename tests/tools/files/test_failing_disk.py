"""Whichever system call fails, the answer is true to the disk: all old, all new, or honestly unknown."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable

import pytest

from tests.doors import FileFault, Files
from tests.tools.files.faults import raises
from tests.tools.files.faulty_system import failing, watched
from tests.tools.files.shelf import Shelf

FOREVER = 10_000
Change = Callable[[Files], object]


def change_of(shelf: Shelf, kind: str) -> tuple[Change, dict[str, bytes]]:
    return (shelf.change_one, shelf.after_one) if kind == "alone" else (shelf.change, shelf.after)


def calls_of(shelf: Shelf, change: Change) -> int:
    files = shelf.set_up()
    with watched(failing(0, range(0))) as names:
        change(files)
    return len(names)


def fault_of(shelf: Shelf, change: Change, error: int, numbers: range) -> FileFault | None:
    files = shelf.set_up()
    try:
        with watched(failing(error, numbers)):
            change(files)
    except FileFault as fault:
        return fault
    return None


def assert_is_true_to_the_disk(shelf: Shelf, fault: FileFault | None, after: dict[str, bytes]) -> str:
    """Compare what the answer says with what is there before and after the next start; return what it said."""
    said = "success" if fault is None else fault.effect
    seen = {name: data for name, data in shelf.seen().items() if not name.startswith(".failsoft-")}
    assert said == "unknown" or seen == (shelf.before if said == "none" else after)
    if fault is not None:
        backups = {path: backup for path, backup in fault.backups.items() if shelf.path("a") == path}
        assert backups == fault.backups
        assert set(fault.backups.values()) <= {shelf.path("a.bak")}
        assert (shelf.path("a.bak") in fault.backups.values()) == ("a.bak" in seen)
    shelf.files().recover()
    allowed = [shelf.before, after] if said == "unknown" else [shelf.before] if said == "none" else [after]
    assert shelf.seen() in allowed
    assert shelf.journals() == []
    return said


@pytest.mark.parametrize(
    ("kind", "error"),
    [("together", errno.EIO), ("alone", errno.EIO), ("alone", errno.ENOSPC), ("alone", errno.EDQUOT)],
    ids=lambda value: errno.errorcode.get(value, value),
)
def test_one_call_that_fails_leaves_what_the_answer_says(shelf: Shelf, kind: str, error: int) -> None:
    each_call_fails(shelf, kind, error)


def each_call_fails(shelf: Shelf, kind: str, error: int) -> None:
    """Let each system call of a change fail in turn, and compare the answers with the disk."""
    change, after = change_of(shelf, kind)
    said: Counter[str] = Counter()

    for number in range(1, calls_of(shelf, change) + 1):
        fault = fault_of(shelf, change, error, range(number, number + 1))
        assert fault is None or fault.errno == error
        said[assert_is_true_to_the_disk(shelf, fault, after)] += 1

    assert {"none", "applied", "success"} == set(said)


@pytest.mark.parametrize("kind", ["alone", "together"])
def test_a_disk_that_fails_from_some_call_on_leaves_what_the_answer_says(shelf: Shelf, kind: str) -> None:
    change, after = change_of(shelf, kind)
    said: Counter[str] = Counter()

    for number in range(1, calls_of(shelf, change) + 1):
        fault = fault_of(shelf, change, errno.EIO, range(number, FOREVER))
        said[assert_is_true_to_the_disk(shelf, fault, after)] += 1

    assert said["none"] > 0


def test_where_hard_links_are_unknown_the_way_back_is_a_copy(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_arguments: object, **_options: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("os.link", link)

    shelf.change(shelf.set_up())
    assert shelf.seen() == shelf.after

    said: set[str] = set()
    for number in range(1, calls_of(shelf, shelf.change) + 1):
        fault = fault_of(shelf, shelf.change, errno.EIO, range(number, number + 1))
        said.add(assert_is_true_to_the_disk(shelf, fault, shelf.after))
    assert said == {"none", "applied", "success"}


def test_a_file_that_is_swapped_before_its_rename_takes_the_others_back(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way back of a running process: the first file was renamed, the second was changed by another process."""
    files = shelf.set_up()

    def interfere(number: int, name: str, call: Callable[..., object], arguments: tuple[object, ...]) -> None:
        if name == "rename" and str(arguments[0]).startswith(".failsoft-"):
            (shelf.root / "b").write_bytes(b"theirs")

    with watched(interfere), raises("changed") as caught:
        shelf.change(files)

    assert caught.value.path == shelf.path("b")
    assert caught.value.effect == "none"
    assert shelf.seen() == shelf.before | {"b": b"theirs"}
    assert shelf.journals() == []


def test_a_file_that_appears_with_the_same_bytes_is_not_ours_to_take_away(shelf: Shelf) -> None:
    """Between the last look and the making of ours, after the others were renamed."""
    files = shelf.set_up()

    def interfere(number: int, name: str, call: Callable[..., object], arguments: tuple[object, ...]) -> None:
        if name == "link" and arguments[1] == "c":
            (shelf.root / "c").write_bytes(shelf.data("c", "new "))

    with watched(interfere), raises() as caught:
        shelf.change(files)

    assert (caught.value.errno, caught.value.effect) == (errno.EEXIST, "none")
    assert shelf.seen() == shelf.before | {"c": shelf.data("c", "new ")}
    assert shelf.journals() == []


def test_alone_it_is_not_taken_for_ours_either(shelf: Shelf) -> None:
    files = shelf.set_up()

    def interfere(number: int, name: str, call: Callable[..., object], arguments: tuple[object, ...]) -> None:
        if name == "link" and arguments[1] == "c":
            (shelf.root / "c").write_bytes(b"same")

    with watched(interfere), raises() as caught:
        make_one(files, shelf.path("c"), b"same")

    assert (caught.value.errno, caught.value.effect) == (errno.EEXIST, "none")
    assert shelf.seen() == shelf.before | {"c": b"same"}


def make_one(files: Files, path: str, data: bytes) -> None:
    with files.transaction([path]) as work:
        work.create(path, data)
        work.commit()


def test_the_new_contents_are_gone_for_good_before_the_old_ones_come_back(shelf: Shelf) -> None:
    """Else a power failure could bring them back, with a journal that says to go on, after the call had failed."""
    files = shelf.set_up()
    calls: list[str] = []

    def interfere(number: int, name: str, call: Callable[..., object], arguments: tuple[object, ...]) -> None:
        about = str(arguments[0])[-4:] if name in {"rename", "unlink"} else ""
        calls.append(f"{name} {about}".strip())
        if calls.count("rename .new") == 2:
            calls.clear()
            raise OSError(errno.EIO, "Input/output error")

    with watched(interfere), raises() as caught:
        shelf.change(files)

    way_back = [call for call in calls if call.startswith(("rename", "unlink", "fsync"))]
    assert caught.value.effect == "none"
    assert way_back[:5] == ["unlink .new", "unlink .new", "unlink .new", "fsync", "rename .old"]
    assert "fsync" in way_back[5 : way_back.index("unlink .old")]


def test_where_the_old_content_is_gone_the_answer_says_so_and_its_backup_stays(shelf: Shelf) -> None:
    files = shelf.set_up()
    renames = 0

    def interfere(number: int, name: str, call: Callable[..., object], arguments: tuple[object, ...]) -> None:
        nonlocal renames
        renames += name == "rename"
        if renames == 2 and name == "rename":
            (kept,) = [file for file in shelf.root.glob(".failsoft-*.old") if file.read_bytes().startswith(b"old a")]
            kept.unlink()
            raise OSError(errno.EIO, "Input/output error")

    with watched(interfere), raises() as caught:
        shelf.change(files)

    assert (caught.value.effect, caught.value.backups) == ("unknown", {shelf.path("a"): shelf.path("a.bak")})
    assert shelf.seen() == shelf.before | {"a": shelf.data("a", "new "), "a.bak": shelf.data("a", "old ")}
