"""Diagnosis of a model without growth: the cheapest uptakes that would allow it, and the parts that it cannot make.

Every exchange gets a feed, a flux into the model at a price. The cheapest feeds that make the demand possible are
what a medium lacks; parts that cannot be made with all feeds open lack reactions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from failsoft.tools.flux.conditions import PREDEFINED
from failsoft.tools.flux.work.network import Network
from failsoft.tools.flux.work.solver import Column, LinearProblem

FEED_AT_MOST: Final = 1_000.0
_TRACE = 1e-3
"""Flux demanded of all parts at once; those that reach it can be produced."""
_MADE_AT = 1e-7
_USED_AT = 1e-8
_PRUNED_AT_MOST = 40
_USUAL = PREDEFINED["minimal_aerobic"].compounds
"""Compounds of minimal media, which are the most likely ones to be missing."""
_UNUSUAL = 10.0
_NAMELESS = 1_000.0
"""For metabolites without an id by which a medium could name them."""
_CARBONS_OF_UNKNOWN = 50
_CARRIER_CARBONS = 3
_SAME_AMOUNT = 0.01
_CARBON = re.compile(r"C(?![a-z])(\d*)")


@dataclass(frozen=True, slots=True)
class Feed:
    """A flux of a metabolite into the model.

    Args:
        metabolite: What comes in.
        exchange: The exchange reaction of the metabolite.
        compound: The id by which a medium names it; empty if there is none.
        price: Simple and usual compounds are cheap.
    """

    metabolite: str
    exchange: str
    compound: str
    price: float

    @property
    def column(self) -> Column:
        """The flux, closed."""
        return Column(f"{self.exchange}\nfeed", {self.metabolite: 1.0}, 0.0, 0.0)


def feeds_of(network: Network, exchanges: Mapping[str, str], compounds: Mapping[str, str]) -> list[Feed]:
    """Return a feed for each exchange.

    Args:
        network: For the formulas and the ModelSEED ids of the metabolites.
        exchanges: The exchange reaction of each metabolite.
        compounds: The id of what an exchange takes up, where that is known.
    """
    feeds = []
    for metabolite, exchange in exchanges.items():
        compound = compounds.get(exchange) or next(iter(sorted(network.metabolites[metabolite].seed)), "")
        rarity = 1.0 if compound in _USUAL else _UNUSUAL if compound else _NAMELESS
        feeds.append(Feed(metabolite, exchange, compound, (1.0 + _carbons(network, metabolite)) * rarity))
    return feeds


def set_feeds(linear: LinearProblem, feeds: Iterable[Feed], *, is_open: bool) -> None:
    """Open or close feeds, which are columns of the problem."""
    for feed in feeds:
        linear.bound(feed.column.name, 0.0, FEED_AT_MOST if is_open else 0.0)


def cheapest(linear: LinearProblem, feeds: Sequence[Feed]) -> list[tuple[Feed, float]]:
    """Return the feeds that make the problem possible at the lowest price, and their fluxes; none if none does.

    Each of them is needed: the dearest are tried first to be left out. The other feeds are closed afterwards.

    Args:
        linear: With the demand in its bounds; feeds that cost nothing are open.
        feeds: Those that cost something.
    """
    prices = {feed.column.name: feed.price for feed in feeds}
    set_feeds(linear, feeds, is_open=True)
    if linear.minimum(prices)[0] != "optimal":
        return []
    used = sorted((feed for feed in feeds if linear.flux(feed.column.name) > _USED_AT), key=lambda feed: -feed.price)
    set_feeds(linear, [feed for feed in feeds if feed not in used], is_open=False)
    for feed in used[:_PRUNED_AT_MOST]:
        set_feeds(linear, [feed], is_open=False)
        if linear.minimum(prices)[0] == "optimal":
            used = [other for other in used if other is not feed]
        else:
            set_feeds(linear, [feed], is_open=True)
    linear.minimum(prices)
    return [(feed, linear.flux(feed.column.name)) for feed in reversed(used)]


def relaxed(columns: Iterable[Column]) -> Iterable[Column]:
    """Yield the fluxes without demands such as upkeep: one that cannot be met would hide all else that is missing."""
    for column in columns:
        yield replace(column, low=min(column.low, 0.0), high=max(column.high, 0.0))


def drains_of(network: Network, coefficients: Mapping[str, float]) -> dict[str, Column]:
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
                if abs(amount / -number - 1.0) <= _SAME_AMOUNT and _carbons(network, name) >= _CARRIER_CARBONS
            }
            drains[name] = Column(f"{name}\ndrain", {name: -1.0, **given_back}, 0.0, 0.0)
    return drains


def unmakable(linear: LinearProblem, drains: Mapping[str, Column]) -> dict[str, Column]:
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


def _carbons(network: Network, metabolite: str) -> int:
    """Return the carbon atoms of a metabolite; many, if its formula is not known."""
    formula = network.metabolites[metabolite].formula
    return sum(int(number or 1) for number in _CARBON.findall(formula)) if formula else _CARBONS_OF_UNKNOWN
