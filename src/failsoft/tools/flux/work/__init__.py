"""Tasks of the workers, which load cobra."""

from __future__ import annotations

import importlib
from typing import Any

from failsoft.tools.flux.work.exchanges import use_database


def run(database: str, task: str, arguments: tuple[Any, ...]) -> Any:
    """Return what a task returns.

    Args:
        database: The path of the database file; empty if there is none.
        task: `module:function`.
        arguments: Its arguments.
    """
    use_database(database)
    module, _, name = task.partition(":")
    return getattr(importlib.import_module(module), name)(*arguments)
