"""Operations that compare conditions: growth on several media, and production along other fluxes."""

from __future__ import annotations

from typing import Annotated, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from failsoft.framework.arguments.marks import Reference
from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.errors import InvalidParameter
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import quoted
from failsoft.tools.flux import work
from failsoft.tools.flux.conditions import Conditions
from failsoft.tools.flux.parts import FluxParts
from failsoft.tools.flux.signatures import BUILDING_S, Analysis, ModelId, Objective, UsedMediaId
from failsoft.tools.flux.store import MediaNotFound


class GrowthOnMedium(TypedDict):
    """The growth per hour on a medium: 0 with a reason where nothing grows, null where nothing limits it.

    `unused_compounds` are those of the medium that the model has no exchange for.
    """

    media_id: str
    growth: float | None
    reason: NotRequired[str]
    unused_compounds: NotRequired[list[str]]


class GrowthTable(TypedDict):
    """The growth of a model on each medium, in the order given."""

    model_id: str
    objective: str
    results: list[GrowthOnMedium]
    num_growing: int


class EnvelopePoint(TypedDict):
    """The smallest and the largest objective at fixed fluxes, in mmol/gDW/h; null where the fluxes are impossible.

    Yields are carbon (mol/mol) and mass (g/g) of the product per carbon source; left out where there are none.
    """

    fluxes: dict[str, float]
    minimum: float | None
    maximum: float | None
    carbon_yield_minimum: NotRequired[float]
    carbon_yield_maximum: NotRequired[float]
    mass_yield_minimum: NotRequired[float]
    mass_yield_maximum: NotRequired[float]


class ProductionEnvelope(Analysis):
    """The range of the objective over a grid of fluxes; each flux goes from its smallest to its largest value."""

    carbon_sources: list[str]
    results: list[EnvelopePoint]


_MEDIA_AT_MOST = 200
_POINTS_AT_MOST = 1_000

MediaIds = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=128)]],
    Reference(kind="handle"),
    Field(
        min_length=1,
        max_length=_MEDIA_AT_MOST,
        description="Ids of media, as build_media returned them, or predefined ones",
        examples=[["minimal_aerobic", "minimal_anaerobic"]],
    ),
]
SteppedReactions = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=128)]],
    Reference(kind="identifier"),
    Field(
        min_length=1,
        max_length=3,
        description="Reactions whose flux is varied, by id; the objective is optimized at each flux",
        examples=[["EX_ac_e"], ["EX_glc__D_e", "EX_o2_e"]],
    ),
]
Points = Annotated[
    int, Field(ge=2, le=200, description="Fluxes of each reaction; the grid has at most 1,000 points in all")
]


@operation(read_only=True, open_world=False, timeout=BUILDING_S, title="Compare growth on media")
async def growth_on_media(flux: FluxParts, call: Call, model_id: ModelId, media_ids: MediaIds) -> GrowthTable:
    """Return the growth of a model on each of several media: 0 with the reason where it does not grow.

    To compare knock-outs as well, call it for each copy that modify_model makes.
    """
    model = await flux.models.model(call, model_id)
    conditions = await _on_each(flux, call, model_id, list(dict.fromkeys(media_ids)))
    answer = await flux.compute(call, work.growth_on_media, model.recipe, conditions)
    return cast("GrowthTable", {"model_id": model_id, **answer["result"]})


async def _on_each(flux: FluxParts, call: Call, model_id: str, media_ids: list[str]) -> list[Conditions]:
    """Return the conditions of each medium.

    Raises:
        MEDIA_NOT_FOUND: Some are unknown; `violations` has each of them.
    """
    found: list[Conditions] = []
    unknown: dict[int, MediaNotFound] = {}
    for index, media_id in enumerate(media_ids):
        try:
            found.append(await flux.conditions(call, model_id, media_id))
        except MediaNotFound as error:
            unknown[index] = error
    for first in unknown.values():
        first.violations = tuple(
            Violation(
                path=f"media_ids.{index}", reason="reference", message=f"no medium {quoted(item.requested_id, 100)}"
            )
            for index, item in unknown.items()
        )
        raise first
    return found


@operation(read_only=True, open_world=False, timeout=BUILDING_S, title="Compute a production envelope")
async def production_envelope(
    flux: FluxParts,
    call: Call,
    model_id: ModelId,
    reactions: SteppedReactions,
    media_id: UsedMediaId = None,
    objective: Objective = None,
    points: Points = 20,
) -> ProductionEnvelope:
    """Return the smallest and largest objective along the possible fluxes of one to three reactions, with yields.

    For growth against a product: reactions=[biomass reaction], objective=the exchange of the product.
    """
    model = await flux.models.model(call, model_id)
    conditions = await flux.conditions(call, model_id, media_id, objective)
    names = list(dict.fromkeys(reactions))
    answer = await flux.compute(call, work.production_envelope, model.recipe, conditions, names, points)
    return cast("ProductionEnvelope", {**conditions.ids, **answer["result"]})


@production_envelope.check
def grid_is_bounded(flux: FluxParts, call: Call, reactions: list[str], points: int) -> None:
    """Refuse a grid of more points than one call computes."""
    del flux, call
    axes = len(set(reactions))
    if points**axes > _POINTS_AT_MOST:
        most = int(_POINTS_AT_MOST ** (1 / axes) + 1e-9)
        violation = Violation(
            path="points",
            reason="range",
            message=f"{points} points for each of {axes} reactions are {points**axes:,}, above {_POINTS_AT_MOST:,}",
            expected=f"at most {most}",
        )
        raise InvalidParameter.from_violations([violation])
