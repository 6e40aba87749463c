"""`ConfigurationSource`: finds the line of a value in TOML, which `tomllib` does not report."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from failsoft.framework.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class ConfigurationSource:
    """The texts of a configuration, in order of precedence.

    Args:
        texts: Pairs of a name for messages and the TOML text.
    """

    texts: tuple[tuple[str, str], ...] = ()

    def place(self, path: Sequence[str]) -> str:
        """Return the location of a value: the source, the line and the keys."""
        keys = ".".join(path)
        for name, text in self.texts:
            line = line_of(text, path)
            if line is not None:
                return f"{name}, line {line}: {keys}"
        return keys

    def refused(self, path: Sequence[str], why: str) -> ConfigurationError:
        """Return the error for one problem."""
        return ConfigurationError(
            issue=f"{self.place(path)}: {why}", resolution="correct the recovery configuration there"
        )


def line_of(text: str, path: Sequence[str]) -> int | None:
    """Return the 1-based number of the line that best matches a path of keys; None if no line does.

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
        depth = min(len(here), len(wanted))  # the line may be a parent table or a part of the value
        if here[:depth] == wanted[:depth] and (best is None or depth > best[0]):
            best = (depth, number)
    return None if best is None else best[1]


def _keys(line: str) -> tuple[str, ...]:
    """Return the keys of one line of TOML; empty if the line is not valid TOML by itself."""
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
