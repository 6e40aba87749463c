"""Folders of documents for the tests of the docs toolset."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.surroundings import runtime
from tests.doors import DocumentIndex, DocumentRoot, PostgresDatabase
from tests.programs.postgres import IN_POSTGRES, PostgresServer
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
    """Return the root of the documents."""
    return DocumentRoot(tree)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=IN_POSTGRES)])
def database_url(request: pytest.FixtureRequest) -> str | None:
    """Return the setting for each of the databases in turn."""
    if request.param == "sqlite":
        return None
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.url  # each folder of documents has a schema of its own


@pytest.fixture
def index(root: DocumentRoot, tmp_path: Path) -> Iterator[DocumentIndex]:
    """Return an index that looks at the disk again for each question."""
    made = DocumentIndex(root, cache_dir=tmp_path / "cache", clock=Ticking())
    yield made
    made.close()


@pytest.fixture
def either_index(root: DocumentRoot, tmp_path: Path, database_url: str | None) -> Iterator[DocumentIndex]:
    """Return an index in each of the databases."""
    database = PostgresDatabase(database_url, runtime()) if database_url else None
    made = DocumentIndex(root, cache_dir=tmp_path / "cache", clock=Ticking(), database=database)
    yield made
    made.close()
