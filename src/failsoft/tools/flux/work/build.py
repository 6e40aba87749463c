"""The build task: proteins in, the base of a recipe and facts about it out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from failsoft.tools.flux.store import Recipe
from failsoft.tools.flux.work import homology, modelseedpy, template
from failsoft.tools.flux.work.checking import free_energy
from failsoft.tools.flux.work.exchanges import exchanges_of
from failsoft.tools.flux.work.facts import model_facts, oddities
from failsoft.tools.flux.work.making import model_of

_COMPLETE = (-1_000.0, 1_000.0)
_GROWS_AT = 1e-6


def build(order: Mapping[str, Any], sequences: Mapping[str, str], functions: Mapping[str, str]) -> dict[str, Any]:
    """Return the base of the model's recipe, its facts, its growth with all nutrients, and warnings: a task.

    Args:
        order: Route, template, name, the places of the data, and the seconds that a program may take.
        sequences: Proteins by id.
        functions: Their functional roles by id, where they are known.
    """
    name = order["template"], order["name"]
    if order["route"] == "homology":
        built = homology.build(sequences, *name, order["carveme"], order["diamond"], order["limit_s"])
        recognized = (
            f"{built['matched']} of {len(sequences)} proteins are like known ones that have a part in metabolism"
        )
    elif order["route"] == "template":
        built = template.build(functions, *name, order["pyfba"])
        recognized = f"{built['matched']} of {len(sequences)} proteins have a role in metabolism that is known"
    else:
        built = modelseedpy.build(sequences, functions, *name, order["python"], order["templates"], order["limit_s"])
        recognized = ""
    model = model_of(Recipe(built["base"]))
    with model:
        for exchange in exchanges_of(model).exchanges:
            model.reactions.get_by_id(exchange.reaction_id).bounds = _COMPLETE
        growth = float(model.slim_optimize())
    growth = 0.0 if math.isnan(growth) or growth < _GROWS_AT else growth
    warnings = [*oddities(model), *free_energy(model)]
    if recognized:
        warnings.append(f"{recognized}.")
    if not growth:
        warnings.append("The draft does not grow even with every nutrient available: fill its gaps with gapfill_model.")
    return {
        "base": built["base"],
        "facts": {**model_facts(model), "source": built["base"]["source"], "template": order["template"]},
        "growth": round(growth, 6),
        "warnings": warnings,
    }
