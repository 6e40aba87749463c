"""What the fork server of flux loads before it forks a worker: COBRApy, the tasks, and models."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import sys
from collections.abc import Sequence
from typing import Final

_UNUSED: Final = {"optlang": "scipy", "httpx": "httpx._main"}
"""What cobra imports, and what this imports if it can: one more solver, a command line; a third of the start."""


def load(preload: Sequence[str], models_at_most: int) -> None:
    """Import every task, and make models.

    Args:
        preload: The names of the models.
        models_at_most: How many models a worker keeps in memory.
    """
    for name, unused in _UNUSED.items():
        if unused not in sys.modules:
            sys.modules[unused] = None  # type: ignore[assignment]  # its import fails
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
            del sys.modules[unused]
    work = importlib.import_module("failsoft.tools.flux.work")
    for module in pkgutil.walk_packages(work.__path__, f"{work.__name__}."):
        if not module.name.endswith("_builder"):  # a script for another Python
            importlib.import_module(module.name)
    importlib.import_module("failsoft.tools.flux.work.making").preload(preload, models_at_most=models_at_most)
