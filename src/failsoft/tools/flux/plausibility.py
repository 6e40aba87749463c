"""Warnings about nutrients that a medium lacks, based on the formulas of its compounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from failsoft.tools.flux.database.entries import elements


class NutrientSource(NamedTuple):
    """A kind of nutrient.

    Args:
        name: What it is called.
        example: A common one, by a name that a search finds.
        provides: Whether a compound of this formula is one.
        without: The expected effect of its absence.
    """

    name: str
    example: str
    provides: Callable[[str], bool]
    without: str = "growth is unlikely"


_OXIDES = frozenset({"CO2", "CO", "CHO3", "CH2O3", "CO3"})
"""Carbon that only few organisms can live on."""
_ACCEPTORS = frozenset({"O2", "NO3", "HNO3", "NO2", "HNO2", "O4S", "SO4", "HO4S", "H2O4S", "C4H2O4", "C4H4O4"})
"""Formulas of oxygen, nitrate, nitrite, sulfate and fumarate."""


def _has(element: str, *, but: frozenset[str] = frozenset()) -> Callable[[str], bool]:
    return lambda formula: formula not in but and element in elements(formula)


_SOURCES = (
    NutrientSource("carbon source", "glucose", _has("C", but=_OXIDES)),
    NutrientSource("nitrogen source", "ammonium", _has("N", but=frozenset({"N2"}))),
    NutrientSource("phosphorus source", "phosphate", _has("P")),
    NutrientSource("sulfur source", "sulfate", _has("S")),
    NutrientSource("electron acceptor", "O2", lambda formula: formula in _ACCEPTORS, "only fermentation is possible"),
)


def missing_sources(formulas: Iterable[str]) -> list[NutrientSource]:
    """Return the kinds of nutrients that none of these compounds is."""
    known = [formula for formula in formulas if formula]
    return [source for source in _SOURCES if not any(map(source.provides, known))]


def media_warnings(taken_up: Sequence[str], unknown: int) -> list[str]:
    """Return a sentence for each kind of nutrient that is missing.

    Args:
        taken_up: The formulas of the compounds that the medium lets in.
        unknown: Of how many further ones the formula is not known.
    """
    doubt = f" (the formulas of {unknown} compounds are not known)" if unknown else ""
    return [
        f"The medium has no {source.name}, such as {source.example}{doubt}: {source.without}."
        for source in missing_sources(taken_up)
    ]
