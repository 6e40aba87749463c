"""The flux toolset: metabolic modeling with COBRApy (seed 002). `Flux` is what a server offers."""

from __future__ import annotations

from failsoft.tools.flux.building_errors import (
    EmptyProteinSequences,
    InvalidProteinSequences,
    InvalidTemplateName,
    ModelSeedPyError,
    RastUnavailable,
)
from failsoft.tools.flux.database_errors import (
    CompoundNotFound,
    DatabaseNotLoaded,
    EmptyQuery,
    InvalidIdFormat,
    InvalidLimit,
    ReactionNotFound,
)
from failsoft.tools.flux.gapfill_errors import (
    GapfillInfeasible,
    InvalidTargetGrowth,
    MaxComplexityExceeded,
    TemplateNotLoaded,
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
    "EmptyProteinSequences",
    "EmptyQuery",
    "FbaInfeasible",
    "FbaUnbounded",
    "Flux",
    "GapfillInfeasible",
    "InvalidBoundsFormat",
    "InvalidCompoundIds",
    "InvalidFluxThreshold",
    "InvalidIdFormat",
    "InvalidLimit",
    "InvalidProteinSequences",
    "InvalidTargetGrowth",
    "InvalidTemplateName",
    "MaxComplexityExceeded",
    "MediaNotFound",
    "ModelNotFound",
    "ModelSeedPyError",
    "NegativeUptake",
    "ObjectiveNotFound",
    "RastUnavailable",
    "ReactionNotFound",
    "TemplateNotLoaded",
]
