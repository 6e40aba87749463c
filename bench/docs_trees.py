"""Four real documentation trees: reading, title queries, and the cost of the index against bare FTS5.

`python bench/docs_trees.py FOLDER`, where FOLDER holds the unpacked npm packages `ai@6.0.326`, `next@16.4.6`,
`npm@11.21.2` and `@mastra/mcp-docs-server@1.2.27` as `ai`, `next`, `npm` and `mastra`. Times are CPU seconds of this
process, so that a busy machine does not change the ratios.
"""

from __future__ import annotations

import argparse
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

from docs_questions import embed_all

from failsoft.tools.docs import Docs
from failsoft.tools.docs.documents import lookup
from failsoft.tools.docs.search.query import parse_query
from failsoft.tools.docs.search.search import Scope, search
from failsoft.tools.docs.settings import DocsSettings

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


def index_costs(root: Path, cache: Path, documents: int) -> None:
    """Print what building, refreshing and searching cost, against bare FTS5."""
    connections: list[sqlite3.Connection] = []
    plain_s = cpu(lambda: connections.append(bare(root, cache / "bare.sqlite3")))
    docs = Docs(root, cache_dir=cache)
    index = docs.projects.all()[0].index
    ours_s = cpu(lambda: index.ask(lookup.count_documents))
    print(f"index of {documents:,} documents: {ours_s:.1f} s CPU, {ours_s / plain_s:.2f} x bare FTS5 ({plain_s:.1f} s)")
    paths = index.ask(lookup.all_paths)[: REFRESHES * 97 : 97]
    took = []
    for path in paths:
        with (root / path).open("a", encoding="utf-8") as file:
            file.write("\nchanged\n")
        took.append(cpu(lambda path=path: index.follow([path], is_complete=True)))
    print(f"refresh after one change: {1e3 * statistics.median(took):.1f} ms CPU (median of {len(took)})")
    titles = [
        row[0] for row in index.ask(lambda rows: rows.execute("SELECT title FROM documents LIMIT 400").fetchall())
    ]
    ratios: dict[str, list[float]] = {"ours": [], "bare": []}
    for title in titles[::2]:
        query = parse_query(" ".join(word for word in title.split() if word.isalnum()) or "page")
        words = query.relaxed or query.expression
        ratios["ours"].append(cpu(lambda query=query: index.ask(lambda rows: search(rows, query, Scope()))))
        ratios["bare"].append(cpu(lambda words=words: connections[0].execute(BARE, (words,)).fetchall()))
    ours, plain = statistics.median(ratios["ours"]), statistics.median(ratios["bare"])
    print(f"lexical p50: {1e3 * ours:.2f} ms, {ours / plain:.2f} x bare FTS5 with snippets ({1e3 * plain:.2f} ms)")
    connections[0].close()
    docs.projects.close()


async def quality(folder: Path, cache: Path, settings: DocsSettings, modes: list[str]) -> None:
    """Print how many documents read, and how many are found by their titles."""
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
    print(f"{read:,} of {total:,} documents read")
    for mode, count in hits.items():
        print(f"title queries, {mode}: {count} of {asked} ({count / asked:.1%}) find a page of that title in five")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the packages of npm are unpacked")
    parser.add_argument("--database", help="address of a PostgreSQL database, in place of SQLite")
    parser.add_argument("--modes", nargs="*", default=["lexical", "hybrid"])
    parser.add_argument("--quick", action="store_true", help="one copy of the trees, lexical search only")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root, cache = Path(scratch, "docs"), Path(scratch, "cache")
        cache.mkdir()
        if not given.database:
            index_costs(root, cache, gather(given.folder, root, 1 if given.quick else COPIES))
        settings = DocsSettings(database_url=given.database)
        asyncio.run(quality(given.folder, cache, settings, ["lexical"] if given.quick else given.modes))


if __name__ == "__main__":
    main()
