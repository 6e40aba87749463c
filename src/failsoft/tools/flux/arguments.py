"""The arguments of the operations: what they accept, and which error each fault is."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from failsoft.framework.arguments import Fault, Reference
from failsoft.tools.flux.database_errors import EmptyQuery, InvalidLimit
from failsoft.tools.flux.lookups import known_compound, known_reaction, some_words
from failsoft.tools.flux.media_errors import InvalidBoundsFormat
from failsoft.tools.flux.solving_errors import InvalidFluxThreshold

__all__ = [
    "Bounds",
    "CompoundId",
    "CustomBounds",
    "DefaultUptake",
    "ExportLimit",
    "FluxLimit",
    "FluxThreshold",
    "GeneIds",
    "MediaCompounds",
    "ModelId",
    "Objective",
    "Offset",
    "Query",
    "ReactionId",
    "ReactionIds",
    "SearchLimit",
    "Section",
    "ShippedName",
    "UsedMediaId",
]

_ID_AT_MOST = 128

ModelId = Annotated[
    str,
    Field(
        max_length=_ID_AT_MOST,
        description="Id of a model, as load_model, build_model or list_models returned it",
        examples=["model_20261122_a1b2c3"],
    ),
]
UsedMediaId = Annotated[
    str | None,
    Field(
        max_length=_ID_AT_MOST,
        description="Id of a medium, as build_media or list_media returned it; left out, the model's own bounds hold",
        examples=["media_20261122_d4e5f6"],
    ),
]
_ReactionId = Annotated[str, Field(min_length=1, max_length=_ID_AT_MOST)]
Objective = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=_ID_AT_MOST,
        description="Id of the reaction to maximize; left out, the model's own objective",
    ),
]
FluxThreshold = Annotated[
    float,
    Field(ge=0, le=1e6, description="Fluxes of at most this size, in mmol/gDW/h, are left out"),
    Fault(InvalidFluxThreshold, "range"),
]
FluxLimit = Annotated[int, Field(ge=0, le=10_000, description="Fluxes to return at most, the largest first")]
Offset = Annotated[int, Field(ge=0, le=1_000_000, description="How many to leave out at the beginning")]
ReactionIds = Annotated[
    list[_ReactionId] | None,
    Field(min_length=1, max_length=10_000, description="Reactions to remove", examples=[["PGK"]]),
]
GeneIds = Annotated[
    list[_ReactionId] | None,
    Field(min_length=1, max_length=10_000, description="Genes to knock out", examples=[["b2926"]]),
]
_Bound = Annotated[float, Field(ge=-1e9, le=1e9)] | None
Bounds = Annotated[
    dict[str, Annotated[list[_Bound], Field(min_length=2, max_length=2)]] | None,
    Field(
        min_length=1,
        max_length=10_000,
        description="New bounds by reaction, [lower, upper] in mmol/gDW/h; null is infinite, [0, 0] blocks it",
        examples=[{"EX_glc__D_e": [-5, 1000]}],
    ),
    Fault(InvalidBoundsFormat),
]
ShippedName = Annotated[
    str,
    Field(max_length=_ID_AT_MOST, description="Which model: textbook, iJO1366 or salmonella", examples=["textbook"]),
]
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
        # Judged after the question whether there is a database, so it is no constraint of the type.
        json_schema_extra={"pattern": "^cpd[0-9]{5}$"},
    ),
]
ReactionId = Annotated[
    str,
    Reference(known_reaction),
    Field(
        description="Id of a reaction in ModelSEED: rxn and five digits",
        examples=["rxn00148"],
        json_schema_extra={"pattern": "^rxn[0-9]{5}$"},
    ),
]
Query = Annotated[
    str,
    Fault(EmptyQuery, "length", at=""),
    Reference(some_words),
    Field(
        min_length=1,
        description="A name or a part of it, a formula, an EC number, or an id of BiGG, KEGG or MetaCyc",
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
        description="Ids of the compounds in the medium",
        examples=[["cpd00027", "cpd00007", "cpd00001"]],
        # Judged in the order of the checks of a medium, which come together.
        json_schema_extra={"minItems": 1, "items": {"type": "string", "pattern": "^cpd[0-9]{5}$"}},
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
