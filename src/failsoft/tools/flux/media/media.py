"""Media: construction from arguments, results, and warnings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from failsoft.framework.call import CallContext
from failsoft.framework.text import enumerated
from failsoft.tools.flux.database import Database
from failsoft.tools.flux.lookups.lookups import warn_of_obsolete
from failsoft.tools.flux.media.checks import bounds_of
from failsoft.tools.flux.media.plausibility import media_warnings
from failsoft.tools.flux.models.store import MediaRecord
from failsoft.tools.flux.question import SECRETION_AT_MOST, Medium
from failsoft.tools.flux.results import ListedMedia, Media, MediaCompound

_NAMED_AT_MOST = 10


def medium_of(compounds: Sequence[str], default_uptake: float, custom_bounds: Mapping[str, Any] | None) -> Medium:
    """Return the medium of these arguments, each compound once, in the order given; they have been checked."""
    custom = {name: bounds_of(pair) for name, pair in (custom_bounds or {}).items()}
    return Medium({name: custom.get(name) or (-float(default_uptake), SECRETION_AT_MOST) for name in compounds})


def described_media(database: Database, record: MediaRecord) -> Media:
    """Return a medium as `build_media` answers it, with the names of its compounds."""
    known = database.compounds(list(record.medium.compounds))
    described = []
    for name, bounds in record.medium.compounds.items():
        compound = known.get(name)
        entry: dict[str, Any] = {"compound_id": name, "bounds": [_finite(bound) for bound in bounds]}
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


def warn_of_media(call: CallContext, database: Database, compounds: Sequence[str], medium: Medium) -> None:
    """Warn of what is odd about a medium: missing nutrients, forced uptake or secretion, obsolete or repeated ids."""
    bounds = medium.compounds
    known = database.compounds(list(bounds))
    taken_up = [compound for name, compound in known.items() if bounds[name][0] < 0]
    formulas = [compound.formula for compound in taken_up if compound.formula]
    for warning in media_warnings(formulas, len(taken_up) - len(formulas)):
        call.warn(warning)
    _warn_of_signs(call, bounds)
    warn_of_obsolete(call, database, [known[name] for name in known if name == known[name].id])
    twice = len(compounds) - len(bounds)
    if twice:
        call.warn(f"{twice} of the compound ids are repeated; each counts once.")


def _warn_of_signs(call: CallContext, bounds: Mapping[str, tuple[float, float]]) -> None:
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


def _finite(bound: float) -> float | None:
    return bound if math.isfinite(bound) else None
