"""What is wrong with a model as it is: balances, dead ends, missing formulas, unused genes, energy from nothing."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, Final

import cobra
from optlang.symbolics import Zero

from failsoft.tools.flux.store import Recipe
from failsoft.tools.flux.work.exchanges import by_place, split_place
from failsoft.tools.flux.work.facts import objective_of
from failsoft.tools.flux.work.making import model_of
from failsoft.tools.flux.work.network import is_biomass
from failsoft.tools.flux.work.solver import FLUX_NOISE, fluxes_of, solve

_LISTED_AT_MOST = 20
_DECIMALS = 6
_SLACK = 0.99
"""Part of the most energy that a loop has to make; the rest is for the solver's tolerance."""
_MODELSEED: Final[Mapping[str, str]] = {
    "h2o": "cpd00001", "atp": "cpd00002", "nad": "cpd00003", "nadh": "cpd00004", "nadph": "cpd00005",
    "nadp": "cpd00006", "adp": "cpd00008", "pi": "cpd00009", "coa": "cpd00010", "nh4": "cpd00013", "udp": "cpd00014",
    "fad": "cpd00015", "accoa": "cpd00022", "glu__L": "cpd00023", "akg": "cpd00024", "ac": "cpd00029",
    "gdp": "cpd00031", "gtp": "cpd00038", "fmn": "cpd00050", "ctp": "cpd00052", "utp": "cpd00062", "h": "cpd00067",
    "itp": "cpd00068", "idp": "cpd00090", "cdp": "cpd00096", "fadh2": "cpd00982", "fmnh2": "cpd01270",
    "2dmmq8": "cpd15352", "2dmmql8": "cpd15353", "mql8": "cpd15499", "mqn8": "cpd15500", "q8": "cpd15560",
    "q8h2": "cpd15561",
}  # fmt: skip
"""The ModelSEED ids of the BiGG ids below."""
_DISSIPATIONS: Final[Mapping[str, str]] = {
    **{f"{base.upper()}TP": f"{base}tp h2o > {base}dp pi h" for base in "acgui"},
    "NADH": "nadh > nad h",
    "NADPH": "nadph > nadp h",
    "FADH2": "fadh2 > fad h h",
    "FMNH2": "fmnh2 > fmn h h",
    "ubiquinol-8": "q8h2 > q8 h h",
    "menaquinol-8": "mql8 > mqn8 h h",
    "demethylmenaquinol-8": "2dmmql8 > 2dmmq8 h h",
    "acetyl-CoA": "accoa h2o > ac coa h",
    "L-glutamate": "glu__L h2o > akg nh4 h h",
    "proton gradient": "h.p > h",
}
"""Reactions that use up the energy of each carrier (Fritzemeier et al. 2017, PLoS Comput Biol 13:e1005494)."""


def check_model(recipe: Recipe) -> dict[str, Any]:
    """Return the counts of what is wrong with a model, with the first of each kind: a task.

    Exchanges, demands, sinks and biomass are not balanced by design, so their balances are not checked.

    Raises:
        COBRAPY_SOLVER_ERROR: The solver gave no answer about energy from nothing.
    """
    model = model_of(recipe)
    own = set(objective_of(model))
    inner = [item for item in model.reactions if not (item.boundary or is_biomass(item.id) or item.id in own)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of formulas that are listed here
        formless = {item for item in model.metabolites if not item.formula or item.elements is None}
        differences = {item: _difference(item) for item in inner if formless.isdisjoint(item.metabolites)}
    chargeless = {item for item in model.metabolites if item.charge is None}
    charges = {item: _charge(item) for item in inner if chargeless.isdisjoint(item.metabolites)}
    consumed_only, produced_only, disconnected = _dead_ends(model)
    energy, unknown = energy_from_nothing(model)
    return {
        "num_reactions": len(inner),
        "mass_unbalanced": _imbalances(differences),
        "charge_unbalanced": _imbalances(charges),
        "not_checked_for_mass": _listed(item.id for item in inner if item not in differences),
        "not_checked_for_charge": _listed(item.id for item in inner if item not in charges),
        "without_formula": _listed(item.id for item in model.metabolites if item in formless),
        "without_charge": _listed(item.id for item in model.metabolites if item in chargeless),
        "only_consumed": _listed(consumed_only),
        "only_produced": _listed(produced_only),
        "disconnected": _listed(disconnected),
        "unused_genes": _listed(item.id for item in model.genes if not item.reactions),
        "energy_from_nothing": energy,
        "energy_not_checked": unknown,
    }


def energy_from_nothing(model: cobra.Model) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the energy carriers that are charged with every uptake closed, and those that the model lacks.

    Each comes with the fewest fluxes that charge it. Reactions that must run, such as maintenance, may stand still.
    """
    found: list[dict[str, Any]] = []
    with model:
        for item in model.reactions:
            low, high = min(item.lower_bound, 0.0), max(item.upper_bound, 0.0)
            if item.boundary:
                (number,) = item.metabolites.values()
                low, high = (0.0, high) if number < 0 else (low, 0.0)
            if (low, high) != item.bounds:
                item.bounds = low, high
        known = by_place(item for item in model.metabolites if split_place(item.id)[1])
        dissipations = {name: _dissipation(name, text, known) for name, text in _DISSIPATIONS.items()}
        carriers = {name: item for name, item in dissipations.items() if item is not None}
        model.add_reactions(list(carriers.values()))
        if _made(model, list(carriers.values())) > FLUX_NOISE:
            for name, item in carriers.items():
                made = _made(model, [item])
                if made > FLUX_NOISE:
                    found.append({"carrier": name, "reactions": _loop(model, item, made)})
    return found, [name for name in _DISSIPATIONS if name not in carriers]


def _made(model: cobra.Model, dissipations: list[cobra.Reaction]) -> float:
    if not dissipations:
        return 0.0
    model.objective = dict.fromkeys(dissipations, 1.0)
    model.objective_direction = "max"
    solve(model)  # all fluxes may be 0, and each of these at most 1
    return float(model.solver.objective.value)


def _loop(model: cobra.Model, dissipation: cobra.Reaction, made: float) -> dict[str, float]:
    """Return the smallest fluxes that charge what is dissipated, for one of it."""
    with model:
        dissipation.lower_bound = made * _SLACK
        model.objective = model.problem.Objective(Zero, direction="min", sloppy=True)
        model.objective.set_linear_coefficients(dict.fromkeys(model.solver.variables, 1.0))
        if solve(model) != "optimal":
            return {}
        fluxes = fluxes_of(model)
    unit = fluxes.pop(dissipation.id)
    parts = {name: round(flux / unit, 4) for name, flux in fluxes.items() if abs(flux) > FLUX_NOISE}
    return {name: parts[name] for name in sorted(parts, key=lambda name: -abs(parts[name]))[:_LISTED_AT_MOST]}


def _dissipation(name: str, text: str, known: Mapping[tuple[str, str], cobra.Metabolite]) -> cobra.Reaction | None:
    """Return the reaction that uses up an energy carrier, or None if the model lacks one of its metabolites."""
    reaction = cobra.Reaction(f"failsoft_{name.replace(' ', '_')}", lower_bound=0.0, upper_bound=1.0)
    number = -1.0
    for word in text.split():
        if word == ">":
            number = 1.0
            continue
        bigg, _, place = word.partition(".")
        names = bigg, _MODELSEED[bigg], bigg.replace("__", "_")
        spelled = product(names, (place or "c", f"{place or 'c'}0"))
        metabolite = next((known[item] for item in spelled if item in known), None)
        if metabolite is None:
            return None
        reaction.add_metabolites({metabolite: number})
    return reaction


def _difference(reaction: cobra.Reaction) -> dict[str, float]:
    balance = reaction.check_mass_balance()
    rounded = {name: round(number, _DECIMALS) for name, number in balance.items() if name != "charge"}
    return {name: number for name, number in rounded.items() if number}


def _charge(reaction: cobra.Reaction) -> dict[str, float]:
    total = round(sum(item.charge * number for item, number in reaction.metabolites.items()), _DECIMALS)
    return {"charge": total} if total else {}


def _dead_ends(model: cobra.Model) -> tuple[list[str], list[str], list[str]]:
    """Return the metabolites that bounds let be consumed only, be produced only, and neither.

    One with an exchange, a demand or a sink is none of them, whatever the bounds of that are: a medium decides them.
    """
    consumed: list[str] = []
    produced: list[str] = []
    neither: list[str] = []
    for metabolite in model.metabolites:
        ways = set()
        for reaction in metabolite.reactions:
            number = reaction.metabolites[metabolite]
            ways |= {number > 0} if reaction.upper_bound > 0 else set()
            ways |= {number < 0} if reaction.lower_bound < 0 else set()
            ways |= {True, False} if reaction.boundary else set()
        if len(ways) < 2:  # noqa: PLR2004 - both ways
            (produced if ways == {True} else consumed if ways else neither).append(metabolite.id)
    return consumed, produced, neither


def _imbalances(found: Mapping[cobra.Reaction, dict[str, float]]) -> dict[str, Any]:
    wrong = [(item, difference) for item, difference in found.items() if difference]
    shown = [
        {"reaction_id": item.id, "equation": item.reaction, "excess": difference}
        for item, difference in wrong[:_LISTED_AT_MOST]
    ]
    return {"count": len(wrong), "reactions": shown}


def _listed(ids: Iterable[str]) -> dict[str, Any]:
    found = list(ids)
    return {"count": len(found), "ids": found[:_LISTED_AT_MOST]}
