"""Universes of reactions for gapfilling, as plain data, from carveme or from cobra's shipped models."""

from __future__ import annotations

import functools
import gzip
import importlib.resources
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

from failsoft.tools.flux.models.recipes import SHIPPED_MODELS
from failsoft.tools.flux.question import Medium
from failsoft.tools.flux.work.networks.network import Network, NetworkMetabolite, NetworkReaction
from failsoft.tools.flux.work.solving.exchanges import ids_of
from failsoft.tools.flux.work.solving.facts import is_biomass

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

    Args:
        network: The model.
        universe: Where they come from.
        medium: What the model is to grow on.
        unknown: The compounds of the medium that the model has no exchange for.
    """
    found = {
        name: item
        for name, item in universe.reactions.items()
        if name not in network.reactions and not is_biomass(name) and name != universe.objective and _may_be_added(item)
    }
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
