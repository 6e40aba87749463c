"""Documents that are not there: where they went, what may have been meant, and the error that says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from failsoft.framework.call.call import Call
from failsoft.framework.errors import DocumentNotFound, InvalidParameter, NextStep, ToolError
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.text import quoted
from failsoft.recovery.strategies.alternate_paths import Alternate, Rule, spelled_alternates
from failsoft.tools.docs.documents.paths import address, folded, is_document, names_of, without_ending
from failsoft.tools.docs.documents.root import DocumentRoot
from failsoft.tools.docs.git_history import GitHistory
from failsoft.tools.docs.project import Project
from failsoft.tools.docs.reading import AskedDocument
from failsoft.tools.docs.search.index import DocumentIndex
from failsoft.tools.docs.search.query import parse_query, plain_words
from failsoft.tools.docs.search.ranking import search
from failsoft.tools.docs.search.tables import (
    IndexConnection,
    Scope,
    addresses,
    claimants,
    list_documents,
    paths_at,
    paths_in_any_case,
    paths_named,
)

T = TypeVar("T")
_NAMED_AT_MOST = 10
_PATH_ADVICE = "paths are relative to the documentation root"


class Advice(NamedTuple):
    """Candidates for a missing path, most likely first, the call to make next, and the page that was meant, if any."""

    suggestions: list[str]
    next_step: NextStep
    meant: str | None = None


def with_documents(call: Call, project: Project, paths: Sequence[str], work: Callable[[list[AskedDocument]], T]) -> T:
    """Return what comes of the documents at these paths, if there are all of them.

    Raises:
        DOC_NOT_FOUND: With every path that is missing, and what may have been meant.
    """
    items = [project.asked(path) for path in paths]
    missing = [item for item in items if not item.root.exists(item.names)]
    if not missing:
        try:
            return work(items)
        except DocumentNotFound as error:
            if error.next_step is not None or len(items) > 1:  # of a section that is missing
                raise
            missing = items
    given = call.arguments.get("project")
    is_list = isinstance(call.arguments.get("path"), list)
    raise not_found(project, missing, {"project": given} if given is not None else {}, items if is_list else ())


async def with_document(call: Call, project: Project, path: str, work: Callable[[AskedDocument], T]) -> T:
    """Return what comes of the document at a path, found in a thread; see `with_documents`."""
    return await call.bound.threads.run(lambda: with_documents(call, project, [path], lambda items: work(items[0])))


def not_found(
    project: Project,
    missing: Sequence[AskedDocument],
    arguments: Mapping[str, Any],
    every: Sequence[AskedDocument],
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
    suggestions = [candidate for own in advice for candidate in own.suggestions]
    first = missing[0]
    step = advice[0].next_step
    likely = {item.path: own.meant for item, own in zip(missing, advice, strict=False) if own.meant is not None}
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


def _advice(project: Project, item: AskedDocument) -> Advice:
    """Return the advice for a missing document, in the terms of the caller.

    Where another path certainly leads to it, the recovery serves that, and nothing else is looked for.
    """
    path = "/".join(item.names) or item.path
    folder = next((other for other in project.external if other.root is item.root), None)
    if folder is None:
        found = _advice_within(path, item.root, project.index, project.history)
        return found._replace(meant=found.meant + item.suffix if found.meant else None)
    found = _advice_within(path, item.root, folder.index)
    step = NextStep("search_external_docs", {"query": _words(path) or path})
    meant = f"{item.prefix}{found.meant}{item.suffix}" if found.meant else None
    return Advice([item.prefix + other for other in found.suggestions], step, meant)


def _advice_within(path: str, root: DocumentRoot, index: DocumentIndex, history: GitHistory | None = None) -> Advice:
    alternates = alternate_paths(path, root, index, history)
    certain = [item.path for item in alternates if item.is_same_document]
    if certain:
        return Advice(certain, search_step(path), certain[0] if len(certain) == 1 else None)
    renamed = history.renamed(path) if history is not None else None
    moved = [renamed.path] if renamed is not None and root.holds(renamed.path) else []
    above = [item.path for item in alternates]
    try:
        advice = index.ask(lambda connection: advise(connection, path))
    except ToolError as error:
        logger.opt(exception=error).warning("No suggestions for a missing document: the index does not work.")
        return Advice([*moved, *above], search_step(path))
    found = [other for other in dict.fromkeys([*moved, *advice.suggestions]) if other not in above]
    return advice._replace(suggestions=[*found, *above])


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
_LETTERS_AN_EDIT = 5
"""Letters of a page's name for each edit between it and a misspelling."""
_NAME_AT_LEAST = 3
_DIGITS = re.compile(r"\d+")
_OTHER_ENDING = re.compile(r"\.[A-Za-z]{2,5}$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def advise(connection: IndexConnection, path: str) -> Advice:
    """Return the advice for a missing path: the content of a folder, else the documents that may have been meant.

    In this order: the same page as a file or as a folder, pages whose names are a slip away, pages of the same name
    elsewhere (a moved page), paths that are spelled alike, and pages that a search for the name finds.
    """
    from rapidfuzz import fuzz, process  # noqa: PLC0415 - only a missing path needs it

    inside, _, _ = list_documents(connection, None, f"{path}/", SUGGESTIONS_AT_MOST)
    if inside:
        step = NextStep("list_documents", {"prefix": f"{path}/"})
        return Advice([document["path"] for document in inside], step)
    wanted, known = folded(path), addresses(connection)
    same = paths_at(connection, address(path))
    near = _near(address(path), known)
    namesakes = paths_named(connection, path, _NAMESAKES_AT_MOST)
    namesakes.sort(key=lambda other: -fuzz.ratio(wanted, folded(other)))
    found = [*same, *(other for other, _ in near), *_begun(address(path), known), *namesakes[:SUGGESTIONS_AT_MOST]]
    # Half of the places for what is spelled alike: what a search finds shares the topic, if not the letters.
    alike = process.extract(
        *(wanted, list(known)),
        scorer=fuzz.ratio,
        score_cutoff=_SIMILAR_ABOVE,
        limit=SUGGESTIONS_AT_MOST - SUGGESTIONS_AT_MOST // 2,
    )
    found += [other for other, _, _ in alike]
    words = _words(path)
    if words:
        hits = search(connection, parse_query(words), Scope(limit=SUGGESTIONS_AT_MOST))["results"]
        found += [hit["path"] for hit in hits]
    likely = same or list(dict.fromkeys([*(other for other, edits in near if edits == near[0][1]), *namesakes]))
    suggestions = list(dict.fromkeys(other for other in found if other != path))[:SUGGESTIONS_AT_MOST]
    return Advice(suggestions, search_step(path), likely[0] if len(likely) == 1 else None)


def _begun(wanted: str, known: Mapping[str, str]) -> list[str]:
    """Return pages of the same folder whose name begins with the missing one's, or is its beginning."""
    folder, _, name = wanted.rpartition("/")
    if len(name) < _NAME_AT_LEAST:
        return []
    found: list[str] = []
    for path, other in known.items():
        place, _, own = other.rpartition("/")
        is_begun = own.startswith(name) or (len(own) >= _NAME_AT_LEAST and name.startswith(own))
        if place == folder and is_begun:
            found.append(path)
    return found[:SUGGESTIONS_AT_MOST]


def _near(wanted: str, known: Mapping[str, str]) -> list[tuple[str, int]]:
    """Return the paths whose address is a slip or two away, and how many edits, the nearest first.

    A number that differs is no slip: `v1` and `v2` are two pages.
    """
    from rapidfuzz import process  # noqa: PLC0415 - as above
    from rapidfuzz.distance import OSA  # noqa: PLC0415 - as above

    name = wanted.rpartition("/")[2]
    if len(name) < _NAME_AT_LEAST:
        return []
    edits_at_most = max(1, len(name) // _LETTERS_AN_EDIT)
    matches = process.extract(wanted, known, scorer=OSA.distance, score_cutoff=edits_at_most, limit=SUGGESTIONS_AT_MOST)
    numbers = _DIGITS.findall(wanted)
    return [(path, int(edits)) for other, edits, path in matches if _DIGITS.findall(other) == numbers]


def search_step(path: str) -> NextStep:
    """Return the search for the words of the path's last name, or the list of all documents if it has none."""
    words = _words(path)
    return NextStep("search_documents", {"query": words}) if words else NextStep("list_documents")


def _words(path: str) -> str:
    """Return the words of the page's name, as a query; the folder's name for an index page."""
    names = [without_ending(name) if is_document(name) else _OTHER_ENDING.sub("", name) for name in path.split("/")]
    names = [name for name in names if name]
    if names and names[-1].lower() in {"index", "readme"}:
        names.pop()
    return plain_words(re.sub(r"[_.-]+", " ", _CAMEL.sub(" ", names[-1])).lower()) if names else ""
