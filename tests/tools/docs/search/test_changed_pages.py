"""A search right after pages have changed, in the project's own folder and in external ones."""

from __future__ import annotations

import json
from pathlib import Path

from tests.contract.surroundings import write_documents
from tests.tools.docs.reader import reading

ROUNDS = 20
"""New pages appear with the next walk of the folder: of so many searches, some come before it."""


def test_a_search_does_not_deny_a_word_of_a_new_page(tmp_path: Path) -> None:
    denied = []
    with reading(tmp_path, {f"{number}.md": "# Page\n" for number in range(150)}) as reader:
        for number in range(ROUNDS):
            word = f"quagga{number}x"
            reader.data("search_documents", query="page", limit=1)
            (reader.folder / f"new{number}.md").write_text(f"# New\n\n{word}\n")
            answer = reader.ask("search_documents", query=word)
            warnings = answer["metadata"].get("warnings", [])
            if not answer["data"]["results"] and any("No document has" in warning for warning in warnings):
                denied.append(word)

    assert denied == []


def test_deleted_external_pages_are_not_found(tmp_path: Path) -> None:
    pages = {f"{number}.md": "# Page\n" for number in range(30)}
    found = []
    with reading(tmp_path, {"own/a.md": "# A\n"}) as reader:
        write_documents(reader.folder / "vendor", pages)
        config = {"name": "p", "docs_root": "own", "external_docs": "vendor"}
        (reader.folder / "config.json").write_text(json.dumps(config))
        reader.data("activate_project", config_path="config.json")
        for number in range(5):
            word, page = f"quagga{number}x", reader.folder / "vendor" / f"{number}.md"
            page.write_text(f"# Page\n\n{word}\n")
            until = 0
            while not reader.data("search_external_docs", query=word)["results"]:
                until += 1
                if until >= 5000:
                    raise RuntimeError
            page.unlink()
            found += reader.data("search_external_docs", query=word)["results"]

    assert found == []


def test_warnings_of_external_indexes_reach_the_caller(tmp_path: Path) -> None:
    write_documents(tmp_path / "docs", {"own/a.md": "# A\n\nquagga\n", "vendor/b.md": "# B\n\nquagga\n"})
    (tmp_path / "docs/config.json").write_text('{"name": "p", "docs_root": "own", "external_docs": "vendor"}')
    (tmp_path / "cache").write_text("a file, where the folder of the indexes should be")
    with reading(tmp_path, {}) as reader:
        own = reader.ask("activate_project", config_path="config.json")
        external = reader.ask("search_external_docs", query="quagga")

    if not own["metadata"]["warnings"]:
        raise RuntimeError
    assert external["metadata"].get("warnings") == own["metadata"]["warnings"]
