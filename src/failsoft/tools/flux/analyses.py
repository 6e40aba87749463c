"""Operations that analyze a model: flux balance, flux variability and deletions."""

from __future__ import annotations

import csv
import io
import json
from typing import Annotated, Any, Literal, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from failsoft.framework.arguments.marks import Fault
from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.errors import InvalidArgument, NextStep, Public, ResultTooLarge
from failsoft.tools.flux import work
from failsoft.tools.flux.input_files import OutputPath, WrittenResult, write_result
from failsoft.tools.flux.parts import FluxParts
from failsoft.tools.flux.signatures import (
    BUILDING_S,
    LOADING_S,
    WRITES_A_FILE,
    Analysis,
    GeneIds,
    ModelId,
    Objective,
    ReactionIds,
    SuggestedCall,
    UsedMediaId,
)


class InvalidFluxThreshold(InvalidArgument):
    """The threshold is negative.

    Raised when: `flux_threshold` is below 0.
    Caller: give 0 to get every flux, or a small number such as 1e-6.
    """

    flux_threshold: Public[float | None] = None
    code = "INVALID_FLUX_THRESHOLD"
    message = "The flux threshold is negative."
    hints = ("Give a flux_threshold of 0 or more, such as 1e-6",)


class ExchangeFlux(TypedDict):
    """A flux between the model and its surroundings: negative is uptake, unless a warning says otherwise."""

    exchange: str
    compound_id: NotRequired[str]
    name: str
    flux: float


class LimitingUptake(TypedDict):
    """An uptake at its bound, in mmol/gDW/h; the optimum is better if it is wider."""

    exchange: str
    compound_id: NotRequired[str]
    name: str
    uptake: float


class FbaResult(Analysis):
    """An optimum: `growth_rate` per hour if the objective is biomass, and the largest fluxes.

    `total_flux` is the sum that pfba minimizes; `limiting` are the uptakes that hold the optimum down.
    """

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
    next_steps: list[SuggestedCall]


class FluxRange(TypedDict):
    """The smallest and the largest flux of a reaction in mmol/gDW/h; null is without limit."""

    reaction_id: str
    minimum: float | None
    maximum: float | None


class FvaResult(Analysis, WrittenResult):
    """Flux ranges, or their file, while the objective keeps `fraction` of its optimum; `num_fixed` cannot vary."""

    objective_value: float
    fraction: float
    results: NotRequired[list[FluxRange]]
    num_fixed: int


class Deletion(TypedDict):
    """The growth per hour without a gene or a reaction; 0 if its deletion is lethal, which `is_lethal` then says."""

    id: str
    name: NotRequired[str]
    growth: float
    is_lethal: NotRequired[bool]


class DeletionResult(Analysis, WrittenResult):
    """Deletions, one at a time, or the file with them, beside the growth without any."""

    growth_without_deletion: float
    num_lethal: int
    results: NotRequired[list[Deletion]]


_TABLES = (".csv", ".json")
FluxThreshold = Annotated[
    float,
    Field(ge=0, le=1e6, description="Fluxes of at most this size, in mmol/gDW/h, are left out"),
    Fault(InvalidFluxThreshold, "range"),
]
FluxLimit = Annotated[int, Field(ge=0, le=10_000, description="Fluxes to return at most, the largest first")]
Maximize = Annotated[
    bool | None,
    Field(
        description="true to maximize the objective, false to minimize it; left out, the model's own objective is "
        "optimized as the model says, and any other is maximized"
    ),
]
Parsimonious = Annotated[bool, Field(description="true for the fluxes with the smallest sum at the optimum")]
Fraction = Annotated[float, Field(ge=0, le=1, description="Part of the optimum that the objective keeps, from 0 to 1")]


@operation(read_only=True, open_world=False, timeout=LOADING_S, title="Run flux balance analysis")
async def run_fba(  # noqa: PLR0913, PLR0917 - the arguments that callers give
    flux: FluxParts,
    call: Call,
    model_id: ModelId,
    media_id: UsedMediaId = None,
    objective: Objective = None,
    maximize: Maximize = None,
    pfba: Parsimonious = False,  # noqa: FBT002 - arguments of a tool have names
    flux_threshold: FluxThreshold = 1e-6,
    limit: FluxLimit = 100,
) -> FbaResult:
    """Return how a model grows on a medium: growth rate, what limits it, uptakes, secretions and largest fluxes."""
    model = await flux.models.model(call, model_id)
    conditions = await flux.conditions(
        call, model_id, media_id, objective, maximize=maximize, pfba=pfba, threshold=flux_threshold, limit=limit
    )
    answer = await flux.compute(call, work.run_fba, model.recipe, conditions)
    ids = conditions.ids
    steps = [
        {"tool": "run_fva", "arguments": ids, "why": "ranges of the fluxes near this optimum"},
        {"tool": "delete_genes", "arguments": ids, "why": "which genes this growth needs"},
    ]
    return cast("FbaResult", {**ids, **answer["result"], "next_steps": steps if answer["is_own"] else []})


@operation(**WRITES_A_FILE, timeout=BUILDING_S, title="Run flux variability analysis")
async def run_fva(
    flux: FluxParts,
    call: Call,
    model_id: ModelId,
    media_id: UsedMediaId = None,
    fraction: Fraction = 1.0,
    reactions: ReactionIds = None,
    path: OutputPath = None,
) -> FvaResult:
    """Return the smallest and largest flux of each reaction while the objective keeps a fraction of its optimum.

    Without reactions, of all of them, which takes a minute for a whole genome. With a path, such as ranges.csv, they
    are written to that file.
    """
    model = await flux.models.model(call, model_id)
    conditions = await flux.conditions(call, model_id, media_id)
    answer = await flux.compute(call, work.run_fva, model.recipe, conditions, fraction, reactions)
    return cast("FvaResult", await _tabulated(flux, call, {**conditions.ids, **answer["result"]}, path))


@operation(**WRITES_A_FILE, timeout=BUILDING_S, title="Delete genes one at a time")
async def delete_genes(
    flux: FluxParts,
    call: Call,
    model_id: ModelId,
    media_id: UsedMediaId = None,
    genes: GeneIds = None,
    path: OutputPath = None,
) -> DeletionResult:
    """Return the growth without each gene, one at a time; 0 is lethal. The model is not changed.

    Without genes, all of the model. With a path, such as genes.csv, they are written to that file. To keep a
    knock-out use modify_model.
    """
    return await _deletions(flux, call, model_id, media_id, "genes", genes, path)


@operation(**WRITES_A_FILE, timeout=BUILDING_S, title="Delete reactions one at a time")
async def delete_reactions(
    flux: FluxParts,
    call: Call,
    model_id: ModelId,
    media_id: UsedMediaId = None,
    reactions: ReactionIds = None,
    path: OutputPath = None,
) -> DeletionResult:
    """Return the growth without each reaction, one at a time; 0 is lethal. The model is not changed.

    Without reactions, all of the model. With a path, such as reactions.csv, they are written to that file. To remove
    reactions for good use modify_model.
    """
    return await _deletions(flux, call, model_id, media_id, "reactions", reactions, path)


@run_fva.check
@delete_genes.check
@delete_reactions.check
def table_can_be_written(flux: FluxParts, path: str | None) -> None:
    """Refuse a path outside the root, or one that does not name a table."""
    if path is not None:
        flux.files.require_writable(path, _TABLES)


async def _deletions(
    flux: FluxParts,
    call: Call,
    model_id: str,
    media_id: str | None,
    kind: Literal["genes", "reactions"],
    names: list[str] | None,
    path: str | None,
) -> DeletionResult:
    model = await flux.models.model(call, model_id)
    conditions = await flux.conditions(call, model_id, media_id)
    answer = await flux.compute(call, work.delete, model.recipe, conditions, kind, names)
    return cast("DeletionResult", await _tabulated(flux, call, {**conditions.ids, **answer["result"]}, path))


async def _tabulated(flux: FluxParts, call: Call, result: dict[str, Any], path: str | None) -> dict[str, Any]:
    """Return a result, with the file at `path` in place of its rows if there is one.

    Raises:
        RESULT_TOO_LARGE: The rows do not fit into an answer; the next step writes them to a file.
    """
    rows: list[dict[str, Any]] = result["results"]
    if path is None:
        limit, size = call.data_limit_bytes, len(json.dumps(result))
        if limit is not None and size > limit:
            step = NextStep(call.operation, {**call.params, "path": f"{result['model_id']}-{call.operation}.csv"})
            raise ResultTooLarge(size_bytes=size, limit_bytes=limit, next_step=step)
        return result
    if path.casefold().removesuffix(".gz").endswith(".json"):
        text = json.dumps(rows)
    else:
        table = io.StringIO()
        writer = csv.DictWriter(table, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        text = table.getvalue()
    del result["results"]
    return {**result, **await write_result(call, flux.files, path, text)}
