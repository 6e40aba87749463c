"""The docs toolset on a generated tree of 15,000 documents: the index, searches, and reading.

The tree is made anew from a fixed seed, in a temporary folder: 150 folders, about 2 KB a document, words spread as in
a language (few are common, most are rare). Calls are whole calls, recovery and suggestions included.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measure import Figure, benchmark, figure, ms

from failsoft.tools.docs import Docs

CHANGED = 20
FOLDERS = 150
WORDS = 12_000
CALLS: dict[str, tuple[str, tuple[dict[str, Any], ...]]] = {
    "search, one common word": ("search_documents", ({"query": "word0002"}, {"query": "word0005"})),
    "search, two words": ("search_documents", ({"query": "word0010 word0300"}, {"query": "word0020 word0150"})),
    "search, a rare word": ("search_documents", ({"query": "word9000"}, {"query": "word7777"})),
    "search, faulty syntax, recovered": ("search_documents", ({"query": '"word0010 AND'},)),
    "list, one folder": ("list_documents", ({"prefix": "area007/"}, {"prefix": "area011/"})),
    "get": ("get_documentation", ({"path": "area000/page00000.md"}, {"path": "area007/page00007.md"})),
    "get, found at another path": ("get_documentation", ({"path": "area000/page00000.mdx"},)),
    "get, not found, with suggestions": ("get_documentation", ({"path": "area000/pgae00001.rst"},)),
}
"""What is called, and with what in turn."""


def grow(root: Path, documents: int) -> None:
    """Write a tree of documents."""
    root.mkdir()
    chance = random.Random(20_260_119)  # noqa: S311 - the same tree for everybody
    words = [f"word{number:04}" for number in range(WORDS)]
    weights = [1 / (number + 1) for number in range(WORDS)]
    for number in range(documents):
        folder = root / f"area{number % FOLDERS:03}"
        folder.mkdir(exist_ok=True)
        text = " ".join(chance.choices(words, weights, k=250))
        head = f"---\ntitle: Page {number}\ntype: {'guide' if number % 3 else 'reference'}\n---\n\n"
        (folder / f"page{number:05}.md").write_text(f"{head}# Page {number}\n\n{text}\n", encoding="utf-8")


def index_figures(root: Path, cache: Path, documents: int) -> list[Figure]:
    """Return how long it takes to build the index, to check it, and to take in a few changes."""
    found = [_timed("index: build", root, cache, note=f"{documents:,} documents")]
    found.append(_timed("index: nothing has changed", root, cache))
    for path in sorted(root.rglob("*.md"))[:CHANGED]:
        path.write_text(path.read_text(encoding="utf-8") + "\nchanged\n", encoding="utf-8")
    found.append(_timed(f"index: {CHANGED} documents have changed", root, cache))
    return found


def _timed(name: str, root: Path, cache: Path, *, note: str = "") -> Figure:
    index = Docs(root, cache_dir=cache).projects.implicit.index
    began = time.perf_counter()
    index.ask(lambda _: None)
    taken = time.perf_counter() - began
    index.close()
    return figure(name, [1e3 * taken], "ms", note=note)


async def call_figures(tool: Docs, rounds: int) -> list[Figure]:
    """Return how long the calls take, taking turns."""
    seconds: dict[str, list[float]] = {name: [] for name in CALLS}
    for number in range(rounds + 1):
        for name, (operation, given) in CALLS.items():
            began = time.perf_counter()
            response = await tool.execute_with_error_handling(operation, given[number % len(given)])
            response.encode()
            if number:
                seconds[name].append(time.perf_counter() - began)
    return [figure(name, ms(values), "ms", note=_tail(values)) for name, values in seconds.items()]


def _tail(values: Sequence[float]) -> str:
    return f"p99 {1e3 * sorted(values)[int(len(values) * 0.99)]:.3g}"


@benchmark("The docs toolset", rounds=(200, 5), documents=(15_000, 200))
def measure(given: Any) -> list[Figure]:
    """Return all figures."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # a thread may still write
        root, cache = Path(folder, "docs"), Path(folder, "cache")
        grow(root, given.documents)
        found = index_figures(root, cache, given.documents)
        tool = Docs(root, cache_dir=cache)
        found += asyncio.run(call_figures(tool, given.rounds))
        tool.projects.close()
        return found
