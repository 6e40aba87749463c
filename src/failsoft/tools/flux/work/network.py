"""Reactions and metabolites as plain data, for drafts, universes and solutions."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import cobra

from failsoft.tools.flux.conditions import OPEN, Medium
from failsoft.tools.flux.database.shipped import SbmlModel, read_models, read_sbml
from failsoft.tools.flux.work.exchanges import annotated, ids_of
from failsoft.tools.flux.work.solver import FLUX_NOISE, Column

_DIRECTIONS: Final = {">": (0.0, OPEN), "<": (-OPEN, 0.0), "=": (-OPEN, OPEN)}
_BIOMASS = re.compile(r"biomass|^bio\d+|^growth$", re.IGNORECASE)
_SEED = "seed.compound"


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
                item.name or "",
                item.formula or "",
                int(item.charge or 0),
                item.compartment or "",
                annotated(item, _SEED),
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


def _metabolite_to_cobra(name: str, item: NetworkMetabolite) -> dict[str, Any]:
    known: dict[str, Any] = {"id": name, "name": item.name, "compartment": item.compartment, "charge": item.charge}
    if item.formula:
        known["formula"] = item.formula
    if item.seed:
        known["annotation"] = {_SEED: item.seed[0] if len(item.seed) == 1 else list(item.seed)}
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


def universe_from(source: Mapping[str, str]) -> Network:
    """Return the reactions of a universe: of cobra's models for `{"source": "shipped"}`, else of a `file`."""
    if source["source"] == "carveme":
        return sbml_universe(Path(source["file"]))
    if source["source"] == "modelseedpy":
        return template_universe(Path(source["file"]))
    return shipped_universe()


@functools.lru_cache(maxsize=3)
def sbml_universe(file: Path) -> Network:
    """Return a universe that is kept as SBML. A worker reads it once, in about a second."""
    return _network(read_sbml(file))


@functools.lru_cache(maxsize=2)
def template_universe(file: Path) -> Network:
    """Return the reactions of a template of ModelSEEDpy by the ids of its models, and an exchange for each compound.

    They run in the direction that the template gives them: none is reversed to fill a gap.
    """
    template = json.loads(file.read_bytes())
    compounds = {item["id"]: item for item in template["compounds"]}
    metabolites = {}
    for item in template["compcompounds"]:
        compound = compounds[_last(item["templatecompound_ref"])]
        metabolites[f"{item['id']}0"] = NetworkMetabolite(
            compound["name"],
            compound.get("formula") or "",
            int(item.get("charge") or 0),
            f"{_last(item['templatecompartment_ref'])}0",
            (compound["id"],),
        )
    reactions = {
        f"EX_{name}": NetworkReaction(f"Exchange of {item.name}", {name: -1.0}, -OPEN, OPEN)
        for name, item in metabolites.items()
        if item.compartment == "e0"
    }
    for entry in template["reactions"]:
        coefficients: dict[str, float] = {}
        for part in entry["templateReactionReagents"]:
            name = f"{_last(part['templatecompcompound_ref'])}0"
            coefficients[name] = coefficients.get(name, 0.0) + float(part["coefficient"])
        balance = {name: number for name, number in coefficients.items() if number}
        low, high = _DIRECTIONS[entry["direction"]]
        reactions[f"{entry['id']}0"] = NetworkReaction(entry["name"], balance, low, high)
    return Network(metabolites, reactions)


def _last(reference: str) -> str:
    return reference.rpartition("/")[2]


@functools.lru_cache(maxsize=1)
def shipped_universe() -> Network:
    """Return the reactions of all models that cobra ships: the universe where no other one is installed."""
    networks = [_network(model) for model in read_models()]
    # The later ones win: the textbook model takes oxygen for superoxide.
    return Network(
        {name: item for network in networks for name, item in network.metabolites.items()},
        {name: item for network in networks for name, item in network.reactions.items()},
    )


def _network(model: SbmlModel) -> Network:
    reactions = {}
    for name, item in model.reactions.items():
        coefficients = {metabolite: -number for metabolite, number in item.reactants.items()}
        for metabolite, number in item.products.items():
            coefficients[metabolite] = coefficients.get(metabolite, 0.0) + number
        reactions[name] = NetworkReaction(item.name, coefficients, item.low, item.high)
    metabolites = {
        name: NetworkMetabolite(
            item.name, item.formula, item.charge or 0, item.compartment, tuple(item.annotations.get(_SEED, ()))
        )
        for name, item in model.species.items()
    }
    return Network(metabolites, reactions, model.objective)


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


@dataclass(frozen=True, slots=True)
class GapfillProblem:
    """A model on a medium, and what may be added to it.

    Args:
        model: The reactions that are there, exchanges as the medium has them.
        candidates: The reactions that may be added.
        objective: The reaction of the model that is growth.
        target: Growth to reach, per hour.
        deadline: When to stop, as `time.monotonic()`.
    """

    model: Mapping[str, NetworkReaction]
    candidates: Mapping[str, NetworkReaction]
    objective: str
    target: float
    deadline: float = math.inf

    def is_reached(self, growth: float) -> bool:
        """Return whether a growth is the target, within the tolerance of fluxes."""
        return growth >= self.target - FLUX_NOISE

    def columns(self) -> Iterator[Column]:
        """Yield the fluxes; each direction of a candidate is a flux of its own, at least 0."""
        for name, item in self.model.items():
            yield Column(name, item.coefficients, item.low, item.high)
        for name in self.candidates:
            yield from self.directions(name)

    def directions(self, name: str) -> Iterator[Column]:
        """Yield the fluxes of a candidate."""
        item = self.candidates[name]
        if item.high > 0:
            yield Column(f"{name}\n+", item.coefficients, max(item.low, 0.0), item.high)
        if item.low < 0:
            reverse = {metabolite: -number for metabolite, number in item.coefficients.items()}
            yield Column(f"{name}\n-", reverse, max(-item.high, 0.0), -item.low)


def is_biomass(reaction_id: str) -> bool:
    """Return whether this is the name of a biomass reaction."""
    return _BIOMASS.search(reaction_id) is not None
