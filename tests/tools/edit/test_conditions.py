"""Every code that the disk is to blame for, by its real condition: nothing here is made up.

Mounting and changing users takes root; for other users those are skipped with the reason.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.tools.edit.desk import Desk, change
from tests.zygote import PYTHON

TEXT = "one\ntwo\nthree\n"
TWO = change("two", "2")

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts and other users take root")


@contextmanager
def mounted(folder: Path, *arguments: str) -> Iterator[Path]:
    """Mount something on a folder, as long as the system lets us."""
    done = subprocess.run(["mount", *arguments, str(folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"mount: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def small_disk(root: Path) -> Iterator[Path]:
    """Return the root on a disk of its own, of 64 KB."""
    with mounted(root, "-t", "tmpfs", "-o", "size=64k", "tmpfs") as folder:
        yield folder


@pytest.fixture
def read_only(root: Path) -> Iterator[Path]:
    """Return the root, a file in it, on a disk that is mounted read-only."""
    (root / "a.txt").write_text(TEXT)
    with mounted(root, "--bind", str(root)) as folder:
        subprocess.run(["mount", "-o", "remount,bind,ro", str(folder)], check=True)
        yield folder


def failed(wire: dict[str, Any], code: str, path: Path | str, *, retryable: bool = False) -> dict[str, Any]:
    """Hold a failure to what every one of these has to say."""
    assert wire["success"] is False
    assert (wire["error_code"], wire["retryable"], wire["file_path"]) == (code, retryable, str(path))
    assert wire["effect"] == "none"
    assert wire["recovery_hints"]
    return wire


@as_root
def test_a_full_disk(desk: Desk, small_disk: Path) -> None:
    file = desk.file(content="x" * 30_000 + "two")
    other = desk.file("other", content=TEXT)
    wire = desk.edit_files((other, [TWO]), (file, [change("two", "y" * 20_000)]))
    failed(wire, "DISK_FULL", file)
    assert (wire["file_index"], other.read_text()) == (1, TEXT)
    assert {path.name for path in small_disk.iterdir()} == {"a.txt", "other"}


@as_root
def test_a_read_only_disk(desk: Desk, read_only: Path) -> None:
    failed(desk.edit(read_only / "a.txt", TWO), "READ_ONLY_FS", read_only / "a.txt")
    assert desk.edit(read_only / "a.txt", TWO, dry_run=True)["success"]


@pytest.mark.parametrize("name", ["loop", "loop/a.txt"])
def test_links_in_a_circle(desk: Desk, name: str) -> None:
    (desk.root / "loop").symlink_to(desk.root / "loop")
    failed(desk.edit(desk.root / name, TWO), "SYMLINK_LOOP", desk.root / name)


@pytest.mark.parametrize("name", ["gone.txt", "gone/a.txt", "a.txt/b", "broken"])
def test_a_file_that_is_not_there(desk: Desk, name: str) -> None:
    desk.file()
    (desk.root / "broken").symlink_to("nowhere")
    failed(desk.edit(desk.root / name, TWO), "FILE_NOT_FOUND", desk.root / name, retryable=True)


@pytest.mark.parametrize(
    "content",
    [b"two \xff\xfe", "two".encode("utf-16"), b"two \xc3", b"two \xed\xa0\x80", "zwei, zwölf: two".encode("latin-1")],
)
def test_bytes_that_are_not_utf8(desk: Desk, content: bytes) -> None:
    file = desk.file(content=content)
    wire = failed(desk.edit(file, TWO), "INVALID_ENCODING", file)
    assert wire["context"]["position"] == next(
        place for place in range(len(content)) if not _decodes(content[: place + 1]) and not _decodes(content[place:])
    )
    assert file.read_bytes() == content


def _decodes(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file(desk: Desk, kind: str) -> None:
    path = desk.root / "thing"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    wire = failed(desk.edit(path, TWO), "VALIDATION_FAILED", path, retryable=True)
    assert wire["violations"][0]["path"] == "file_path"


def test_a_backup_that_cannot_be_made(desk: Desk) -> None:
    file = desk.file("n" * 253)
    failed(desk.edit(file, TWO, backup=True), "BACKUP_FAILED", file)
    assert file.read_text() == TEXT
    assert len(list(desk.root.iterdir())) == 1
    assert desk.edit(file, TWO)["success"]


@as_root
@pytest.mark.skipif(shutil.which("strace") is None, reason="the disk is made to fail by strace")
def test_a_disk_that_fails_while_it_is_written(desk: Desk) -> None:
    file = desk.file()
    strace = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", os.devnull]
    faults = ["-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO"]
    wire = call_in_a_process(desk, file, *strace, *faults, sys.executable)
    failed(wire, "WRITE_FAILED", file)
    assert file.read_text() == TEXT
    assert [path.name for path in desk.root.iterdir()] == ["a.txt"]


CALL = """
import asyncio, json, os, sys
import filelock  # the first lock loads it, which another user may not be able to
from pathlib import Path
from failsoft.tools.edit import Edit

root, state, path = sys.argv[1:]
tool = Edit(Path(root), state_folder=Path(state))
edits = [{{"old_string": "two", "new_string": "2"}}]

async def call(path):
    return (await tool.multi_edit(file_path=path, edits=edits)).to_dict()

asyncio.run(call("relative"))  # loads what loads late
asyncio.run(call("/no/such/file"))
{preface}
print(json.dumps(asyncio.run(call(path))))
"""
UNPRIVILEGED = "os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)"


def call_in_a_process(desk: Desk, file: Path, *python: str, preface: str = "") -> dict[str, Any]:
    command = [*python, "-c", CALL.format(preface=preface), str(desk.root), str(desk.state), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    wire: dict[str, Any] = json.loads(done.stdout)
    return wire


def let_others_in(folder: Path) -> None:
    """Let other users enter a folder and those above it that they may not enter yet, within the folder of this run."""
    folder.chmod(0o755)
    for above in folder.parents:
        if above.stat().st_mode & stat.S_IXOTH or above == Path(tempfile.gettempdir()):
            break
        above.chmod(0o755)


@as_root
@pytest.mark.parametrize("denied", ["file", "folder", "content"])
def test_a_file_that_another_user_owns(desk: Desk, tmp_path: Path, denied: str) -> None:
    file = desk.file("inner/a.txt")
    modes = {"file": (0o644, 0o777), "folder": (0o666, 0o700), "content": (0o600, 0o777)}
    file.chmod(modes[denied][0])
    file.parent.chmod(modes[denied][1])
    let_others_in(desk.root)
    desk.state.mkdir(mode=0o777)
    desk.state.chmod(0o777)
    wire = call_in_a_process(desk, file, PYTHON, preface=UNPRIVILEGED)
    failed(wire, "PERMISSION_DENIED", file)
    assert file.read_text() == TEXT


@as_root
def test_a_state_folder_that_may_not_be_written(desk: Desk, tmp_path: Path) -> None:
    file = desk.file()
    file.chmod(0o666)
    let_others_in(desk.root)
    desk.state.mkdir(mode=0o700)
    wire = call_in_a_process(desk, file, PYTHON, preface=UNPRIVILEGED)
    failed(wire, "PERMISSION_DENIED", file)


def test_a_file_that_is_changed_while_it_is_edited(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from failsoft.tools.edit import work  # noqa: PLC0415 - the one point at which another process can interfere

    file = desk.file()
    real = work.apply_edits

    def meddle(*arguments: Any, **options: Any) -> Any:
        file.write_text("somebody else was here: two\n")
        return real(*arguments, **options)

    monkeypatch.setattr(work, "apply_edits", meddle)
    wire = failed(desk.edit(file, TWO), "HASH_MISMATCH", file, retryable=True)
    assert wire["next_step"]["arguments"]["dry_run"] is True
    assert file.read_text() == "somebody else was here: two\n"


def test_a_file_that_another_program_changes_alike_is_not_said_to_be_unchanged(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from failsoft.tools.edit import work  # noqa: PLC0415 - see above

    file, polls = desk.file(), itertools.count(1)

    def meddle() -> bool:
        if next(polls) == 2:  # directly before the rename
            file.write_bytes(file.read_bytes().replace(b"two", b"2"))
        return False

    monkeypatch.setattr(work, "is_given_up", meddle)
    wire = desk.edit(file, TWO)
    assert (wire["error_code"], wire["effect"]) == ("HASH_MISMATCH", "applied")
    assert "Nothing was changed" not in wire["message"]


def test_a_fault_of_our_own_is_unknown_and_changed_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from failsoft.tools.edit import work  # noqa: PLC0415 - see above

    def broken(*_arguments: Any, **_options: Any) -> Any:
        raise RuntimeError("secret words")

    monkeypatch.setattr(work, "apply_edits", broken)
    file = desk.file()
    wire = failed(desk.edit(file, TWO), "UNKNOWN_ERROR", file)
    assert "secret words" not in json.dumps(wire)


def test_no_answer_shows_a_stack_or_the_inside_of_the_interpreter(desk: Desk) -> None:
    for path in (desk.root / "gone", desk.root, "/proc/self/mem", "/dev/null", desk.file(content=b"\xff")):
        text = json.dumps(desk.edit(path, TWO))
        assert "Traceback" not in text
        assert "Errno" not in text
        assert all(name not in text for name in errno.errorcode.values() if len(name) > 4)
