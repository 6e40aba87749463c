"""Look-ups of compounds and reactions by id, and the errors for unknown ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NotRequired, Protocol, cast

from pydantic import Field
from typing_extensions import TypedDict

from failsoft.framework.arguments.marks import Reference
from failsoft.framework.call import CallContext
from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.errors import InvalidArgument, NextStep, NotFound, Public, Words
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded
from failsoft.tools.flux.database.database import Database
from failsoft.tools.flux.database.entries import COMPOUND_ID, REACTION_ID, Compound, Reaction
from failsoft.tools.flux.database.search import Kind
from failsoft.tools.flux.parts import FluxParts
from failsoft.tools.flux.searches import meant, obsolescence, without_empty


class CompoundNotFound(NotFound):
    """No compound has the id.

    Raised when: the id is of the right form, and the database has no compound of that id.
    Caller: look at `similar_ids`, or search for the compound by its name.
    Operator: without the tables of ModelSEED only the compounds of COBRApy's models are known: install them.
    """

    requested_id: Public[str]
    database: Public[str]
    total_compounds: Public[int]
    similar_ids: Public[tuple[str, ...]] = ()
    code = "COMPOUND_NOT_FOUND"
    message = 'Compound "{requested_id}" is not in the tables of this server ({database}: {total_compounds} compounds).'
    hints = (
        "Use search_compounds with the name of the compound to find its id",
        "Check for typos in the compound id",
        "Similar ids: {similar_ids}",
    )
    error_type = "database_error"
    numeric_code = -32004


class ReactionNotFound(NotFound):
    """No reaction has the id.

    Raised when: the id is of the right form, and the database has no reaction of that id.
    Caller: look at `similar_ids`, or search for the reaction by its name.
    Operator: without the tables of ModelSEED only the reactions of COBRApy's models are known: install them.
    """

    requested_id: Public[str]
    database: Public[str]
    total_reactions: Public[int]
    similar_ids: Public[tuple[str, ...]] = ()
    code = "REACTION_NOT_FOUND"
    message = 'Reaction "{requested_id}" is not in the tables of this server ({database}: {total_reactions} reactions).'
    hints = (
        "Use search_reactions with the name of the reaction to find its id",
        "Check for typos in the reaction id",
        "Similar ids: {similar_ids}",
    )
    error_type = "database_error"
    numeric_code = -32004


class InvalidIdFormat(InvalidArgument):
    """An id is not of the form that ids of ModelSEED have.

    Raised when: a compound id is not `cpd` and five digits, or a reaction id not `rxn` and five digits.
    Caller: write the id in that form, or search for it by name.
    """

    requested_id: Public[str]
    expected: Public[Words]
    code = "INVALID_ID_FORMAT"
    message = '"{requested_id}" is not a ModelSEED id: expected {expected}.'
    hints = ("Write the id as {expected}", "Search by name if you do not know the id")


class CompoundName(TypedDict):
    """A compound of ModelSEED; `replaced_by` are the compounds that an obsolete one was merged with."""

    compound_id: str
    name: str
    abbreviation: NotRequired[str]
    formula: NotRequired[str]
    charge: NotRequired[int]
    mass: NotRequired[float]
    aliases: NotRequired[dict[str, list[str]]]
    is_obsolete: NotRequired[bool]
    replaced_by: NotRequired[list[str]]


class ReactionName(TypedDict):
    """A reaction of ModelSEED. `reversibility` is `>`, `<`, `=` for both ways, or `?` if unknown."""

    reaction_id: str
    name: str
    abbreviation: NotRequired[str]
    equation: NotRequired[str]
    equation_with_ids: NotRequired[str]
    reversibility: str
    is_transport: bool
    ec_numbers: NotRequired[list[str]]
    pathways: NotRequired[list[str]]
    aliases: NotRequired[dict[str, list[str]]]
    is_obsolete: NotRequired[bool]
    replaced_by: NotRequired[list[str]]


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
        **obsolescence(compound),
    }
    return cast("CompoundName", without_empty(fields))


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
        **obsolescence(reaction),
    }
    return cast("ReactionName", without_empty(fields))


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


def _aliases(entry: Compound | Reaction) -> dict[str, list[str]]:
    return {source: list(names)[:_ALIASES_AT_MOST] for source, names in entry.aliases.items()}


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
    return named_compound(call, flux.database, compound_id)


@operation(read_only=True, open_world=False, title="Look up a reaction")
def get_reaction_name(flux: FluxParts, call: Call, reaction_id: ReactionId) -> ReactionName:
    """Return the name, equation and other ids of a reaction. Use search_reactions to find ids by name."""
    return named_reaction(call, flux.database, reaction_id)
