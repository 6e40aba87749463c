"""Syntax of ModelSEED ids, and corrections for malformed ones."""

from __future__ import annotations

import re
from typing import NamedTuple

from failsoft.tools.flux.database import Database, Hits
from failsoft.tools.flux.database.building import folded
from failsoft.tools.flux.database.entries import COMPOUND_ID, REACTION_ID

__all__ = ["Meant", "is_compound_id", "is_reaction_id", "meant_compound", "meant_reaction", "plain_compound_id"]

_COMPARED_AT_MOST = 100
"""Characters of something that is no id that are looked up: nothing longer was meant as a name."""
_LOOSE_COMPOUND = re.compile(r"(?:ex_)?cpd[\s_:-]*0*([0-9]{1,5})(?:[_\[][a-z][0-9]?\]?)?", re.IGNORECASE)
_LOOSE_REACTION = re.compile(r"rxn[\s_:-]*0*([0-9]{1,5})(?:[_\[][a-z][0-9]?\]?)?", re.IGNORECASE)


class Meant(NamedTuple):
    """What something that is no id was meant for: an id that exists, or else words that a search finds something by."""

    id: str | None
    query: str | None


def is_compound_id(given: str) -> bool:
    """Return whether this has the form of a compound's id."""
    return COMPOUND_ID.fullmatch(given) is not None


def is_reaction_id(given: str) -> bool:
    """Return whether this has the form of a reaction's id."""
    return REACTION_ID.fullmatch(given) is not None


def plain_compound_id(given: str) -> str | None:
    """Return the id that this is another spelling of, or None: `CPD27` and `EX_cpd00027_e0` are `cpd00027`."""
    loose = _LOOSE_COMPOUND.fullmatch(given[:_COMPARED_AT_MOST].strip())
    return None if loose is None else f"cpd{int(loose[1]):05}"


def meant_compound(database: Database, given: str) -> Meant:
    """Return what was meant: an id in another spelling, a name, or an id elsewhere (`glc__D`)."""
    wanted = plain_compound_id(given)
    if wanted is not None:
        return Meant(wanted if database.compound(wanted) is not None else None, None)
    if not given.strip() or len(given) > _COMPARED_AT_MOST:
        return Meant(None, None)
    return _named(given, database.search_compounds(given, 1))


def meant_reaction(database: Database, given: str) -> Meant:
    """Return what was meant; see `meant_compound`."""
    loose = _LOOSE_REACTION.fullmatch(given.strip())
    if loose is not None:
        wanted = f"rxn{int(loose[1]):05}"
        return Meant(wanted if database.reaction(wanted) is not None else None, None)
    if not given.strip() or len(given) > _COMPARED_AT_MOST:
        return Meant(None, None)
    return _named(given, database.search_reactions(given, 1))


def _named(given: str, hits: Hits) -> Meant:
    if hits.entries:
        entry, label = hits.entries[0]
        # Several may have the very same name, and then the first is a guess: it is found by the search, not suggested.
        is_exact = folded(label) == folded(given) and hits.total == 1
        return Meant(entry.id if is_exact else None, given.strip())
    return Meant(None, hits.alike[0] if hits.alike else None)
