"""Reactions and metabolites as plain data, for drafts, universes and solutions."""

from __future__ import annotations

import functools
import gzip
import importlib.resources
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import cobra

from failsoft.tools.flux.conditions import Medium
from failsoft.tools.flux.store import SHIPPED_MODELS
from failsoft.tools.flux.work.exchanges import ids_of

_BIOMASS = re.compile(r"biomass|^bio\d+|^growth$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NetworkMetabolite:
    """A compound in a compartment; `seed` are its ModelSEED ids."""

    name: str
    formula: str
    charge: int
    compartment: str
    seed: tuple[str, ...] = ()


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

    def to_cobra(self, names: Iterable[str]) -> dict[str, Any]:
        """Return some reactions and their metabolites, as `cobra.io.model_from_dict` reads them."""
        chosen = {name: self.reactions[name] for name in names}
        used = dict.fromkeys(metabolite for item in chosen.values() for metabolite in item.coefficients)
        return {
            "metabolites": [_metabolite_to_cobra(name, self.metabolites[name]) for name in used],
            "reactions": [
                {**_reaction_to_cobra(name, item), **({"objective_coefficient": 1.0} if name == self.objective else {})}
                for name, item in chosen.items()
            ],
            "genes": [],
        }


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


def _metabolite_to_cobra(name: str, item: NetworkMetabolite) -> dict[str, Any]:
    known: dict[str, Any] = {"id": name, "name": item.name, "compartment": item.compartment, "charge": item.charge}
    if item.formula:
        known["formula"] = item.formula
    if item.seed:
        known["annotation"] = {"seed.compound": item.seed[0] if len(item.seed) == 1 else list(item.seed)}
    return known


def _reaction_to_cobra(name: str, item: NetworkReaction) -> dict[str, Any]:
    return {
        "id": name,
        "name": item.name,
        "metabolites": dict(item.coefficients),
        # JSON has no infinity; cobra reads it from text.
        "lower_bound": item.low if math.isfinite(item.low) else str(item.low),
        "upper_bound": item.high if math.isfinite(item.high) else str(item.high),
        "gene_reaction_rule": item.genes,
    }


_CORE = "{http://www.sbml.org/sbml/level3/version1/core}"
_FLUX = "{http://www.sbml.org/sbml/level3/version1/fbc/version2}"
_RESOURCE = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}resource"
_SEED = "seed.compound/"


@functools.lru_cache(maxsize=3)
def sbml_universe(file: Path) -> Network:
    """Return a universe that is kept as SBML. A worker reads it once, in about a second."""
    return read_network(file)


def read_network(file: Path) -> Network:
    """Return what a packed SBML file holds: the same as cobra reads from it, in a fifth of the time."""
    with gzip.open(file) as packed:
        model = ET.parse(packed).getroot().find(f"{_CORE}model")  # noqa: S314 - a file that the operator installed
    if model is None:
        msg = f"{file.name} does not contain a model"
        raise ValueError(msg)
    bounds = {item.get("id", ""): float(item.get("value", "nan")) for item in model.iter(f"{_CORE}parameter")}
    metabolites = dict(_metabolite(item) for item in model.iter(f"{_CORE}species"))
    reactions = dict(_reaction(item, bounds) for item in model.iter(f"{_CORE}reaction"))
    objectives = (item.get(f"{_FLUX}reaction") for item in model.iter(f"{_FLUX}fluxObjective"))
    return Network(metabolites, reactions, next((_bare(name, "R_") for name in objectives), ""))


@functools.lru_cache(maxsize=1)
def shipped_universe() -> Network:
    """Return the reactions of all models that cobra ships: the universe where no other one is installed."""
    metabolites: dict[str, NetworkMetabolite] = {}
    reactions: dict[str, NetworkReaction] = {}
    for name in SHIPPED_MODELS:
        with importlib.resources.as_file(importlib.resources.files("cobra.data") / f"{name}.xml.gz") as file:
            network = read_network(file)
        # The later ones win: the textbook model takes oxygen for superoxide.
        metabolites |= network.metabolites
        reactions |= network.reactions
    return Network(metabolites, reactions, "")


def candidates(
    network: Network, universe: Network, medium: Medium, unknown: Iterable[str]
) -> dict[str, NetworkReaction]:
    """Return the reactions that may be added: those that force no flux and let in only compounds of the medium.

    Other exchanges may be added for secretion.

    Args:
        network: The model.
        universe: Where they come from.
        medium: What the model is to grow on.
        unknown: The compounds of the medium that the model has no exchange for.
    """
    secretions = set(universe.exchanges.values())
    found = {}
    for name, item in universe.reactions.items():
        if name in network.reactions or is_biomass(name) or name == universe.objective:
            continue
        offered = replace(item, low=max(item.low, 0.0)) if name in secretions else item
        if _may_be_added(offered):
            found[name] = offered
    for compound in unknown:
        exchange = universe.exchange_of(ids_of(compound))
        if exchange is not None and exchange not in network.reactions:
            low, high = medium.compounds[compound]
            found[exchange] = replace(universe.reactions[exchange], low=low, high=high)
    return found


def _may_be_added(item: NetworkReaction) -> bool:
    """Return whether a reaction may be added: it forces no flux and lets nothing in."""
    if item.low > 0 or item.high < 0 or not item.coefficients:
        return False
    if not item.is_boundary:
        return True
    (number,) = item.coefficients.values()
    return item.low == 0 if number < 0 else item.high == 0


def _metabolite(species: ET.Element) -> tuple[str, NetworkMetabolite]:
    charge = species.get(f"{_FLUX}charge")
    resources = (item.get(_RESOURCE, "") for item in species.iter())
    return _bare(species.get("id"), "M_"), NetworkMetabolite(
        name=species.get("name") or "",
        formula=species.get(f"{_FLUX}chemicalFormula") or "",
        charge=int(charge) if charge else 0,
        compartment=_bare(species.get("compartment"), "C_"),
        seed=tuple(text.partition(_SEED)[2] for text in resources if _SEED in text),
    )


def _reaction(reaction: ET.Element, bounds: Mapping[str, float]) -> tuple[str, NetworkReaction]:
    coefficients: dict[str, float] = {}
    for side, sign in (("listOfReactants", -1.0), ("listOfProducts", 1.0)):
        for item in reaction.iterfind(f"{_CORE}{side}/{_CORE}speciesReference"):
            name = _bare(item.get("species"), "M_")
            coefficients[name] = coefficients.get(name, 0.0) + sign * float(item.get("stoichiometry", "1"))
    return _bare(reaction.get("id"), "R_"), NetworkReaction(
        name=_bare(reaction.get("name"), "R_"),
        coefficients=coefficients,
        low=_bound(bounds, reaction.get(f"{_FLUX}lowerFluxBound"), -math.inf),
        high=_bound(bounds, reaction.get(f"{_FLUX}upperFluxBound"), math.inf),
    )


def _bound(bounds: Mapping[str, float], name: str | None, otherwise: float) -> float:
    return otherwise if name is None else bounds.get(name, otherwise)


def _bare(text: str | None, prefix: str) -> str:
    return (text or "").removeprefix(prefix)


def is_biomass(reaction_id: str) -> bool:
    """Return whether this is the name of a biomass reaction."""
    return _BIOMASS.search(reaction_id) is not None
