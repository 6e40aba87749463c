"""The words, order and scores of a search are the same in SQLite and in PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from failsoft.tools.docs import Docs
from tests.programs.postgres import IN_POSTGRES, PostgresServer
from tests.tools.docs.reader import reading

PAGES = {
    "retries.md": "# Retries\n\nA retry is made after a delay; retrying costs budget. The retries end.\n",
    "budget.md": "# The budget\n\nEvery retry costs one token of the budget.\n",
    "limits.md": "---\ntitle: Limits and delays\n---\n# Limits\n\nA delay is bounded. Universities differ.\n",
    "long.md": "# Long\n\n" + "A retry among many words. " * 40,
    "names.md": "# node.js and C++\n\nThe file `retry_budget.py` has max_retries. E-mail: a@example.org, v1.2.3.\n",
    "running.md": "# Running\n\nIt runs, ran and was running; the runner organizes organs at the university.\n",
}
MANY = {
    f"many/{n:03}.md": f"# {n % 7} pages\n\n{'A page, or more pages. ' * (n % 5 + 1)}Token {n}.\n" for n in range(150)
}
"""More than are ranked: which ones are must not depend on the store."""
QUERIES = (
    "retry budget",
    "retries",
    "delay",
    "university",
    "organization",
    "running",
    "retry_budget",
    "max_retries",
    "node.js",
    "C++",
    "v1.2.3",
    "a@example.org",
    '"retry costs"',
    "retr*",
    "budget NOT token",
    "delay OR token",
    "e-mail",
    "page",
    "many pages",
    "token OR page",
    "which of the many pages says something of a retry",
)


def found(folder: Path, database_url: str | None) -> dict[str, Any]:
    """Return path and score of each result, by query."""
    with reading(folder, PAGES | MANY, settings=Docs.Settings(database_url=database_url)) as reader:
        return {
            query: [(hit["path"], hit["score"]) for hit in reader.data("search_documents", query=query)["results"]]
            for query in QUERIES
        }


@IN_POSTGRES
def test_scores_and_order_are_the_same(tmp_path: Path, postgres: PostgresServer) -> None:
    in_a_file, in_postgres = found(tmp_path / "a", None), found(tmp_path / "b", postgres.url)

    assert {query: in_postgres[query] for query in QUERIES if in_postgres[query] != in_a_file[query]} == {}
