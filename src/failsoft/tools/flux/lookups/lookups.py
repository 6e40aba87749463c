"""Results of the four lookup operations, and the errors for unknown ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from failsoft.framework.call import CallContext
from failsoft.framework.errors import NextStep
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded, quoted
from failsoft.tools.flux.database import Compound, Database, Facts, Hits, Kind, Reaction, is_ec_number, plain_id
from failsoft.tools.flux.database.entries import COMPOUND_ID, REACTION_ID
from failsoft.tools.flux.errors.database import CompoundNotFound, EmptyQuery, InvalidIdFormat, ReactionNotFound
from failsoft.tools.flux.lookups.ids import meant
from failsoft.tools.flux.results import CompoundHits, CompoundName, ReactionHits, ReactionName

_ECHOED_AT_MOST = 80
_EXPECTED: dict[Kind, str] = {
    "compounds": "cpd and five digits, as in cpd00027",
    "reactions": "rxn and five digits, as in rxn00148",
}
_ALIASES_AT_MOST = 20
"""Aliases of one source that an answer holds; water has more than a hundred."""


class Described(Protocol):
    """A toolset with a database."""

    database: Database


def known_compound(tool: Described, compound_id: str) -> None:
    """Refuse an id that is malformed or unknown, in the order of the seed.

    Raises:
        DATABASE_NOT_LOADED: The database is not available.
        INVALID_ID_FORMAT: It is malformed.
        COMPOUND_NOT_FOUND: No compound has it.
    """
    facts = tool.database.facts()
    if not COMPOUND_ID.fullmatch(compound_id):
        raise _invalid(tool.database, "compounds", compound_id)
    if tool.database.compound(compound_id) is None:
        similar = tool.database.similar(compound_id)
        raise CompoundNotFound(
            requested_id=compound_id,
            database=facts.name,
            total_compounds=facts.total_compounds,
            similar_ids=tuple(similar),
            operator_hint=facts.operator_hint,
            effect="none",
        )


def known_reaction(tool: Described, reaction_id: str) -> None:
    """Refuse an id that is malformed or unknown, in the order of the seed.

    Raises:
        DATABASE_NOT_LOADED: The database is not available.
        INVALID_ID_FORMAT: It is malformed.
        REACTION_NOT_FOUND: No reaction has it.
    """
    facts = tool.database.facts()
    if not REACTION_ID.fullmatch(reaction_id):
        raise _invalid(tool.database, "reactions", reaction_id)
    if tool.database.reaction(reaction_id) is None:
        similar = tool.database.similar(reaction_id)
        raise ReactionNotFound(
            requested_id=reaction_id,
            database=facts.name.replace("compounds", "reactions"),
            total_reactions=facts.total_reactions,
            similar_ids=tuple(similar),
            operator_hint=facts.operator_hint,
            effect="none",
        )


def some_words(query: str) -> None:
    """Refuse a query without a word in it.

    Raises:
        EMPTY_QUERY: It is empty, or has only spaces in it.
    """
    if not query.strip():
        expected = "a name or a part of one"
        violation = Violation(path="query", reason="length", message=f"expected {expected}", expected=expected)
        raise EmptyQuery(violations=[violation])


def named_compound(call: CallContext, database: Database, compound_id: str) -> CompoundName:
    """Return the facts of an existing compound."""
    compound = database.compound(compound_id)
    assert compound is not None  # noqa: S101 - `known_compound` has checked, and entries are never deleted
    warn_of_obsolete(call, database, [compound])
    fields: dict[str, Any] = {
        "compound_id": compound.id,
        "name": compound.name,
        "abbreviation": compound.abbreviation or None,
        "formula": compound.formula or None,
        "charge": compound.charge,
        "mass": compound.mass,
        "aliases": _aliases(compound),
        **_obsolescence(compound),
    }
    return cast("CompoundName", _without_empty(fields))


def named_reaction(call: CallContext, database: Database, reaction_id: str) -> ReactionName:
    """Return the facts of an existing reaction."""
    reaction = database.reaction(reaction_id)
    assert reaction is not None  # noqa: S101 - `known_reaction` has checked
    warn_of_obsolete(call, database, [reaction])
    fields: dict[str, Any] = {
        "reaction_id": reaction.id,
        "name": reaction.name,
        "abbreviation": reaction.abbreviation or None,
        "equation": reaction.definition or None,
        "equation_with_ids": reaction.equation or None,
        "reversibility": reaction.reversibility,
        "is_transport": reaction.is_transport,
        "ec_numbers": list(reaction.ec_numbers),
        "pathways": list(reaction.pathways[:_ALIASES_AT_MOST]),
        "aliases": _aliases(reaction),
        **_obsolescence(reaction),
    }
    return cast("ReactionName", _without_empty(fields))


def compound_hits(call: CallContext, database: Database, query: str, limit: int) -> CompoundHits:
    """Return the compounds that a search finds; without any, warn with advice on what to try."""
    hits = database.search_compounds(query, limit)
    _warn_of_nothing(call, hits, query, "compounds", database.facts())
    results = [
        _without_empty(
            {
                "compound_id": entry.id,
                "name": entry.name,
                "formula": entry.formula or None,
                "charge": entry.charge,
                "matched": label if label != entry.name else None,
                **_obsolescence(entry),
            }
        )
        for entry, label in hits.entries
    ]
    return cast("CompoundHits", {"results": results, "total": hits.total})


def reaction_hits(call: CallContext, database: Database, query: str, limit: int) -> ReactionHits:
    """Return the reactions that a search finds; see `compound_hits`."""
    hits = database.search_reactions(query, limit)
    _warn_of_nothing(call, hits, query, "reactions", database.facts())
    results = [
        _without_empty(
            {
                "reaction_id": entry.id,
                "name": entry.name,
                "equation": entry.definition or None,
                "matched": label if label != entry.name else None,
                **_obsolescence(entry),
            }
        )
        for entry, label in hits.entries
    ]
    return cast("ReactionHits", {"results": results, "total": hits.total})


def warn_of_obsolete(call: CallContext, database: Database, entries: Sequence[Compound | Reaction]) -> None:
    """Warn of entries that ModelSEED has merged with others, and name those."""
    for entry in entries:
        if entry.is_obsolete:
            successor = _successor(database, entry)
            instead = f"; use {successor.id} ({successor.name}) in its place" if successor is not None else ""
            call.warn(f"{entry.id} ({entry.name}) is obsolete{instead}.")


def _successor(database: Database, entry: Compound | Reaction) -> Compound | Reaction | None:
    """Return the first entry in use that an obsolete one was merged with."""
    for linked in entry.linked:
        found: Compound | Reaction | None = database.compound(linked) or database.reaction(linked)
        if found is not None and not found.is_obsolete:
            return found
    return None


def _invalid(database: Database, kind: Kind, given: str) -> InvalidIdFormat:
    """Return the error for a malformed id, with the id that was probably meant or a search for it."""
    expected = _EXPECTED[kind]
    correction = meant(database, kind, given)
    shown = bounded(given, _ECHOED_AT_MOST)
    violation = Violation(
        path=f"{kind.removesuffix('s')}_id",
        reason="pattern",
        message=f"expected {expected}",
        expected=expected,
        received=shown,
    )
    query = correction.query if correction.id is None else given.strip()
    step = NextStep(f"search_{kind}", {"query": query}) if query else None
    candidates = [f"Candidate: {correction.id}"] if correction.id else []
    return InvalidIdFormat(
        requested_id=shown, expected=expected, violations=[violation], next_step=step, suggestions=candidates
    )


def _warn_of_nothing(call: CallContext, hits: Hits, query: str, kind: Kind, facts: Facts) -> None:
    """Warn that nothing was found, with advice on what to try instead."""
    if hits.total:
        return
    given = quoted(query.strip(), _ECHOED_AT_MOST)
    total = facts.total_compounds if kind == "compounds" else facts.total_reactions
    among = f"the tables of this server ({total} {kind}{', not all' if facts.operator_hint else ''})"
    other: Kind = "reactions" if kind == "compounds" else "compounds"
    if plain_id(other, query):
        call.warn(f"{given} is an id of {other}: call `search_{other}`.")
    elif plain_id(kind, query):
        call.warn(f"{given} is not in {among}. Search for a part of its name.")
    elif kind == "reactions" and is_ec_number(query):
        call.warn(f"Nothing in {among} has the EC number {given}. Search for a part of the enzyme's name.")
    elif hits.alike:
        names = ", ".join(quoted(name, _ECHOED_AT_MOST) for name in hits.alike)
        call.warn(f"Nothing in {among} has {given} in its name. Names that are spelled like it: {names}.")
    else:
        more = "or a formula" if kind == "compounds" else "an EC number or a pathway"
        call.warn(f"Nothing in {among} has {given} in its name. Try a shorter or another name, {more}.")


def _aliases(entry: Compound | Reaction) -> dict[str, list[str]]:
    return {source: list(names)[:_ALIASES_AT_MOST] for source, names in entry.aliases.items()}


def _obsolescence(entry: Compound | Reaction) -> dict[str, Any]:
    return {"is_obsolete": True, "replaced_by": list(entry.linked)} if entry.is_obsolete else {}


def _without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields without those that are None or empty."""
    return {name: value for name, value in fields.items() if value is not None and value not in ([], {})}
