"""Documents that are not there: where they went, what may have been meant, and the error that says so."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from failsoft.framework.errors import DocumentNotFound, InvalidParameter, NextStep, ToolError
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.text import quoted
from failsoft.recovery.strategies.alternate_paths import Alternate, Rule, spelled_alternates
from failsoft.tools.docs.documents.paths import address, folded, names_of, without_ending
from failsoft.tools.docs.documents.root import DocumentRoot
from failsoft.tools.docs.git_history import GitHistory
from failsoft.tools.docs.reading import Asked
from failsoft.tools.docs.search.index import DocumentIndex
from failsoft.tools.docs.search.query import parse_query, plain_words
from failsoft.tools.docs.search.ranking import search
from failsoft.tools.docs.search.tables import (
    IndexConnection,
    Scope,
    all_paths,
    claimants,
    list_documents,
    paths_at,
    paths_in_any_case,
    paths_named,
)

_NAMED_AT_MOST = 10
_PATH_ADVICE = "paths are relative to the documentation root"


class Searched(Protocol):
    """What is needed of a project."""

    @property
    def root(self) -> DocumentRoot:
        """Its documents."""

    @property
    def index(self) -> DocumentIndex:
        """The index over them."""

    @property
    def history(self) -> GitHistory:
        """Their renames."""


def not_found(
    project: Searched, missing: Sequence[Asked], arguments: Mapping[str, Any], every: Sequence[Asked] = ()
) -> DocumentNotFound:
    """Return the error for these documents.

    Args:
        project: Where they were looked for.
        missing: What is not there; at least one.
        arguments: What the next call needs besides its own arguments.
        every: All documents of a call that named a list of them, in its order.
    """
    paths = [item.path for item in missing]
    advice = [_advice(project, item) for item in missing[:_NAMED_AT_MOST]]
    suggestions = [candidate for item in advice for candidate in item.suggestions]
    first = missing[0]
    step = advice[0].next_step
    likely = _likely(missing, advice)
    if len(likely) == len(missing):
        meant = [likely.get(item.path, item.path) for item in every]
        step = NextStep("get_documentation", {"path": meant or likely[first.path]})
    step = NextStep(step.tool, {**step.arguments, **arguments})
    if len(missing) == 1:
        message = f"Document not found: {quoted(first.path or '.')}; {_PATH_ADVICE}."
    else:
        more = f" and {len(paths) - _NAMED_AT_MOST} more" if len(paths) > _NAMED_AT_MOST else ""
        named = ", ".join(quoted(path) for path in paths[:_NAMED_AT_MOST])
        message = f"Documents not found: {named}{more}; {_PATH_ADVICE}. None was returned."
    return DocumentNotFound(path=first.path, message=message, suggestions=suggestions, next_step=step)


def _likely(missing: Sequence[Asked], advice: Sequence[Advice]) -> dict[str, str]:
    """Return by missing path the one that was meant, where it is certain."""
    found: dict[str, str] = {}
    for item, own in zip(missing, advice, strict=False):
        meant = only_likely("/".join(item.names), own.suggestions)
        if meant is not None:
            found[item.path] = meant + (f"#{item.anchor}" if item.anchor else "")
    return found


def _advice(project: Searched, item: Asked) -> Advice:
    """Return the candidates for a missing path. A certain hit on the disk spares a search for more."""
    path = "/".join(item.names) or item.path
    if item.root is not project.root:
        return Advice([], NextStep("search_external_docs", {"query": search_step(path).arguments.get("query", path)}))
    spelled = [other.path for other in spelled_on_disk(path, project.root)]
    if spelled:
        return Advice(spelled, search_step(path))
    renamed = project.history.renamed(path)
    moved = [renamed.path] if renamed is not None and project.root.holds(renamed.path) else []
    try:
        advice = project.index.ask(lambda connection: advise(connection, path))
    except ToolError as error:
        logger.opt(exception=error).warning("No suggestions for a missing document: the index does not work.")
        return Advice(moved, search_step(path))
    return Advice(list(dict.fromkeys([*moved, *advice.suggestions])), advice.next_step)


def alternate_paths(
    path: str, root: DocumentRoot, index: DocumentIndex, history: GitHistory | None = None
) -> list[Alternate]:
    """Return the existing documents that the rules lead to from a missing path.

    The first rule that leads anywhere decides: other ending or the index of the folder that was asked for, then other
    case, then front-matter aliases, then renames in the git history. The index of the folder above comes last, as a
    mere suggestion.
    """
    try:
        bare = "/".join(names_of(path))
    except InvalidParameter:
        return []
    spelled = spelled_on_disk(bare, root)
    if spelled:
        return spelled
    in_other_case, claiming = _known(bare, index)
    known: tuple[tuple[list[str], Rule], ...] = ((in_other_case, "case"), (claiming, "alias"))
    for found, rule in known:
        existing = [Alternate(other, rule) for other in found if other != bare and root.holds(other)]
        if existing:
            return existing
    renamed = history.renamed(bare) if history is not None else None
    if renamed is not None and renamed.is_certain and root.holds(renamed.path):
        return [Alternate(renamed.path, "git_rename")]
    above = [item for item in spelled_alternates(bare) if not item.is_same_document]
    return [item for item in above if root.holds(item.path)][:1]


def _known(bare: str, index: DocumentIndex) -> tuple[list[str], list[str]]:
    """Return what the index knows under the path in other case, and by aliases; nothing if it does not work."""
    spelled = [item for item in spelled_alternates(folded(bare)) if item.is_same_document]
    candidates = [Alternate(bare, "extension"), *spelled]
    try:
        similar, claiming = index.ask(
            lambda connection: (
                paths_in_any_case(connection, [item.path for item in candidates]),
                claimants(connection, bare),
            )
        )
    except ToolError as error:
        logger.opt(exception=error).warning("Other paths of a missing document cannot be looked up.")
        return [], []
    return _in_order(candidates, similar), claiming


def _in_order(candidates: list[Alternate], similar: list[str]) -> list[str]:
    """Return the paths that are like a candidate; of a folder's indexes only the first kind that is there."""
    found: list[str] = []
    has_index = False
    for item in candidates:
        matches = [path for path in similar if folded(path) == folded(item.path)]
        if matches and not (item.rule == "folder" and has_index):
            found += matches
            has_index = has_index or item.rule == "folder"
    return found


def spelled_on_disk(bare: str, root: DocumentRoot) -> list[Alternate]:
    """Return what the spelling alone leads to and the disk holds; of a folder's indexes only the first.

    It needs no index, so a page with the other ending is found at once even while the index is being built.
    """
    found: list[Alternate] = []
    for item in spelled_alternates(bare):
        taken = item.rule == "folder" and any(other.rule == "folder" for other in found)
        if item.is_same_document and not taken and root.holds(item.path):
            found.append(item)
    return found


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
