"""Validation of a medium: all faults are listed, in the order of seed 002, and the first decides the code.

Syntax is checked before existence: ids are looked up only if the arguments are otherwise valid. Malformed ids are
reported together with unknown ones, since the correction is the same.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from failsoft.framework.errors import InvalidArgument, NextStep, Public
from failsoft.framework.errors.corrections import is_same_spelling
from failsoft.framework.errors.violations import Reason, Violation
from failsoft.framework.text import bounded
from failsoft.tools.flux.conditions import Bounds, bounds_from_json
from failsoft.tools.flux.database.database import Database, DatabaseNotLoaded
from failsoft.tools.flux.database.entries import COMPOUNDS, Compound
from failsoft.tools.flux.database.search import plain_id
from failsoft.tools.flux.searches import corrected_id


class EmptyCompoundsList(InvalidArgument):
    """A medium has no compounds.

    Raised when: `compounds` is an empty list.
    Caller: give the ids of the compounds that the medium has.
    """

    code = "EMPTY_COMPOUNDS_LIST"
    message = "The list of compounds is empty."
    hints = ("Give at least one compound id, such as cpd00027 (glucose)",)


class InvalidCompoundIds(InvalidArgument):
    """Some of the compounds of a medium do not exist.

    Raised when: an id is neither one of ModelSEED (`cpd00027`) nor one of BiGG (`glc__D`) in the server's tables.
    Caller: replace the ids that `invalid_ids` lists; keep those in `valid_ids`.
    Operator: install the tables of ModelSEED; without them only the compounds of COBRApy's models are known.
    """

    invalid_ids: Public[tuple[str, ...]] = ()
    valid_ids: Public[tuple[str, ...]] = ()
    total_provided: Public[int | None] = None
    total_invalid: Public[int | None] = None
    total_valid: Public[int | None] = None
    code = "INVALID_COMPOUND_IDS"
    message = "{total_invalid} of {total_provided} ids are not in the server's tables of compounds: {invalid_ids}."
    hints = ("Find ids with search_compounds; common ones: cpd00027 (glucose), cpd00007 (O2), cpd00001 (H2O)",)


class NegativeUptake(InvalidArgument):
    """The default uptake of a medium is not positive.

    Raised when: `default_uptake` is zero or negative. Unlike a bound, an uptake is positive.
    Caller: give a positive number, in mmol per gram of dry weight and hour; to block one compound, give it the bounds
    [0, 0].
    """

    default_uptake: Public[float | None] = None
    code = "NEGATIVE_UPTAKE"
    message = "default_uptake is {default_uptake} and must be above 0."
    hints = ("To block one compound, give it the bounds [0, 0] in custom_bounds",)


class InvalidBoundsFormat(InvalidArgument):
    """The bounds of a compound are not a pair of numbers.

    Raised when: `custom_bounds` is not an object, or a value in it is not a pair of numbers or null (infinite).
    Caller: write the bounds as in `{"cpd00027": [-10, 100]}`.
    """

    compound_id: Public[str | None] = None
    code = "INVALID_BOUNDS_FORMAT"
    message = "The bounds of '{compound_id}' are not of the form [lower, upper]."
    hints = ("Write the bounds as two numbers: a negative lower bound is uptake, null is infinite",)


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

    Raised when: the lower bound is above the upper one, or equal to it; of equal bounds only [0, 0], which blocks the
    compound, is accepted.
    Caller: swap the bounds, or write [0, 0] to block the compound.
    """

    compound_id: Public[str] = ""
    lower: Public[float | None] = None
    upper: Public[float | None] = None
    code = "BOUNDS_OUT_OF_ORDER"
    message = "The bounds of '{compound_id}' are out of order: {lower} is not below {upper}."
    hints = ("Give the lower bound first; to block a compound, write [0, 0]",)


_LISTED_AT_MOST = 50
"""Ids that an error lists; it always says how many there are."""
_ECHOED_AT_MOST = 80
_NUMBERED = re.compile(r"\s*(?:EX_)?cpd.*[0-9]", re.IGNORECASE)
_PAIR = 2
_LARGEST = sys.float_info.max
"""JSON has whole numbers that no floating point number can hold."""
_BOUNDS_AT_MOST = 1_000


def check_media(database: Database, compounds: Sequence[str], default_uptake: float, custom_bounds: Any) -> None:
    """Refuse arguments that are not a valid medium.

    Raises:
        EMPTY_COMPOUNDS_LIST, INVALID_COMPOUND_IDS, NEGATIVE_UPTAKE, INVALID_BOUNDS_FORMAT, COMPOUND_NOT_IN_LIST,
            BOUNDS_OUT_OF_ORDER: By the first fault, with all of them as violations.
        DATABASE_NOT_LOADED: The database is not available.
    """
    missing: DatabaseNotLoaded | None = None
    hint = ""
    try:
        known: Mapping[str, Compound | None] = database.compounds(compounds)
        hint = database.facts().operator_hint
    except DatabaseNotLoaded as not_loaded:  # then every id of the right form counts as known
        known, missing = dict.fromkeys(filter(COMPOUNDS.is_id, compounds)), not_loaded
    ids = _unknown_ids(None if missing else database, compounds, known)
    unknown = [_invalid_ids(compounds, known, ids, hint)] if ids else []
    is_malformed = any(violation.reason == "pattern" for violation in ids)
    before = list(_empty_list(compounds))
    after = [*_wrong_uptake(default_uptake), *_wrong_bounds(compounds, custom_bounds)]
    decisive = [*before, *(unknown if is_malformed else ()), *after]
    if missing is not None and not decisive:
        raise missing
    for error in [*decisive, *unknown][:1]:
        error.violations = tuple(item for found in (*before, *unknown, *after) for item in found.violations)
        raise error


def bounds_of(given: Any) -> Bounds | None:
    """Return bounds as numbers, null being infinite; None if they are not a pair of numbers."""
    is_pair = isinstance(given, (list, tuple)) and len(given) == _PAIR
    return bounds_from_json(given) if is_pair and all(map(_is_bound, given)) else None


def _is_bound(item: Any) -> bool:
    is_number = isinstance(item, (int, float)) and not isinstance(item, bool)
    return item is None or (is_number and -_LARGEST <= item <= _LARGEST)


def _unknown_ids(database: Database | None, compounds: Sequence[str], known: Collection[str]) -> list[Violation]:
    """Return a violation for each id that is not known, with what was meant by the malformed ones."""
    found: list[Violation] = []
    for index, item in enumerate(compounds):
        if item in known:
            continue
        is_malformed = not COMPOUNDS.is_id(item)
        asked = database if is_malformed and len(found) < _LISTED_AT_MOST else None
        violation = Violation(
            path=f"compounds.{index}",
            reason="pattern" if is_malformed else "reference",
            message="expected an id of ModelSEED or BiGG" if is_malformed else "no compound has this id",
            expected="id of a compound, as in cpd00027 or glc__D",
            suggestion=None if asked is None else corrected_id(asked, COMPOUNDS, item).id,
            received=bounded(item, _ECHOED_AT_MOST),
        )
        found.append(violation)
    return found


def _invalid_ids(
    compounds: Sequence[str], known: Collection[str], ids: Sequence[Violation], hint: str
) -> InvalidCompoundIds:
    unknown = [item for item in dict.fromkeys(compounds) if item not in known]
    step = None
    if not all(map(_is_spelled_otherwise, ids)):
        # An unknown name, else the id that was meant; an unknown number says nothing to search for.
        words = [item.strip() for item in unknown if item.strip() and not _NUMBERED.match(item)]
        query = next(iter([*words, *(str(item.suggestion) for item in ids if item.suggestion is not None)]), None)
        step = None if query is None else NextStep("search_compounds", {"query": bounded(query, _ECHOED_AT_MOST)})
    return InvalidCompoundIds(
        invalid_ids=tuple(bounded(item, _ECHOED_AT_MOST) for item in unknown[:_LISTED_AT_MOST]),
        valid_ids=tuple(list(known)[:_LISTED_AT_MOST]),
        total_provided=len(compounds),
        total_invalid=len(ids),
        total_valid=len(compounds) - len(ids),
        operator_hint=hint,
        next_step=step,
        violations=ids,
    )


def _is_spelled_otherwise(violation: Violation) -> bool:
    """Return whether an id was sent in another case only, which the next step corrects: `CPD00027`."""
    meant, given = violation.suggestion, violation.received
    return isinstance(meant, str) and isinstance(given, str) and is_same_spelling(given, meant)


def _empty_list(compounds: Sequence[str]) -> Iterator[InvalidArgument]:
    if not compounds:
        message = "expected at least one compound id"
        yield EmptyCompoundsList(violations=[Violation(path="compounds", reason="length", message=message)])


def _wrong_uptake(default_uptake: float) -> Iterator[InvalidArgument]:
    if not default_uptake > 0 or math.isinf(default_uptake):
        shown = default_uptake if math.isfinite(default_uptake) else None
        yield NegativeUptake(default_uptake=shown, violations=[_fault("default_uptake", "range", "a number above 0")])


def _wrong_bounds(compounds: Sequence[str], custom_bounds: Any) -> Iterator[InvalidArgument]:
    if custom_bounds is None:
        return
    if not isinstance(custom_bounds, Mapping):
        yield InvalidBoundsFormat(
            message="custom_bounds is not an object of bounds by compound id.",
            violations=[_fault("custom_bounds", "type", "an object of bounds by compound id")],
        )
        return
    if len(custom_bounds) > _BOUNDS_AT_MOST:
        yield InvalidBoundsFormat(
            message=f"custom_bounds has {len(custom_bounds):,} compounds.",
            violations=[_fault("custom_bounds", "length", f"at most {_BOUNDS_AT_MOST:,} compounds")],
        )
        return
    pairs = {str(name): bounds_of(given) for name, given in custom_bounds.items()}
    shown = {name: bounded(name, _ECHOED_AT_MOST) for name in pairs}
    for name, pair in pairs.items():
        if pair is None:
            fault = _fault(f"custom_bounds.{shown[name]}", "format", "[lower, upper], two numbers or null")
            yield InvalidBoundsFormat(compound_id=shown[name], violations=[fault])
    listed = set(compounds)
    for name in pairs:
        if name not in listed:
            plain = plain_id(COMPOUNDS, name)
            is_misspelt = plain in listed and plain not in pairs
            fault = Violation(
                path=f"custom_bounds.{shown[name]}",
                reason="unexpected" if is_misspelt else "reference",
                message="it is not in the list of compounds",
                suggestion=plain if is_misspelt else None,
            )
            yield CompoundNotInList(compound_id=shown[name], violations=[fault])
    for name, pair in pairs.items():
        if pair is not None and pair[0] >= pair[1] and pair != (0, 0):
            fault = _fault(f"custom_bounds.{shown[name]}", "value", "lower < upper, or [0, 0]")
            yield BoundsOutOfOrder(compound_id=shown[name], lower=pair[0], upper=pair[1], violations=[fault])


def _fault(path: str, reason: Reason, expected: str) -> Violation:
    return Violation(path=path, reason=reason, message=f"expected {expected}", expected=expected)
