"""A file that has another name may lie anywhere: where that matters it is refused, unless the other name is ours."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tests.doors import FileFault, Files, Roots
from tests.thorough import examples
from tests.tools.files.faults import raises
from tests.tools.files.killed import crash

LIMIT = 1_000
TURNS = examples(100)


@pytest.fixture
def strict(root: Path, tmp_path: Path) -> Files:
    return Files(Roots([root]), state_folder=tmp_path / "state", several_names=False)


def test_a_file_with_another_name_is_refused_only_where_that_is_wanted(files: Files, strict: Files, root: Path) -> None:
    os.link(root.parent / "outside/secret", root / "file")
    path = str(root / "file")

    assert files.read(path, bytes_at_most=LIMIT).data == b"secret"
    with raises("several_names") as caught:
        strict.read(path, bytes_at_most=LIMIT)
    assert caught.value.is_outside
    with raises("several_names"), strict.transaction([path]) as work:
        work.read(path, bytes_at_most=LIMIT)

    (root.parent / "outside/secret").unlink()
    assert strict.read(path, bytes_at_most=LIMIT).data == b"secret"


def test_a_name_that_a_crash_of_ours_has_left_does_not_count(tmp_path: Path) -> None:
    shelf = crash(tmp_path, renames=1)
    assert (shelf.root / "b").stat().st_nlink == 2
    strict = Files(Roots([shelf.root]), state_folder=shelf.state, several_names=False)

    assert strict.read(shelf.path("b"), bytes_at_most=LIMIT).data in {shelf.before["b"], shelf.after["b"]}
    assert (shelf.root / "b").stat().st_nlink == 1


def test_a_file_that_is_being_made_is_read_or_not_there_yet(strict: Files, root: Path) -> None:
    path = root / "file"
    found: list[bytes] = []
    wrong: list[Exception] = []
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            try:
                found.append(strict.read(str(path), bytes_at_most=LIMIT).data)
            except FileFault as fault:
                if fault.errno is None:
                    wrong.append(fault)
            except Exception as raised:  # noqa: BLE001 - reported by the test
                wrong.append(raised)
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(TURNS):
        with strict.transaction([str(path)]) as work:
            work.create(str(path), b"made")
            work.commit()
        path.unlink()
    over.set()
    watcher.join()

    assert wrong == []
    assert set(found) <= {b"made"}
