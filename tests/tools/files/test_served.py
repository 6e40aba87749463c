"""Names near a missing one, in folders of any size."""

from __future__ import annotations

import os
from pathlib import Path

from tests.doors import Files, similar_files


def test_near_names_come_from_the_whole_folder_the_closest_first(files: Files, root: Path) -> None:
    for number in range(4_200):
        (root / f"file{number:05}.txt").touch()
    for name in ("zebra.txt", "zebras.txt", "zebr.txt~"):
        (root / name).touch()

    assert similar_files(files.roots, str(root / "zebra.tx")) == [
        str(root / name) for name in ("zebra.txt", "zebras.txt", "zebr.txt~")
    ]


def test_only_names_of_the_wanted_kind_are_near(files: Files, root: Path) -> None:
    (root / "notes").mkdir()
    (root / "note").touch()
    (root / "notez").symlink_to("note")
    os.mkfifo(root / "notey")

    assert similar_files(files.roots, str(root / "notex")) == [str(root / "note"), str(root / "notez")]
    assert similar_files(files.roots, str(root / "notex"), kind="folder") == [str(root / "notes"), str(root / "notez")]
    assert similar_files(files.roots, str(root / "gone/notex")) == []
