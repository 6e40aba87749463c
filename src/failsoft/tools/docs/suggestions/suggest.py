"""Candidates for a missing path. They are suggested, never served."""

from __future__ import annotations

import re
from typing import NamedTuple

from failsoft.framework.errors import NextStep
from failsoft.tools.docs.documents.documents import address
from failsoft.tools.docs.documents.lookup import all_paths, list_documents, paths_at, paths_named
from failsoft.tools.docs.documents.path_syntax import folded, without_ending
from failsoft.tools.docs.search.connection import IndexConnection, Scope
from failsoft.tools.docs.search.query import parse_query, plain_words
from failsoft.tools.docs.search.search import search

SUGGESTIONS_AT_MOST = 5
_NAMESAKES_AT_MOST = 200
_SIMILAR_ABOVE = 70.0
"""Percent of likeness between whole paths; below it most candidates share a folder and nothing else."""
_NEAR = 90.0
"""Percent of likeness between whole paths from which one is taken for a misspelling of the other."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Advice(NamedTuple):
    """Candidates for a missing path, most likely first, and the call to make next."""

    suggestions: list[str]
    next_step: NextStep


def advise(connection: IndexConnection, path: str) -> Advice:
    """Return the advice for a missing path: the content of a folder, else the documents that may have been meant."""
    inside, _, _ = list_documents(connection, None, f"{path}/", SUGGESTIONS_AT_MOST)
    if inside:
        step = NextStep("list_documents", {"prefix": f"{path}/"})
        return Advice([document["path"] for document in inside], step)
    return Advice(suggest_paths(connection, path), search_step(path))


def only_likely(path: str, candidates: list[str]) -> str | None:
    """Return the one candidate that has the missing page's own name, or a spelling next to it; None for several."""
    from rapidfuzz import fuzz  # noqa: PLC0415 - only a missing path needs it

    wanted = folded(path)
    name = address(path).rpartition("/")[2]
    likely = [
        other
        for other in candidates
        if (name and address(other).rpartition("/")[2] == name) or fuzz.ratio(wanted, folded(other)) >= _NEAR
    ]
    return likely[0] if len(likely) == 1 else None


def suggest_paths(connection: IndexConnection, path: str, *, limit: int = SUGGESTIONS_AT_MOST) -> list[str]:
    """Return existing paths that may have been meant by a missing one, most likely first.

    In this order: the same page as a file or as a folder, pages of the same name elsewhere (a moved page), paths that
    are spelled alike, and pages that a search for the name finds.
    """
    from rapidfuzz import fuzz  # noqa: PLC0415 - as above

    wanted = folded(path)
    found = paths_at(connection, address(path))
    namesakes = paths_named(connection, path, _NAMESAKES_AT_MOST)
    found += sorted(namesakes, key=lambda other: -fuzz.ratio(wanted, folded(other)))[:limit]
    # Half of the places for what is spelled alike: what a search finds shares the topic, if not the letters.
    found += _spelled_alike(connection, wanted, limit - limit // 2)
    words = _words(path)
    if words:
        query = parse_query(words)
        found += [hit["path"] for hit in search(connection, query, Scope(limit=limit))["results"]]
    return list(dict.fromkeys(other for other in found if other != path))[:limit]


def search_step(path: str) -> NextStep:
    """Return the search for the words of the path's last name, or the list of all documents if it has none."""
    words = _words(path)
    return NextStep("search_documents", {"query": words}) if words else NextStep("list_documents")


def _words(path: str) -> str:
    """Return the words of the page's name, as a query; the folder's name for an index page."""
    names = [without_ending(name) for name in path.split("/") if name]
    if names and names[-1].lower() in {"index", "readme"}:
        names.pop()
    return plain_words(re.sub(r"[_.-]+", " ", _CAMEL.sub(" ", names[-1])).lower()) if names else ""


def _spelled_alike(connection: IndexConnection, wanted: str, limit: int) -> list[str]:
    from rapidfuzz import fuzz, process  # noqa: PLC0415 - as above

    paths = all_paths(connection)
    matches = process.extract(
        wanted, paths, scorer=fuzz.ratio, processor=None, score_cutoff=_SIMILAR_ABOVE, limit=limit
    )
    return [path for path, _, _ in matches]
