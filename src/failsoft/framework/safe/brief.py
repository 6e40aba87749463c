"""Truncation of values for logs: bounded, redacted, without contents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failsoft.framework.safe.json_safe import json_safe
from failsoft.framework.safe.redaction import redact, withhold_contents
from failsoft.framework.text import bounded

__all__ = ["ITEMS_AT_MOST", "brief"]

ITEMS_AT_MOST = 20
"""Entries of a mapping or list that are logged."""
_DETAILS_AT_MOST = 1_000
"""Maximum number of values that are visited."""
_DEPTH = 5


def brief(value: Any) -> Any:
    """Return a value as a small JSON tree for logs: truncated, without secrets and contents."""
    return _cut(withhold_contents(redact(json_safe(value, max_items=_DETAILS_AT_MOST))), _DEPTH)


def _cut(tree: Any, depth: int) -> Any:
    if isinstance(tree, str):
        return bounded(tree)
    if isinstance(tree, Mapping):
        if depth == 0:
            return f"<{len(tree)} entries>"
        return {bounded(name): _cut(item, depth - 1) for name, item in list(tree.items())[:ITEMS_AT_MOST]}
    if isinstance(tree, list):
        if depth == 0 or len(tree) > ITEMS_AT_MOST:
            return f"<{len(tree)} items>"
        return [_cut(item, depth - 1) for item in tree]
    return tree
