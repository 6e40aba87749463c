"""How much is tried: a bounded form by default, the full figures where hypothesis is told to be thorough, too."""

from __future__ import annotations

import os

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
