"""Paths that a release removed, asked of the next one: is the page served, is it a candidate, is a wrong one served?

The folder holds unpacked npm packages as `NAME-VERSION`, for each name the releases of `RELEASES`. A path of an old
release that the last one no longer has is dead. The right page is that of the last release with the same text, by word
shingles, whatever its path; it must not have existed in the old release itself, and must be far ahead of the second.
Dead paths without such a page were removed or rewritten: serving anything for them is wrong.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from docs_questions import FOLDER
from measure import Figure, benchmark, figure

from failsoft.tools.docs import Docs

RELEASES = {
    "ai": ("package/docs", ["6.0.60", "6.0.180", "6.0.326"]),
    "mastra": ("package/.docs", ["0.13.1", "0.13.31", "1.1.19", "1.1.45", "1.2.27"]),
    "next": ("package/dist/docs", ["16.2.0", "16.3.0", "16.4.6"]),
    "npm": ("package/docs", ["6.14.18", "7.24.2", "8.19.4", "9.9.4", "10.9.9", "11.21.2"]),
}
"""The folder of the documents in the package, and the releases, the last one being what is served."""
SHINGLE = 4
WORDS_AT_LEAST = 40
ALIKE = 0.5
"""Share of the shingles of both pages (Jaccard) from which two pages are one."""
AHEAD = 0.8
"""Share of the best page's likeness that the second may have at most; one above 0.95 is a copy, and right, too."""
COPY = 0.95
_WORD = re.compile(r"[a-z0-9]+")
_SUGGESTED = re.compile(r"Did you mean: (.*)\?$")


class Dead(NamedTuple):
    """A dead path, and the pages that it is right to serve for it; empty where its page is gone."""

    path: str
    right: frozenset[str]


def pages(tree: Path) -> dict[str, frozenset[int]]:
    """Return the shingles of each document by its path."""
    found = {}
    for file in tree.rglob("*.md*"):
        if file.suffix in {".md", ".mdx"} and "node_modules" not in file.relative_to(tree).parts:
            words = _WORD.findall(file.read_text(encoding="utf-8", errors="replace").lower())
            shingles = {hash(tuple(words[at : at + SHINGLE])) for at in range(len(words) - SHINGLE + 1)}
            found[file.relative_to(tree).as_posix()] = frozenset(shingles if len(words) >= WORDS_AT_LEAST else ())
    return found


def dead_paths(old: Mapping[str, frozenset[int]], new: Mapping[str, frozenset[int]]) -> Iterator[Dead]:
    """Yield the paths of the old tree that the new one lacks. Pages of a few words cannot be judged."""
    holders: dict[int, list[str]] = {}
    for path, shingles in new.items():
        for shingle in shingles:
            holders.setdefault(shingle, []).append(path)
    for path in sorted(old.keys() - new.keys()):
        shared = Counter(other for shingle in old[path] for other in holders.get(shingle, ()))
        likeness = {other: count / len(old[path] | new[other]) for other, count in shared.items()}
        best = max(likeness.values(), default=0.0)
        if not old[path] or best < ALIKE:
            yield Dead(path, frozenset())
            continue
        right = frozenset(other for other, value in likeness.items() if value >= COPY * best)
        rival = max((value for other, value in likeness.items() if other not in right), default=0.0)
        if rival <= AHEAD * best and not any(other in old for other in right):
            yield Dead(path, right)


async def ask(docs: Docs, dead: Dead) -> str:
    """Return what became of a call.

    `served`, `led` or `candidate`: the right page, at once, in the next step, or among the candidates; `missed`: it is
    none of them; `refused`: there is no right page, and none was served; `wrong`: another page was served.
    """
    response = await docs.get_documentation(path=dead.path)
    if response.error is None:
        served = response.to_dict()["data"]["documents"][0]["path"]
        return "served" if served in dead.right else "wrong"
    candidates = {match[1] for text in response.error.suggestions if (match := _SUGGESTED.match(text))}
    if not dead.right:
        return "refused"
    step = response.error.next_step
    if step is not None and step.arguments.get("path") in dead.right:
        return "led"
    return "candidate" if candidates & dead.right else "missed"


async def asked_for_all(folder: Path, cache: Path, *, quick: bool) -> Counter[str]:
    """Ask for every dead path, and print what became of them by release; only of the last one, if `quick`."""
    total: Counter[str] = Counter()
    for name, (inner, releases) in RELEASES.items():
        tree = folder / f"{name}-{releases[-1]}" / inner
        new = pages(tree)
        docs = Docs(tree, cache_dir=cache)
        asked: dict[Dead, str] = {}
        for release in releases[-2:-1] if quick else releases[:-1]:
            found = list(dead_paths(pages(folder / f"{name}-{release}" / inner), new))
            for dead in found:
                if dead not in asked:
                    asked[dead] = await ask(docs, dead)
            print(f"{name} {release} to {releases[-1]}: {dict(Counter(asked[dead] for dead in found))}")
            for dead in found:
                if asked[dead] in {"wrong", "missed"}:
                    print(f"  {asked[dead]}: {dead.path} ({', '.join(sorted(dead.right))})")
        total += Counter(asked.values())
        docs.projects.close()
    return total


@benchmark("Dead paths", own=FOLDER)
def measure(given: Any) -> list[Figure]:
    """Return how many are answered with their page, or with a wrong one."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        total = asyncio.run(asked_for_all(given.folder, Path(cache), quick=given.quick))
    held = total["served"] + total["led"] + total["candidate"]
    moved = held + total["missed"]
    share, note = 100 * held / max(moved, 1), f"{held} of {moved}; {dict(total)}"
    return [
        figure("moved pages that are served or among the candidates", [share], "%", note=note),
        figure("a wrong page is served", [total["wrong"]], "paths", note=f"of {total.total()} dead ones"),
    ]
