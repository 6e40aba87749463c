"""Growth on several media, and production envelopes by COBRApy, as tasks."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from typing import Any

import cobra
from cobra.flux_analysis import production_envelope as envelope_of_cobra

from failsoft.framework.errors import InvalidParameter
from failsoft.framework.errors.violations import Violation
from failsoft.jobs.processes.worker import call_deadline, progress
from failsoft.tools.flux.conditions import Conditions
from failsoft.tools.flux.failures import FbaInfeasible, FbaUnbounded
from failsoft.tools.flux.store import Recipe
from failsoft.tools.flux.work.analyses import optimum, parsimonious
from failsoft.tools.flux.work.diagnosis import unbounded
from failsoft.tools.flux.work.exchanges import apply_conditions, exchanges_of
from failsoft.tools.flux.work.facts import objective_of
from failsoft.tools.flux.work.making import model_of, unknown_ids
from failsoft.tools.flux.work.solver import FLUX_NOISE, TROUBLE, ZERO, failure, limit_time, rounded, solve

_EXPLAINED = 0.3
"""Part of the time of a call after which media without growth get no reason of their own: each may take seconds."""
_UNEXPLAINED = "Nothing flows through the objective; run_fba on this medium says why."
_YIELDS = ("carbon_yield_minimum", "carbon_yield_maximum", "mass_yield_minimum", "mass_yield_maximum")


def growth_on_media(recipe: Recipe, conditions: Sequence[Conditions]) -> dict[str, Any]:
    """Return the optimum of a model's own objective on each medium.

    Raises:
        OBJECTIVE_NOT_FOUND: The model has no objective.
        COBRAPY_SOLVER_ERROR: The solver gave no answer on one of the media.
    """
    model = model_of(recipe)
    began = time.monotonic()
    explained_until = began + _EXPLAINED * (call_deadline() - began)
    rows = []
    said: list[list[str]] = []
    for done, given in enumerate(conditions):
        progress(done, len(conditions), "Optimizing on each medium")
        assert given.medium is not None  # noqa: S101 - each has one
        unused = [name for name in given.medium.compounds if name not in exchanges_of(model).by_compound]
        row: dict[str, Any] = {"media_id": given.media_id}
        with model:
            try:
                is_late = time.monotonic() > explained_until
                best = None if is_late and not _carries(model, given) else optimum(model, recipe, given)
            except FbaInfeasible as error:
                row |= {"growth": 0.0, "reason": error.message}
            except FbaUnbounded as error:
                row |= {"growth": None, "reason": error.message}
            else:
                row |= {"growth": 0.0, "reason": _UNEXPLAINED} if best is None else {"growth": rounded(best.value)}
                said += [] if best is None else [best.warnings]
        rows.append({**row, "unused_compounds": unused} if unused else row)
    growing = sum(row["growth"] is not None and row["growth"] > ZERO for row in rows)
    common = [item for item in said[0] if all(item in others for others in said)] if said else []
    result = {"objective": " + ".join(objective_of(model)), "results": rows, "num_growing": growing}
    return {"result": result, "warnings": common}


def _carries(model: cobra.Model, conditions: Conditions) -> bool:
    """Return whether the objective carries flux, without a search for why it does not."""
    with model:
        apply_conditions(model, conditions)
        verdict = solve(model)
        return verdict == "unbounded" or (verdict == "optimal" and rounded(model.solver.objective.value) != 0)


def production_envelope(recipe: Recipe, conditions: Conditions, names: Sequence[str], points: int) -> dict[str, Any]:
    """Return the range of the objective over a grid of the fluxes of some reactions.

    Args:
        recipe: The model.
        conditions: The medium and the objective.
        names: The reactions that are varied, each from its smallest to its largest possible flux.
        points: Fluxes of each.

    Raises:
        INVALID_PARAM: Reactions that the model does not have, or an objective of several reactions.
        OBJECTIVE_NOT_FOUND, FBA_INFEASIBLE, FBA_UNBOUNDED, COBRAPY_SOLVER_ERROR: There is no optimum at all.
    """
    model = model_of(recipe)
    violations = unknown_ids("reactions", names, model.reactions, "reaction")
    own = objective_of(model)
    if conditions.objective is None and len(own) > 1:
        message = f"the model's own objective has {len(own)} reactions; name one of them"
        violations.append(Violation(path="objective", reason="missing", message=message, allowed=own))
    if violations:
        raise InvalidParameter.from_violations(violations)
    with model:
        best = optimum(model, recipe, conditions)
        _require_limits(model, conditions, names)
        sources = _carbon_sources(model)
        frame = _envelope(model, names, points, sources)
        limit_time(model)  # a point that ran out of time looks like one without a solution
    # The formula of biomass is not what leaves the model: COBRApy's yields of it exceed 1.
    yields = _YIELDS if all(model.reactions.get_by_id(name).boundary for name in best.names) else ()
    results = []
    for row in frame.to_dict("records"):
        point = {
            "fluxes": {name: rounded(row[name]) for name in names},
            "minimum": _known(row["flux_minimum"]),
            "maximum": _known(row["flux_maximum"]),
        }
        results.append({**point, **{name: rounded(row[name]) for name in yields if math.isfinite(row[name])}})
    result = {
        "objective": best.objective,
        "carbon_sources": sources,
        "results": results,
    }
    return {"result": result, "warnings": best.warnings}


def _require_limits(model: cobra.Model, conditions: Conditions, names: Sequence[str]) -> None:
    """Refuse reactions whose flux has no limit.

    Raises:
        FBA_UNBOUNDED: With what has to be bounded.
    """
    for name in names:
        for direction in ("min", "max"):
            with model:
                model.objective = name
                model.objective_direction = direction
                if solve(model) == "unbounded":
                    raise unbounded(model, conditions, (name,))


def _carbon_sources(model: cobra.Model) -> list[str]:
    """Return the exchanges that take up carbon where the sum of fluxes is smallest: other optima have needless ones."""
    fluxes, _ = parsimonious(model)
    return [
        item.reaction_id
        for item in exchanges_of(model).exchanges
        if (fluxes[item.reaction_id] if item.is_reversed else -fluxes[item.reaction_id]) > FLUX_NOISE
        and any("C" in metabolite.elements for metabolite in model.reactions.get_by_id(item.reaction_id).metabolites)
    ]


def _envelope(model: cobra.Model, names: Sequence[str], points: int, sources: Sequence[str]) -> Any:
    """Return COBRApy's table, computed in this process alone."""
    configuration = cobra.Configuration()
    processes, configuration.processes = configuration.processes, 1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # points without a solution are empty in the table
            return envelope_of_cobra(model, list(names), carbon_sources=list(sources), points=points)
    except cobra.exceptions.OptimizationError as error:
        raise failure(TROUBLE, f"no range of {', '.join(names)}: {error}") from error
    finally:
        configuration.processes = processes


def _known(value: float) -> float | None:
    return rounded(value) if math.isfinite(value) else None
