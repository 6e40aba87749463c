"""The index follows the disk on its own, with no walk of the tree."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.doors import DocumentIndex, DocumentRoot, all_paths
from tests.tools.docs.parts import Write

pytest.importorskip("watchfiles", reason="the extra `watch` is not installed")


@pytest.fixture
def watched(root: DocumentRoot, tmp_path: Path, write: Write) -> Iterator[DocumentIndex]:
    write({"a.md": "# A", "sub/b.md": "# B"})
    made = DocumentIndex(root, cache_dir=tmp_path / "cache")
    made.ask(lambda _: None)
    made._fresh_until = float("inf")  # it is never walked again for a question
    made.watch()
    yield made
    made.close()


def eventually(holds: Callable[[], bool], again: Callable[[], object] = lambda: None) -> bool:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if holds():
            return True
        again()  # the watch may begin a moment after its thread
        time.sleep(0.05)
    return False


def test_new_changed_and_deleted_documents_are_followed(watched: DocumentIndex, tree: Path, write: Write) -> None:
    def title(path: str) -> str:
        rows = watched.ask(lambda c: c.execute("SELECT title FROM documents WHERE path = ?", (path,)).fetchall())
        return rows[0][0] if rows else ""

    assert eventually(lambda: title("new.md") == "New", lambda: write({"new.md": "# New"}))
    write({"a.md": "# Another"})
    assert eventually(lambda: title("a.md") == "Another")
    (tree / "a.md").unlink()
    assert eventually(lambda: title("a.md") == "")


def test_a_moved_folder_is_followed(watched: DocumentIndex, tree: Path, write: Write) -> None:
    assert eventually(lambda: "x.md" in watched.ask(all_paths), lambda: write({"x.md": "x"}))
    (tree / "sub").rename(tree / "moved")

    assert eventually(lambda: "moved/b.md" in watched.ask(all_paths))
    assert "sub/b.md" not in watched.ask(all_paths)


def test_a_closed_index_is_no_longer_watched(watched: DocumentIndex) -> None:
    watcher = watched._watcher
    assert watcher is not None
    watched.close()
    assert watcher._thread is None


def test_an_index_that_is_forgotten_is_no_longer_watched(root: DocumentRoot, tmp_path: Path, write: Write) -> None:
    write({"a.md": "# A"})
    forgotten = DocumentIndex(root, cache_dir=tmp_path / "cache")
    forgotten.watch()
    assert forgotten._watcher is not None
    thread = forgotten._watcher._thread
    assert thread is not None
    del forgotten
    gc.collect()
    thread.join(30)
    assert not thread.is_alive()
