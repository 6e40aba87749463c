"""The conditions of an analysis: medium, objective and the size of the answer; and the predefined media."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from failsoft.framework.errors import NextStep

Bounds = tuple[float, float]
"""Lower and upper bound of a flux, in mmol per gram of dry weight and hour; infinite where nothing limits it."""
OPEN: Final = 1_000.0
"""The size of a bound that limits nothing, by custom."""
ORGANIC_UPTAKE: Final = 10.0
"""What Escherichia coli takes up of glucose in batch culture, and the usual bound of published models."""
DEFAULT_UPTAKE: Final = 100.0
"""What a medium lets in of each compound unless it says otherwise."""


def bounds_from_json(pair: Sequence[float | None]) -> Bounds:
    """Return bounds as numbers: null is infinite.

    >>> bounds_from_json([None, 5])
    (-inf, 5.0)
    """
    low, high = pair
    return -math.inf if low is None else float(low), math.inf if high is None else float(high)


def bounds_to_json(low: float, high: float) -> list[float | None]:
    """Return bounds as JSON has them: an infinite one is null.

    >>> bounds_to_json(-10.0, math.inf)
    [-10.0, None]
    """
    return [None if math.isinf(bound) else bound for bound in (low, high)]


@dataclass(frozen=True, slots=True)
class Medium:
    """A growth medium: bounds of exchanges in mmol/gDW/h; a negative lower bound is uptake.

    Args:
        compounds: By ModelSEED or BiGG id.
        others: For every exchange that is not among them; None closes their uptake.
    """

    compounds: Mapping[str, Bounds]
    others: Bounds | None = None


def extended(medium: Medium, new: Sequence[str], *, without: Collection[str] = ()) -> dict[str, Any]:
    """Return the arguments of build_media for a medium and more compounds: the same bounds for what it has.

    Args:
        medium: What there is.
        new: The ids of the compounds to add; each comes in at the rate of most others, unless it is an organic one.
        without: Ids that are left out, since a new one names the same compound.
    """
    left_out = {*new, *without}
    kept = {name: bounds for name, bounds in medium.compounds.items() if name not in left_out}
    common = Counter(-low for low, _ in kept.values() if low < 0 and not math.isinf(low))
    usual = common.most_common(1)[0][0] if common else DEFAULT_UPTAKE
    custom = {name: bounds_to_json(*bounds) for name, bounds in kept.items() if tuple(bounds) != (-usual, OPEN)}
    for name in new:
        low, _ = PREDEFINED["minimal_aerobic"].compounds.get(name, (-ORGANIC_UPTAKE, OPEN))
        if -low < usual:
            custom[name] = [low, OPEN]
    arguments: dict[str, Any] = {"compounds": [*kept, *new], "default_uptake": usual}
    return {**arguments, "custom_bounds": custom} if custom else arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What a model is asked: on which medium, for which objective, and how much of the answer.

    Args:
        model_id: The model's id, for the errors.
        media_id: The medium's id; None for the bounds that the model has of its own.
        medium: The medium itself.
        objective: The reaction to optimize; None for the model's own.
        maximize: Whether it is to be as large as possible, else as small as possible; None for what the model says
            of its own objective, and as large as possible for another one.
        pfba: Whether the fluxes are those of the smallest sum (parsimonious FBA).
        threshold: Fluxes of at most that size are left out.
        limit: Fluxes that are returned, the largest first.
    """

    model_id: str
    media_id: str | None = None
    medium: Medium | None = None
    objective: str | None = None
    maximize: bool | None = None
    pfba: bool = False
    threshold: float = 1e-6
    limit: int = 100

    @property
    def ids(self) -> dict[str, Any]:
        """The model and the medium, as answers and next calls name them."""
        return {"model_id": self.model_id, **({} if self.media_id is None else {"media_id": self.media_id})}

    def again(self, **changed: Any) -> NextStep:
        """Return the call of run_fba with something changed; None leaves an argument out."""
        own = {"objective": self.objective, "maximize": self.maximize, "pfba": self.pfba or None}
        given = {**self.ids, **own, **changed}
        return NextStep("run_fba", {name: value for name, value in given.items() if value is not None})


_GLUCOSE: Final = "cpd00027"
_OXYGEN: Final = "cpd00007"
_SALTS: Final = (
    *("cpd00001", "cpd00009", "cpd00013", "cpd00030", "cpd00034", "cpd00048", "cpd00058", "cpd00063", "cpd00067"),
    *("cpd00099", "cpd00149", "cpd00205", "cpd00244", "cpd00254", "cpd00971", "cpd10515", "cpd10516", "cpd11574"),
)
"""Water, phosphate, ammonium, sulfate, protons and the ions of a mineral medium such as M9."""
_FREE: Final = (-OPEN, OPEN)
_RICH: Final = (-ORGANIC_UPTAKE, OPEN)
_CLOSED: Final = (0.0, OPEN)
_MINIMAL: Final = {_GLUCOSE: _RICH, **dict.fromkeys(_SALTS, _FREE)}

PREDEFINED: Final = {
    "minimal_aerobic": Medium({**_MINIMAL, _OXYGEN: _FREE}),
    "minimal_anaerobic": Medium({**_MINIMAL, _OXYGEN: _CLOSED}),
    "complete_aerobic": Medium({**dict.fromkeys(_SALTS, _FREE), _OXYGEN: _FREE}, _RICH),
    "complete_anaerobic": Medium({**dict.fromkeys(_SALTS, _FREE), _OXYGEN: _CLOSED}, _RICH),
}
"""By the name that serves as media_id. Complete: whatever the model can take up, at most 10 mmol/gDW/h each."""
