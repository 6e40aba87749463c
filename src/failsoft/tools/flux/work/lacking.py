"""What a model that cannot be gapfilled lacks: biomass precursors, and nutrients in the medium."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from failsoft.tools.flux.work.filling import GapfillProblem
from failsoft.tools.flux.work.network import Network
from failsoft.tools.flux.work.shortage import cheapest, drains_of, feeds_of, relaxed, set_feeds, unmakable
from failsoft.tools.flux.work.solver import LinearProblem

_LISTED_AT_MOST = 20


@dataclass(frozen=True, slots=True)
class Lacking:
    """What is missing.

    Args:
        precursors: Parts of biomass that cannot be made on the medium: id, name, and whether `nutrients` or
            `reactions` are missing for each.
        nutrients: What the medium would have to hold, or hold more of; empty if no nutrients help.
    """

    precursors: tuple[dict[str, Any], ...]
    nutrients: tuple[dict[str, Any], ...]


def lacking(problem: GapfillProblem, network: Network, names: Mapping[str, str]) -> Lacking:
    """Return what keeps the model from growing with all reactions of the universe.

    Args:
        problem: The one that could not be filled.
        network: Model and universe together, for the names and ModelSEED ids of metabolites.
        names: The ModelSEED id of what an exchange of the model takes up, where that is known.
    """
    biomass = problem.model[problem.objective]
    drains = drains_of(network, biomass.coefficients)
    feeds = feeds_of(network, network.exchanges, names)
    columns = [*relaxed(problem.columns()), *drains.values(), *(feed.column for feed in feeds)]
    with LinearProblem(columns, deadline=problem.deadline) as linear:
        blocked = unmakable(linear, drains)
        set_feeds(linear, feeds, is_open=True)
        hopeless = unmakable(linear, blocked) if blocked else {}
        used = []
        if not hopeless:
            for name, item in problem.model.items():
                linear.bound(name, item.low, item.high)
            linear.bound(problem.objective, problem.target, max(problem.target, biomass.high))
            used = cheapest(linear, feeds)
    return Lacking(
        tuple(
            {
                "metabolite": metabolite,
                "name": network.metabolites[metabolite].name,
                "missing": "reactions" if metabolite in hopeless else "nutrients",
            }
            for metabolite in list(blocked)[:_LISTED_AT_MOST]
        ),
        tuple(
            {
                **({"compound_id": feed.compound} if feed.compound else {}),
                "exchange": feed.exchange,
                "name": network.metabolites[feed.metabolite].name,
                "uptake": round(flux, 6),
            }
            for feed, flux in used[:_LISTED_AT_MOST]
        ),
    )
