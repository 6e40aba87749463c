"""The documents that are certainly the one that was asked for, under another path."""

from __future__ import annotations

from failsoft.framework.errors import InvalidParameter
from failsoft.recovery.alternates import Alternate, spelled_alternates
from failsoft.tools.docs.guard import DocumentRoot
from failsoft.tools.docs.index import DocumentIndex
from failsoft.tools.docs.lookup import claimants, paths_in_any_case
from failsoft.tools.docs.spelling import names_of

__all__ = ["alternate_paths", "spelled_on_disk"]


def alternate_paths(path: str, root: DocumentRoot, index: DocumentIndex) -> list[Alternate]:
    """Return the existing documents that the rules lead to from a missing path.

    The first rule that leads anywhere decides: other ending or the index of the folder that was asked for, then other
    case, then front-matter aliases. The index of the folder above comes last, as a mere suggestion.
    """
    try:
        bare = "/".join(names_of(path))
    except InvalidParameter:
        return []
    spelled = spelled_on_disk(bare, root)
    if spelled:
        return spelled
    candidates = [bare, *(item.path for item in spelled_alternates(bare) if item.is_same_document)]
    known = index.ask(lambda connection: (paths_in_any_case(connection, candidates), claimants(connection, bare)))
    for found, rule in zip(known, ("case", "alias"), strict=True):
        existing = [Alternate(other, rule) for other in found if other != bare and root.holds(other)]  # type: ignore[arg-type]
        if existing:
            return existing
    above = [item for item in spelled_alternates(bare) if not item.is_same_document]
    return [item for item in above if root.holds(item.path)][:1]


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
