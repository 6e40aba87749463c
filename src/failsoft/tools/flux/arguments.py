"""Parameters of the flux operations, and the error of each fault."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from failsoft.framework.arguments.marks import Fault, Reference
from failsoft.tools.flux.errors.database import EmptyQuery, InvalidLimit
from failsoft.tools.flux.errors.media import InvalidBoundsFormat
from failsoft.tools.flux.errors.solving import InvalidFluxThreshold
from failsoft.tools.flux.lookups.lookups import known_compound, known_reaction, some_words
from failsoft.tools.flux.models.recipes import SHIPPED_MODELS

_ID_AT_MOST = 128
_HANDLE = Reference(kind="handle")
_IDENTIFIER = Reference(kind="identifier")
_SPELLED = Reference(kind="spelled")
"""The kinds of names that the handlers look up themselves, since models and media belong to callers."""

ModelId = Annotated[
    str,
    _HANDLE,
    Field(
        max_length=_ID_AT_MOST,
        description="Id of a model, as load_model, build_model or list_models returned it",
        examples=["model_20261122_a1b2c3"],
    ),
]
UsedMediaId = Annotated[
    str | None,
    _HANDLE,
    Field(
        max_length=_ID_AT_MOST,
        description="Id of a medium, as build_media returned it, or a predefined one (minimal_aerobic); left out, "
        "the model's own bounds",
        examples=["minimal_aerobic"],
    ),
]
_ReactionId = Annotated[str, Field(min_length=1, max_length=_ID_AT_MOST)]
Objective = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=_ID_AT_MOST,
        description="Id of the reaction to optimize; left out, the model's own objective",
    ),
]
FluxThreshold = Annotated[
    float,
    Field(ge=0, le=1e6, description="Fluxes of at most this size, in mmol/gDW/h, are left out"),
    Fault(InvalidFluxThreshold, "range"),
]
FluxLimit = Annotated[int, Field(ge=0, le=10_000, description="Fluxes to return at most, the largest first")]
Offset = Annotated[int, Field(ge=0, le=1_000_000, description="Entries to skip at the beginning")]
ReactionIds = Annotated[
    list[_ReactionId] | None,
    _IDENTIFIER,
    Field(min_length=1, max_length=10_000, description="Reactions by id", examples=[["PGK"]]),
]
GeneIds = Annotated[
    list[_ReactionId] | None,
    _IDENTIFIER,
    Field(min_length=1, max_length=10_000, description="Genes by id or name", examples=[["b2926", "pfkA"]]),
]
_Bound = Annotated[float, Field(ge=-1e9, le=1e9)] | None
Bounds = Annotated[
    dict[_ReactionId, Annotated[list[_Bound], Field(min_length=2, max_length=2)]] | None,
    Field(
        min_length=1,
        max_length=10_000,
        description="New bounds by reaction, [lower, upper] in mmol/gDW/h; null is infinite, [0, 0] blocks it",
        examples=[{"EX_glc__D_e": [-5, 1000]}],
    ),
    Fault(InvalidBoundsFormat),
]
ShippedName = Annotated[
    str | None,
    _SPELLED,
    Field(
        max_length=_ID_AT_MOST,
        description="A published model: textbook (95 reactions), iJO1366 (E. coli) or salmonella",
        examples=["textbook"],
        json_schema_extra={"enum": [*SHIPPED_MODELS, None]},
    ),
]
FilePath = Annotated[
    str | None,
    _SPELLED,
    Field(min_length=1, max_length=4_096, description="Path of a file below {root}"),
]
ModelPath = Annotated[
    str | None,
    _SPELLED,
    Field(
        min_length=1,
        max_length=4_096,
        description="Path of a model file below {root}: SBML (.xml), cobra JSON, MAT or YAML, also as .gz",
        examples=["models/own.xml"],
    ),
]
ExportFormat = Annotated[
    Literal["json", "sbml"], Field(description="json for cobra's JSON, sbml for SBML Level 3 with FBC")
]
TextOffset = Annotated[int, Field(ge=0, le=1_000_000_000, description="Where the part begins, as next_offset says")]
Maximize = Annotated[
    bool | None,
    Field(
        description="true to maximize the objective, false to minimize it; left out, the model's own objective is "
        "optimized as the model says, and any other is maximized"
    ),
]
Parsimonious = Annotated[bool, Field(description="true for the fluxes with the smallest sum at the optimum")]
Fraction = Annotated[float, Field(ge=0, le=1, description="Part of the optimum that the objective keeps, from 0 to 1")]
Section = Annotated[
    Literal["all", "reactions", "metabolites", "genes"],
    Field(description="Which part of the model; all is the whole, as far as it fits into one answer"),
]
ExportLimit = Annotated[
    int, Field(ge=1, le=10_000, description="Entries of each list to return at most; fewer if they do not fit")
]

CompoundId = Annotated[
    str,
    Reference(known_compound),
    Field(
        description="Id of a compound in ModelSEED: cpd and five digits",
        examples=["cpd00027"],
        # Checked after the availability of the database, so it is not a constraint of the type.
        json_schema_extra={"pattern": "^cpd[0-9]{5}$", "maxLength": 8},
    ),
]
ReactionId = Annotated[
    str,
    Reference(known_reaction),
    Field(
        description="Id of a reaction in ModelSEED: rxn and five digits",
        examples=["rxn00148"],
        json_schema_extra={"pattern": "^rxn[0-9]{5}$", "maxLength": 8},
    ),
]
Query = Annotated[
    str,
    Fault(EmptyQuery, "length", at=""),
    Reference(some_words, kind="spelled"),
    Field(
        min_length=1,
        max_length=1_000,
        description="A name or a part of it, a formula, an EC number, a pathway, or an id of ModelSEED, BiGG or KEGG",
        examples=["glucose", "C6H12O6"],
    ),
]
SearchLimit = Annotated[
    int, Fault(InvalidLimit), Field(ge=1, le=100, description="How many to return at most, best first")
]
MediaCompounds = Annotated[
    list[str],
    Field(
        max_length=1_000,
        description="ModelSEED or BiGG ids of the compounds in the medium",
        examples=[["cpd00027", "cpd00007", "h2o"]],
        # Checked together with the other faults of a medium.
        json_schema_extra={"minItems": 1, "items": {"type": "string", "maxLength": _ID_AT_MOST}},
    ),
]
DefaultUptake = Annotated[
    float,
    Field(
        description="How fast each compound may be taken up at most, in mmol per gram of dry weight and hour",
        json_schema_extra={"exclusiveMinimum": 0},
    ),
]
CustomBounds = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "object",
                    "maxProperties": 1_000,
                    "additionalProperties": {
                        "type": "array",
                        "items": {"type": ["number", "null"]},
                        "minItems": 2,
                        "maxItems": 2,
                    },
                },
                {"type": "null"},
            ]
        }
    ),
    Field(
        description="Bounds of single compounds by id, [lower, upper]: a negative lower bound is uptake, a positive "
        "upper one secretion, null is infinite, [0, 0] blocks the compound",
        examples=[{"cpd00027": [-10, 100]}],
    ),
]
