"""What a model takes from its surroundings and gives back, by the ModelSEED ids that media are made of."""

from __future__ import annotations

import re
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import cobra

__all__ = ["Exchange", "Surroundings", "apply_medium", "compounds_of", "surroundings_of"]

_MODELSEED = re.compile(r"(cpd\d{5})(?:_[a-z]\d*)?")
_OUTSIDE = frozenset({"e", "e0", "C_e", "extracellular"})
_COMPARTMENT = re.compile(r"(_[a-z]\d?|\[[a-z]\d?\])$")
_KNOWN: Final = {
    "glc__D": "cpd00027",
    "gln__L": "cpd00053",
    "glu__L": "cpd00023",
    "lac__D": "cpd00221",
    "mal__L": "cpd00130",
    "o2": "cpd00007",
    "no": "cpd00418",
    "but": "cpd00211",
    "ppa": "cpd00141",
}
"""BiGG ids of metabolites that the shipped models name without a ModelSEED id, or with a wrong one: the textbook model
has none for glucose, and takes oxygen for superoxide."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One exchange with the surroundings.

    Args:
        reaction_id: The exchange reaction.
        name: Of the metabolite.
        compounds: Its ModelSEED ids, the usual one first; none if the model does not say.
        is_reversed: Whether a positive flux is uptake, against all custom.
    """

    reaction_id: str
    name: str
    compounds: tuple[str, ...]
    is_reversed: bool

    def described(self, **facts: Any) -> dict[str, Any]:
        """Return it as it is told to callers."""
        compound = {"compound_id": self.compounds[0]} if self.compounds else {}
        return {"exchange": self.reaction_id, **compound, "name": self.name, **facts}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The exchanges of a model, and the one for each compound."""

    exchanges: tuple[Exchange, ...]
    by_compound: Mapping[str, Exchange]


_known: weakref.WeakKeyDictionary[cobra.Model, Surroundings] = weakref.WeakKeyDictionary()


def surroundings_of(model: cobra.Model) -> Surroundings:
    """Return the exchanges of a model; worked out once for each."""
    found = _known.get(model)
    if found is None:
        exchanges = tuple(exchange for reaction in model.reactions if (exchange := _exchange(reaction)) is not None)
        by_compound: dict[str, Exchange] = {}
        for exchange in exchanges:
            for compound in exchange.compounds[:1]:
                by_compound.setdefault(compound, exchange)
        for exchange in exchanges:
            for compound in exchange.compounds[1:]:
                by_compound.setdefault(compound, exchange)
        found = _known[model] = Surroundings(exchanges, by_compound)
    return found


def apply_medium(model: cobra.Model, compounds: Mapping[str, tuple[float, float]]) -> list[str]:
    """Close every uptake but those of a medium; return the compounds that the model has no exchange for.

    Call it inside `with model:`.
    """
    around = surroundings_of(model)
    wanted: dict[str, tuple[float, float]] = {}
    unknown: list[str] = []
    for compound, bounds in compounds.items():
        exchange = around.by_compound.get(compound)
        if exchange is None:
            unknown.append(compound)
        else:
            wanted[exchange.reaction_id] = bounds
    for exchange in around.exchanges:
        reaction = model.reactions.get_by_id(exchange.reaction_id)
        low, high = reaction.bounds
        if exchange.is_reversed:
            low, high = -high, -low
        low, high = wanted.get(exchange.reaction_id, (0.0, max(0.0, high)))
        bounds = (-high, -low) if exchange.is_reversed else (low, high)
        if reaction.bounds != bounds:
            reaction.bounds = bounds
    return unknown


def compounds_of(metabolite: cobra.Metabolite) -> tuple[str, ...]:
    """Return the ModelSEED ids of a metabolite: by its own id, by its BiGG id, or annotated."""
    named = _MODELSEED.fullmatch(metabolite.id)
    if named is not None:
        return (named[1],)
    known = _KNOWN.get(_COMPARTMENT.sub("", metabolite.id))
    if known is not None:
        return (known,)
    annotated = metabolite.annotation.get("seed.compound", ())
    # Of several the lowest number is the one that ModelSEED's own media use; the others are later duplicates.
    return (annotated,) if isinstance(annotated, str) else tuple(sorted(annotated))


def _exchange(reaction: cobra.Reaction) -> Exchange | None:
    if len(reaction.metabolites) != 1:
        return None
    (metabolite, coefficient), *_ = reaction.metabolites.items()
    if not reaction.id.startswith("EX_") and (
        metabolite.compartment not in _OUTSIDE or reaction.id.startswith(("DM_", "SK_", "sink_"))
    ):
        return None
    return Exchange(reaction.id, metabolite.name or metabolite.id, compounds_of(metabolite), coefficient > 0)
