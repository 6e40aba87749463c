"""Results of the flux operations. Fluxes are in mmol per gram of dry weight and hour; absent keys are left out."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict


class ListedModel(TypedDict):
    """A model: where it comes from and how large it is."""

    model_id: str
    name: NotRequired[str]
    source: NotRequired[str]
    template: NotRequired[str]
    parent: NotRequired[str]
    num_reactions: NotRequired[int]
    num_metabolites: NotRequired[int]
    num_genes: NotRequired[int]
    num_exchange_reactions: NotRequired[int]
    objective: NotRequired[str]


class BuiltModel(TypedDict):
    """A draft of a model. `growth_on_complete_medium` is per hour, 0 if it cannot grow at all yet."""

    model_id: str
    name: NotRequired[str]
    source: str
    template: str
    num_reactions: int
    num_metabolites: int
    num_genes: int
    num_exchange_reactions: int
    objective: str
    growth_on_complete_medium: float


class AddedReaction(TypedDict):
    """A reaction that fills a gap."""

    id: str
    name: str
    equation: str
    equation_with_names: NotRequired[str]


class NextCall(TypedDict):
    """A call that leads on from a success."""

    tool: str
    arguments: dict[str, Any]
    why: str


class GapfilledModel(TypedDict):
    """A model with its gaps filled, under an id of its own, and its growth on the medium before and after, per hour."""

    model_id: str
    name: NotRequired[str]
    parent: str
    media_id: str
    growth_before: float
    growth_after: float
    growth_rate: float
    interpretation: str
    next_steps: list[NextCall]
    num_reactions_added: int
    reactions_added: list[AddedReaction]
    universe: str
    num_reactions: int
    num_metabolites: int
    num_genes: int


class ModelList(TypedDict):
    """The models of a caller, oldest first."""

    models: list[ListedModel]
    total: int


class DeletedModel(TypedDict):
    """What was deleted; the name may be empty."""

    model_id: str
    name: str


class CompoundName(TypedDict):
    """A compound of ModelSEED; `replaced_by` are the compounds that an obsolete one was merged with."""

    compound_id: str
    name: str
    abbreviation: NotRequired[str]
    formula: NotRequired[str]
    charge: NotRequired[int]
    mass: NotRequired[float]
    aliases: NotRequired[dict[str, list[str]]]
    is_obsolete: NotRequired[bool]
    replaced_by: NotRequired[list[str]]


class ReactionName(TypedDict):
    """A reaction of ModelSEED. `reversibility` is `>`, `<`, `=` for both ways, or `?` if unknown."""

    reaction_id: str
    name: str
    abbreviation: NotRequired[str]
    equation: NotRequired[str]
    equation_with_ids: NotRequired[str]
    reversibility: str
    is_transport: bool
    ec_numbers: NotRequired[list[str]]
    pathways: NotRequired[list[str]]
    aliases: NotRequired[dict[str, list[str]]]
    is_obsolete: NotRequired[bool]
    replaced_by: NotRequired[list[str]]


class CompoundHit(TypedDict):
    """A compound that a search found; `matched` is the other name or id that it was found by."""

    compound_id: str
    name: str
    formula: NotRequired[str]
    charge: NotRequired[int]
    matched: NotRequired[str]
    is_obsolete: NotRequired[bool]
    replaced_by: NotRequired[list[str]]


class CompoundHits(TypedDict):
    """The compounds that a search found, best first; `total` counts all of them."""

    results: list[CompoundHit]
    total: int


class ReactionHit(TypedDict):
    """A reaction that a search found; `matched` is the other name or id that it was found by."""

    reaction_id: str
    name: str
    equation: NotRequired[str]
    matched: NotRequired[str]
    is_obsolete: NotRequired[bool]
    replaced_by: NotRequired[list[str]]


class ReactionHits(TypedDict):
    """The reactions that a search found, best first; `total` counts all of them."""

    results: list[ReactionHit]
    total: int


class MediaCompound(TypedDict):
    """A compound in a medium. A negative lower bound is uptake, a positive upper one secretion; null is infinite."""

    compound_id: str
    name: NotRequired[str]
    formula: NotRequired[str]
    bounds: list[float | None]


class Media(TypedDict):
    """A medium that was made: its id, and what is in it."""

    media_id: str
    num_compounds: int
    compounds: list[MediaCompound]


class ListedMedia(TypedDict):
    """A medium in a list, with the ids of its compounds; `has_all_others`: everything else may be taken up as well."""

    media_id: str
    num_compounds: int
    compounds: list[str]
    is_predefined: NotRequired[bool]
    has_all_others: NotRequired[bool]


class DeletedMedia(TypedDict):
    """The medium that was deleted."""

    media_id: str


class MediaList(TypedDict):
    """The predefined media, then those of the caller, oldest first."""

    media: list[ListedMedia]
    total: int


class ExchangeFlux(TypedDict):
    """A flux between the model and its surroundings: negative is uptake, unless a warning says otherwise."""

    exchange: str
    compound_id: NotRequired[str]
    name: str
    flux: float


class LimitingUptake(TypedDict):
    """An uptake at its bound, in mmol/gDW/h, that would raise the optimum if it were wider."""

    exchange: str
    compound_id: NotRequired[str]
    name: str
    uptake: float


class FbaResult(TypedDict):
    """An optimum: `growth_rate` per hour if the objective is biomass, and the largest fluxes.

    `total_flux` is the sum that pfba minimizes; `limiting` are the uptakes that hold the optimum down.
    """

    model_id: str
    media_id: NotRequired[str]
    objective: str
    objective_value: float
    growth_rate: NotRequired[float]
    status: str
    fluxes: dict[str, float]
    num_active_reactions: int
    fluxes_omitted: int
    uptakes: list[ExchangeFlux]
    secretions: list[ExchangeFlux]
    total_flux: NotRequired[float]
    limiting: list[LimitingUptake]
    interpretation: str
    next_steps: list[NextCall]


class FluxRange(TypedDict):
    """The smallest and the largest flux of a reaction in mmol/gDW/h; null is without limit."""

    reaction_id: str
    minimum: float | None
    maximum: float | None


class FvaResult(TypedDict):
    """Flux ranges while the objective keeps `fraction` of its optimum; `num_fixed` cannot vary."""

    model_id: str
    media_id: NotRequired[str]
    objective: str
    objective_value: float
    fraction: float
    results: list[FluxRange]
    num_fixed: int


class Deletion(TypedDict):
    """The growth per hour without a gene or a reaction; 0 if its deletion is lethal."""

    id: str
    name: NotRequired[str]
    growth: float


class DeletionResult(TypedDict):
    """Deletions, one at a time, beside the growth without any."""

    model_id: str
    media_id: NotRequired[str]
    objective: str
    growth_without_deletion: float
    results: list[Deletion]
    num_lethal: int


class ModelText(TypedDict):
    """A model as the text of a file, or a part of it; `next_offset` is where the rest begins."""

    model_id: str
    format: str
    content: str
    total_characters: int
    offset: int
    next_offset: NotRequired[int]


class ExportedModel(TypedDict):
    """A model, or a part of it, in cobra's JSON; an infinite bound is null. `next_offset` is where the rest begins."""

    model_id: str
    section: str
    model: dict[str, Any]
    num_reactions: int
    num_metabolites: int
    num_genes: int
    offset: NotRequired[int]
    next_offset: NotRequired[int]
