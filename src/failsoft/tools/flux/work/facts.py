"""What is told about a model, and what makes one look wrong."""

from __future__ import annotations

import re
import weakref
from typing import Any

import cobra
from cobra.util.solver import linear_reaction_coefficients

from failsoft.tools.flux.recipes import Recipe
from failsoft.tools.flux.work.exchanges import surroundings_of
from failsoft.tools.flux.work.models import model_of

__all__ = ["biomass_reactions", "describe", "model_facts", "objective_of", "oddities"]

_BIOMASS = re.compile(r"biomass|^bio\d+|^growth$", re.IGNORECASE)
_REACTIONS_AT_LEAST = 100

_objectives: weakref.WeakKeyDictionary[cobra.Model, tuple[str, ...]] = weakref.WeakKeyDictionary()


def describe(recipe: Recipe) -> dict[str, Any]:
    """Return the facts of a recipe's model and what looks wrong with it: a task."""
    model = model_of(recipe)
    return {"facts": model_facts(model), "warnings": oddities(model)}


def model_facts(model: cobra.Model) -> dict[str, Any]:
    """Return the counts of a model and its objective, as `list_models` tells them."""
    return {
        "num_reactions": len(model.reactions),
        "num_metabolites": len(model.metabolites),
        "num_genes": len(model.genes),
        "num_exchange_reactions": len(surroundings_of(model).exchanges),
        "objective": " + ".join(objective_of(model)),
    }


def objective_of(model: cobra.Model) -> tuple[str, ...]:
    """Return the reactions that the model itself optimizes; worked out once, so ask before changing the objective."""
    found = _objectives.get(model)
    if found is None:
        found = _objectives[model] = tuple(sorted(reaction.id for reaction in linear_reaction_coefficients(model)))
    return found


def biomass_reactions(model: cobra.Model) -> list[str]:
    """Return the reactions that stand for growth, by their names: nothing else marks them in all models."""
    return [reaction.id for reaction in model.reactions if is_biomass(reaction.id)]


def is_biomass(reaction_id: str) -> bool:
    """Return whether this is the name of a biomass reaction."""
    return _BIOMASS.search(reaction_id) is not None


def oddities(model: cobra.Model) -> list[str]:
    """Return sentences on what a usable model seldom lacks (seed 002, biological plausibility)."""
    found = []
    if not biomass_reactions(model):
        found.append("The model has no biomass reaction.")
    if not surroundings_of(model).exchanges:
        found.append("The model has no exchange reactions, so it can take up nothing.")
    if len(model.reactions) < _REACTIONS_AT_LEAST:
        found.append(f"The model has {len(model.reactions)} reactions; whole models have at least 100.")
    return found
