"""Errors of looking up compounds and reactions (seed 002, "Database Lookup Error")."""

from __future__ import annotations

from failsoft.framework.errors import DatabaseError, InvalidArgument, NotFound, Public, Words


class DatabaseNotLoaded(DatabaseError):
    """The database of compounds and reactions is not there.

    Raised when: it cannot be built or read: its tables are missing or invalid, or the disk is full.
    Caller: call again after the wait; ids that you are sure of work without it only in models.
    Operator: find the error id in the log: it says what could not be read or written. `FAILSOFT_FLUX_TABLES` says where
        the tables are, and the database is kept in the user's cache folder.
    """

    database: Public[str] = "ModelSEED"
    reason: Public[Words] = "it cannot be read"
    code = "DATABASE_NOT_LOADED"
    message = "The database of compounds and reactions is not available: {reason}."
    hints = ("Use compound and reaction ids that you know until it is back",)


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


class EmptyQuery(InvalidArgument):
    """The query of a search is empty.

    Raised when: `query` is empty or consists of spaces.
    Caller: give a name or a part of one, a formula, or an id of another database.
    """

    code = "EMPTY_QUERY"
    message = "The query is empty."
    hints = ("Give a name or a part of one, such as 'glucose'",)


class InvalidLimit(InvalidArgument):
    """The limit of a search is not usable.

    Raised when: `limit` is not a whole number from 1 to 100.
    Caller: give a whole number in that range, or leave it out.
    """

    code = "INVALID_LIMIT"
    message = "The limit is not a positive whole number."
    hints = ("Give a whole number from 1 to 100, or leave the limit out",)
