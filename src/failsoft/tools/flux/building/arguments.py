"""Validation of the arguments of build_model and gapfill_model, with the error of each fault."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from failsoft.framework.arguments.marks import Fault, Reference
from failsoft.tools.flux.building.sequences import SEQUENCE_AT_MOST, SEQUENCE_ID
from failsoft.tools.flux.building.templates import TEMPLATES
from failsoft.tools.flux.errors.building import AMINO_ACIDS, EmptyProteinSequences
from failsoft.tools.flux.errors.gapfill import InvalidTargetGrowth

_PROTEINS_AT_MOST = 30_000
_GROWTH_AT_MOST = 10.0
"""Per hour, well above the fastest known growth: doubling in ten minutes is 4."""

ProteinSequences = Annotated[
    dict[str, str],
    Field(
        min_length=1,
        max_length=_PROTEINS_AT_MOST,
        description=f"Proteins, sequence by id, in the letters {AMINO_ACIDS}",
        examples=[{"b0002": "MRVLKFGGTSVANAERFLRVADILESNARQGQVATVLSAPAKITNHLVAMIEKTISGQDALP"}],
        # Checked one by one, so that one answer lists every invalid protein with positions.
        json_schema_extra={
            "propertyNames": {"pattern": f"^{SEQUENCE_ID}$"},
            "additionalProperties": {
                "type": "string",
                "pattern": f"^[{AMINO_ACIDS}U{AMINO_ACIDS.lower()}u]+[*]?$",
                "maxLength": SEQUENCE_AT_MOST,
            },
        },
    ),
    Fault(EmptyProteinSequences, "length", at=""),
]
TemplateName = Annotated[
    str,
    Reference(kind="spelled"),
    Field(
        description="What kind of organism it is",
        examples=["GramNegative"],
        json_schema_extra={"enum": list(TEMPLATES)},
    ),
]
ModelName = Annotated[str, Field(max_length=100, description="A display name for the model; not an id")]
WithRast = Annotated[
    bool,
    Field(description="Ask RAST for the functions of the proteins first; false where the server has no RAST"),
]
Functions = Annotated[
    dict[Annotated[str, Field(max_length=100)], Annotated[str, Field(min_length=1, max_length=2_000)]] | None,
    Field(
        min_length=1,
        max_length=_PROTEINS_AT_MOST,
        description="Functional roles of the proteins, by the same ids, as RAST words them; then the model is made of "
        "the template's tables and not by comparing proteins",
        examples=[{"b0002": "Aspartokinase (EC 2.7.2.4) / Homoserine dehydrogenase (EC 1.1.1.3)"}],
    ),
]
MediaId = Annotated[
    str,
    Reference(kind="handle"),
    Field(
        max_length=128,
        description="Id of a medium, as build_media returned it, or a predefined one such as minimal_aerobic",
        examples=["minimal_aerobic"],
    ),
]
TargetGrowth = Annotated[
    float,
    Field(gt=0, le=_GROWTH_AT_MOST, description="Growth to reach, per hour; 0.01 asks for any growth at all"),
    Fault(InvalidTargetGrowth, "range"),
]
MaxComplexity = Annotated[int, Field(ge=1, le=1_000, description="Reactions that may be added at most")]
