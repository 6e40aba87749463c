"""Why a model does not grow whatever is added: what of biomass cannot be made, and what the medium lacks for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from failsoft.tools.flux.work.filling import GROWS_AT, GapfillProblem
from failsoft.tools.flux.work.linear import Column, LinearProblem
from failsoft.tools.flux.work.network import Network

__all__ = ["Hunger", "hunger_of"]

_TRACE = 1e-3
"""Flux to ask of all precursors at once; whoever reaches it can be made."""
_MADE_AT = 1e-7
_FEED_AT_MOST = 1_000.0
_LISTED_AT_MOST = 20
_USUAL = frozenset(
    (
        *("cpd00001", "cpd00007", "cpd00009", "cpd00013", "cpd00027", "cpd00030", "cpd00034", "cpd00048", "cpd00058"),
        *("cpd00063", "cpd00067", "cpd00099", "cpd00149", "cpd00205", "cpd00244", "cpd00254", "cpd00971", "cpd10515"),
        *("cpd10516", "cpd11574"),
    )
)
"""What minimal media are made of: glucose, oxygen, ammonium, phosphate, sulfate, water and salts."""
_UNUSUAL_COST = 10.0
_CARBONS_OF_UNKNOWN = 50
_CARRIER_CARBONS = 3
_SAME_AMOUNT = 0.01
_CARBON = re.compile(r"C(?![a-z])(\d*)")


@dataclass(frozen=True, slots=True)
class Hunger:
    """What is missing.

    Args:
        precursors: Parts of biomass that cannot be made on the medium: id, name, and whether `nutrients` or
            `reactions` are missing for each.
        nutrients: What the medium would have to hold, or hold more of; empty if no food helps.
    """

    precursors: tuple[dict[str, Any], ...]
    nutrients: tuple[dict[str, Any], ...]


def hunger_of(problem: GapfillProblem, network: Network, names: Mapping[str, str]) -> Hunger:
    """Return what keeps the model from growing with all reactions of the universe.

    Args:
        problem: The one that could not be filled.
        network: Model and universe together, for the names and ModelSEED ids of metabolites.
        names: The ModelSEED id of what an exchange of the model takes up, where that is known.
    """
    drains = _drains(problem, network)
    feeds = {f"{exchange}\nfeed": metabolite for metabolite, exchange in network.exchanges.items()}
    columns = [*_relaxed(problem), *drains.values()]
    columns += [Column(feed, {metabolite: 1.0}, 0.0, 0.0) for feed, metabolite in feeds.items()]
    with LinearProblem(columns, deadline=problem.deadline) as linear:
        for feed in feeds:
            linear.bound(feed, 0.0, 0.0)
        blocked = _blocked(linear, drains)
        for feed in feeds:
            linear.bound(feed, 0.0, _FEED_AT_MOST)
        unmakable = _blocked(linear, blocked) if blocked else {}
        for drain in drains:
            linear.bound(drain, 0.0, 0.0)
        nutrients = [] if unmakable else _cheapest_food(linear, problem, network, feeds, names)
    return Hunger(
        tuple(
            {
                "metabolite": metabolite,
                "name": network.metabolites[metabolite].name,
                "missing": "reactions" if drain in unmakable else "nutrients",
            }
            for drain, column in list(blocked.items())[:_LISTED_AT_MOST]
            for metabolite in list(column.coefficients)[:1]
        ),
        tuple(nutrients[:_LISTED_AT_MOST]),
    )


def _relaxed(problem: GapfillProblem) -> Iterable[Column]:
    """Yield the fluxes without demands such as upkeep: one that cannot be met would hide all else that is missing."""
    for column in problem.columns():
        yield replace(column, low=min(column.low, 0.0), high=max(column.high, 0.0))


def _drains(problem: GapfillProblem, network: Network) -> dict[str, Column]:
    """Return a way out for each metabolite that biomass uses up.

    Biomass gives some back in another form, in the same amount: ADP for ATP, CoA for acetyl-CoA. So does the way out:
    else a model that charges a carrier and cannot make the carrier itself would be told that it lacks both.
    """
    biomass = problem.model[problem.objective].coefficients
    drains = {}
    for name, number in biomass.items():
        if number < 0:
            given_back = {
                other: amount / -number
                for other, amount in biomass.items()
                if abs(amount / -number - 1.0) <= _SAME_AMOUNT and _carbons(network, name) >= _CARRIER_CARBONS
            }
            drains[f"{name}\ndrain"] = Column(f"{name}\ndrain", {name: -1.0, **given_back}, 0.0, 0.0)
    return drains


def _blocked(linear: LinearProblem, drains: Mapping[str, Column]) -> dict[str, Column]:
    """Return those that cannot be made: all are tried at once, and what falls short of it alone."""
    for drain in drains:
        linear.bound(drain, 0.0, _TRACE)
    outcome, _ = linear.maximum(dict.fromkeys(drains, 1.0))
    short = [drain for drain in drains if outcome != "optimal" or linear.flux(drain) < _TRACE / 2]
    for drain in drains:
        linear.bound(drain, 0.0, 0.0)
    found = {}
    for drain in short:
        linear.bound(drain, 0.0, _TRACE)
        outcome, most = linear.maximum({drain: 1.0})
        if outcome != "optimal" or most < _MADE_AT:
            found[drain] = drains[drain]
        linear.bound(drain, 0.0, 0.0)
    return found


def _cheapest_food(
    linear: LinearProblem,
    problem: GapfillProblem,
    network: Network,
    feeds: Mapping[str, str],
    names: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Return the food that makes growth possible at the lowest price: simple and usual compounds are cheap."""
    for name, item in problem.model.items():
        linear.bound(name, item.low, item.high)
    linear.bound(problem.objective, problem.target, max(problem.target, problem.model[problem.objective].high))
    compounds = {feed: _compound(network, metabolite, names) for feed, metabolite in feeds.items()}
    prices = {feed: _price(network, metabolite, compounds[feed]) for feed, metabolite in feeds.items()}
    outcome, _ = linear.minimum(prices)
    if outcome != "optimal":
        return []
    eaten = sorted((feed for feed in feeds if linear.flux(feed) > GROWS_AT / 100), key=lambda feed: -prices[feed])
    for feed in feeds.keys() - set(eaten):
        linear.bound(feed, 0.0, 0.0)
    for feed in list(eaten):
        linear.bound(feed, 0.0, 0.0)
        if linear.minimum(prices)[0] == "optimal":
            eaten.remove(feed)
        else:
            linear.bound(feed, 0.0, _FEED_AT_MOST)
    linear.minimum(prices)
    return [
        {
            **({"compound_id": compounds[feed]} if compounds[feed] else {}),
            "exchange": network.exchanges[feeds[feed]],
            "name": network.metabolites[feeds[feed]].name,
            "uptake": round(linear.flux(feed), 6),
        }
        for feed in reversed(eaten)
    ]


def _compound(network: Network, metabolite: str, names: Mapping[str, str]) -> str:
    """Return the ModelSEED id by which a medium names a metabolite; empty if there is none."""
    return names.get(network.exchanges[metabolite]) or next(iter(sorted(network.metabolites[metabolite].seed)), "")


def _price(network: Network, metabolite: str, compound: str) -> float:
    return (1.0 + _carbons(network, metabolite)) * (1.0 if compound in _USUAL else _UNUSUAL_COST)


def _carbons(network: Network, metabolite: str) -> int:
    """Return the carbon atoms of a metabolite; many, if its formula is not known."""
    formula = network.metabolites[metabolite].formula
    return sum(int(number or 1) for number in _CARBON.findall(formula)) if formula else _CARBONS_OF_UNKNOWN


def _told(
    network: Network, problem: GapfillProblem, exchange: str, names: Mapping[str, str], uptake: float
) -> dict[str, Any]:
    (metabolite,) = problem.model[exchange].coefficients
    compound = {"compound_id": names[exchange]} if names.get(exchange) else {}
    facts = {"exchange": exchange, "name": network.metabolites[metabolite].name, "uptake": round(uptake, 6)}
    return {**compound, **facts}
