"""The error for missing documents: all of them named, with candidates and the call that helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from failsoft.framework.errors import DocumentNotFound, NextStep, ToolError
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.text import quoted
from failsoft.tools.docs.documents.reading import Asked
from failsoft.tools.docs.documents.root import DocumentRoot
from failsoft.tools.docs.search.index import DocumentIndex
from failsoft.tools.docs.suggestions.alternates import spelled_on_disk
from failsoft.tools.docs.suggestions.git_history import GitHistory
from failsoft.tools.docs.suggestions.suggest import Advice, advise, only_likely, search_step

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
