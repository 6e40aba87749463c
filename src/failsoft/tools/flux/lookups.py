"""Look-ups of compounds and reactions by id, and the errors for unknown ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, NotRequired, cast

from pydantic import Field

from failsoft.framework.arguments.marks import Reference
from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.errors import InvalidArgument, NextStep, NotFound, Public, Words
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded
from failsoft.tools.flux.database.database import Database
from failsoft.tools.flux.database.entries import COMPOUNDS, REACTIONS, AnyKind, Compound, Reaction
from failsoft.tools.flux.parts import FluxParts
from failsoft.tools.flux.searches import KnownCompound, KnownReaction, corrected_id, shown


class CompoundNotFound(NotFound):
    """No compound has the id.

    Raised when: the id is well formed, and the database has no compound of that id.
    Caller: check `similar_ids`, or find the id by the compound's name with `search_compounds`.
    Operator: install the tables of ModelSEED; without them only the compounds of COBRApy's models are known.
    """

    requested_id: Public[str]
    database: Public[str]
    total_compounds: Public[int]
    similar_ids: Public[tuple[str, ...]] = ()
    code = "COMPOUND_NOT_FOUND"
    message = 'Compound "{requested_id}" is not in the tables of this server ({database}: {total_compounds} compounds).'
    hints = ("Use search_compounds with the name of the compound to find its id", "Similar ids: {similar_ids}")
    error_type = "database_error"
    numeric_code = -32004


class ReactionNotFound(NotFound):
    """No reaction has the id.

    Raised when: the id is well formed, and the database has no reaction of that id.
    Caller: check `similar_ids`, or find the id by the reaction's name with `search_reactions`.
    Operator: install the tables of ModelSEED; without them only the reactions of COBRApy's models are known.
    """

    requested_id: Public[str]
    database: Public[str]
    total_reactions: Public[int]
    similar_ids: Public[tuple[str, ...]] = ()
    code = "REACTION_NOT_FOUND"
    message = 'Reaction "{requested_id}" is not in the tables of this server ({database}: {total_reactions} reactions).'
    hints = ("Use search_reactions with the name of the reaction to find its id", "Similar ids: {similar_ids}")
    error_type = "database_error"
    numeric_code = -32004


class InvalidIdFormat(InvalidArgument):
    """An id is not a ModelSEED id.

    Raised when: a compound id is not `cpd` and five digits, or a reaction id not `rxn` and five digits.
    Caller: write the id in that form, or search for it by name.
    """

    requested_id: Public[str]
    expected: Public[Words]
    code = "INVALID_ID_FORMAT"
    message = '"{requested_id}" is not a ModelSEED id: expected {expected}.'
    hints = ("Write the id as {expected}", "Search by name if you do not know the id")


class CompoundName(KnownCompound):
    """A compound of ModelSEED; `replaced_by` are the compounds that an obsolete one was merged with."""

    abbreviation: NotRequired[str]
    mass: NotRequired[float]
    aliases: NotRequired[dict[str, list[str]]]


class ReactionName(KnownReaction):
    """A reaction of ModelSEED. `reversibility` is `>`, `<`, `=` for both ways, or `?` if unknown."""

    abbreviation: NotRequired[str]
    equation_with_ids: NotRequired[str]
    reversibility: str
    is_transport: bool
    ec_numbers: NotRequired[list[str]]
    pathways: NotRequired[list[str]]
    aliases: NotRequired[dict[str, list[str]]]


_ECHOED_AT_MOST = 80
_ALIASES_AT_MOST = 20
"""Aliases of one source that an answer holds; water has more than a hundred."""
_EXAMPLES: Final = {"compound": "cpd00027", "reaction": "rxn00148"}


def known_compound(flux: FluxParts, compound_id: str) -> None:
    """Refuse the id of a compound that is malformed or unknown; see `_require`."""
    _require(flux.database, COMPOUNDS, compound_id)


def known_reaction(flux: FluxParts, reaction_id: str) -> None:
    """Refuse the id of a reaction that is malformed or unknown; see `_require`."""
    _require(flux.database, REACTIONS, reaction_id)


def _require(database: Database, kind: AnyKind, entry_id: str) -> None:
    """Refuse an id that is malformed or unknown, in the order of the seed.

    Raises:
        DATABASE_NOT_LOADED: The database is not available.
        INVALID_ID_FORMAT: It is malformed.
        COMPOUND_NOT_FOUND, REACTION_NOT_FOUND: There is no entry of it.
    """
    facts = database.facts()
    if not kind.is_id(entry_id):
        raise _invalid(database, kind, entry_id)
    if database.entry(kind, entry_id) is None:
        details: dict[str, Any] = {
            "requested_id": entry_id,
            "database": facts.name.replace(COMPOUNDS.many, kind.many),
            f"total_{kind.many}": facts.total(kind),
            "similar_ids": tuple(database.similar(kind, entry_id)),
            "operator_hint": facts.operator_hint,
            "effect": "none",
        }
        raise CompoundNotFound(**details) if kind is COMPOUNDS else ReactionNotFound(**details)


def _invalid(database: Database, kind: AnyKind, given: str) -> InvalidIdFormat:
    """Return the error for a malformed id, with the id that was probably meant or a search for it."""
    expected = f"{kind.prefix} and five digits, as in {_EXAMPLES[kind.one]}"
    correction = corrected_id(database, kind, given)
    received = bounded(given, _ECHOED_AT_MOST)
    path, message = f"{kind.one}_id", f"expected {expected}"
    violation = Violation(path=path, reason="pattern", message=message, expected=expected, received=received)
    query = correction.query if correction.id is None else given.strip()
    step = NextStep(f"search_{kind.many}", {"query": query}) if query else None
    candidates = [f"Candidate: {correction.id}"] if correction.id else []
    return InvalidIdFormat(
        requested_id=received, expected=expected, violations=[violation], next_step=step, suggestions=candidates
    )


def warn_of_obsolete(call: Call, database: Database, kind: AnyKind, entries: Sequence[Compound | Reaction]) -> None:
    """Warn of entries that ModelSEED has merged with others, and name the first one of those in use."""
    for entry in entries:
        if entry.is_obsolete:
            linked = (database.entry(kind, item) for item in entry.linked)
            successor = next((item for item in linked if item is not None and not item.is_obsolete), None)
            instead = f"; use {successor.id} ({successor.name}) in its place" if successor is not None else ""
            call.warn(f"{entry.id} ({entry.name}) is obsolete{instead}.")


CompoundId = Annotated[
    str,
    Reference(known_compound),
    Field(
        description="Id of a compound in ModelSEED: cpd and five digits",
        examples=["cpd00027"],
        # Checked after the availability of the database, so it is not a constraint of the type.
        json_schema_extra={"pattern": "^cpd[0-9]{5}$", "maxLength": 8},
    ),
]
ReactionId = Annotated[
    str,
    Reference(known_reaction),
    Field(
        description="Id of a reaction in ModelSEED: rxn and five digits",
        examples=["rxn00148"],
        json_schema_extra={"pattern": "^rxn[0-9]{5}$", "maxLength": 8},
    ),
]


@operation(read_only=True, open_world=False, title="Look up a compound")
def get_compound_name(flux: FluxParts, call: Call, compound_id: CompoundId) -> CompoundName:
    """Return the name, formula, charge and other ids of a compound. Use search_compounds to find ids by name."""
    return cast("CompoundName", _answer(call, flux.database, COMPOUNDS, compound_id))


@operation(read_only=True, open_world=False, title="Look up a reaction")
def get_reaction_name(flux: FluxParts, call: Call, reaction_id: ReactionId) -> ReactionName:
    """Return the name, equation and other ids of a reaction. Use search_reactions to find ids by name."""
    return cast("ReactionName", _answer(call, flux.database, REACTIONS, reaction_id))


def _answer(call: Call, database: Database, kind: AnyKind, entry_id: str) -> dict[str, Any]:
    """Return an existing entry as an answer shows it."""
    entry = database.entry(kind, entry_id)
    if entry is None:  # other tables have taken the place of those that the check of the argument asked
        _require(database, kind, entry_id)
        raise AssertionError
    warn_of_obsolete(call, database, kind, [entry])
    aliases = {source: list(names[:_ALIASES_AT_MOST]) for source, names in entry.aliases.items()}
    if isinstance(entry, Compound):
        return shown(entry, abbreviation=entry.abbreviation, mass=entry.mass, aliases=aliases)
    return shown(
        entry,
        abbreviation=entry.abbreviation,
        equation_with_ids=entry.equation,
        reversibility=entry.reversibility,
        is_transport=entry.is_transport,
        ec_numbers=list(entry.ec_numbers),
        pathways=list(entry.pathways[:_ALIASES_AT_MOST]),
        aliases=aliases,
    )
