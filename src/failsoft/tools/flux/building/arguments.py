"""Validation of the arguments of build_model and gapfill_model, with the error of each fault."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from failsoft.framework.arguments.marks import Fault, Reference
from failsoft.tools.flux.building.proteins import AMINO_ACIDS, SEQUENCE_AT_MOST, SEQUENCE_ID, EmptyProteinSequences
from failsoft.tools.flux.database.reference_data import TEMPLATES

_PROTEINS_AT_MOST = 30_000

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
