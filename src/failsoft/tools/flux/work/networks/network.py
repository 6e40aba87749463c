"""Reactions and metabolites as plain data, for drafts, universes and solutions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import cobra


@dataclass(frozen=True, slots=True)
class NetworkMetabolite:
    """A compound in a compartment; `seed` are its ModelSEED ids."""

    name: str
    formula: str
    charge: int
    compartment: str
    seed: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as a recipe keeps it."""
        return {
            "name": self.name,
            "formula": self.formula,
            "charge": self.charge,
            "compartment": self.compartment,
            "seed": list(self.seed),
        }


@dataclass(frozen=True, slots=True)
class NetworkReaction:
    """A reaction: metabolites with negative coefficients are used up. `genes` is a rule of `and` and `or`."""

    name: str
    coefficients: Mapping[str, float]
    low: float
    high: float
    genes: str = ""

    @property
    def is_boundary(self) -> bool:
        """Whether it is an exchange, a sink or a demand: it leads out of the model."""
        return len(self.coefficients) == 1

    def to_json(self) -> dict[str, Any]:
        """Return it as a recipe keeps it: an infinite bound is null."""
        kept: dict[str, Any] = {
            "name": self.name,
            "metabolites": dict(self.coefficients),
            "bounds": [_or_none(self.low), _or_none(self.high)],
        }
        return {**kept, "genes": self.genes} if self.genes else kept


@dataclass(frozen=True, slots=True)
class Network:
    """Metabolites and reactions by id; `objective` is the reaction that makes biomass, if there is one."""

    metabolites: Mapping[str, NetworkMetabolite]
    reactions: Mapping[str, NetworkReaction]
    objective: str = ""
    exchanges: Mapping[str, str] = field(init=False)
    """The exchange reaction of each extracellular metabolite."""

    def __post_init__(self) -> None:
        found = {
            next(iter(item.coefficients)): name
            for name, item in self.reactions.items()
            if item.is_boundary and name.startswith("EX_")
        }
        object.__setattr__(self, "exchanges", found)

    def exchange_of(self, compounds: Collection[str]) -> str | None:
        """Return the exchange reaction of a compound by any of its ModelSEED and BiGG ids."""
        for metabolite, exchange in self.exchanges.items():
            if metabolite.rpartition("_")[0] in compounds or not set(compounds).isdisjoint(
                self.metabolites[metabolite].seed
            ):
                return exchange
        return None

    def used_by(self, names: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the metabolites of some reactions, as a recipe keeps them."""
        used = dict.fromkeys(metabolite for name in names for metabolite in self.reactions[name].coefficients)
        return {name: self.metabolites[name].to_json() for name in used}


def network_of(model: cobra.Model) -> Network:
    """Return the plain data of a model."""
    return Network(
        {
            item.id: NetworkMetabolite(
                item.name or "", item.formula or "", int(item.charge or 0), item.compartment or "", _seeds(item)
            )
            for item in model.metabolites
        },
        {
            item.id: NetworkReaction(
                item.name or "",
                {metabolite.id: float(number) for metabolite, number in item.metabolites.items()},
                float(item.lower_bound),
                float(item.upper_bound),
                item.gene_reaction_rule,
            )
            for item in model.reactions
        },
        next((item.id for item in model.reactions if item.objective_coefficient), ""),
    )


def _seeds(metabolite: cobra.Metabolite) -> tuple[str, ...]:
    given = metabolite.annotation.get("seed.compound", ())
    return (given,) if isinstance(given, str) else tuple(given)


def _or_none(bound: float) -> float | None:
    return None if math.isinf(bound) else bound
