"""Arguments with their faults mended, where every fault names what was probably meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from failsoft.framework.violations import Violation

__all__ = ["corrected"]


def corrected(arguments: Any, violations: Sequence[Violation]) -> dict[str, Any] | None:
    """Return a copy of the arguments with every fault mended by its suggestion; None if one of them has none.

    A name that is missing may be one that was misspelt, so it is asked for only once all others are mended. Whether
    the arguments are accepted now is for the caller to find out.

    Args:
        arguments: The arguments as received.
        violations: All of their faults.
    """
    if not isinstance(arguments, (dict, Mapping)):
        return None
    mended: Any = dict(arguments)
    missing = []
    try:
        for violation in violations:
            if violation.reason == "missing":
                missing.append(violation.path)
            elif violation.suggestion is None:
                return None
            else:
                mended = _mended(mended, violation.path, violation)
        found = all(_is_there(mended, path) for path in missing)
    except (LookupError, TypeError, ValueError):  # a path that was shortened, or that another correction took away
        return None
    return mended if found else None


def _mended(tree: Any, path: str, violation: Violation) -> Any:
    """Return a copy of the tree with the place at the path mended; only what leads there is copied.

    Raises:
        LookupError: There is no such place, or the suggested name is taken.
        TypeError, ValueError: The same.
    """
    if isinstance(tree, dict) and path in tree:  # a name may have dots in it
        return _changed(tree, path, violation)
    if not isinstance(tree, (dict, list)):
        raise TypeError(path)
    step, _, rest = path.partition(".")
    key: Any = int(step) if isinstance(tree, list) else step
    inner = tree[key]
    copied = tree.copy()
    copied[key] = _mended(inner, rest, violation) if rest else violation.suggestion
    return copied


def _changed(holder: dict[str, Any], name: str, violation: Violation) -> dict[str, Any]:
    """Return the object with another name for a value, or with another value under its name."""
    if violation.reason != "unexpected":
        return {**holder, name: violation.suggestion}
    better = str(violation.suggestion)
    if better in holder:
        raise LookupError(better)
    return {better if key == name else key: value for key, value in holder.items()}


def _is_there(tree: Any, path: str) -> bool:
    if isinstance(tree, dict) and path in tree:
        return True
    step, _, rest = path.partition(".")
    return bool(rest) and _is_there(tree[int(step) if isinstance(tree, list) else step], rest)
