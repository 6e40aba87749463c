"""Errors of looking up compounds and reactions (seed 002, "Database Lookup Error")."""

from __future__ import annotations

from typing import ClassVar

from failsoft.framework.errors import DatabaseError, InvalidArgument, NotFound, Public, Words

__all__ = [
    "CompoundNotFound",
    "DatabaseNotLoaded",
    "EmptyQuery",
    "InvalidIdFormat",
    "InvalidLimit",
    "ReactionNotFound",
]


class DatabaseNotLoaded(DatabaseError):
    """The database of compounds and reactions is not there.

    Raised when: it cannot be built or read: its tables are missing or invalid, or the disk is full.
    Caller: call again after the wait; ids that you are sure of work without it only in models.
    Operator: find the error id in the log: it says what could not be read or written. `FAILSOFT_FLUX_TABLES` says where
        the tables are, and the database is kept in the user's cache folder.
    Example:
        >>> code_of(DatabaseNotLoaded())
        'DATABASE_NOT_LOADED'
    """

    database: Public[str] = "ModelSEED"
    reason: Public[Words] = "it cannot be read"
    code: ClassVar[str] = "DATABASE_NOT_LOADED"
    message: str = "The database of compounds and reactions is not available: {reason}."
    hints: ClassVar[tuple[str, ...]] = ("Use compound and reaction ids that you know until it is back",)
    since: ClassVar[str] = "0.1.0"


class CompoundNotFound(NotFound):
    """No compound has the id.

    Raised when: the id is of the right form, and the database has no compound of that id.
    Caller: look at `similar_ids`, or search for the compound by its name.
    Operator: without the tables of ModelSEED only the compounds of COBRApy's models are known: install them.
    Example:
        >>> code_of(CompoundNotFound(requested_id="cpd99999", database="compounds.tsv", total_compounds=33992))
        'COMPOUND_NOT_FOUND'
    """

    requested_id: Public[str]
    database: Public[str]
    total_compounds: Public[int]
    similar_ids: Public[tuple[str, ...]] = ()
    code: ClassVar[str] = "COMPOUND_NOT_FOUND"
    message: str = (
        'Compound "{requested_id}" is not in the tables of this server ({database}: {total_compounds} compounds).'
    )
    hints: ClassVar[tuple[str, ...]] = (
        "Use search_compounds with the name of the compound to find its id",
        "Check for typos in the compound id",
        "Similar ids: {similar_ids}",
    )
    since: ClassVar[str] = "0.1.0"
    error_type: ClassVar[str] = "database_error"
    numeric_code: ClassVar[int] = -32004


class ReactionNotFound(NotFound):
    """No reaction has the id.

    Raised when: the id is of the right form, and the database has no reaction of that id.
    Caller: look at `similar_ids`, or search for the reaction by its name.
    Operator: without the tables of ModelSEED only the reactions of COBRApy's models are known: install them.
    Example:
        >>> code_of(ReactionNotFound(requested_id="rxn99999", database="reactions.tsv", total_reactions=43774))
        'REACTION_NOT_FOUND'
    """

    requested_id: Public[str]
    database: Public[str]
    total_reactions: Public[int]
    similar_ids: Public[tuple[str, ...]] = ()
    code: ClassVar[str] = "REACTION_NOT_FOUND"
    message: str = (
        'Reaction "{requested_id}" is not in the tables of this server ({database}: {total_reactions} reactions).'
    )
    hints: ClassVar[tuple[str, ...]] = (
        "Use search_reactions with the name of the reaction to find its id",
        "Check for typos in the reaction id",
        "Similar ids: {similar_ids}",
    )
    since: ClassVar[str] = "0.1.0"
    error_type: ClassVar[str] = "database_error"
    numeric_code: ClassVar[int] = -32004


class InvalidIdFormat(InvalidArgument):
    """An id is not of the form that ids of ModelSEED have.

    Raised when: a compound id is not `cpd` and five digits, or a reaction id not `rxn` and five digits.
    Caller: write the id in that form, or search for it by name.
    Operator: nothing to do.
    Example:
        >>> code_of(InvalidIdFormat(requested_id="cpd27", expected="cpd and five digits, as in cpd00027"))
        'INVALID_ID_FORMAT'
    """

    requested_id: Public[str]
    expected: Public[Words]
    code: ClassVar[str] = "INVALID_ID_FORMAT"
    message: str = '"{requested_id}" is not a ModelSEED id: expected {expected}.'
    hints: ClassVar[tuple[str, ...]] = ("Write the id as {expected}", "Search by name if you do not know the id")
    since: ClassVar[str] = "0.1.0"


class EmptyQuery(InvalidArgument):
    """The query of a search is empty.

    Raised when: `query` is empty or consists of spaces.
    Caller: give a name or a part of one, a formula, or an id of another database.
    Operator: nothing to do.
    Example:
        >>> code_of(EmptyQuery())
        'EMPTY_QUERY'
    """

    code: ClassVar[str] = "EMPTY_QUERY"
    message: str = "The query is empty."
    hints: ClassVar[tuple[str, ...]] = ("Give a name or a part of one, such as 'glucose'",)
    since: ClassVar[str] = "0.1.0"


class InvalidLimit(InvalidArgument):
    """The limit of a search is not usable.

    Raised when: `limit` is not a whole number from 1 to 100.
    Caller: give a whole number in that range, or leave it out.
    Operator: nothing to do.
    Example:
        >>> code_of(InvalidLimit())
        'INVALID_LIMIT'
    """

    code: ClassVar[str] = "INVALID_LIMIT"
    message: str = "The limit is not a positive whole number."
    hints: ClassVar[tuple[str, ...]] = ("Give a whole number from 1 to 100, or leave the limit out",)
    since: ClassVar[str] = "0.1.0"
