"""Looking through audit logs from the command line."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.doors import ExitCode, NotWritten, audit_entries as entries, default_head
from tests.framework.audit.parts import fact, log_file, on_disk, seconds, write

KEY = "a key of sixteen characters"


@pytest.fixture
def log(folder: Path) -> Path:
    path = folder / "audit-log.jsonl"
    write(path, 1, 2, 3)
    return path


def test_a_whole_log_is_reported_whole(inside, log):
    ran = inside("audit", "verify", "audit-log.jsonl")
    assert (ran.code, ran.err) == (ExitCode.OK, "")
    assert on_disk(log)[-1]["hash"] in ran.out
    verdict = inside("audit", "verify", "audit-log.jsonl", "--json").json
    assert (verdict["whole"], verdict["entries"], verdict["broken"], verdict["remarks"]) == (True, 3, None, [])


def test_the_setting_names_the_log_where_the_command_does_not(inside, log):
    assert inside("audit", "verify", env={"FAILSOFT_AUDIT_PATH": str(log)}).code == ExitCode.OK
    assert inside("audit", "verify").code == ExitCode.CONFIGURATION
    assert inside("audit", "verify", "nowhere.jsonl").code == ExitCode.FAILED


@pytest.mark.parametrize("harm", ["changed", "cut", "torn"])
def test_the_first_broken_line_is_named_and_ends_with_1(inside, log, harm):
    text = log.read_bytes()
    cut = text.rstrip(b"\n").rpartition(b"\n")[0] + b"\n"
    log.write_bytes({"changed": text.replace(b"id-2", b"id-9"), "cut": cut, "torn": text[:-9]}[harm])
    ran = inside("audit", "verify", "audit-log.jsonl")
    assert (ran.code, ran.err) == (ExitCode.FAILED, "")
    broken = inside("audit", "verify", "audit-log.jsonl", "--json").json["broken"]
    assert (broken["file"], broken["line"]) == (log.name, {"changed": 2, "cut": None, "torn": 3}[harm])
    assert ran.out.startswith(f"broken: {log.name}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has files of other users")
def test_files_that_root_makes_beside_a_servers_belong_to_the_server(inside, log):
    owner = 65534
    os.chown(log.parent, owner, owner)
    assert inside("audit", "archive", "audit-log.jsonl", "--to", "away").code == ExitCode.OK
    assert (log.stat().st_uid, log.stat().st_mode & 0o777) == (owner, 0o600)


def test_archive_closes_the_files_so_that_they_may_be_taken_away(inside, folder):
    log = folder / "long.jsonl"
    file = log_file(log, max_bytes=1_000)
    for number in range(20):
        file.append([fact(number)], seconds())
    away = folder / "away"
    ran = inside("audit", "archive", "long.jsonl", "--to", "away")
    assert (ran.code, ran.err) == (ExitCode.OK, "")
    assert len(list(away.iterdir())) > 2
    assert [path.name for path in folder.glob("long.jsonl*")] == ["long.jsonl"]
    assert inside("audit", "verify", "long.jsonl").code == ExitCode.OK
    file.append([fact(21)], seconds())
    assert inside("audit", "verify", "long.jsonl").code == ExitCode.OK
    assert [entry.get("event") for entry in entries(log)] == ["checkpoint", None]


def test_archive_replaces_no_file(inside, log):
    (taken := log.parent / "away" / f"{log.name}.{3:012}").parent.mkdir()
    taken.write_text("of another log")
    ran = inside("audit", "archive", "audit-log.jsonl", "--to", "away")
    assert (ran.code, taken.name in ran.out) == (ExitCode.FAILED, True)
    assert log.with_name(taken.name).is_file()
    assert taken.read_text() == "of another log"
    assert inside("audit", "verify", "audit-log.jsonl").code == ExitCode.OK


@pytest.fixture
def full(folder: Path) -> Iterator[Path]:
    """Return a log on a disk that is full; its folder for archives is on another one."""
    disk = folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("this test mounts a disk of its own, which is not allowed here")
    log = disk / "audit-log.jsonl"
    write(log, 1, 2, 3)
    with suppress(OSError), (disk / "core").open("wb", buffering=0) as ballast:
        while ballast.write(b"x" * 4096):
            pass
    yield log
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_archive_makes_room_on_a_full_disk(inside, full):
    ran = inside("audit", "archive", str(full), "--to", "away")
    assert (ran.code, ran.err) == (ExitCode.OK, "")
    assert sorted(path.name for path in full.parent.iterdir()) == [full.name, "core"]
    assert [entry.get("event") for entry in entries(full)] == ["checkpoint"]
    away = full.parent.parent / "away" / f"{full.name}.{3:012}"
    assert [entry["error_id"] for entry in entries(away)] == ["id-1", "id-2", "id-3"]
    assert inside("audit", "verify", str(full)).code == ExitCode.OK


@pytest.mark.parametrize("to", [(), ("--to", "disk/away")])
def test_archive_closes_nothing_on_a_full_disk_that_stays_full(inside, full, to):
    before = full.read_bytes()
    ran = inside("audit", "archive", str(full), *to)
    assert (ran.code, "on another disk" in ran.out) == (ExitCode.FAILED, True)
    assert {path for path in full.parent.iterdir() if path.is_file()} == {full.parent / "core", full}
    assert full.read_bytes() == before


@pytest.mark.parametrize("to", [".", "library.py", "library.py/below"])
def test_archive_closes_nothing_for_a_folder_that_cannot_be_used(inside, log, to):
    before = log.read_bytes()
    assert inside("audit", "archive", "audit-log.jsonl", "--to", to).code == ExitCode.USAGE
    assert log.read_bytes() == before


def test_a_variable_that_resembles_that_of_the_log_is_named(inside, log):
    ran = inside("audit", "verify", env={"FAILSOFT_AUDIT_PAHT": str(log)})
    assert (ran.code, "did you mean FAILSOFT_AUDIT_PATH?" in ran.err) == (ExitCode.CONFIGURATION, True)


def test_a_copy_verifies_by_the_head_of_its_original(inside, log):
    copy = log.with_name("copy.jsonl")
    copy.write_bytes(log.read_bytes())
    ran = inside("audit", "verify", "copy.jsonl")
    assert (ran.code, "--copy-of" in ran.out) == (ExitCode.FAILED, True)
    assert inside("audit", "verify", "copy.jsonl", "--copy-of", str(log)).code == ExitCode.OK
    write(log, 4)
    assert "entries 4 to 4 are missing" in inside("audit", "verify", "copy.jsonl", "--copy-of", str(log)).out


def test_a_restored_log_goes_on_once_its_loss_is_accepted(inside, log):
    kept = log.read_bytes()
    write(log, 4)
    log.write_bytes(kept)
    ran = inside("audit", "archive", "audit-log.jsonl")
    assert (ran.code, "--accept-loss" in ran.out) == (ExitCode.FAILED, True)
    assert inside("audit", "archive", "audit-log.jsonl", "--accept-loss").code == ExitCode.OK
    write(log, 5)
    assert inside("audit", "verify", "audit-log.jsonl").code == ExitCode.OK


def test_what_archive_leaves_in_place_verifies_with_and_without_the_closed_files(inside, log):
    assert inside("audit", "archive", "audit-log.jsonl").code == ExitCode.OK
    closed = next(log.parent.glob("audit-log.jsonl.0*"))
    assert inside("audit", "verify", "audit-log.jsonl", "--json").json["entries"] == 4
    kept = closed.read_bytes()
    closed.write_bytes(kept.replace(b"id-2", b"id-9"))
    assert inside("audit", "verify", "audit-log.jsonl").code == ExitCode.FAILED
    closed.unlink()
    assert inside("audit", "verify", "audit-log.jsonl").code == ExitCode.OK


def test_archive_refuses_a_broken_log_unless_its_loss_is_accepted(inside, log):
    log.write_bytes(log.read_bytes().partition(b"\n")[2])
    assert inside("audit", "archive", "audit-log.jsonl").code == ExitCode.FAILED
    assert inside("audit", "verify", "audit-log.jsonl").code == ExitCode.FAILED
    assert inside("audit", "archive", "audit-log.jsonl", "--accept-loss").code == ExitCode.OK
    assert inside("audit", "verify", "audit-log.jsonl").code == ExitCode.OK


def test_a_log_whose_head_is_gone_goes_on_once_its_loss_is_accepted(inside, log):
    default_head(log).unlink()
    before = log.read_bytes()
    assert inside("audit", "archive", "audit-log.jsonl").code == ExitCode.FAILED
    assert log.read_bytes() == before
    assert inside("audit", "archive", "audit-log.jsonl", "--accept-loss").code == ExitCode.OK
    write(log, 4)
    assert inside("audit", "verify", "audit-log.jsonl").code == ExitCode.OK


def test_a_fifo_in_place_of_the_head_is_no_reason_to_wait(inside, log):
    default_head(log).unlink()
    os.mkfifo(default_head(log), 0o600)
    ran = inside("audit", "verify", "audit-log.jsonl")
    assert ran.code == ExitCode.FAILED
    assert "it is not a regular file" in ran.out


@pytest.mark.parametrize("command", [("verify",), ("find", "id-2")])
def test_a_fifo_in_place_of_a_rotated_file_is_named(inside, log, command):
    os.mkfifo(log.with_name(f"{log.name}.000000000001"))
    ran = inside("audit", *command, log.name)
    said = f"{log.name}.000000000001 cannot be read (it is not a regular file)"
    assert (ran.code, said in ran.err) == (ExitCode.CONFIGURATION, True)


@pytest.mark.parametrize(
    ("command", "code"), [(("verify",), ExitCode.FAILED), (("find", "id"), ExitCode.CONFIGURATION)]
)
def test_a_line_without_end_is_not_read_whole(inside, log, command, code):
    os.truncate(log, 1 << 31)
    ran = inside("audit", *command, log.name)
    assert (ran.code, "it is longer than any line of a log" in ran.out + ran.err) == (code, True)


def test_a_line_without_end_is_not_dropped_by_a_writer(log):
    os.truncate(log, 1 << 25)
    with pytest.raises(NotWritten, match="longer than any line"):
        write(log, 4)
    assert log.stat().st_size == 1 << 25


def test_a_sealed_log_needs_its_key_and_its_head(inside, folder):
    log = folder / "sealed.jsonl"
    write(log, 1, 2, key=KEY.encode())
    moved = default_head(log).rename(folder / "head")
    settings = {"FAILSOFT_AUDIT_PATH": str(log), "FAILSOFT_AUDIT_KEY": KEY, "FAILSOFT_AUDIT_HEAD_PATH": str(moved)}
    ran = inside("audit", "verify", env=settings)
    assert (ran.code, "remark" in ran.out, KEY in ran.out) == (ExitCode.OK, False, False)
    assert inside("audit", "verify", "sealed.jsonl").code == ExitCode.FAILED
    assert (
        inside("audit", "verify", env={**settings, "FAILSOFT_AUDIT_KEY": "another key of many"}).code == ExitCode.FAILED
    )


def test_files_put_aside_belong_to_the_log(inside, folder):
    log = folder / "long.jsonl"
    file = log_file(log, max_bytes=1_000)
    for number in range(20):
        file.append([fact(number)], seconds())
    verdict = inside("audit", "verify", "long.jsonl", "--json").json
    assert (verdict["entries"], len(verdict["files"]) > 2) == (20, True)
    assert inside("audit", "find", "id-0", "long.jsonl").json["seq"] == 1


def test_nothing_in_an_entry_reaches_the_terminal_as_a_command(inside, folder):
    log = folder / "hostile.jsonl"
    file = log_file(log)
    file.append([fact(1, operation="\x1b[31mred\n\u202e")], seconds())
    ran = inside("audit", "find", "id-1", "hostile.jsonl")
    assert ran.code == ExitCode.OK
    assert "\x1b" not in ran.out


def test_an_entry_is_found_by_the_error_id_of_the_answer(run, folder):
    environment = {"FAILSOFT_AUDIT_PATH": str(folder / "audit-log.jsonl")}
    called = run(
        "call", "get_documentation", "path=gone.md", "--toolset", "docs", "--root", str(folder), env=environment
    )
    error_id = called.json["error"]["error_id"]
    found = run("audit", "find", error_id, env=environment)
    assert (found.code, found.json["code"], found.json["tool"]) == (ExitCode.OK, "DOC_NOT_FOUND", "docs")
    missing = run("audit", "find", "0000", env=environment)
    assert (missing.code, missing.out) == (ExitCode.FAILED, "")
    assert run("audit", "verify", env=environment).code == ExitCode.OK
