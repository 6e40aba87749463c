"""Searches for compounds and reactions, with advice where nothing is found, and corrections of malformed ids."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from failsoft.framework.arguments.marks import Fault, Reference
from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.errors import InvalidArgument
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import quoted
from failsoft.tools.flux.database.database import Database, DatabaseFacts
from failsoft.tools.flux.database.entries import COMPOUNDS, REACTIONS, AnyKind, Compound, Reaction, folded
from failsoft.tools.flux.database.search import find, is_ec_number, plain_id
from failsoft.tools.flux.parts import FluxParts

_ECHOED_AT_MOST = 80
_COMPARED_AT_MOST = 100
"""Characters of a malformed id that is looked up as a name; names are shorter."""


class EmptyQuery(InvalidArgument):
    """The query of a search is empty.

    Raised when: `query` is empty or consists of white space.
    Caller: give a name or a part of one, a formula, or an id of another database.
    """

    code = "EMPTY_QUERY"
    message = "The query is empty."
    hints = ("Give a name or a part of one, such as 'glucose'",)


class InvalidLimit(InvalidArgument):
    """The limit of a search is out of range.

    Raised when: `limit` is not a whole number from 1 to 100.
    Caller: give a whole number in that range, or leave it out.
    """

    code = "INVALID_LIMIT"
    message = "The limit is not a whole number from 1 to 100."
    hints = ("Give a whole number from 1 to 100, or leave the limit out",)


class KnownCompound(TypedDict):
    """A compound of ModelSEED; `replaced_by` are the compounds that an obsolete one was merged with."""

    compound_id: str
    name: str
    formula: NotRequired[str]
    charge: NotRequired[int]
    is_obsolete: NotRequired[bool]
    replaced_by: NotRequired[list[str]]


class CompoundHit(KnownCompound):
    """A compound that a search found; `matched` is the other name or id that it was found by."""

    matched: NotRequired[str]


class CompoundHits(TypedDict):
    """The compounds that a search found, best first; `total` counts all of them."""

    results: list[CompoundHit]
    total: int


class KnownReaction(TypedDict):
    """A reaction of ModelSEED; `replaced_by` are the reactions that an obsolete one was merged with."""

    reaction_id: str
    name: str
    equation: NotRequired[str]
    is_obsolete: NotRequired[bool]
    replaced_by: NotRequired[list[str]]


class ReactionHit(KnownReaction):
    """A reaction that a search found; `matched` is the other name or id that it was found by."""

    matched: NotRequired[str]


class ReactionHits(TypedDict):
    """The reactions that a search found, best first; `total` counts all of them."""

    results: list[ReactionHit]
    total: int


def some_words(query: str) -> None:
    """Refuse a query without a word in it.

    Raises:
        EMPTY_QUERY: It is empty, or has only spaces in it.
    """
    if not query.strip():
        expected = "a name or a part of one"
        violation = Violation(path="query", reason="length", message=f"expected {expected}", expected=expected)
        raise EmptyQuery(violations=[violation])


Query = Annotated[
    str,
    Fault(EmptyQuery, "length", at=""),
    Reference(some_words, kind="spelled"),
    Field(
        min_length=1,
        max_length=1_000,
        description="A name or a part of it, the formula of a compound, the EC number or pathway of a reaction, or "
        "an id of ModelSEED, BiGG or KEGG",
        examples=["glucose", "C6H12O6"],
    ),
]
SearchLimit = Annotated[
    int, Fault(InvalidLimit), Field(ge=1, le=100, description="How many to return at most, best first")
]


@operation(read_only=True, open_world=False, title="Search compounds")
def search_compounds(flux: FluxParts, call: Call, query: Query, limit: SearchLimit = 10) -> CompoundHits:
    """Return the compounds with a name that holds all words of the query, or with exactly that formula or id."""
    return cast("CompoundHits", _answer(call, flux.database, COMPOUNDS, query, limit))


@operation(read_only=True, open_world=False, title="Search reactions")
def search_reactions(flux: FluxParts, call: Call, query: Query, limit: SearchLimit = 10) -> ReactionHits:
    """Return the reactions with a name that holds all words of the query, or with exactly that EC number or id."""
    return cast("ReactionHits", _answer(call, flux.database, REACTIONS, query, limit))


def _answer(call: Call, database: Database, kind: AnyKind, query: str, limit: int) -> dict[str, Any]:
    """Return the hits as an answer shows them; without any, warn with advice on what to try."""
    hits = find(database, kind, query, limit)
    if not hits.total:
        call.warn(_advice(database.facts(), kind, query, hits.alike))
    results = [shown(entry, matched=label if label != entry.name else "") for entry, label in hits.entries]
    return {"results": results, "total": hits.total}


def _advice(facts: DatabaseFacts, kind: AnyKind, query: str, alike: list[str]) -> str:
    """Return what to try instead of a query that found nothing."""
    given = quoted(query.strip(), _ECHOED_AT_MOST)
    among = f"the tables of this server ({facts.total(kind)} {kind.many}{', not all' if facts.operator_hint else ''})"
    other = REACTIONS if kind is COMPOUNDS else COMPOUNDS
    if plain_id(other, query):
        return f"{given} is an id of {other.many}: call `search_{other.many}`."
    if plain_id(kind, query):
        return f"{given} is not in {among}. Search for a part of its name."
    if kind is REACTIONS and is_ec_number(query):
        return f"Nothing in {among} has the EC number {given}. Search for a part of the enzyme's name."
    if alike:
        names = ", ".join(quoted(name, _ECHOED_AT_MOST) for name in alike)
        return f"Nothing in {among} has {given} in its name. Names that are spelled like it: {names}."
    more = "or a formula" if kind is COMPOUNDS else "an EC number or a pathway"
    return f"Nothing in {among} has {given} in its name. Try a shorter or another name, {more}."


def shown(entry: Compound | Reaction, **more: Any) -> dict[str, Any]:
    """Return an entry as answers show it, without what is not known of it: None, or empty."""
    if isinstance(entry, Compound):
        own = {"compound_id": entry.id, "name": entry.name, "formula": entry.formula, "charge": entry.charge}
    else:
        own = {"reaction_id": entry.id, "name": entry.name, "equation": entry.definition}
    obsolete = {"is_obsolete": True, "replaced_by": list(entry.linked)} if entry.is_obsolete else {}
    fields = {**own, **more, **obsolete}
    return {name: value for name, value in fields.items() if value is not None and value not in ("", [], {})}


class CorrectedId(NamedTuple):
    """What was meant by a malformed id: an id that exists, or else a query that finds something."""

    id: str | None
    query: str | None


def corrected_id(database: Database, kind: AnyKind, given: str) -> CorrectedId:
    """Return the correction of an id in another spelling, of a name, or of an id of another database (`glc__D`)."""
    wanted = plain_id(kind, given)
    if wanted is not None:
        return CorrectedId(wanted if database.entry(kind, wanted) is not None else None, None)
    if not given.strip() or len(given) > _COMPARED_AT_MOST:
        return CorrectedId(None, None)
    hits = find(database, kind, given, 1)
    if not hits.entries:
        return CorrectedId(None, hits.alike[0] if hits.alike else None)
    ((entry, label),) = hits.entries
    # Several entries may have the same name; then the first one is a guess, so the search is suggested instead.
    is_exact = folded(label) == folded(given) and hits.total == 1
    return CorrectedId(entry.id if is_exact else None, given.strip())
