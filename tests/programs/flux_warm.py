"""What the fork server of flux programs loads: COBRApy, and the reactions for gapfilling, a second's work to read."""

from __future__ import annotations

from tests.doors import shipped_universe

shipped_universe()
