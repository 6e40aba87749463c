"""Errors of building a medium, in the order of the checks of seed 002 ("build_media Tool Errors")."""

from __future__ import annotations

from failsoft.framework.errors import InvalidArgument, Public


class EmptyCompoundsList(InvalidArgument):
    """A medium has no compounds.

    Raised when: `compounds` is an empty list.
    Caller: give the ids of the compounds that the medium has.
    """

    code = "EMPTY_COMPOUNDS_LIST"
    message = "The list of compounds is empty."
    hints = (
        "Give at least one compound id, such as cpd00027 (glucose)",
        "Use search_compounds to find the ids of the compounds",
    )


class InvalidCompoundIds(InvalidArgument):
    """Some of the compounds of a medium do not exist.

    Raised when: an id is not `cpd` and five digits, or no compound of the ModelSEED database has it.
    Caller: replace the ids that `invalid_ids` lists; `valid_ids` are as they should be.
    Operator: without the tables of ModelSEED only the compounds of COBRApy's models are known: install them.
    """

    invalid_ids: Public[tuple[str, ...]] = ()
    valid_ids: Public[tuple[str, ...]] = ()
    total_provided: Public[int | None] = None
    total_invalid: Public[int | None] = None
    total_valid: Public[int | None] = None
    code = "INVALID_COMPOUND_IDS"
    message = "{total_invalid} of {total_provided} ids are not in the server's tables of compounds: {invalid_ids}."
    hints = (
        "Use search_compounds with the name of a compound to find its id",
        "Common compounds: cpd00027 (glucose), cpd00007 (O2), cpd00001 (H2O)",
        "Check for typos in the compound ids",
    )


class NegativeUptake(InvalidArgument):
    """The uptake that a medium allows is not above zero.

    Raised when: `default_uptake` is zero or negative. It is a rate, so it has no sign; to block one compound give it
    the bounds [0, 0].
    Caller: give a positive number, in mmol per gram of dry weight and hour.
    """

    default_uptake: Public[float | None] = None
    code = "NEGATIVE_UPTAKE"
    message = "default_uptake is {default_uptake}, and has to be above 0."
    hints = (
        "Give the rate as a positive number: uptake is written as a negative bound only in custom_bounds",
        "To block one compound, give it the bounds [0, 0] in custom_bounds",
    )


class InvalidBoundsFormat(InvalidArgument):
    """The bounds of a compound are not a pair of numbers.

    Raised when: `custom_bounds` is not an object, or a value in it is not a pair of numbers; null means infinite.
    Caller: write the bounds as `{"cpd00027": [-10, 100]}`.
    """

    compound_id: Public[str | None] = None
    code = "INVALID_BOUNDS_FORMAT"
    message = "The bounds of '{compound_id}' are not of the form [lower, upper]."
    hints = (
        "Write the bounds as [lower, upper], two numbers; null is infinite",
        "Uptake is a negative lower bound, secretion a positive upper one: [-10, 100]",
    )


class CompoundNotInList(InvalidArgument):
    """Bounds are given for a compound that the medium does not have.

    Raised when: a key of `custom_bounds` is not among `compounds`.
    Caller: add the compound to `compounds`, or leave its bounds out.
    """

    compound_id: Public[str] = ""
    code = "COMPOUND_NOT_IN_LIST"
    message = "There are bounds for '{compound_id}', which is not in the list of compounds."
    hints = ("Add {compound_id} to compounds, or leave it out of custom_bounds",)


class BoundsOutOfOrder(InvalidArgument):
    """The lower bound of a compound is not below its upper one.

    Raised when: lower is above upper, or equal to it; only [0, 0], a blocked compound, may be equal.
    Caller: swap the bounds, or write [0, 0] to block the compound.
    """

    compound_id: Public[str] = ""
    lower: Public[float | None] = None
    upper: Public[float | None] = None
    code = "BOUNDS_OUT_OF_ORDER"
    message = "The bounds of '{compound_id}' are out of order: {lower} is not below {upper}."
    hints = (
        "Give the lower bound first: [-10, 100]",
        "To block a compound, write [0, 0]",
    )
