"""Captured calls in tests: `failsoft replay ERROR_ID --pytest FILE` writes a test that uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from failsoft.cli.target import find_project
from failsoft.framework.captures.stored import Capture
from failsoft.replay import Replayed, run_again, settings_as_then
from failsoft.server.sources import Tools, as_tools, load_app, load_toolset

__all__ = ["Replayed", "replayed"]

_UNKNOWN = {"tool": "", "toolset_class": "", "read_only": False, "timestamp": "", "error_id": "0" * 16}


def replayed(tools: str | Tools, call: Mapping[str, Any]) -> Replayed:
    """Make a failed call again, and return how it ended.

    Marked effects and injected faults are answered from `call`; all else that the handler does, it does.

    Args:
        tools: `module:attribute` of an application, the name of an installed toolset, or tools.
        call: The call and its failure, as `failsoft replay --pytest` writes them: `operation`, `arguments`, `code`,
            `category`, `effect`, `type` and `function`; optional are `effects`, `faults`, `settings` and others.

    Raises:
        CONFIG_ERROR: The tools cannot be loaded.
        INVALID_PARAM: They do not have the operation.

    Examples:
        >>> from failsoft import BaseTool, operation
        >>> from failsoft.testing import replayed
        >>> class Stock(BaseTool):
        ...     @operation(read_only=True)
        ...     async def count(self, item: str) -> int:
        ...         "Count."
        ...         return {"tea": 2}.get(item, 0)
        >>> call = {"operation": "count", "arguments": {"item": "salt"}, "code": "UNKNOWN_ERROR"}
        >>> call |= {"category": "internal", "effect": "none", "type": "KeyError", "function": "Stock.count"}
        >>> replayed(Stock, call).outcome
        'worked'
    """
    capture = Capture.model_validate({"version": 1, **_UNKNOWN, **call})
    with settings_as_then(capture):
        loaded = _named(tools, capture) if isinstance(tools, str) else as_tools(tools)
        return asyncio.run(run_again(capture, loaded, include_writes=True))


def _named(name: str, capture: Capture) -> list[Any]:
    if ":" not in name and name == capture.tool and capture.toolset_class.startswith("failsoft.tools."):
        return [load_toolset(name, root=tuple(map(Path, capture.roots)))]
    project = find_project()
    return load_app(name, folder=project.folder if project is not None and project.app == name else None)
