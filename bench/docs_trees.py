"""Four real documentation trees: reading, title queries, and the cost of the index against bare FTS5.

The folder is that of `scripts/fetch.sh docs_sites`. Times are CPU seconds of this process, so that a busy machine does
not change the ratios.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docs_questions import FOLDER, MODES, embed_all
from measure import Figure, benchmark, figure, ms

from failsoft.tools.docs import Docs
from failsoft.tools.docs.search import tables as lookup
from failsoft.tools.docs.search.query import parse_query
from failsoft.tools.docs.search.ranking import Scope, search
from failsoft.tools.docs.signatures import DocsSettings

TREES = {"ai": "package/docs", "next": "package/dist/docs", "npm": "package/docs", "mastra": "package/.docs"}
COPIES = 10
TITLES_EVERY = 4
"""Of so many documents one has its title searched for."""
REFRESHES = 15
BARE = "SELECT path, snippet(pages, 1, '**', '**', '', 40) FROM pages WHERE pages MATCH ? ORDER BY rank LIMIT 10"


def gather(folder: Path, target: Path, copies: int) -> int:
    """Copy the documents of all trees; return how many there are."""
    count = 0
    for number in range(copies):
        for name, inner in TREES.items():
            tree = folder / name / inner
            for path in sorted(tree.rglob("*.md*")):
                if path.suffix in {".md", ".mdx"}:
                    place = target / str(number) / name / path.relative_to(tree)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, place)
                    count += 1
    return count


def cpu(work: Callable[[], Any]) -> float:
    """Return the CPU seconds that the work takes."""
    began = time.process_time()
    work()
    return time.process_time() - began


def bare(root: Path, file: Path) -> sqlite3.Connection:
    """Read all documents and index them with FTS5 alone."""
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE VIRTUAL TABLE pages USING fts5 (path, body, tokenize = 'porter unicode61')")
    connection.execute("BEGIN")
    for folder, _, names in os.walk(root):
        for name in names:
            text = Path(folder, name).read_text(encoding="utf-8", errors="replace")
            connection.execute("INSERT INTO pages VALUES (?, ?)", (name, text))
    connection.execute("COMMIT")
    return connection


def build(index: Any) -> None:
    """Index all documents; one question leaves some of many to the next."""
    index.ask(lookup.count_documents)
    while index.is_unfinished:
        index.ask(lookup.count_documents)


def index_costs(root: Path, cache: Path, documents: int) -> list[Figure]:
    """Return what building, refreshing and searching cost, against bare FTS5."""
    connections: list[sqlite3.Connection] = []
    plain_s = cpu(lambda: connections.append(bare(root, root.parent / "bare.sqlite3")))
    docs = Docs(root, cache_dir=cache)
    index = docs.projects.all()[0].index
    ours_s = cpu(lambda: build(index))
    paths = index.ask(lookup.all_paths)[: REFRESHES * 97 : 97]
    took = []
    for path in paths:
        with (root / path).open("a", encoding="utf-8") as file:
            file.write("\nchanged\n")
        took.append(cpu(lambda path=path: index.refresh_paths([path])))
    titles = [
        row[0] for row in index.ask(lambda rows: rows.execute("SELECT title FROM documents LIMIT 400").fetchall())
    ]
    searches: dict[str, list[float]] = {"ours": [], "bare": []}
    for title in titles[::2]:
        query = parse_query(" ".join(word for word in title.split() if word.isalnum()) or "page")
        words = query.relaxed or query.expression
        searches["ours"].append(cpu(lambda query=query: index.ask(lambda rows: search(rows, query, Scope()))))
        searches["bare"].append(cpu(lambda words=words: connections[0].execute(BARE, (words,)).fetchall()))
    connections[0].close()
    docs.projects.close()
    times_bare = statistics.median(searches["ours"]) / statistics.median(searches["bare"])
    return [
        figure("index", [ours_s], "s", note=f"{documents:,} documents"),
        figure("index", [ours_s / plain_s], "of bare FTS5"),
        figure("refresh after one change", ms(took), "ms"),
        figure("lexical search", ms(searches["ours"]), "ms"),
        figure("lexical search", [times_bare], "of bare FTS5 with snippets"),
    ]


async def quality(folder: Path, cache: Path, settings: DocsSettings, modes: list[str]) -> list[Figure]:
    """Return how many documents read, and how many are found by their titles."""
    hits = dict.fromkeys(modes, 0)
    asked = read = total = 0
    for name, inner in TREES.items():
        docs = Docs(folder / name / inner, settings=settings, cache_dir=cache)
        listed: list[Any] = []
        cursor: str | None = None
        while True:
            response = await docs.list_documents(limit=100, **({"cursor": cursor} if cursor else {}))
            page = response.unwrap()
            listed += page["documents"]
            cursor = page.get("next_cursor")
            if cursor is None:
                break
        for document in listed:
            response = await docs.get_documentation(path=document["path"])
            read += response.success
            total += 1
        for mode in modes:
            await embed_all(docs, mode)
        for document in listed[::TITLES_EVERY]:
            asked += 1
            for mode in modes:
                response = await docs.search_documents(query=document["title"], mode=mode, limit=5)
                found = response.data["results"] if response.data else []
                hits[mode] += any(hit["title"] == document["title"] for hit in found)
        docs.projects.close()
    return [
        figure("documents read", [100 * read / total], "%", note=f"{read:,} of {total:,}"),
        *(
            figure(f"title queries, {mode}", [100 * count / asked], "%", note=f"{count} of {asked} find it in five")
            for mode, count in hits.items()
        ),
    ]


DATABASE = {"--database": {"help": "address of a PostgreSQL database, in place of SQLite"}}


@benchmark("Four documentation trees", own=FOLDER | MODES | DATABASE, copies=(COPIES, 1))
def measure(given: Any) -> list[Figure]:
    """Return the figures."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        root, cache = Path(scratch, "docs"), Path(scratch, "cache")
        figures = []
        if not given.database:
            figures = index_costs(root, cache, gather(given.folder, root, given.copies))
        settings = DocsSettings(database_url=given.database)
        modes = ["lexical"] if given.quick else given.modes
        return figures + asyncio.run(quality(given.folder, cache, settings, modes))
