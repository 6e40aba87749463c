"""Other paths of a missing document that lead to the same one."""

from __future__ import annotations

from failsoft.framework.errors import InvalidParameter, ToolError
from failsoft.framework.safe.author_reports import logger
from failsoft.recovery.strategies.alternate_paths import Alternate, Rule, spelled_alternates
from failsoft.tools.docs.documents.lookup import claimants, paths_in_any_case
from failsoft.tools.docs.documents.path_syntax import folded, names_of
from failsoft.tools.docs.documents.root import DocumentRoot
from failsoft.tools.docs.search.index import DocumentIndex
from failsoft.tools.docs.suggestions.git_history import GitHistory


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
