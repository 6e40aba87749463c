"""Every error class that ships, those of the toolsets included, unless they were taken out of the tree."""

from __future__ import annotations

from importlib.metadata import distribution
from importlib.util import find_spec

from tests.doors import registry

if find_spec("failsoft.tools") is not None:
    for point in distribution("failsoft").entry_points.select(group="failsoft.toolsets"):
        point.load()

ERRORS = sorted(
    (error for error in registry.values() if error.__module__.startswith("failsoft.")), key=lambda error: error.code
)
