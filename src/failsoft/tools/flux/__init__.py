"""The flux toolset: metabolic modeling with COBRApy (seed 002). `Flux` is what a server offers."""

from __future__ import annotations

from failsoft.tools.flux.model_errors import MediaNotFound, ModelNotFound
from failsoft.tools.flux.solving_errors import (
    CobrapySolverError,
    FbaInfeasible,
    FbaUnbounded,
    InvalidFluxThreshold,
    ObjectiveNotFound,
)
from failsoft.tools.flux.toolset import Flux

__all__ = [
    "CobrapySolverError",
    "FbaInfeasible",
    "FbaUnbounded",
    "Flux",
    "InvalidFluxThreshold",
    "MediaNotFound",
    "ModelNotFound",
    "ObjectiveNotFound",
]
