"""The flux toolset: metabolic modeling with COBRApy. `Flux` is what a server offers."""

from __future__ import annotations

from failsoft.tools.flux.analyses import InvalidFluxThreshold
from failsoft.tools.flux.building.build_model import InvalidTemplateName
from failsoft.tools.flux.building.gapfill_model import InvalidTargetGrowth
from failsoft.tools.flux.building.proteins import EmptyProteinSequences, InvalidProteinSequences
from failsoft.tools.flux.building.rast import RastUnavailable
from failsoft.tools.flux.database.database import DatabaseNotLoaded
from failsoft.tools.flux.database.reference_data import TemplateNotLoaded
from failsoft.tools.flux.failures import (
    CobrapySolverError,
    FbaInfeasible,
    FbaUnbounded,
    GapfillInfeasible,
    MaxComplexityExceeded,
    ModelSeedPyError,
    ObjectiveNotFound,
)
from failsoft.tools.flux.input_files import InputFileNotFound, InvalidInputFile
from failsoft.tools.flux.lookups import CompoundNotFound, InvalidIdFormat, ReactionNotFound
from failsoft.tools.flux.media.checks import (
    BoundsOutOfOrder,
    CompoundNotInList,
    EmptyCompoundsList,
    InvalidBoundsFormat,
    InvalidCompoundIds,
    NegativeUptake,
)
from failsoft.tools.flux.searches import EmptyQuery, InvalidLimit
from failsoft.tools.flux.store import MediaNotFound, ModelNotFound
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
