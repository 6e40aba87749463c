"""Protein sequences as callers give them: what is wrong with them, and what is unusual."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from failsoft.framework.text import bounded
from failsoft.framework.violations import Violation
from failsoft.tools.flux.building_errors import AMINO_ACIDS, InvalidProteinSequences

__all__ = ["SEQUENCE_ID", "invalid_sequences", "unusual_lengths"]

SEQUENCE_ID = r"(?!(?:and|or|not)$)[A-Za-z0-9_.:|/-]{1,100}"
"""The ids that gene rules can hold; RAST's (`fig|83333.1.peg.4`) and those of the large databases are among them."""
_ID = re.compile(SEQUENCE_ID, re.IGNORECASE)
_FOREIGN = re.compile(f"[^{AMINO_ACIDS}]")
_POSITIONS_AT_MOST = 5
_LISTED_AT_MOST = 50
_USUAL_LENGTH = range(10, 10_001)


def invalid_sequences(sequences: Mapping[str, str]) -> InvalidProteinSequences | None:
    """Return the error for whatever no builder takes, or nothing. No sequence is ever repeated in it.

    Args:
        sequences: Proteins by id.
    """
    ids = {name: "The id has characters other than letters, digits and _.:|/-" for name in sequences if not _fits(name)}
    # In the order of the seed: ids first. What is wrong with a sequence comes after all of them.
    faults = {**ids, **{name: found for name, text in sequences.items() if (found := _fault(text)) and name not in ids}}
    if not faults:
        return None
    valid = [name for name in sequences if name not in faults]
    return InvalidProteinSequences(
        invalid_sequences={bounded(name, 100): text for name, text in list(faults.items())[:_LISTED_AT_MOST]},
        valid_sequences=tuple(valid[:_LISTED_AT_MOST]),
        total_sequences=len(sequences),
        total_invalid=len(faults),
        violations=[
            Violation(
                path=f"protein_sequences.{bounded(name, 100)}",
                reason="format" if name in ids else "pattern",
                message=text[0].lower() + text[1:],
                expected=f"a protein sequence of the letters {AMINO_ACIDS}",
            )
            for name, text in list(faults.items())[:_LISTED_AT_MOST]
        ],
    )


def unusual_lengths(sequences: Mapping[str, str]) -> Iterator[str]:
    """Yield sentences about sequences that are shorter or longer than proteins are (seed 002)."""
    short = [name for name, text in sequences.items() if len(text) < _USUAL_LENGTH.start]
    long = [name for name, text in sequences.items() if len(text) >= _USUAL_LENGTH.stop]
    for names, what in ((short, "shorter than 10 residues"), (long, "longer than 10,000 residues")):
        if names:
            shown = ", ".join(bounded(name, 100) for name in names[:_POSITIONS_AT_MOST])
            more = f" and {len(names) - _POSITIONS_AT_MOST} more" if len(names) > _POSITIONS_AT_MOST else ""
            yield f"Sequences that are {what}, which is unusual for a protein: {shown}{more}."


def _fits(name: str) -> bool:
    return _ID.fullmatch(name) is not None


def _fault(sequence: str) -> str:
    """Return what is wrong with a sequence; positions count from 1."""
    if not sequence:
        return "Empty sequence"
    found = [(match.start() + 1, match[0]) for match in _FOREIGN.finditer(sequence)]
    if not found:
        return ""
    if found == [(len(sequence), "*")]:
        return f"Ends in '*' (a stop codon) at position {len(sequence)}: leave it out"
    if sequence.isalpha() and sequence.upper() != sequence and not _FOREIGN.search(sequence.upper()):
        return f"Contains small letters, the first at position {found[0][0]}: write it in capital letters"
    listed = ", ".join(f"{bounded(letter, 4)!r} at position {place}" for place, letter in found[:_POSITIONS_AT_MOST])
    more = f" and {len(found) - _POSITIONS_AT_MOST} more" if len(found) > _POSITIONS_AT_MOST else ""
    return f"Contains invalid character{'s' if len(found) > 1 else ''} {listed}{more}"
