"""Proteins of arguments and of FASTA files: validation, and warnings about unusual ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from failsoft.framework.errors import InvalidArgument, Public
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded, enumerated, quoted
from failsoft.tools.flux.input_files import InvalidInputFile

AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
"""The standard alphabet of proteins. Small letters, `U` and a `*` at the end are accepted besides."""


class EmptyProteinSequences(InvalidArgument):
    """No protein sequences are given.

    Raised when: `protein_sequences` has no entry.
    Caller: give at least one protein, as id and sequence; for a ready-made model use `load_model`.
    """

    code = "EMPTY_PROTEIN_SEQUENCES"
    message = "No protein sequences are given."
    hints = (
        "Give at least one protein: its id and its sequence",
        "Use load_model if a ready-made model will do",
    )


class InvalidProteinSequences(InvalidArgument):
    """Sequences, or their ids, are invalid.

    Raised when: a sequence is empty or has a character that is not an amino acid (`X`, a digit, a stop `*` before the
    end), or an id is empty, too long or has a space in it. Positions count from 1.
    Caller: correct or leave out the sequences that `invalid_sequences` lists, then call again.
    """

    invalid_sequences: Public[dict[str, str] | None] = None
    valid_sequences: Public[tuple[str, ...] | None] = None
    total_sequences: Public[int]
    total_invalid: Public[int]
    allowed_characters: Public[str] = AMINO_ACIDS
    code = "INVALID_PROTEIN_SEQUENCES"
    message = "{total_invalid} of {total_sequences} protein sequences cannot be used."
    hints = (
        "Use the standard amino acid alphabet: {allowed_characters}",
        "Remove sequences with ambiguous residues (X, B, Z)",
        "Verify that the sequences are proteins, not DNA or RNA",
        "Check for empty sequences",
    )


SEQUENCE_ID = r"(?!(?:and|or|not)$)[A-Za-z0-9_.:|/-]{1,100}"
"""The ids that gene rules can hold; RAST's (`fig|83333.1.peg.4`) and those of the large databases are among them."""
SEQUENCE_AT_MOST = 100_000
"""Residues; the longest known protein has 36,000."""
_ID = re.compile(SEQUENCE_ID, re.IGNORECASE)
_FOREIGN = re.compile(f"[^{AMINO_ACIDS}U]", re.IGNORECASE)
_POSITIONS_AT_MOST = 5
_LISTED_AT_MOST = 50
_USUAL_LENGTH = range(10, 10_001)


def invalid_sequences(sequences: Mapping[str, str]) -> InvalidProteinSequences | None:
    """Return the error for ids and sequences that no builder accepts, or None. It never quotes a sequence.

    Args:
        sequences: Proteins by id.
    """
    said = "The id has characters other than letters, digits and _.:|/-"
    ids = dict.fromkeys((name for name in sequences if not _ID.fullmatch(name)), said)
    # In the order of the seed: invalid ids before invalid sequences.
    invalid = [*ids, *(name for name, text in sequences.items() if name not in ids and not _is_protein(text))]
    if not invalid:
        return None
    faults = {name: ids.get(name) or _fault(sequences[name]) for name in invalid[:_LISTED_AT_MOST]}
    refused = set(invalid)
    valid = [name for name in sequences if name not in refused]
    name, said = next(iter(faults.items()))
    said = said[0].lower() + said[1:].replace(" at position ", " at ").replace("'", '"')
    more = f" {len(invalid) - 1} more of {len(sequences)} have faults." if len(invalid) > 1 else ""
    return InvalidProteinSequences(
        message=f"Protein {quoted(name, 100)}: {said}.{more}",
        invalid_sequences={bounded(name, 100): text for name, text in faults.items()},
        valid_sequences=tuple(valid[:_LISTED_AT_MOST]),
        total_sequences=len(sequences),
        total_invalid=len(invalid),
        violations=[
            Violation(
                path=f"protein_sequences.{bounded(name, 100)}",
                reason="format" if name in ids else "pattern",
                message=text[0].lower() + text[1:],
                expected=f"a protein sequence of the letters {AMINO_ACIDS}",
            )
            for name, text in faults.items()
        ],
    )


def unusual_lengths(sequences: Mapping[str, str]) -> Iterator[str]:
    """Yield sentences about sequences that are shorter or longer than proteins are (seed 002)."""
    short = [name for name, text in sequences.items() if len(text) < _USUAL_LENGTH.start]
    long = [name for name, text in sequences.items() if len(text) >= _USUAL_LENGTH.stop]
    for names, what in ((short, "shorter than 10 residues"), (long, "longer than 10,000 residues")):
        if names:
            shown = enumerated(names, _POSITIONS_AT_MOST, write=_short)
            yield f"Sequences that are {what}, which is unusual for a protein: {shown}."


def plain_sequences(sequences: Mapping[str, str]) -> dict[str, str]:
    """Return sequences as builders compare them: capital letters, no stop at the end, cysteine for selenocysteine."""
    return {name: text.upper().removesuffix("*").replace("U", "C") for name, text in sequences.items()}


def unusual_residues(sequences: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence about sequences with selenocysteine, which is compared as cysteine."""
    found = [name for name, text in sequences.items() if "U" in text.upper()]
    if found:
        shown = enumerated(found, _POSITIONS_AT_MOST, write=_short)
        yield f"Selenocysteine (U) is compared as cysteine in {shown}."


def _is_protein(sequence: str) -> bool:
    text = sequence.removesuffix("*")
    return 0 < len(text) <= SEQUENCE_AT_MOST and _FOREIGN.search(text) is None


def _fault(sequence: str) -> str:
    """Return what is wrong with an invalid sequence; positions count from 1."""
    text = sequence.removesuffix("*")
    if not text:
        return "Empty sequence"
    if len(text) > SEQUENCE_AT_MOST:
        return f"Longer than {SEQUENCE_AT_MOST:,} residues"
    found = list(_FOREIGN.finditer(text))
    listed = enumerated(
        found, _POSITIONS_AT_MOST, write=lambda match: f"{bounded(match[0], 4)!r} at position {match.start() + 1}"
    )
    return f"Contains invalid character{'s' if len(found) > 1 else ''} {listed}"


def _short(name: str) -> str:
    return bounded(name, 100)


def read_fasta(path: str, data: bytes) -> dict[str, str]:
    """Return the sequences of a file by the first word of their header.

    Raises:
        INVALID_INPUT_FILE: It has no sequence, text before the first header, or a header without an id or one that is
            repeated; with the lines.
    """
    sequences: dict[str, list[str]] = {}
    faults: list[dict[str, Any]] = []
    current: list[str] | None = None
    for number, line in enumerate(data.decode("utf-8", errors="replace").splitlines(), start=1):
        text = line.strip()
        if text.startswith(">"):
            name = (text[1:].split() or [""])[0]
            if not name or name in sequences:
                why = "the id is repeated" if name else "the header has no id"
                faults.append({"line": number, "id": bounded(name, 100), "message": why})
            current = sequences.setdefault(name, [])
        elif text and not text.startswith(";"):
            if current is None:
                faults.append({"line": number, "message": "text before the first header line"})
                break
            current.append(text)
    if not sequences and not faults:
        faults.append({"line": 1, "message": "there is no header line, which begins with >"})
    if faults:
        said = f"is not valid FASTA: line {faults[0]['line']}: {faults[0]['message']}"
        raise InvalidInputFile.found(path, "FASTA", said, faults)
    return {name: "".join(parts) for name, parts in sequences.items()}
