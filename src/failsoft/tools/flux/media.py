"""Media: construction from arguments, results, and warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired, cast

from pydantic import Field, WithJsonSchema
from typing_extensions import TypedDict

from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.errors import InvalidParameter
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import enumerated
from failsoft.tools.flux.conditions import DEFAULT_UPTAKE, OPEN, PREDEFINED, Medium, bounds_from_json, bounds_to_json
from failsoft.tools.flux.database.database import Database
from failsoft.tools.flux.database.entries import COMPOUNDS
from failsoft.tools.flux.lookups import warn_of_obsolete
from failsoft.tools.flux.media_table import read_table
from failsoft.tools.flux.medium_checks import check_media
from failsoft.tools.flux.parts import FluxParts
from failsoft.tools.flux.plausibility import media_warnings
from failsoft.tools.flux.signatures import _ID_AT_MOST, FilePath, MediaId
from failsoft.tools.flux.store import MediaRecord


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

_NAMED_AT_MOST = 10


def medium_of(compounds: Sequence[str], default_uptake: float, custom_bounds: Mapping[str, Any] | None) -> Medium:
    """Return the medium of these arguments, each compound once, in the order given; they have been checked."""
    custom = {name: bounds_from_json(pair) for name, pair in (custom_bounds or {}).items()}
    return Medium({name: custom.get(name, (-float(default_uptake), OPEN)) for name in compounds})


def described_media(database: Database, record: MediaRecord) -> Media:
    """Return a medium as `build_media` answers it, with the names of its compounds."""
    known = database.compounds(list(record.medium.compounds))
    described = []
    for name, bounds in record.medium.compounds.items():
        compound = known.get(name)
        entry: dict[str, Any] = {"compound_id": name, "bounds": bounds_to_json(*bounds)}
        if compound is not None:
            entry |= {"name": compound.name, **({"formula": compound.formula} if compound.formula else {})}
        described.append(cast("MediaCompound", entry))
    return {"media_id": record.media_id, "num_compounds": len(described), "compounds": described}


def listed_media(record: MediaRecord, *, is_predefined: bool = False) -> ListedMedia:
    """Return a medium as `list_media` shows it: the ids alone."""
    listed: ListedMedia = {
        "media_id": record.media_id,
        "num_compounds": len(record.medium.compounds),
        "compounds": list(record.medium.compounds),
    }
    if is_predefined:
        listed["is_predefined"] = True
    if record.medium.others is not None:
        listed["has_all_others"] = True
    return listed


def warn_of_media(call: Call, database: Database, compounds: Sequence[str], medium: Medium) -> None:
    """Warn of what is odd about a medium: missing nutrients, forced uptake or secretion, obsolete or repeated ids."""
    bounds = medium.compounds
    known = database.compounds(list(bounds))
    taken_up = [compound for name, compound in known.items() if bounds[name][0] < 0]
    formulas = [compound.formula for compound in taken_up if compound.formula]
    for warning in media_warnings(formulas, len(taken_up) - len(formulas)):
        call.warn(warning)
    _warn_of_signs(call, bounds)
    warn_of_obsolete(call, database, COMPOUNDS, [known[name] for name in known if name == known[name].id])
    twice = len(compounds) - len(bounds)
    if twice:
        call.warn(f"{twice} of the compound ids are repeated; each counts once.")


def _warn_of_signs(call: Call, bounds: Mapping[str, tuple[float, float]]) -> None:
    secreted = [name for name, (low, _) in bounds.items() if low > 0]
    forced = [name for name, (low, high) in bounds.items() if low < 0 and high < 0]
    if secreted:
        named = enumerated(secreted, _NAMED_AT_MOST)
        call.warn(
            f"A positive lower bound forces the model to secrete {named} and allows no uptake; uptake is a negative "
            "lower bound, as in [-10, 1000]."
        )
    if forced:
        named = enumerated(forced, _NAMED_AT_MOST)
        call.warn(f"A negative upper bound forces the model to take up {named}, even if it cannot use it.")


@operation(idempotent=False, destructive=False, open_world=False, verify_with="list_media", title="Make a medium")
async def build_media(
    flux: FluxParts,
    call: Call,
    compounds: MediaCompounds | None = None,
    default_uptake: DefaultUptake = DEFAULT_UPTAKE,
    custom_bounds: CustomBounds = None,
    table_path: FilePath = None,
) -> Media:
    """Make a growth medium of compounds and return its id, for run_fba and gapfill_model.

    Each compound may be taken up at default_uptake and secreted at up to 1000, unless custom_bounds says
    otherwise. A table (table_path: CSV or TSV with compound, lower, upper) may take the place of compounds.
    """
    compounds, custom_bounds = await _medium(flux, compounds, custom_bounds, table_path)
    if table_path is not None:
        await flux.runtime.threads.run(lambda: check_media(flux.database, compounds, default_uptake, custom_bounds))
    medium = medium_of(compounds, default_uptake, custom_bounds)
    await flux.runtime.threads.run(lambda: warn_of_media(call, flux.database, compounds, medium))
    record = await flux.models.add_media(call, medium)
    return await flux.runtime.threads.run(lambda: described_media(flux.database, record))


@build_media.check
def medium_is_sound(
    flux: FluxParts, compounds: list[str] | None, default_uptake: float, custom_bounds: Any, table_path: str | None
) -> None:
    """Refuse an invalid medium, by the first fault in the order of the seed; a table is checked later."""
    if table_path is None or compounds:
        check_media(flux.database, compounds or [], default_uptake, custom_bounds)


@operation(read_only=True, open_world=False, title="List media")
async def list_media(flux: FluxParts, call: Call) -> MediaList:
    """Return the predefined media, and those that you have made, oldest first."""
    predefined = [MediaRecord(name, medium) for name, medium in PREDEFINED.items()]
    media = [
        *(listed_media(record, is_predefined=True) for record in predefined),
        *(listed_media(record) for record in await flux.models.media_of(call)),
    ]
    return {"media": media, "total": len(media)}


@operation(destructive=True, idempotent=False, open_world=False, verify_with="list_media", title="Delete a medium")
async def delete_media(flux: FluxParts, call: Call, media_id: MediaId) -> DeletedMedia:
    """Delete a medium that you have made. Predefined media cannot be deleted."""
    record = await flux.models.delete_media(call, media_id)
    return {"media_id": record.media_id}


@delete_media.check
def medium_can_be_deleted(flux: FluxParts, media_id: str) -> None:
    """Refuse to delete a predefined medium."""
    del flux
    if media_id in PREDEFINED:
        message = f'"{media_id}" is predefined and cannot be deleted'
        violation = Violation(path="media_id", reason="value", message=message, expected="a medium of build_media")
        raise InvalidParameter.from_violations([violation])


async def _medium(
    flux: FluxParts, compounds: list[str] | None, custom_bounds: Any, table_path: str | None
) -> tuple[list[str], Any]:
    """Return the compounds and bounds of the arguments and, before them, of the table."""
    if table_path is None:
        return compounds or [], custom_bounds
    data = await flux.runtime.threads.run(lambda: flux.files.read(table_path))
    listed_compounds, bounds = read_table(table_path, data)
    return [*listed_compounds, *(compounds or [])], {**bounds, **(custom_bounds or {})}
