"""Every error class that ships, those of the toolsets included."""

from __future__ import annotations

from importlib.metadata import distribution

from tests.doors import registry

for point in distribution("failsoft").entry_points.select(group="failsoft.toolsets"):
    point.load()

ERRORS = sorted(
    (error for error in registry.values() if error.__module__.startswith("failsoft.")), key=lambda error: error.code
)
