"""An application that is served by programs that are really started."""

from __future__ import annotations

from tests.cli.conftest import folder  # noqa: F401 - a fixture
