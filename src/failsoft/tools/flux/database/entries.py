"""Compounds and reactions as records, independent of their source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

COMPOUND_ID = re.compile(r"cpd[0-9]{5}")
REACTION_ID = re.compile(r"rxn[0-9]{5}")
_ELEMENT = re.compile(r"([A-Z][a-z]?)([0-9]*)")

Aliases = Mapping[str, tuple[str, ...]]
"""Names and ids elsewhere, by the source that they come from; `Name` are synonyms."""


class Compound(NamedTuple):
    """A compound.

    Args:
        formula: Empty if unknown.
        charge: None if unknown.
        linked: Ids of the compounds that an obsolete one was merged with.
    """

    id: str
    name: str
    abbreviation: str
    formula: str
    charge: int | None
    mass: float | None
    is_obsolete: bool
    linked: tuple[str, ...]
    aliases: Aliases


class Metabolite(NamedTuple):
    """A metabolite by its BiGG id.

    Args:
        compounds: ModelSEED ids of the same metabolite, the usual one first; none where ModelSEED has no such compound.
    """

    id: str
    name: str
    formula: str
    charge: int | None
    compounds: tuple[str, ...]


class Reaction(NamedTuple):
    """A reaction.

    Args:
        equation: In ids: `(1) cpd00001[0] + (1) cpd00012[0] <=> (2) cpd00009[0]`.
        definition: The same in names.
        reversibility: Its direction, estimated from energies: `>`, `<`, `=` both, `?` unknown.
        linked: Ids of the reactions that an obsolete one was merged with.
        pathways: As the source names them: `PWY-7205 (CMP phosphorylation)`.
    """

    id: str
    name: str
    abbreviation: str
    equation: str
    definition: str
    reversibility: str
    is_transport: bool
    ec_numbers: tuple[str, ...]
    is_obsolete: bool
    linked: tuple[str, ...]
    aliases: Aliases
    pathways: tuple[str, ...] = ()


def elements(formula: str) -> dict[str, int]:
    """Return how many atoms of each element a formula has.

    >>> elements("C6H12O6")
    {'C': 6, 'H': 12, 'O': 6}
    """
    counted: dict[str, int] = {}
    for element, count in _ELEMENT.findall(formula):
        counted[element] = counted.get(element, 0) + int(count or 1)
    return counted
