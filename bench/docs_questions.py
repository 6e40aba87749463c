"""Questions in plain English over three documentation trees: is the right page among the first five?

`python bench/docs_questions.py FOLDER [MODE ...]`, where FOLDER holds the unpacked npm packages `ai@6.0.326`,
`next@16.4.6` and `npm@11.21.2` as `ai`, `next` and `npm`. The questions are in `docs_questions.json`, in three sets of
60. Each has one or more right pages, given by the ends of their paths.

- `tuned on` and `held out` mostly avoid the words of the pages. Only the first was looked at while tuning.
- `drawn` asks for 20 pages of each tree that were drawn at random, as a developer would ask; nothing was tuned on it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path

from failsoft.tools.docs import Docs

ROOTS = {"ai": "package/docs", "next": "package/dist/docs", "npm": "package/docs"}
QUESTIONS: dict[str, dict[str, dict[str, list[str]]]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)
"""By set and tree: the right pages of each question."""


async def main(folder: Path, modes: list[str]) -> None:
    """Print the share of each mode, and what it misses."""
    for label, questions in QUESTIONS.items():
        for mode in modes:
            print(f"{label}, {mode}: {await share(folder, questions, mode)}")


async def embed_all(docs: Docs, mode: str) -> None:
    """Search until no warning says that documents are still to be embedded."""
    is_complete = mode == "lexical"
    while not is_complete:
        response = await docs.search_documents(query="a page", mode=mode)
        is_complete = not any("embedded" in warning for warning in response.metadata.warnings)


async def share(folder: Path, questions: dict[str, dict[str, list[str]]], mode: str) -> str:
    """Return how many questions find one of their pages in the first five."""
    hits = total = 0
    for name, inner in ROOTS.items():
        with tempfile.TemporaryDirectory() as cache:
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
    return f"{hits} of {total} in the first five ({hits / total:.0%})"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the packages of npm are unpacked")
    parser.add_argument("modes", nargs="*", default=["lexical", "hybrid"])
    parser.add_argument("--quick", action="store_true", help="lexical search only")
    given = parser.parse_args()
    asyncio.run(main(given.folder, ["lexical"] if given.quick else given.modes))
