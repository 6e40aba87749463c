"""What a model lacks: the cheapest uptakes with which an objective flows, and parts of it that cannot be made.

Every exchange gets a feed, a flux into the model at a price. The cheapest feeds that make the demand possible are
what a medium lacks; parts that cannot be made with all feeds open lack reactions.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from failsoft.tools.flux.conditions import PREDEFINED
from failsoft.tools.flux.database.entries import elements
from failsoft.tools.flux.work.network import NetworkMetabolite, NetworkReaction
from failsoft.tools.flux.work.solver import FLUX_NOISE, Column, LinearProblem

USUAL: Final = PREDEFINED["minimal_aerobic"].compounds
"""Compounds of minimal media with their bounds: the most likely ones to be missing."""
_FEED_AT_MOST = 1_000.0
_TRACE = 1e-3
"""Flux demanded of all parts at once; those that reach it can be produced."""
_MADE_AT = 1e-7
_USED_AT = 1e-8
_PRUNED_AT_MOST = 40
_ENOUGH = 0.999
_LISTED_AT_MOST = 20
_PART_OF_FLOW = 0.1
"""The target where none is given, of what is possible; at most 1, and seldom less: tiny fluxes are lost in rounding."""
_UNUSUAL = 10.0
_NAMELESS = 1_000.0
"""For metabolites without an id by which a medium could name them."""
_CARBONS_OF_UNKNOWN = 50
_CARBONS_OF_FORMATE = 1
"""Few organisms grow on carbon dioxide, formate or methanol alone."""
_CARRIER_CARBONS = 3
_SAME_AMOUNT = 0.01
_DEMAND: Final = "\ndemand"
"""A pseudo-metabolite that the objective produces and a flux of the same name consumes."""

Metabolites = Mapping[str, NetworkMetabolite]


@dataclass(frozen=True, slots=True)
class Uptake:
    """A flux of a metabolite into the model.

    Args:
        metabolite: What comes in.
        exchange: The exchange reaction of the metabolite.
        compound: The id by which a medium names it; empty if there is none.
        carbons: Its atoms of carbon.
    """

    metabolite: str
    exchange: str
    compound: str
    carbons: int

    @property
    def column(self) -> Column:
        """The flux, closed."""
        return Column(f"{self.exchange}\nfeed", {self.metabolite: 1.0}, 0.0, 0.0)

    @property
    def price(self) -> float:
        """Simple and usual compounds are cheap."""
        rarity = 1.0 if self.compound in USUAL else _UNUSUAL if self.compound else _NAMELESS
        return (1.0 + self.carbons) * rarity


@dataclass(frozen=True, slots=True)
class Shortage:
    """What is missing.

    Args:
        precursors: Parts of the objective that cannot be made: id, name, and whether `nutrients` or `reactions` are
            missing for each.
        nutrients: What has to come in, or more of it: exchange, the id that a medium takes if there is one, name, and
            the uptake in mmol/gDW/h; empty if no nutrients help.
        carbon_ratio: The carbon of these nutrients to that of the objective; 0 if nothing else brings carbon.
    """

    precursors: tuple[dict[str, Any], ...] = ()
    nutrients: tuple[dict[str, Any], ...] = ()
    carbon_ratio: float = 0.0


def shortage_of(
    metabolites: Metabolites,
    reactions: Mapping[str, NetworkReaction],
    weights: Mapping[str, float],
    exchanges: Mapping[str, str],
    compounds: Mapping[str, str],
    *,
    target: float | None = None,
    free: Collection[str] = (),
    deadline: float = math.inf,
) -> Shortage:
    """Return what keeps an objective from its target.

    Args:
        metabolites: For names, formulas and ModelSEED ids.
        reactions: With their bounds on the medium.
        weights: The objective.
        exchanges: By metabolite, those that may be opened.
        compounds: The id of what an exchange takes up, where that is known.
        target: What the objective has to reach; if left out, a small part of what is possible.
        free: The exchanges that are open: more of these costs nothing.
        deadline: When to stop, as `time.monotonic()`.

    Raises:
        COBRAPY_SOLVER_ERROR: There is no result in time.
    """
    feeds = [
        Uptake(item, name, compounds.get(name) or min(metabolites[item].seed, default=""), _carbons(metabolites, item))
        for item, name in exchanges.items()
    ]
    consumed = reactions[next(iter(weights))].coefficients if len(weights) == 1 else {}
    drains = _drains(metabolites, consumed)
    columns = [*_relaxed(reactions, weights), *drains.values(), *(feed.column for feed in feeds)]
    with LinearProblem(columns, deadline=deadline) as linear:
        blocked = _unmakable(linear, drains)
        _set_feeds(linear, feeds, is_open=True)
        hopeless = _unmakable(linear, blocked) if blocked else {}
        used: list[tuple[Uptake, float]] = []
        if not hopeless and (target := _demanded(linear, reactions, target)) is not None:
            used = _cheapest(linear, [feed for feed in feeds if feed.exchange not in free], target)
    has_source = any(feed.carbons > _CARBONS_OF_FORMATE for feed in feeds if feed.exchange in free)
    carbon = -sum(number * _carbons(metabolites, name) for name, number in consumed.items()) * (target or 0.0)
    return Shortage(
        tuple(
            {
                "metabolite_id": name,
                "name": metabolites[name].name or name,
                "missing": "reactions" if name in hopeless else "nutrients",
            }
            for name in list(blocked)[:_LISTED_AT_MOST]
        ),
        tuple(
            {
                "exchange": feed.exchange,
                **({"compound_id": feed.compound} if feed.compound else {}),
                "name": metabolites[feed.metabolite].name or feed.metabolite,
                "uptake": round(flux, 6),
            }
            for feed, flux in used[:_LISTED_AT_MOST]
        ),
        sum(flux * feed.carbons for feed, flux in used) / carbon if has_source and carbon > 0 else 0.0,
    )


def _set_feeds(linear: LinearProblem, feeds: Iterable[Uptake], *, is_open: bool) -> None:
    for feed in feeds:
        linear.bound(feed.column.name, 0.0, _FEED_AT_MOST if is_open else 0.0)


def _relaxed(reactions: Mapping[str, NetworkReaction], weights: Mapping[str, float]) -> Iterable[Column]:
    """Yield the fluxes, none of them forced: upkeep that cannot be met would hide all else that is missing."""
    for name, item in reactions.items():
        demand = {_DEMAND: weights[name]} if name in weights else {}
        yield Column(name, {**item.coefficients, **demand}, min(item.low, 0.0), max(item.high, 0.0))
    yield Column(_DEMAND, {_DEMAND: -1.0}, -math.inf, math.inf)


def _demanded(linear: LinearProblem, reactions: Mapping[str, NetworkReaction], target: float | None) -> float | None:
    """Force upkeep and the objective's target, and return that; None if the objective cannot flow."""
    for name, item in reactions.items():
        if item.low > 0 or item.high < 0:
            linear.bound(name, item.low, item.high)
    if target is None:
        outcome, most = linear.maximum({_DEMAND: 1.0})
        if outcome == "infeasible" or most <= FLUX_NOISE:
            return None
        target = 1.0 if outcome == "unbounded" else min(1.0, _PART_OF_FLOW * most)
    linear.bound(_DEMAND, target, math.inf)
    return target


def _cheapest(linear: LinearProblem, feeds: Sequence[Uptake], target: float) -> list[tuple[Uptake, float]]:
    """Return the feeds that reach the target at the lowest price, and their fluxes; none if none does.

    Each of them is needed: the dearest are tried first to be left out. What is possible at most without one decides,
    since GLPK takes a problem that lacks traces of molybdate for feasible.

    Args:
        linear: With the target in its bounds; all feeds are open.
        feeds: Those that cost something.
        target: The least demand.
    """
    prices = {feed.column.name: feed.price for feed in feeds}
    if linear.minimum(prices)[0] != "optimal":
        return []
    used = sorted((feed for feed in feeds if linear.flux(feed.column.name) > _USED_AT), key=lambda feed: -feed.price)
    _set_feeds(linear, [feed for feed in feeds if feed not in used], is_open=False)
    linear.bound(_DEMAND, 0.0, math.inf)
    for feed in used[:_PRUNED_AT_MOST]:
        _set_feeds(linear, [feed], is_open=False)
        outcome, most = linear.maximum({_DEMAND: 1.0})
        if outcome == "unbounded" or most >= target * _ENOUGH:
            used = [other for other in used if other is not feed]
        else:
            _set_feeds(linear, [feed], is_open=True)
    linear.bound(_DEMAND, target, math.inf)
    linear.minimum(prices)
    return [(feed, linear.flux(feed.column.name)) for feed in reversed(used)]


def _drains(metabolites: Metabolites, coefficients: Mapping[str, float]) -> dict[str, Column]:
    """Return a way out, closed, for each metabolite that a reaction uses up.

    Biomass gives some back in another form, in the same amount: ADP for ATP, CoA for acetyl-CoA. So does the way out:
    otherwise a model that charges a carrier but cannot produce it would be reported to lack both.
    """
    drains = {}
    for name, number in coefficients.items():
        if number < 0:
            given_back = {
                other: amount / -number
                for other, amount in coefficients.items()
                if abs(amount / -number - 1.0) <= _SAME_AMOUNT and _carbons(metabolites, name) >= _CARRIER_CARBONS
            }
            drains[name] = Column(f"{name}\ndrain", {name: -1.0, **given_back}, 0.0, 0.0)
    return drains


def _unmakable(linear: LinearProblem, drains: Mapping[str, Column]) -> dict[str, Column]:
    """Return the drains of what cannot be made: all are tried at once, and what falls short of it alone."""
    names = [drain.name for drain in drains.values()]
    for name in names:
        linear.bound(name, 0.0, _TRACE)
    outcome, _ = linear.maximum(dict.fromkeys(names, 1.0))
    short = {
        item: drain for item, drain in drains.items() if outcome != "optimal" or linear.flux(drain.name) < _TRACE / 2
    }
    for name in names:
        linear.bound(name, 0.0, 0.0)
    found = {}
    for item, drain in short.items():
        linear.bound(drain.name, 0.0, _TRACE)
        outcome, most = linear.maximum({drain.name: 1.0})
        if outcome != "optimal" or most < _MADE_AT:
            found[item] = drain
        linear.bound(drain.name, 0.0, 0.0)
    return found


def _carbons(metabolites: Metabolites, metabolite: str) -> int:
    """Return the carbon atoms of a metabolite; many, if its formula is not known."""
    formula = metabolites[metabolite].formula
    return elements(formula).get("C", 0) if formula else _CARBONS_OF_UNKNOWN
