"""Errors of solving: infeasible, unbounded, or a failure of the solver (seed 002)."""

from __future__ import annotations

from typing import Any

from failsoft.framework.errors import Infeasible, InvalidArgument, NotFound, Public, UpstreamError, Words


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
    hints = (
        "Name a reaction of the model as objective",
        "Look for the biomass reaction with export_model_json",
    )


class InvalidFluxThreshold(InvalidArgument):
    """The threshold is negative.

    Raised when: `flux_threshold` is below 0, where it would hide nothing and means nothing.
    Caller: give 0 for every flux, or a small number such as 1e-6.
    """

    flux_threshold: Public[float | None] = None
    code = "INVALID_FLUX_THRESHOLD"
    message = "The flux threshold is negative."
    hints = ("Give a flux_threshold of 0 or more, such as 1e-6",)


class FbaInfeasible(Infeasible):
    """No fluxes meet all the bounds, or none through the objective.

    Raised when: the linear problem has no solution: bounds contradict each other, or a demand cannot be met on the
    medium; or it has, but the objective cannot carry any flux (`solver_status` is then `optimal`): a growth of 0 is
    never reported as a result.
    Caller: do what the causes ask for: add `missing_uptakes` to the medium, relax `contradictions`, take another
    objective, or fill the gaps of the model.
    """

    model_id: Public[str]
    objective: Public[str]
    solver_status: Public[str]
    media_id: Public[str | None] = None
    num_reactions: Public[int | None] = None
    num_metabolites: Public[int | None] = None
    num_exchange_reactions: Public[int | None] = None
    missing_uptakes: Public[list[dict[str, Any]] | None] = None
    contradictions: Public[list[dict[str, Any]] | None] = None
    blocked_precursors: Public[list[dict[str, Any]] | None] = None
    unusable_compounds: Public[list[str] | None] = None
    code = "FBA_INFEASIBLE"
    message = "No fluxes through '{objective}' are possible in the model '{model_id}' under these conditions."
    hints = (
        "Verify that the medium has sources of carbon, nitrogen, phosphorus and sulfur",
        "Check that bounds of exchange reactions are not too tight",
        "Fill the gaps of the model with gapfill_model if that was not done",
        "Look with export_model_json at the exchange reactions and at what the biomass reaction consumes",
    )


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
    hints = (
        "Check the model for very large or very small bounds and coefficients",
        "Verify with export_model_json that the model is well formed",
    )
    retry = "after_fix"
