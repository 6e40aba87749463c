"""What a real operating system refuses: full and read-only disks, mounts in the way, and rights that are missing."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doors import Files, Roots, Written
from tests.tools.files.faults import raises
from tests.tools.files.real_disk import NOBODY, Mount, as_nobody, as_root, mounts, read_only

LIMIT = 10_000_000


@pytest.fixture
def mount() -> Iterator[Mount]:
    with mounts() as mount:
        yield mount


@pytest.fixture
def full(root: Path, mount: Mount) -> Path:
    """Return a file on a disk of 64 KB that has 8 KB left."""
    mount(root, "-t", "tmpfs", "-o", "size=64k", "tmpfs")
    (root / "filler").write_bytes(b"x" * 40_000)
    (root / "file").write_bytes(b"old" * 3_000)
    return root / "file"


def replace(files: Files, *changes: tuple[Path, bytes], backup: bool = False) -> list[Written]:
    with files.transaction([str(path) for path, _ in changes]) as work:
        for path, data in changes:
            work.read(str(path), bytes_at_most=LIMIT)
            work.replace(str(path), data, backup=backup)
        return work.commit()


def fault_of(files: Files, *changes: tuple[Path, bytes], backup: bool = False) -> tuple[str, str]:
    """Return the step and the errno with which this fails, without any effect."""
    folders = {path.parent for path, _ in changes}
    before = {folder: _snapshot(folder) for folder in folders}
    with raises() as caught:
        replace(files, *changes, backup=backup)
    assert caught.value.effect == "none"
    assert isinstance(caught.value.__cause__, OSError)
    assert {folder: _snapshot(folder) for folder in folders} == before
    assert not list((files.state_folder / "journals").glob("*"))
    return caught.value.step, errno.errorcode[caught.value.errno]


class TestDisks:
    def test_a_full_disk_leaves_the_file_and_nothing_else(self, files: Files, full: Path) -> None:
        assert fault_of(files, (full, b"x" * 20_000)) == ("stage", "ENOSPC")
        assert replace(files, (full, b"short"))[0].changed

    def test_a_disk_without_room_for_the_backup_fails_at_the_backup(self, files: Files, full: Path) -> None:
        assert fault_of(files, (full, b"short"), backup=True) == ("backup", "ENOSPC")

    def test_a_disk_that_is_full_for_one_file_keeps_all_old(self, files: Files, full: Path) -> None:
        other = full.parent / "other"
        other.write_bytes(b"old")

        assert fault_of(files, (other, b"new"), (full, b"x" * 20_000)) == ("stage", "ENOSPC")

    def test_a_read_only_disk_is_reported(self, files: Files, root: Path, mount: Mount) -> None:
        (root / "file").write_bytes(b"old")
        read_only(mount, root)

        assert fault_of(files, (root / "file", b"new")) == ("stage", "EROFS")

    def test_a_full_state_folder_is_reported(self, files: Files, root: Path, mount: Mount) -> None:
        (root / "file").write_bytes(b"old")
        replace(files, (root / "file", b"older"))
        mount(files.state_folder / "journals", "-t", "tmpfs", "-o", "size=4k,nr_inodes=1", "tmpfs")

        assert fault_of(files, (root / "file", b"new")) == ("journal", "ENOSPC")

    def test_a_file_that_something_is_mounted_on_takes_the_others_back(
        self, files: Files, root: Path, mount: Mount, tmp_path: Path
    ) -> None:
        """The rename itself fails, after the other file was renamed."""
        for name in ("a", "b"):
            (root / name).write_bytes(b"old")
        (tmp_path / "mounted").write_bytes(b"mounted")
        mount(root / "b", "--bind", tmp_path / "mounted")

        step, name = fault_of(files, (root / "a", b"new"), (root / "b", b"new"), backup=True)

        assert (step, name) in {("stage", "EXDEV"), ("rename", "EBUSY")}


@as_root
class TestRights:
    @pytest.fixture
    def home(self) -> Iterator[Path]:
        """Return a folder of nobody's, which nobody can reach."""
        folder = Path(tempfile.mkdtemp())
        folder.chmod(0o755)
        (folder / "root").mkdir()
        (folder / "root/file").write_bytes(b"old")
        for path in (folder, folder / "root", folder / "root/file"):
            os.chown(path, NOBODY, NOBODY)
        yield folder
        shutil.rmtree(folder)

    @pytest.fixture
    def theirs(self, home: Path, files: Files, root: Path) -> Files:
        """Return the files of nobody; all code is loaded by now, because nobody may not read it."""
        (root / "file").touch()
        replace(files, (root / "file", b"x"))
        with as_nobody():
            made = Files(Roots([home / "root"]), state_folder=home / "state")
            replace(made, (home / "root/file", b"loaded"))
            replace(made, (home / "root/file", b"old"))
        return made

    def test_a_user_without_rights_edits_what_is_his(self, theirs: Files, home: Path) -> None:
        with as_nobody():
            (written,) = replace(theirs, (home / "root/file", b"new"), backup=True)

        assert written.durable
        assert (home / "root/file").read_bytes() == b"new"

    def test_a_file_that_may_not_be_read_is_reported(self, theirs: Files, home: Path) -> None:
        (home / "root/file").chmod(0o200)

        with as_nobody(), raises() as caught:
            theirs.read(str(home / "root/file"), bytes_at_most=LIMIT)

        assert (caught.value.step, caught.value.errno) == ("read", errno.EACCES)

    def test_a_file_that_may_not_be_written_is_not_replaced_though_its_folder_would_allow_it(
        self, theirs: Files, home: Path
    ) -> None:
        (home / "root/file").chmod(0o444)

        with as_nobody():
            assert fault_of(theirs, (home / "root/file", b"new")) == ("stage", "EACCES")

    def test_a_folder_that_may_not_be_written_is_reported(self, theirs: Files, home: Path) -> None:
        (home / "root").chmod(0o555)

        with as_nobody():
            assert fault_of(theirs, (home / "root/file", b"new")) == ("stage", "EACCES")

    def test_a_folder_that_may_not_be_entered_is_reported(self, theirs: Files, home: Path) -> None:
        (home / "root/closed").mkdir(mode=0o700)
        (home / "root/closed/file").touch()

        with as_nobody(), raises() as caught:
            theirs.read(str(home / "root/closed/file"), bytes_at_most=LIMIT)

        assert (caught.value.step, caught.value.errno) == ("find", errno.EACCES)

    def test_a_folder_that_may_not_be_listed_is_edited_in_but_cannot_be_synced(self, theirs: Files, home: Path) -> None:
        (home / "root").chmod(0o333)

        with as_nobody():
            (written,) = replace(theirs, (home / "root/file", b"new"))

        assert not written.durable
        assert (home / "root/file").read_bytes() == b"new"

    def test_a_file_of_another_user_keeps_its_mode_but_not_its_owner_nor_set_id_bits(
        self, theirs: Files, home: Path
    ) -> None:
        os.chown(home / "root/file", 1234, 1234)
        (home / "root/file").chmod(0o4766)

        with as_nobody():
            replace(theirs, (home / "root/file", b"new"))

        facts = (home / "root/file").stat()
        assert (facts.st_uid, stat.S_IMODE(facts.st_mode)) == (NOBODY, 0o766)

    def test_a_file_of_another_user_in_a_transaction_is_kept_by_a_copy(self, theirs: Files, home: Path) -> None:
        """The kernel does not let everybody make hard links to it."""
        (home / "root/other").write_bytes(b"old")
        (home / "root/other").chmod(0o4766)

        with as_nobody():
            replace(theirs, (home / "root/file", b"new"), (home / "root/other", b"new"))

        assert {file.name: file.read_bytes() for file in (home / "root").iterdir()} == {"file": b"new", "other": b"new"}

    def test_a_state_folder_that_may_not_be_written_is_reported(self, theirs: Files, home: Path) -> None:
        shutil.rmtree(home / "state")
        os.chown(home, 0, 0)

        with as_nobody():
            assert fault_of(theirs, (home / "root/file", b"new")) == ("lock", "EACCES")


def _snapshot(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
