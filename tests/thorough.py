"""Sizes of tests, by hypothesis's profile: small by default, `full` in CI, `thorough` by hand."""

from __future__ import annotations

import os

from hypothesis import settings

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def examples(full: int) -> int:
    """Return how many examples a property gets that deserves so many with the profile `full`."""
    return max(1, full * settings().max_examples // 100)
