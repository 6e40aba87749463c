"""How a computation ends without a result: the errors that workers raise (seed 002)."""

from __future__ import annotations

from typing import Any

from failsoft.framework.errors import Infeasible, NotFound, Public, UpstreamError, Words


class ObjectiveNotFound(NotFound):
    """The model has no such reaction to optimize, or no objective.

    Raised when: `objective` names no reaction of the model; or it is left out, and the model has no objective of its
    own: any fluxes would be optimal, with the value 0.
    Caller: name one of `similar_ids` if it is meant, or another reaction of the model.
    Operator: nothing to do.
    """

    model_id: Public[str]
    objective: Public[str]
    similar_ids: Public[list[str] | None] = None
    code = "OBJECTIVE_NOT_FOUND"
    message = "The model '{model_id}' has no reaction '{objective}' to optimize."
    hints = ("Look for the biomass reaction with export_model_json, and name it as objective",)


class FbaInfeasible(Infeasible):
    """No fluxes satisfy all bounds, or the objective cannot carry flux.

    Raised when: the linear problem has no solution, since bounds contradict each other or a demand cannot be met on the
    medium; or the best value of the objective is 0 (`solver_status` is then `optimal`), which is never reported as a
    result.
    Caller: `changes` lists what you changed since the model was loaded, built or gap filled: undo what was not meant to
    stop growth. Otherwise add `missing_uptakes` to the medium, relax `contradictions`, or call `gapfill_model`.
    """

    model_id: Public[str]
    objective: Public[str]
    solver_status: Public[str]
    media_id: Public[str | None] = None
    num_reactions: Public[int | None] = None
    num_metabolites: Public[int | None] = None
    num_exchange_reactions: Public[int | None] = None
    changes: Public[list[dict[str, Any]] | None] = None
    missing_uptakes: Public[list[dict[str, Any]] | None] = None
    contradictions: Public[list[dict[str, Any]] | None] = None
    blocked_precursors: Public[list[dict[str, Any]] | None] = None
    unusable_compounds: Public[list[str] | None] = None
    code = "FBA_INFEASIBLE"
    message = "No fluxes through '{objective}' are possible in the model '{model_id}' under these conditions."
    hints = ("Check the sources of C, N, P and S in the medium, and the bounds of exchanges; then try gapfill_model",)


class FbaUnbounded(Infeasible):
    """The flux through the objective has no upper limit.

    Raised when: no bound limits the flux through the objective, because a loop of reactions or an exchange has an
    infinite bound.
    Caller: give the reactions in `unlimited_reactions` finite bounds with `modify_model`, or use another objective.
    """

    model_id: Public[str]
    objective: Public[str]
    media_id: Public[str | None] = None
    unlimited_reactions: Public[list[str] | None] = None
    code = "FBA_UNBOUNDED"
    message = "The flux through '{objective}' in the model '{model_id}' has no limit."
    hints = ("Give reactions with infinite bounds finite ones, with modify_model",)


class CobrapySolverError(UpstreamError):
    """The solver gave no usable answer.

    Raised when: it had numerical problems with and without presolve, ran out of time, or its process ended unexpectedly
    twice.
    Caller: make the problem easier: less extreme bounds and coefficients, a smaller model. After a time-out the same
    call may succeed when the server is less busy.
    Operator: find out whether the system killed workers for their memory; the log has the error of the solver.
    """

    operation: Public[Words]
    exception_type: Public[Words]
    exception_message: Public[str]
    library: Public[str] = "COBRApy"
    solver: Public[str] = "glpk"
    code = "COBRAPY_SOLVER_ERROR"
    message = "The solver gave no result ({exception_type})."
    hints = ("Look with export_model_json for very large or very small bounds and coefficients",)
    retry = "after_fix"
    actor = "caller"


class GapfillInfeasible(Infeasible):
    """No reactions of the universe (all that may be added) let the model reach the target growth on the medium.

    Raised when: growth stays below the target even with every reaction of the universe: the medium lacks a nutrient,
    precursors of biomass cannot be made at all, or the target is above the maximum.
    Caller: add what `missing_nutrients` names to the medium, or lower `target_growth` to `growth_at_most`.
    Operator: nothing to do, unless the universe should contain the missing reactions.
    """

    model_id: Public[str]
    media_id: Public[str]
    target_growth: Public[float]
    growth_at_most: Public[float | None] = None
    max_complexity: Public[int | None] = None
    media_compounds: Public[int | None] = None
    template_reactions_available: Public[int | None] = None
    blocked_precursors: Public[tuple[dict[str, Any], ...] | None] = None
    missing_nutrients: Public[tuple[dict[str, Any], ...] | None] = None
    code = "GAPFILL_INFEASIBLE"
    message = "No reactions of the universe let '{model_id}' grow at {target_growth} on '{media_id}'."
    hints = ("Verify with get_compound_name that the medium has sources of C, N, P and S, or try a richer one",)


class MaxComplexityExceeded(Infeasible):
    """Growth needs more new reactions than the caller allows.

    Raised when: gap filling finds a solution, but the smallest one found has more than `max_complexity` reactions.
    Caller: call again with `reactions_needed` as `max_complexity`, or with a richer medium.
    """

    reactions_needed: Public[int]
    max_complexity: Public[int]
    reactions: Public[tuple[str, ...] | None] = None
    code = "MAX_COMPLEXITY_EXCEEDED"
    message = "Growth needs {reactions_needed} new reactions, and max_complexity allows {max_complexity}."
    hints = ("Allow {reactions_needed} reactions, or try a richer medium, which needs fewer",)


class ModelSeedPyError(UpstreamError):
    """ModelSEEDpy raised an exception while it built a model.

    Raised when: a model is built from protein functions, and ModelSEEDpy cannot be imported, cannot read the template,
    or fails on the genome.
    Caller: try another template; if that fails too, report the error id to the user.
    Operator: find the error id in the log, which has the exception.
    """

    library: Public[str] = "ModelSEEDpy"
    operation: Public[Words]
    exception_type: Public[Words]
    exception_message: Public[str] = ""
    template_requested: Public[str | None] = None
    code = "MODELSEEDPY_ERROR"
    message = "ModelSEEDpy failed at {operation} ({exception_type})."
    hints = ("Try another template: GramNegative, GramPositive or Core; if all fail, the operator has to read the log",)
    retry = "after_fix"
    actor = "operator"
