"""Media: what is in one, within which bounds, and how it is told."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from failsoft.framework.context import CallContext
from failsoft.tools.flux.database import Database
from failsoft.tools.flux.lookups import warn_of_obsolete
from failsoft.tools.flux.media_checks import bounds_of
from failsoft.tools.flux.plausibility_media import media_warnings
from failsoft.tools.flux.results import ListedMedia, Media, MediaCompound
from failsoft.tools.flux.shelf import MediaRecord

__all__ = ["SECRETION_AT_MOST", "bounds_by_compound", "listed_media", "media_told", "warn_of_media"]

SECRETION_AT_MOST = 1_000.0
"""What a compound without bounds of its own may be given off at, in mmol per gram of dry weight and hour."""


def bounds_by_compound(
    compounds: Sequence[str], default_uptake: float, custom_bounds: Mapping[str, Any] | None
) -> dict[str, tuple[float, float]]:
    """Return the bounds of each compound once, in the order given; the arguments have been checked."""
    custom = {name: bounds_of(pair) for name, pair in (custom_bounds or {}).items()}
    return {name: custom.get(name) or (-float(default_uptake), SECRETION_AT_MOST) for name in compounds}


def media_told(database: Database, record: MediaRecord) -> Media:
    """Return a medium as it is told to callers, with the names of its compounds."""
    known = database.compounds(list(record.compounds))
    told = []
    for name, bounds in record.compounds.items():
        compound = known.get(name)
        entry: dict[str, Any] = {"compound_id": name, "bounds": [_told(bound) for bound in bounds]}
        if compound is not None:
            entry |= {"name": compound.name, **({"formula": compound.formula} if compound.formula else {})}
        told.append(cast("MediaCompound", entry))
    return {"media_id": record.media_id, "num_compounds": len(told), "compounds": told}


def listed_media(record: MediaRecord) -> ListedMedia:
    """Return a medium as a list tells it: the ids alone."""
    return {
        "media_id": record.media_id,
        "num_compounds": len(record.compounds),
        "compounds": list(record.compounds),
    }


def warn_of_media(
    call: CallContext, database: Database, compounds: Sequence[str], bounds: Mapping[str, tuple[float, float]]
) -> None:
    """Warn of what is odd about a medium: nutrients that it lacks, obsolete ids, ids that are given twice."""
    known = database.compounds(list(bounds))
    taken_up = [compound for name, compound in known.items() if bounds[name][0] < 0]
    formulas = [compound.formula for compound in taken_up if compound.formula]
    for warning in media_warnings(formulas, len(taken_up) - len(formulas)):
        call.warn(warning)
    warn_of_obsolete(call, database, list(known.values()))
    twice = len(compounds) - len(bounds)
    if twice:
        call.warn(f"{twice} of the compound ids are given more than once; each counts once.")


def _told(bound: float) -> float | None:
    return bound if math.isfinite(bound) else None
