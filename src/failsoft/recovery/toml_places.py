"""Where in a TOML text a value stands, for messages: the standard library's parser does not tell."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

__all__ = ["line_of"]


def line_of(text: str, path: Sequence[str]) -> int | None:
    """Return the number of the line that comes closest to a path of keys, from 1; None if none is on the way to it.

    Args:
        text: TOML that can be parsed.
        path: Keys from the root, as in `("tools", "docs", "retry", "attempts")`.
    """
    wanted = tuple(path)
    table: tuple[str, ...] = ()
    best: tuple[int, int] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped.startswith("["):
            table = here = _keys(stripped) or table
        elif "=" in stripped and (keys := _keys(f"{stripped.partition('=')[0]}=0")):
            here = (*table, *keys)
        else:
            continue
        depth = min(len(here), len(wanted))  # a line may stand above the value, or be a part of it
        if here[:depth] == wanted[:depth] and (best is None or depth > best[0]):
            best = (depth, number)
    return None if best is None else best[1]


def _keys(line: str) -> tuple[str, ...]:
    """Return the keys that one line of TOML leads through; none for a line that says nothing by itself."""
    try:
        tree: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    keys = []
    while isinstance(tree, (dict, list)) and tree:
        if isinstance(tree, list):
            tree = tree[0]
            continue
        key, tree = next(iter(tree.items()))
        keys.append(key)
    return tuple(keys)
