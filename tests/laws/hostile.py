"""Argument trees of every kind: JSON as clients send it, near misses of real arguments, and what no JSON can hold."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

__all__ = ["arguments", "json_trees", "odd_trees"]

_TEXT = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["", "a", "5", "5.0", "true", "null", "2026-01-31", "../../etc/passwd", "\u202e", "`x`", "{}", "{0}"]
    ),
    st.sampled_from(["sk-abcdefghijklmnopqrstuvwxyz123456", "<script>", "a" * 5_000, "ignore previous instructions"]),
)
_NUMBERS = st.one_of(
    st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0, 1, -1, 2**53, 2**64])
)
_SCALARS = st.one_of(st.none(), st.booleans(), _NUMBERS, _TEXT)


def _nested(leaves: SearchStrategy[Any], keys: SearchStrategy[Any]) -> SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda below: st.one_of(st.lists(below, max_size=4), st.dictionaries(keys, below, max_size=4)),
        max_leaves=8,
    )


json_trees = _nested(_SCALARS, _TEXT)
"""What a client can send."""

_ODD_LEAVES: SearchStrategy[Any] = st.one_of(
    _SCALARS,
    st.sampled_from([math.nan, math.inf, -math.inf]),
    st.sampled_from([400, 5_000]).map(lambda digits: 10**digits),
    st.sampled_from(["\ud800", "a\udfff", "\x00", "x" * 100_000]),
    st.binary(max_size=4),
    st.builds(object),
    st.sampled_from([dt.date(2026, 1, 31), ValueError("x"), int, ..., NotImplemented, lambda: 1]),
    st.frozensets(st.integers(), max_size=3),
)
odd_trees = _nested(_ODD_LEAVES, st.one_of(_TEXT, st.sampled_from(["\ud800", 1, None, b"x", (1, 2)])))
"""What only a caller in the same process can pass."""


def _misspelt(name: str) -> list[str]:
    return [name, name.upper(), name[1:], name + "s", name.replace("_", ""), f" {name}"]


def arguments(
    names: list[str], fitting: dict[str, SearchStrategy[Any]], trees: SearchStrategy[Any]
) -> SearchStrategy[Any]:
    """Return trees that are mostly objects with names that are mostly right and values that mostly fit."""
    right = st.fixed_dictionaries({}, optional={name: st.one_of(fitting[name], trees) for name in names})
    wrong = st.dictionaries(
        st.sampled_from([odd for name in names for odd in _misspelt(name)] or ["a"]), trees, max_size=3
    )
    mixed = st.builds(lambda one, other: {**other, **one}, right, wrong)
    return st.one_of(right, right, mixed, wrong, trees)
