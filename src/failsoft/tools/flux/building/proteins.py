"""Proteins from arguments or a FASTA file: parsed, checked, and those named that no builder accepts."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Final

from failsoft.framework.errors import InvalidArgument, InvalidParameter, Public
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded, enumerated, quoted
from failsoft.tools.flux.input_files import InvalidInputFile

AMINO_ACIDS: Final = "ACDEFGHIKLMNPQRSTVWY"
"""The standard alphabet of proteins. Small letters, `U` and a `*` at the end are accepted besides."""
SEQUENCE_ID = r"(?!(?:and|or|not)$)[A-Za-z0-9_.:|/-]{1,100}"
"""The ids that gene rules can hold; RAST's (`fig|83333.1.peg.4`) and those of the large databases are among them."""
SEQUENCE_AT_MOST = 100_000
"""Residues; the longest known protein has 36,000."""
PROTEINS_AT_MOST = 30_000
_ID = re.compile(SEQUENCE_ID, re.IGNORECASE)
_FOREIGN = re.compile(f"[^{AMINO_ACIDS}U]", re.IGNORECASE)
_NUCLEOTIDES = "ACGTUN"
_NUCLEOTIDES_ABOVE = 0.9
"""Share of these letters in a set of sequences: proteomes have 0.24 to 0.31, their single proteins up to 0.68."""
_NUCLEOTIDES_FROM = 50
"""Letters below which the share says nothing: a peptide may consist of glycine and alanine."""
_RECOGNIZED_AT_LEAST = 0.1
"""Of the proteins of a draft; E. coli has 0.39, M. genitalium, with the smallest genome of free-living cells, 0.101."""
_POSITIONS_AT_MOST = 5
LISTED_AT_MOST = 50
"""Proteins that an answer names; it counts the others."""
_SKIP = "Set skip_invalid to build without the proteins that have faults"
_USUAL_LENGTH = range(10, 10_001)


class EmptyProteinSequences(InvalidArgument):
    """No protein sequences are given.

    Raised when: neither `protein_sequences` nor `fasta_path` gives a protein.
    Caller: give at least one protein, as id and sequence; for a ready-made model use `load_model`.
    """

    code = "EMPTY_PROTEIN_SEQUENCES"
    message = "No protein sequences are given."
    hints = ("Give the id and the sequence of at least one protein, or use load_model for a ready-made model",)


class InvalidProteinSequences(InvalidArgument):
    """Protein sequences, or their ids, are invalid.

    Raised when: a sequence is empty or contains something other than amino acids (`X`, a digit, a stop `*` before the
    end); an id is empty, too long or contains a space; the sequences are nucleotides; or fewer than a tenth of the
    proteins are recognized (`recognized`, `recognized_share`). Positions count from 1.
    Caller: correct the sequences that `invalid_sequences` lists, or leave them out with `skip_invalid`.
    """

    invalid_sequences: Public[dict[str, str] | None] = None
    valid_sequences: Public[tuple[str, ...] | None] = None
    total_sequences: Public[int]
    total_invalid: Public[int]
    recognized: Public[int | None] = None
    recognized_share: Public[float | None] = None
    allowed_characters: Public[str] = AMINO_ACIDS
    code = "INVALID_PROTEIN_SEQUENCES"
    message = "{total_invalid} of {total_sequences} protein sequences cannot be used."
    hints = (
        "Use the standard amino acid alphabet, without ambiguous residues (X, B, Z): {allowed_characters}",
        "Verify that the sequences are proteins, not DNA or RNA",
    )

    def rendered_hints(self) -> tuple[str, ...]:
        """Return the hints about letters, or one about proteins that are not recognized."""
        if self.recognized is None:
            return super().rendered_hints()
        return ("Verify that they are those of a whole organism, or try the template that suits it",)


@dataclass(frozen=True, slots=True)
class Proteins:
    """Proteins that a caller gave.

    Args:
        sequences: Sequence by id.
        path: The FASTA file that they are from; empty for arguments.
        lines: For each protein of a file, the line of its header, then how many letters each following line has.
        left_out: Why, for each id that was left out.
    """

    sequences: Mapping[str, str]
    path: str = ""
    lines: Mapping[str, list[int]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def parameter(self) -> str:
        """The parameter that they came by."""
        return "fasta_path" if self.path else "protein_sequences"

    def line(self, name: str, position: int) -> int | None:
        """Return the line of a residue in the file, or of the header where there is none."""
        if name not in self.lines:
            return None
        header, *letters = self.lines[name]
        ends = [0, *accumulate(letters)]
        return header if position < 0 else header + bisect(ends, position)


@dataclass(frozen=True, slots=True)
class _Fault:
    said: str
    position: int = -1
    is_of_id: bool = False


def read_fasta(path: str, data: bytes) -> Proteins:
    """Return the proteins of a file by the first word of their header.

    Raises:
        INVALID_INPUT_FILE: It has no sequence, text before the first header, or a header without an id or one that is
            repeated; with the lines.
    """
    parts: dict[str, list[str]] = {}
    lines: dict[str, list[int]] = {}
    faults: list[dict[str, Any]] = []
    current: list[str] | None = None
    letters: list[int] = []
    for number, line in enumerate(data.decode("utf-8-sig", errors="replace").splitlines(), start=1):
        text = line.strip()
        if text.startswith(">"):
            name = (text[1:].split() or [""])[0]
            if not name or name in parts:
                why = "the id is repeated" if name else "the header has no id"
                faults.append({"line": number, "id": bounded(name, 100), "message": why})
            current, letters = [], [number]
            parts[name], lines[name] = current, letters
            if len(parts) > PROTEINS_AT_MOST or len(faults) > LISTED_AT_MOST:
                break  # refused, however many follow
            continue
        is_sequence = bool(text) and not text.startswith(";")
        if is_sequence and current is None:
            faults.append({"line": number, "message": "text before the first header line"})
            break
        if is_sequence and current is not None:
            current.append(text)
        letters.append(len(text) if is_sequence else 0)
    if not parts and not faults:
        faults.append({"line": 1, "message": "there is no header line, which begins with >"})
    if faults:
        said = f"is not valid FASTA: line {faults[0]['line']}: {faults[0]['message']}"
        raise InvalidInputFile.found(path, "FASTA", said, faults)
    return Proteins({name: "".join(found) for name, found in parts.items()}, path, lines)


def checked(proteins: Proteins, *, skip_invalid: bool) -> Proteins:
    """Return proteins as builders compare them: capital letters, no stop at the end, cysteine for selenocysteine.

    Args:
        proteins: As the caller gave them.
        skip_invalid: Leave out those that no builder accepts, as long as others remain.

    Raises:
        INVALID_PROTEIN_SEQUENCES: With the ids, and positions for single residues. It never quotes a sequence.
        INVALID_PARAM: There are more than 30,000.
    """
    sequences = proteins.sequences
    if len(sequences) > PROTEINS_AT_MOST:
        violation = Violation(
            path=proteins.parameter,
            reason="length",
            message=f"more than {PROTEINS_AT_MOST:,} proteins",
            expected=f"at most {PROTEINS_AT_MOST:,} proteins",
        )
        raise InvalidParameter.from_violations([violation])
    faults = _faults(sequences)
    if faults and not (skip_invalid and len(faults) < len(sequences)):
        raise _refusal(proteins, faults)
    plain = {
        name: text.upper().removesuffix("*").replace("U", "C") for name, text in sequences.items() if name not in faults
    }
    return replace(proteins, sequences=plain, left_out={name: fault.said for name, fault in faults.items()})


def require_recognized(proteins: Proteins, recognized: int) -> None:
    """Refuse proteins of which so few are recognized that a draft would say nothing about the organism.

    Raises:
        INVALID_PROTEIN_SEQUENCES: It is fewer than a tenth; with the share.
    """
    total = len(proteins.sequences)
    share = recognized / total
    if share >= _RECOGNIZED_AT_LEAST:
        return
    said = f"{recognized} of {total:,} proteins ({share:.1%}) are recognized, too few for a draft"
    raise InvalidProteinSequences(
        message=f"Only {said}, which needs {_RECOGNIZED_AT_LEAST:.0%}.",
        total_sequences=total,
        total_invalid=total - recognized,
        recognized=recognized,
        recognized_share=round(share, 4),
        violations=[Violation(path=proteins.parameter, reason="value", message=f"only {said}")],
    )


def warnings_of(proteins: Proteins) -> Iterator[str]:
    """Yield sentences about proteins of unusual length, and about those with selenocysteine (seed 002)."""
    given = {name: text for name, text in proteins.sequences.items() if name not in proteins.left_out}
    short = [name for name, text in given.items() if len(text) < _USUAL_LENGTH.start]
    long = [name for name, text in given.items() if len(text) >= _USUAL_LENGTH.stop]
    special = [name for name, text in given.items() if "U" in text.upper()]
    for names, said in (
        (short, "Sequences that are shorter than 10 residues, which is unusual for a protein"),
        (long, "Sequences that are longer than 10,000 residues, which is unusual for a protein"),
        (special, "Proteins whose selenocysteine (U) is compared as cysteine"),
    ):
        if names:
            yield f"{said}: {enumerated(names, _POSITIONS_AT_MOST, write=_short)}."


def _faults(sequences: Mapping[str, str]) -> dict[str, _Fault]:
    """Return what is wrong with which proteins; ids before sequences, in the order of the seed."""
    share = _share_of_nucleotides(sequences)
    if share > _NUCLEOTIDES_ABOVE:
        said = f"Nucleotides, not a protein: {share:.0%} of all letters are A, C, G, T, U or N"
        return dict.fromkeys(sequences, _Fault(said))
    said = "The id has characters other than letters, digits and _.:|/-"
    faults = {name: _Fault(said, is_of_id=True) for name in sequences if not _ID.fullmatch(name)}
    for name, text in sequences.items():
        if name not in faults and (fault := _fault(text)) is not None:
            faults[name] = fault
    return faults


def _share_of_nucleotides(sequences: Mapping[str, str]) -> float:
    """Return the share of nucleotides among the letters of all sequences; 0 where they are too few to tell.

    Of all together, since a single protein may be of few kinds of residues, and a proteome never is.
    """
    letters = sum(map(len, sequences.values()))
    found = sum(text.upper().count(letter) for text in sequences.values() for letter in _NUCLEOTIDES)
    return found / letters if letters >= _NUCLEOTIDES_FROM else 0.0


def _fault(sequence: str) -> _Fault | None:
    """Return what is wrong with a sequence; positions count from 1."""
    text = sequence.removesuffix("*")
    if not text:
        return _Fault("Empty sequence")
    if len(text) > SEQUENCE_AT_MOST:
        return _Fault(f"Longer than {SEQUENCE_AT_MOST:,} residues", SEQUENCE_AT_MOST)
    found = list(_FOREIGN.finditer(text))
    if not found:
        return None
    places = enumerated(
        found, _POSITIONS_AT_MOST, write=lambda match: f"{bounded(match[0], 4)!r} at position {match.start() + 1}"
    )
    return _Fault(f"Contains invalid character{'s' if len(found) > 1 else ''} {places}", found[0].start())


def _refusal(proteins: Proteins, faults: Mapping[str, _Fault]) -> InvalidProteinSequences:
    total, number = len(proteins.sequences), len(faults)
    shown = {name: faults[name] for name in [*faults][:LISTED_AT_MOST]}
    name, fault = next(iter(shown.items()))
    line = proteins.line(name, fault.position)
    where = "" if line is None else f" ({quoted(proteins.path)}, line {line})"
    said = fault.said[0].lower() + fault.said[1:].replace(" at position ", " at ").replace("'", '"')
    more = f" {number - 1} more of {total} have faults." if number > 1 else ""
    return InvalidProteinSequences(
        message=f"Protein {quoted(name, 100)}{where}: {said}.{more}",
        invalid_sequences={bounded(name, 100): fault.said for name, fault in shown.items()},
        valid_sequences=tuple([name for name in proteins.sequences if name not in faults][:LISTED_AT_MOST]),
        total_sequences=total,
        total_invalid=number,
        violations=[_violation(proteins, name, fault) for name, fault in shown.items()],
        suggestions=[_SKIP] if number < total else (),
    )


def _violation(proteins: Proteins, name: str, fault: _Fault) -> Violation:
    named = bounded(name, 100)
    said = fault.said[0].lower() + fault.said[1:]
    return Violation(
        path="fasta_path" if proteins.path else f"protein_sequences.{named}",
        reason="format" if fault.is_of_id else "pattern",
        message=f"protein {quoted(named)}: {said}" if proteins.path else said,
        expected=f"a protein sequence of the letters {AMINO_ACIDS}",
        line=proteins.line(name, fault.position),
    )


def _short(name: str) -> str:
    return bounded(name, 100)
