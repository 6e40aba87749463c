"""How a computation ends without a result: the errors that workers raise (seed 002)."""

from __future__ import annotations

from typing import Any

from failsoft.framework.errors import Infeasible, NotFound, Public, UpstreamError, Words


class ObjectiveNotFound(NotFound):
    """The model has no such reaction to optimize, or no objective.

    Raised when: `objective` names no reaction of the model; or it is left out and the model has no objective of its
    own, so that a solver would call any flux optimal, at 0.
    Caller: name one of `similar_ids`, or another reaction of the model.
    """

    model_id: Public[str]
    objective: Public[str]
    similar_ids: Public[list[str] | None] = None
    code = "OBJECTIVE_NOT_FOUND"
    message = "The model '{model_id}' has no reaction '{objective}' to optimize."
    hints = ("Look for the biomass reaction with export_model_json, and name it as objective",)


class FbaInfeasible(Infeasible):
    """No fluxes meet all the bounds, or none through the objective.

    Raised when: the linear problem has no solution: bounds contradict each other, or a demand cannot be met on the
    medium; or it has, but the objective cannot carry any flux (`solver_status` is then `optimal`): a growth of 0 is
    never reported as a result.
    Caller: undo `changes` if their effect is not the result you want: they are yours since the model was loaded, built
    or gap filled. Else add `missing_uptakes` to the medium, relax `contradictions`, or fill the gaps of the model.
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
    """The objective can grow without limit, which no organism can.

    Raised when: nothing bounds the flux through the objective: a loop of reactions, or an exchange, with an infinite
    bound.
    Caller: give the reactions in `unlimited_reactions` finite bounds with modify_model, or take another objective.
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

    Raised when: it met numerical trouble twice, with and without presolving; it ran out of time; or its process ended
    unexpectedly, twice.
    Caller: make the problem easier: fewer extreme bounds or coefficients, a smaller model; if the time was up, the same
    call may do better when the server is less busy.
    Operator: look for workers that the system killed for their memory, and at the model's coefficients.
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


class GapfillInfeasible(Infeasible):
    """No reactions of the universe make the model grow as wanted on the medium.

    Raised when: with every reaction of the universe added, growth stays below the target: because the medium lacks
    something, because some precursors of biomass cannot be made at all, or because the target is above the maximum.
    Caller: add what `missing_nutrients` names to the medium, or lower `target_growth` to `growth_at_most`.
    Operator: nothing to do, unless the universe should hold the missing reactions.
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

    Raised when: gapfilling finds a solution, and the fewest reactions that were found are above `max_complexity`.
    Caller: call again with the `max_complexity` that `reactions_needed` says, or with a richer medium.
    """

    reactions_needed: Public[int]
    max_complexity: Public[int]
    reactions: Public[tuple[str, ...] | None] = None
    code = "MAX_COMPLEXITY_EXCEEDED"
    message = "Growth needs {reactions_needed} new reactions, and max_complexity allows {max_complexity}."
    hints = ("Allow {reactions_needed} reactions, or try a richer medium, which needs fewer",)


class ModelSeedPyError(UpstreamError):
    """ModelSEEDpy raised an exception while it built a model.

    Raised when: a model is built from the functions of proteins, and ModelSEEDpy cannot be imported, cannot read the
    template, or fails over the genome.
    Caller: try another template; if that fails too, report the error id to the user.
    Operator: the log has the exception.
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
