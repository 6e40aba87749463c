"""The served docs, for clients of all kinds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.docs_server import docs_served, documents_in


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two documents."""
    return documents_in(tmp_path_factory.mktemp("documents"))


@pytest.fixture(scope="session")
def url(documents: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of `failsoft serve docs`, ready."""
    log = tmp_path_factory.mktemp("log") / "server.log"
    with docs_served(documents, log) as address:
        yield address
