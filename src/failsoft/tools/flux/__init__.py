"""The flux toolset: metabolic modeling with COBRApy (seed 002). `Flux` is what a server offers."""

from __future__ import annotations

from failsoft.tools.flux.database_errors import (
    CompoundNotFound,
    DatabaseNotLoaded,
    EmptyQuery,
    InvalidIdFormat,
    InvalidLimit,
    ReactionNotFound,
)
from failsoft.tools.flux.media_errors import (
    BoundsOutOfOrder,
    CompoundNotInList,
    EmptyCompoundsList,
    InvalidBoundsFormat,
    InvalidCompoundIds,
    NegativeUptake,
)
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
    "BoundsOutOfOrder",
    "CobrapySolverError",
    "CompoundNotFound",
    "CompoundNotInList",
    "DatabaseNotLoaded",
    "EmptyCompoundsList",
    "EmptyQuery",
    "FbaInfeasible",
    "FbaUnbounded",
    "Flux",
    "InvalidBoundsFormat",
    "InvalidCompoundIds",
    "InvalidFluxThreshold",
    "InvalidIdFormat",
    "InvalidLimit",
    "MediaNotFound",
    "ModelNotFound",
    "NegativeUptake",
    "ObjectiveNotFound",
    "ReactionNotFound",
]
