"""Corrections for malformed ModelSEED ids."""

from __future__ import annotations

from typing import NamedTuple

from failsoft.tools.flux.database import Database, Hits, Kind, plain_id
from failsoft.tools.flux.database.building import folded

_COMPARED_AT_MOST = 100
"""Characters of a malformed id that is looked up as a name; names are shorter."""


class Meant(NamedTuple):
    """The correction of a malformed id: an id that exists, or else a query that finds something."""

    id: str | None
    query: str | None


def meant(database: Database, kind: Kind, given: str) -> Meant:
    """Return the correction of an id in another spelling, of a name, or of an id of another database (`glc__D`)."""
    wanted = plain_id(kind, given)
    if wanted is not None:
        known = database.compound(wanted) if kind == "compounds" else database.reaction(wanted)
        return Meant(wanted if known is not None else None, None)
    if not given.strip() or len(given) > _COMPARED_AT_MOST:
        return Meant(None, None)
    search = database.search_compounds if kind == "compounds" else database.search_reactions
    return _named(given, search(given, 1))


def _named(given: str, hits: Hits) -> Meant:
    if hits.entries:
        entry, label = hits.entries[0]
        # Several entries may have the same name; then the first one is a guess, so the search is suggested instead.
        is_exact = folded(label) == folded(given) and hits.total == 1
        return Meant(entry.id if is_exact else None, given.strip())
    return Meant(None, hits.alike[0] if hits.alike else None)
