"""Make, list and delete media, with warnings about what a medium lacks or forces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, NotRequired, cast

from pydantic import Field, WithJsonSchema
from typing_extensions import TypedDict

from failsoft.framework.call.call import Call
from failsoft.framework.call.operation import operation
from failsoft.framework.errors import InvalidParameter
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import enumerated
from failsoft.tools.flux.conditions import (
    DEFAULT_UPTAKE,
    OPEN,
    PREDEFINED,
    Bounds,
    Medium,
    bounds_from_json,
    bounds_to_json,
)
from failsoft.tools.flux.database.database import Database
from failsoft.tools.flux.database.entries import COMPOUNDS, elements
from failsoft.tools.flux.lookups import warn_of_obsolete
from failsoft.tools.flux.media.checks import check_media
from failsoft.tools.flux.parts import FluxParts
from failsoft.tools.flux.signatures import _ID_AT_MOST, MediaId
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
    """A medium in a list, with the ids of its compounds.

    `not_taken_up`: those of them that the medium does not offer; `has_all_others`: everything else may be taken up.
    """

    media_id: str
    num_compounds: int
    compounds: list[str]
    not_taken_up: NotRequired[list[str]]
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
_PAIR = {"type": "array", "items": {"type": ["number", "null"]}, "minItems": 2, "maxItems": 2}
CustomBounds = Annotated[
    Any,
    WithJsonSchema(
        {"anyOf": [{"type": "object", "maxProperties": 1_000, "additionalProperties": _PAIR}, {"type": "null"}]}
    ),
    Field(
        description="Bounds of single compounds by id, [lower, upper]: a negative lower bound is uptake, a positive "
        "upper one secretion, null is infinite, [0, 0] blocks the compound",
        examples=[{"cpd00027": [-10, 100]}],
    ),
]

_NAMED_AT_MOST = 10


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
    """Return a medium as `list_media` shows it: ids, without bounds."""
    listed: ListedMedia = {
        "media_id": record.media_id,
        "num_compounds": len(record.medium.compounds),
        "compounds": list(record.medium.compounds),
    }
    if closed := [name for name, (lower, _) in record.medium.compounds.items() if lower >= 0]:
        listed["not_taken_up"] = closed
    if is_predefined:
        listed["is_predefined"] = True
    if record.medium.others is not None:
        listed["has_all_others"] = True
    return listed


@operation(idempotent=False, destructive=False, open_world=False, verify_with="list_media", title="Make a medium")
async def build_media(
    flux: FluxParts,
    call: Call,
    compounds: MediaCompounds,
    default_uptake: DefaultUptake = DEFAULT_UPTAKE,
    custom_bounds: CustomBounds = None,
) -> Media:
    """Make a growth medium of compounds and return its id, for run_fba and gapfill_model.

    Each compound may be taken up at default_uptake and secreted at up to 1000, unless custom_bounds says otherwise.
    """
    custom = {name: bounds_from_json(pair) for name, pair in (custom_bounds or {}).items()}
    medium = Medium({name: custom.get(name, (-float(default_uptake), OPEN)) for name in compounds})
    await flux.runtime.threads.run(lambda: _warn(call, flux.database, compounds, medium.compounds))
    record = await flux.models.add_media(call, medium)
    return await flux.runtime.threads.run(lambda: described_media(flux.database, record))


@build_media.check
def medium_is_sound(flux: FluxParts, compounds: list[str], default_uptake: float, custom_bounds: Any) -> None:
    """Refuse an invalid medium, by the first fault in the order of the seed."""
    check_media(flux.database, compounds, default_uptake, custom_bounds)


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
    await flux.models.delete_media(call, media_id)
    return {"media_id": media_id}


@delete_media.check
def medium_can_be_deleted(flux: FluxParts, media_id: str) -> None:
    """Refuse to delete a predefined medium."""
    del flux
    if media_id in PREDEFINED:
        message = f'"{media_id}" is predefined and cannot be deleted'
        violation = Violation(path="media_id", reason="value", message=message, expected="a medium of build_media")
        raise InvalidParameter.from_violations([violation])


class NutrientSource(NamedTuple):
    """A kind of nutrient.

    Args:
        name: What it is called.
        example: A common one.
        provides: Whether a compound of this formula is one.
        without: The expected effect of its absence.
    """

    name: str
    example: str
    provides: Callable[[str], bool]
    without: str = "growth is unlikely"


_OXIDES = frozenset({"CO2", "CO", "CHO3", "CH2O3", "CO3"})
"""Carbon that only few organisms can live on."""
_ACCEPTORS = frozenset({"O2", "NO3", "HNO3", "NO2", "HNO2", "O4S", "SO4", "HO4S", "H2O4S", "C4H2O4", "C4H4O4"})
"""Formulas of oxygen, nitrate, nitrite, sulfate and fumarate."""


def _has(element: str, *, but: frozenset[str] = frozenset()) -> Callable[[str], bool]:
    return lambda formula: formula not in but and element in elements(formula)


_SOURCES = (
    NutrientSource("carbon source", "glucose", _has("C", but=_OXIDES)),
    NutrientSource("nitrogen source", "ammonium", _has("N", but=frozenset({"N2"}))),
    NutrientSource("phosphorus source", "phosphate", _has("P")),
    NutrientSource("sulfur source", "sulfate", _has("S")),
    NutrientSource("electron acceptor", "O2", lambda formula: formula in _ACCEPTORS, "only fermentation is possible"),
)


def missing_sources(formulas: Iterable[str]) -> list[NutrientSource]:
    """Return the kinds of nutrients that none of these compounds is."""
    known = [formula for formula in formulas if formula]
    return [source for source in _SOURCES if not any(map(source.provides, known))]


def _warn(call: Call, database: Database, compounds: Sequence[str], bounds: Mapping[str, Bounds]) -> None:
    """Warn of what is odd about a medium: missing nutrients, forced uptake or secretion, obsolete or repeated ids."""
    known = database.compounds(bounds)
    taken_up = [compound.formula for name, compound in known.items() if bounds[name][0] < 0]
    unknown = taken_up.count("")
    doubt = f" (the formulas of {unknown} compounds are not known)" if unknown else ""
    for source in missing_sources(taken_up):
        call.warn(f"The medium has no {source.name}, such as {source.example}{doubt}: {source.without}.")
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
    warn_of_obsolete(call, database, COMPOUNDS, [known[name] for name in known if name == known[name].id])
    twice = len(compounds) - len(bounds)
    if twice:
        call.warn(f"{twice} of the compound ids are repeated; each counts once.")
