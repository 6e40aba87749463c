"""Questions in plain English over three documentation trees: is the right page among the first five?

The folder holds the unpacked npm packages `ai@6.0.326`, `next@16.4.6` and `npm@11.21.2` as `ai`, `next` and `npm`. The
questions are in `docs_questions.json`, in three sets of 60. Each has one or more right pages, given by the ends of
their paths.

- `tuned on` and `held out` mostly avoid the words of the pages. The ranking was tuned on the first; the number of pages
  that are ranked was chosen with the second in view as well.
- `drawn` asks for 20 pages of each tree that were drawn at random, as a developer would ask; nothing was tuned on it.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from measure import Figure, benchmark, figure

from failsoft.tools.docs import Docs

ROOTS = {"ai": "package/docs", "next": "package/dist/docs", "npm": "package/docs"}
QUESTIONS: dict[str, dict[str, dict[str, list[str]]]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)
"""By set and tree: the right pages of each question."""
FOLDER = {"--folder": {"type": Path, "required": True, "help": "where the packages of npm are unpacked"}}
MODES = {"--modes": {"nargs": "*", "default": ["lexical", "hybrid"], "help": "of search; --quick: lexical only"}}


@benchmark("Questions over documentation", own=FOLDER | MODES)
async def measure(given: Any) -> list[Figure]:
    """Return the share of each mode, and print what it misses."""
    return [
        await share(label, given.folder, questions, mode)
        for label, questions in QUESTIONS.items()
        for mode in (["lexical"] if given.quick else given.modes)
    ]


async def embed_all(docs: Docs, mode: str) -> None:
    """Search until no warning says that documents are still to be embedded."""
    is_complete = mode == "lexical"
    while not is_complete:
        response = await docs.search_documents(query="a page", mode=mode)
        is_complete = not any("embedded" in warning for warning in response.metadata.warnings)


async def share(label: str, folder: Path, questions: dict[str, dict[str, list[str]]], mode: str) -> Figure:
    """Return how many questions find one of their pages in the first five."""
    hits = total = 0
    for name, inner in ROOTS.items():
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
            docs = Docs(folder / name / inner, cache_dir=Path(cache))
            await embed_all(docs, mode)
            for question, pages in questions[name].items():
                response = await docs.search_documents(query=question, mode=mode, limit=5)
                found = [hit["path"] for hit in response.data["results"]] if response.data else []
                is_hit = any(path.endswith(tuple(pages)) for path in found)
                hits, total = hits + is_hit, total + 1
                if not is_hit:
                    print(f"  {mode} misses: {question} -> {found[:3]}")
            docs.projects.close()
    note = f"{hits} of {total} in the first five"
    return figure(f"{label}, {mode}", [100 * hits / total], "%", note=note)
