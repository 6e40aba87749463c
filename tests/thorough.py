"""Sizes of tests: bounded by default, full with hypothesis's profile `thorough`."""

from __future__ import annotations

import os

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
