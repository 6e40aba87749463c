"""Disks that are full or broken, under transactions and under sessions: the answer is true to the disk."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.tools.files.shelf import Shelf
from tests.tools.files.test_failing_disk import each_call_fails
from tests.tools.workspace.site import Site
from tests.tools.workspace.test_real_faults import CHANGE, broken_disk_is_reported

READ = ("read_file", {"path": "a.md"})
LIST: tuple[str, dict[str, Any]] = ("list_files", {})


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT], ids=errno.errorcode.get)
def test_one_call_on_a_full_disk_leaves_what_the_answer_says(tmp_path: Path, error: int) -> None:
    each_call_fails(Shelf(tmp_path), "together", error)


@pytest.mark.skipif(shutil.which("strace") is None, reason="the disk is made to fail by strace")
@pytest.mark.parametrize(
    ("call", "fault", "broken", "expected"),
    [
        (READ, "read", "a.md", ("FILE_READ_FAILED", "none")),
        (CHANGE, "fsync", "", ("FILE_WRITE_FAILED", "applied")),
        (LIST, "getdents64", "", ("FILE_READ_FAILED", "none")),
    ],
    ids=["while a file is read", "after it is written", "while a folder is listed"],
)
def test_a_disk_that_breaks_is_reported_with_what_it_holds_then(
    tmp_path: Path, call: tuple[str, dict[str, Any]], fault: str, broken: str, expected: tuple[str, str]
) -> None:
    site = Site(tmp_path / "served")
    site.project.mkdir(parents=True)
    broken_disk_is_reported(site, call, fault, broken, expected)
