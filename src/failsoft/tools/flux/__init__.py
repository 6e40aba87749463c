"""The flux toolset: metabolic modeling with COBRApy (seed 002). `Flux` is what a server offers."""

from __future__ import annotations

from failsoft.tools.flux.errors.building import (
    EmptyProteinSequences,
    InvalidProteinSequences,
    InvalidTemplateName,
    ModelSeedPyError,
    RastUnavailable,
)
from failsoft.tools.flux.errors.database import (
    CompoundNotFound,
    DatabaseNotLoaded,
    EmptyQuery,
    InvalidIdFormat,
    InvalidLimit,
    ReactionNotFound,
)
from failsoft.tools.flux.errors.files import InputFileNotFound, InvalidInputFile
from failsoft.tools.flux.errors.gapfill import (
    GapfillInfeasible,
    InvalidTargetGrowth,
    MaxComplexityExceeded,
    TemplateNotLoaded,
)
from failsoft.tools.flux.errors.media import (
    BoundsOutOfOrder,
    CompoundNotInList,
    EmptyCompoundsList,
    InvalidBoundsFormat,
    InvalidCompoundIds,
    NegativeUptake,
)
from failsoft.tools.flux.errors.models import MediaNotFound, ModelNotFound
from failsoft.tools.flux.errors.solving import (
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
    "InputFileNotFound",
    "InvalidBoundsFormat",
    "InvalidCompoundIds",
    "InvalidFluxThreshold",
    "InvalidIdFormat",
    "InvalidInputFile",
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
