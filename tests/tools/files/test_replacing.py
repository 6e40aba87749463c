"""A file that was replaced is the same file to its users, but for its bytes; one that was not is untouched."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from tests.doors import FileFault, Files, Roots, Written
from tests.open_files import open_files
from tests.tools.files.faults import raises

LIMIT = 10_000_000


def replace(files: Files, path: Path, data: bytes, *, backup: bool = False) -> Written:
    with files.transaction([str(path)]) as work:
        work.read(str(path), bytes_at_most=LIMIT)
        work.replace(str(path), data, backup=backup)
        return work.commit()[0]


def create(files: Files, path: Path, data: bytes) -> Written:
    with files.transaction([str(path)]) as work:
        work.create(str(path), data)
        return work.commit()[0]


def hidden(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir() if file.name.startswith(".")]


@pytest.fixture
def file(root: Path) -> Path:
    made = root / "file"
    made.write_bytes(b"old")
    return made


class TestReplacing:
    def test_the_new_bytes_are_there_and_reported(self, files: Files, file: Path) -> None:
        data = os.urandom(3_000_000)

        written = replace(files, file, data)

        assert file.read_bytes() == data
        now = files.read(str(file), bytes_at_most=LIMIT)
        assert written == Written(
            path=str(file), changed=True, sha256=now.sha256, bytes=len(data), identity=now.identity
        )
        assert hidden(file.parent) == []

    def test_who_holds_the_old_file_open_reads_on_in_it(self, files: Files, file: Path) -> None:
        with file.open("rb") as opened:
            replace(files, file, b"new")

            assert opened.read() == b"old"

    def test_the_same_bytes_leave_the_file_untouched(self, files: Files, file: Path) -> None:
        before = file.stat().st_ino, file.stat().st_mtime_ns, file.stat().st_ctime_ns

        written = replace(files, file, b"old", backup=True)

        assert (written.changed, written.backup_path) == (False, None)
        assert (file.stat().st_ino, file.stat().st_mtime_ns, file.stat().st_ctime_ns) == before
        assert len(list(file.parent.iterdir())) == 1

    def test_a_link_to_a_file_stays_a_link(self, files: Files, file: Path) -> None:
        link = file.parent / "link"
        link.symlink_to("file")

        written = replace(files, link, b"new", backup=True)

        assert link.is_symlink()
        assert file.read_bytes() == b"new"
        assert (written.path, written.backup_path) == (str(link), f"{file}.bak")

    @pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o4755, 0o2775, 0o444])
    def test_the_mode_stays(self, files: Files, file: Path, mode: int) -> None:
        file.chmod(mode)

        replace(files, file, b"new", backup=True)

        assert stat.S_IMODE(file.stat().st_mode) == stat.S_IMODE((file.parent / "file.bak").stat().st_mode) == mode

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
    def test_the_owner_stays_and_with_him_the_set_id_bits(self, files: Files, file: Path) -> None:
        os.chown(file, 1234, 5678)
        file.chmod(0o6755)

        replace(files, file, b"new")

        facts = file.stat()
        assert (facts.st_uid, facts.st_gid, stat.S_IMODE(facts.st_mode)) == (1234, 5678, 0o6755)

    def test_extended_attributes_stay(self, files: Files, file: Path) -> None:
        try:
            os.setxattr(file, "user.origin", b"somewhere")
        except OSError:
            pytest.skip("this file system keeps no attributes")

        replace(files, file, b"new")

        assert os.getxattr(file, "user.origin") == b"somewhere"

    @pytest.mark.skipif(os.geteuid() != 0, reason="needs the right to write access lists by hand")
    def test_an_access_list_stays_and_none_is_inherited(self, files: Files, file: Path, root: Path) -> None:
        acl = _access_list(user=1234)
        try:
            os.setxattr(file, "system.posix_acl_access", acl)
        except OSError:
            pytest.skip("this file system keeps no access lists")
        plain = root / "plain"
        plain.write_bytes(b"old")
        plain.chmod(0o640)
        os.setxattr(root, "system.posix_acl_default", acl)

        for path in (file, plain):
            replace(files, path, b"new")

        assert os.getxattr(file, "system.posix_acl_access") == acl
        assert "system.posix_acl_access" not in os.listxattr(plain)
        assert stat.S_IMODE(plain.stat().st_mode) == 0o640

    def test_a_replacement_needs_a_reading_before_it(self, files: Files, file: Path) -> None:
        with files.transaction([str(file)]) as work, pytest.raises(KeyError):
            work.replace(str(file), b"new")


class TestCreating:
    def test_a_new_file_gets_the_mode_that_new_files_get(self, files: Files, root: Path) -> None:
        (root / "usual").touch()

        written = create(files, root / "new", b"made")

        assert (root / "new").read_bytes() == b"made"
        assert (root / "new").stat().st_mode == (root / "usual").stat().st_mode
        assert (root / "new").stat().st_nlink == 1
        assert written.changed
        assert hidden(root) == []

    def test_a_file_that_exists_is_not_overwritten(self, files: Files, file: Path) -> None:
        with raises() as caught:
            create(files, file, b"made")

        assert (caught.value.errno, caught.value.effect) == (errno.EEXIST, "none")
        assert file.read_bytes() == b"old"
        assert hidden(file.parent) == []

    def test_a_file_that_appears_meanwhile_is_not_overwritten(self, files: Files, root: Path) -> None:
        path = str(root / "new")
        with files.transaction([path]) as work:
            work.create(path, b"made")
            (root / "new").write_bytes(b"theirs")
            with raises() as caught:
                work.commit()

        assert caught.value.errno == errno.EEXIST
        assert (root / "new").read_bytes() == b"theirs"

    def test_a_new_file_may_be_empty(self, files: Files, root: Path) -> None:
        assert create(files, root / "new", b"").bytes == 0
        assert (root / "new").read_bytes() == b""


class TestBackups:
    def test_no_older_backup_is_overwritten(self, files: Files, file: Path) -> None:
        (file.parent / "file.bak").write_bytes(b"somebody's")

        paths = [replace(files, file, data, backup=True).backup_path for data in (b"second", b"third", b"fourth")]

        assert paths == [f"{file}.bak.1", f"{file}.bak.2", f"{file}.bak.3"]
        assert [Path(path or "").read_bytes() for path in paths] == [b"old", b"second", b"third"]
        assert (file.parent / "file.bak").read_bytes() == b"somebody's"

    def test_a_backup_is_a_file_of_its_own(self, files: Files, file: Path) -> None:
        replace(files, file, b"new", backup=True)

        assert (file.parent / "file.bak").stat().st_nlink == 1

    def test_a_link_in_the_place_of_a_backup_is_not_followed(self, files: Files, file: Path, tmp_path: Path) -> None:
        (file.parent / "file.bak").symlink_to(tmp_path / "outside/new")

        assert replace(files, file, b"new", backup=True).backup_path == f"{file}.bak.1"
        assert not (tmp_path / "outside/new").exists()

    def test_a_name_that_leaves_no_room_for_a_backup_fails_at_the_backup(self, files: Files, root: Path) -> None:
        file = root / ("n" * 253)
        file.write_bytes(b"old")

        with raises() as caught:
            replace(files, file, b"new", backup=True)

        assert (caught.value.step, caught.value.errno, caught.value.effect) == ("backup", errno.ENAMETOOLONG, "none")
        assert file.read_bytes() == b"old"
        assert [found.name for found in root.iterdir()] == [file.name]


class TestChangesByOthers:
    @pytest.mark.parametrize("how", ["in place", "same size", "replaced", "removed", "link", "folder"])
    def test_what_another_process_did_meanwhile_is_kept(self, files: Files, file: Path, how: str) -> None:
        with files.transaction([str(file)]) as work:
            work.read(str(file), bytes_at_most=LIMIT)
            work.replace(str(file), b"new", backup=True)
            left = _interfere(file, how)
            with raises("changed") as caught:
                work.commit()

        assert (caught.value.path, caught.value.effect) == (str(file), "none")
        assert _snapshot(file.parent) == left

    def test_a_change_that_hides_its_time_is_found_by_the_bytes(self, files: Files, file: Path) -> None:
        with files.transaction([str(file)]) as work:
            before = work.read(str(file), bytes_at_most=LIMIT).facts
            work.replace(str(file), b"new")
            file.write_bytes(b"odl")
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
            with raises("changed"):
                work.commit()

        assert file.read_bytes() == b"odl"


class TestWithoutCommit:
    def test_leaving_changes_nothing(self, files: Files, file: Path) -> None:
        with files.transaction([str(file)]) as work:
            work.read(str(file), bytes_at_most=LIMIT)
            work.replace(str(file), b"new", backup=True)

        assert _snapshot(file.parent) == {"file": b"old"}
        assert replace(files, file, b"new").changed

    def test_an_abandoned_call_writes_nothing(self, files: Files, file: Path) -> None:
        """However far it is: each question could be the one that is answered with yes."""
        asked = 0
        for last in range(1, 100):
            asked = 0

            def give_up(last: int = last) -> bool:
                nonlocal asked
                asked += 1
                return asked == last

            paths = [str(file), str(file.parent / "new")]
            with suppress(FileFault), files.transaction(paths, give_up=give_up) as work:
                work.read(paths[0], bytes_at_most=LIMIT)
                work.replace(paths[0], b"new", backup=True)
                work.create(paths[1], b"made")
                work.commit()
                break
            assert _snapshot(file.parent) == {"file": b"old"}
        assert _snapshot(file.parent) == {"file": b"new", "file.bak": b"old", "new": b"made"}
        assert asked >= 3

    def test_two_paths_to_one_file_are_refused(self, files: Files, file: Path) -> None:
        (file.parent / "link").symlink_to("file")
        for other in ("link", "./file", "file"):
            paths = [str(file), f"{file.parent}/{other}"]
            with raises("same_file") as caught, files.transaction(paths):
                pass
            assert (caught.value.path, caught.value.facts["other"]) == (paths[1], paths[0])

    def test_names_that_differ_by_case_are_two_files_here(self, files: Files, file: Path) -> None:
        paths = [str(file), str(file.parent / "FILE")]
        with files.transaction(paths) as work:
            work.create(paths[1], b"made")
            work.commit()

        assert _snapshot(file.parent) == {"file": b"old", "FILE": b"made"}

    def test_a_failed_transaction_leaves_no_descriptor_open(self, root: Path, files: Files, file: Path) -> None:
        replace(files, file, b"first")
        before = open_files(root.parent)
        for _ in range(3):
            with raises(), files.transaction([str(file), str(root / "gone/file")]):
                pass
            with raises():
                create(files, file, b"")

        # the locks of the file stay open no longer than their transaction, either
        assert open_files(root.parent) <= before


def test_a_state_folder_that_cannot_be_made_is_reported_as_such(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (root / "file").write_bytes(b"old")
    files = Files(Roots([root]), state_folder=tmp_path / "file/state")

    with raises() as caught:
        replace(files, root / "file", b"new")

    assert (caught.value.step, caught.value.errno, caught.value.effect) == ("lock", errno.ENOTDIR, "none")


def _interfere(file: Path, how: str) -> dict[str, bytes | None]:
    other = file.parent / "other"
    if how == "in place":
        file.write_bytes(b"theirs")
    elif how == "same size":
        file.write_bytes(b"odl")
    elif how == "replaced":
        other.write_bytes(b"old")
        other.rename(file)
    else:
        file.unlink()
        if how == "link":
            other.write_bytes(b"old")
            file.symlink_to("other")
        elif how == "folder":
            file.mkdir()
    return _snapshot(file.parent)


def _snapshot(folder: Path) -> dict[str, bytes | None]:
    return {file.name: None if file.is_dir() else file.read_bytes() for file in folder.iterdir()}


def _access_list(user: int) -> bytes:
    """Return an access list as the kernel keeps it: one more user may read and write."""
    nobody = 0xFFFFFFFF
    entries = [(0x01, 6, nobody), (0x02, 6, user), (0x04, 4, nobody), (0x10, 6, nobody), (0x20, 0, nobody)]
    parts = [(2).to_bytes(4, "little")]
    for tag, permissions, who in entries:
        parts += [tag.to_bytes(2, "little"), permissions.to_bytes(2, "little"), who.to_bytes(4, "little")]
    return b"".join(parts)
