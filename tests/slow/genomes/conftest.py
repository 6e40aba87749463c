"""Whole genomes: their tables, proteins and models, read by the flux toolset with the workers of the session."""

from __future__ import annotations

from tests.programs.flux_data import carveme_wheel, dnngior_wheel, pyfba_sdist  # noqa: F401 - fixtures
from tests.tools.flux.conftest import _shipped_models_are_read_once, gappy, lab, tool, workers  # noqa: F401 - fixtures
