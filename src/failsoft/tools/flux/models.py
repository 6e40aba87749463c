"""Operations that load, list, check, delete and export models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.errors import InvalidParameter, NextStep
from failsoft.framework.errors.corrections import is_same_spelling
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded, quoted
from failsoft.tools.flux import work
from failsoft.tools.flux.database.shipped import SHIPPED_MODELS
from failsoft.tools.flux.input_files import OutputPath, WrittenResult, write_result
from failsoft.tools.flux.parts import FluxParts
from failsoft.tools.flux.signatures import _ID_AT_MOST, _SPELLED, LOADING_S, MAKES_A_MODEL, WRITES_A_FILE, ModelId
from failsoft.tools.flux.store import ListedModel, ModelNotFound, Recipe, listed


class ModelList(TypedDict):
    """The models of a caller, oldest first."""

    models: list[ListedModel]
    total: int


class DeletedModel(TypedDict):
    """What was deleted; the name may be empty."""

    model_id: str
    name: str


class ModelText(WrittenResult):
    """A model as the `content` of a file; with `path`, the file that was written, its size and SHA-256 instead."""

    model_id: str
    format: str
    content: NotRequired[str]


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


class Imbalance(TypedDict):
    """A reaction and the `excess` of its products over its substrates, by element or as `charge`."""

    reaction_id: str
    equation: str
    excess: dict[str, float]


class Imbalances(TypedDict):
    """How many reactions do not balance, and the first 20 of them."""

    count: int
    reactions: list[Imbalance]


class ListedIds(TypedDict):
    """How many there are, and the first 20 of them."""

    count: int
    ids: list[str]


class EnergyFromNothing(TypedDict):
    """An energy carrier that is charged with every uptake closed; `reactions` are the fluxes that charge one of it."""

    carrier: str
    reactions: dict[str, float]


class CheckedModel(TypedDict):
    """What is wrong with a model; `num_reactions` are those that have to balance: no exchanges and no biomass."""

    model_id: str
    num_reactions: int
    mass_unbalanced: Imbalances
    charge_unbalanced: Imbalances
    not_checked_for_mass: ListedIds
    not_checked_for_charge: ListedIds
    without_formula: ListedIds
    without_charge: ListedIds
    only_consumed: ListedIds
    only_produced: ListedIds
    disconnected: ListedIds
    unused_genes: ListedIds
    energy_from_nothing: list[EnergyFromNothing]
    energy_not_checked: list[str]
    interpretation: str


Offset = Annotated[int, Field(ge=0, le=1_000_000, description="Entries to skip at the beginning")]
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
Section = Annotated[
    Literal["all", "reactions", "metabolites", "genes"],
    Field(description="Which part of the model; all is the whole, as far as it fits into one answer"),
]
ExportLimit = Annotated[
    int, Field(ge=1, le=10_000, description="Entries of each list to return at most; fewer if they do not fit")
]

_ENDINGS = {"json": (".json",), "sbml": (".xml", ".sbml")}
_SHIPPED = " and ".join(", ".join(SHIPPED_MODELS).rsplit(", ", 1))


def require_known(call: Call, name: str) -> None:
    """Refuse a name that is not that of a published model.

    Raises:
        MODEL_NOT_FOUND: With the names that there are. Only the case of one is corrected: a similar name may be
            another model.
    """
    if name in SHIPPED_MODELS:
        return
    same = next((known for known in SHIPPED_MODELS if is_same_spelling(name, known)), None)
    raise ModelNotFound(
        message=f"No model {quoted(name, 100)}; {_SHIPPED} can be loaded by name, others by path.",
        requested_id=name,
        available_models=list(SHIPPED_MODELS),
        num_available=len(SHIPPED_MODELS),
        next_step=None if same is None else NextStep(call.operation, {"name": same}),
    )


def require_one(**given: Any) -> None:
    """Refuse two parameters of which not exactly one is given.

    Raises:
        INVALID_PARAM: None or both are.
    """
    first, second = given
    count = sum(value is not None for value in given.values())
    if count == 1:
        return
    if count:
        violation = Violation(path=second, reason="value", message=f"give {first} or {second}, not both")
    else:
        violation = Violation(path=first, reason="missing", message=f"is missing; give {first} or {second}")
    raise InvalidParameter.from_violations([violation])


@operation(**MAKES_A_MODEL, open_world=False, timeout=LOADING_S, title="Load a model")
async def load_model(flux: FluxParts, call: Call, name: ShippedName = None, path: ModelPath = None) -> ListedModel:
    """Load a published model by name, or your own from a file, and return its id.

    Names: textbook (small, quick), iJO1366 (E. coli), salmonella. Files: SBML, cobra JSON, MAT, YAML.
    """
    if path is not None:
        published = f"Published models are loaded by `name`: {', '.join(SHIPPED_MODELS)}."
        data = await flux.runtime.threads.run(lambda: flux.files.read(path, otherwise=published))
        described = await flux.compute(call, work.read_model, path, data)
        recipe = Recipe(described["base"])
        origin = f"file: {bounded(path, 200)}"
    else:
        recipe = Recipe.shipped(str(name))
        described = await flux.compute(call, work.describe, recipe)
        origin = f"published: {SHIPPED_MODELS[str(name)]}"
    facts = {"source": origin, **described["facts"]}
    return listed(await flux.models.add_model(call, recipe, facts, name=name or Path(str(path)).name))


@load_model.check
def model_is_named_once(flux: FluxParts, call: Call, name: str | None, path: str | None) -> None:
    """Refuse a call with neither name nor path, with both, or with a name that is not published."""
    del flux
    require_one(name=name, path=path)
    if name is not None:
        require_known(call, name)


@operation(read_only=True, open_world=False, title="List models")
async def list_models(flux: FluxParts, call: Call) -> ModelList:
    """Return the models that you have made, oldest first, with their size and origin."""
    models = [listed(record) for record in await flux.models.models(call)]
    return {"models": models, "total": len(models)}


@operation(read_only=True, open_world=False, timeout=LOADING_S, title="Check a model")
async def check_model(flux: FluxParts, call: Call, model_id: ModelId) -> CheckedModel:
    """Return what is wrong with a model: unbalanced mass and charge, dead ends, missing formulas, energy from nothing.

    Energy from nothing makes growth rates too high: block or turn one of the reactions that it names, by modify_model.
    """
    model = await flux.models.model(call, model_id)
    found = await flux.compute(call, work.check_model, model.recipe)
    return cast("CheckedModel", {"model_id": model_id, **found, "interpretation": _interpretation(found)})


def _interpretation(found: dict[str, Any]) -> str:
    balances = []
    for kind in ("mass", "charge"):
        checked = found["num_reactions"] - found[f"not_checked_for_{kind}"]["count"]
        balances.append(f"{found[f'{kind}_unbalanced']['count']} of {checked} reactions do not balance their {kind}")
    ends = found["only_consumed"]["count"] + found["only_produced"]["count"]
    carriers = [item["carrier"] for item in found["energy_from_nothing"]]
    energy = f"{', '.join(carriers)} from nothing" if carriers else "no energy from nothing"
    return (
        f"{', '.join(balances)}; {ends} metabolites are dead ends; with every uptake closed the model makes {energy}."
    )


@operation(destructive=True, idempotent=False, open_world=False, verify_with="list_models", title="Delete a model")
async def delete_model(flux: FluxParts, call: Call, model_id: ModelId) -> DeletedModel:
    """Delete a model; calls with its id are refused from then on."""
    record = await flux.models.delete_model(call, model_id)
    return {"model_id": record.model_id, "name": record.name}


@operation(read_only=True, open_world=False, timeout=LOADING_S, title="Export a model as data")
async def export_model_json(
    flux: FluxParts,
    call: Call,
    model_id: ModelId,
    section: Section = "all",
    offset: Offset = 0,
    limit: ExportLimit | None = None,
) -> ExportedModel:
    """Return a model as cobra's JSON data: whole if it fits, else page by page with section, offset and limit.

    Use export_model for a file.
    """
    model = await flux.models.model(call, model_id)
    arguments = model.recipe, model_id, section, offset, limit, call.data_limit_bytes
    exported = await flux.compute(call, work.export_model_json, *arguments)
    return cast("ExportedModel", {"model_id": model_id, **exported})


@operation(**WRITES_A_FILE, timeout=LOADING_S, title="Export a model as a file")
async def export_model(
    flux: FluxParts,
    call: Call,
    model_id: ModelId,
    format: ExportFormat,  # noqa: A002 - the name that callers use
    path: OutputPath = None,
) -> ModelText:
    """Return a model as the text of an SBML or JSON file that cobra reads, or write it to a new file at path.

    A whole genome does not fit into an answer, so give a path, such as model.xml. A name with .gz is compressed.
    """
    model = await flux.models.model(call, model_id)
    limit = None if path is not None else call.data_limit_bytes
    found = await flux.compute(call, work.export_model, model.recipe, model_id, format, limit)
    if path is None:
        return {"model_id": model_id, "format": format, "content": found["text"]}
    written = await write_result(call, flux.files, path, found["text"])
    return cast("ModelText", {"model_id": model_id, "format": format, **written})


@export_model.check
def file_can_be_written(flux: FluxParts, format: str, path: str | None) -> None:  # noqa: A002 - as above
    """Refuse a path outside the root, or one whose ending says another format."""
    if path is not None:
        flux.files.require_writable(path, _ENDINGS[format])
