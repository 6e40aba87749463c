"""The served docs with the tools that a conformance suite calls, for clients of others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.e2e.conftest import documents  # noqa: F401 - a fixture
from tests.e2e.docs_server import docs_served


@pytest.fixture(scope="session")
def url(documents: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:  # noqa: F811 - the fixture
    """Return the address of `failsoft serve` with the docs toolset and the suite's tools, ready."""
    with _serving(documents, tmp_path_factory) as address:
        yield address


def _serving(root: Path, folders: pytest.TempPathFactory) -> AbstractContextManager[str]:
    app = ("--app", "tests.slow.clients.conformance_tools:Conformance")
    return docs_served(root, folders.mktemp("log") / "server.log", *app)
