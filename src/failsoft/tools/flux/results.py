"""What the operations answer with. Fluxes are in mmol per gram of dry weight and hour; absent keys are left out."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

__all__ = ["DeletedModel", "ListedModel", "ModelList"]


class ListedModel(TypedDict):
    """A model: where it comes from and how large it is."""

    model_id: str
    name: NotRequired[str]
    source: NotRequired[str]
    parent: NotRequired[str]
    num_reactions: NotRequired[int]
    num_metabolites: NotRequired[int]
    num_genes: NotRequired[int]
    num_exchange_reactions: NotRequired[int]
    objective: NotRequired[str]


class ModelList(TypedDict):
    """The models of a caller, oldest first."""

    models: list[ListedModel]
    total: int


class DeletedModel(TypedDict):
    """What was deleted; the name may be empty."""

    model_id: str
    name: str
