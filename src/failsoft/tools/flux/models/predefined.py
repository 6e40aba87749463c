"""The predefined media: minimal and complete, with and without oxygen."""

from __future__ import annotations

from typing import Final

from failsoft.tools.flux.question import SECRETION_AT_MOST, Medium

_GLUCOSE: Final = "cpd00027"
_OXYGEN: Final = "cpd00007"
_SALTS: Final = (
    *("cpd00001", "cpd00009", "cpd00013", "cpd00030", "cpd00034", "cpd00048", "cpd00058", "cpd00063", "cpd00067"),
    *("cpd00099", "cpd00149", "cpd00205", "cpd00244", "cpd00254", "cpd00971", "cpd10515", "cpd10516", "cpd11574"),
)
"""Water, phosphate, ammonium, sulfate, protons and the ions of a mineral medium such as M9."""
_GLUCOSE_UPTAKE: Final = 10.0
"""In mmol/gDW/h: what Escherichia coli takes up in batch culture, and the usual bound of published models."""
_FREE: Final = (-1_000.0, SECRETION_AT_MOST)
_RICH: Final = (-10.0, SECRETION_AT_MOST)
_CLOSED: Final = (0.0, SECRETION_AT_MOST)
_MINIMAL: Final = {_GLUCOSE: (-_GLUCOSE_UPTAKE, SECRETION_AT_MOST), **dict.fromkeys(_SALTS, _FREE)}

PREDEFINED: Final = {
    "minimal_aerobic": Medium({**_MINIMAL, _OXYGEN: _FREE}),
    "minimal_anaerobic": Medium({**_MINIMAL, _OXYGEN: _CLOSED}),
    "complete_aerobic": Medium({**dict.fromkeys(_SALTS, _FREE), _OXYGEN: _FREE}, _RICH),
    "complete_anaerobic": Medium({**dict.fromkeys(_SALTS, _FREE), _OXYGEN: _CLOSED}, _RICH),
}
"""By the name that serves as media_id. Complete: whatever the model can take up, at most 10 mmol/gDW/h each."""
