"""A search returns only documents that exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from failsoft.tools.docs import SearchResults
from tests.doors import (
    DocumentIndex,
    IndexConnection,
    Scope,
    index_module,
    lookup_document as lookup,
    parse_query,
    search_pages as search,
)
from tests.tools.docs.parts import Write


@pytest.fixture(autouse=True)
def _documents(write: Write) -> None:
    write({"notes.md": "nothing but words", "other.md": "nothing else"})


def test_a_document_that_is_deleted_and_forgotten_during_a_search_is_left_out(index: DocumentIndex, tree: Path) -> None:
    query = parse_query("words")

    def meanwhile(connection: IndexConnection) -> SearchResults:
        answer = search(connection, query, Scope())
        if (tree / "notes.md").exists():
            (tree / "notes.md").unlink()
            index.ask(lookup.count_documents)
        return answer

    assert index.ask_current(meanwhile, lambda it: it["results"])["results"] == []


def test_while_another_process_refreshes_a_deleted_document_is_left_out(
    index: DocumentIndex, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "_REFRESH_WAIT_S", 0.0)
    index.ask(lookup.count_documents)
    assert index._store is not None
    lock = index._store.process_lock()
    assert lock is not None
    (tree / "notes.md").unlink()

    with lock.acquire(1.0):
        query = parse_query("words")
        answer = index.ask_current(lambda connection: search(connection, query, Scope()), lambda it: it["results"])
    assert answer["results"] == []
