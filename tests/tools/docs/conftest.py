"""Folders of documents for the tests of the docs toolset."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from failsoft.tools.docs.guard import DocumentRoot
from failsoft.tools.docs.index import DocumentIndex
from tests.tools.docs.parts import Ticking, Write


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return the folder that is served; its neighbours are what must not be reached."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (tmp_path / "secret.md").write_text("top secret")
    return folder


@pytest.fixture
def write(tree: Path) -> Write:
    """Return a function that writes documents into the served folder."""

    def write(documents: dict[str, str]) -> None:
        for path, text in documents.items():
            file = tree / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")

    return write


@pytest.fixture
def root(tree: Path) -> DocumentRoot:
    """Return the guarded root."""
    return DocumentRoot(tree)


@pytest.fixture
def index(root: DocumentRoot, tmp_path: Path) -> Iterator[DocumentIndex]:
    """Return an index that looks at the disk again for each question."""
    made = DocumentIndex(root, cache_dir=tmp_path / "cache", clock=Ticking())
    yield made
    made.close()
