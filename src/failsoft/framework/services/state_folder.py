"""The user's folder for failsoft's persistent state, outside every workspace."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

__all__ = ["state_folder"]


def state_folder() -> Path:
    """Return the folder, which need not exist yet: `$XDG_STATE_HOME/failsoft`, or the platform's equivalent."""
    return _of(os.environ.get("XDG_STATE_HOME"), os.environ.get("HOME"))


@lru_cache(maxsize=8)
def _of(_state_home: str | None, _home: str | None) -> Path:
    from platformdirs import user_state_path  # noqa: PLC0415 - `import failsoft` does not need it

    return user_state_path("failsoft")
