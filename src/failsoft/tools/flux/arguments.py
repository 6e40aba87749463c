"""The arguments of the operations: what they accept, and which error each fault is."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

__all__ = ["ModelId"]

_ID_AT_MOST = 128

ModelId = Annotated[
    str,
    Field(
        max_length=_ID_AT_MOST,
        description="Id of a model, as load_model, build_model or list_models returned it",
        examples=["model_20261122_a1b2c3"],
    ),
]
