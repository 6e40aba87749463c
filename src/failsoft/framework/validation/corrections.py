"""Corrects arguments by applying the suggestion of every violation, if all are certain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from failsoft.framework.errors.violations import Violation

__all__ = ["corrected", "value_at", "with_value"]


def corrected(arguments: Any, violations: Sequence[Violation]) -> dict[str, Any] | None:
    """Return a copy of the arguments with every fault corrected; None if one of them has no certain correction.

    A missing name may be a misspelt one, so it is checked after all other corrections. The result is not validated
    again here.

    Args:
        arguments: The arguments as received.
        violations: All of their faults.
    """
    if not isinstance(arguments, (dict, Mapping)):
        return None
    result: Any = dict(arguments)
    missing = []
    try:
        for violation in violations:
            if violation.reason == "missing":
                missing.append(violation.path)
            elif violation.is_left_out:
                result = _left_out(result, violation.path)
            elif violation.suggestion is None or not violation.is_certain:
                return None
            else:
                result = _with_correction(result, violation.path, violation)
        found = all(_is_there(result, path) for path in missing)
    except (LookupError, TypeError, ValueError):  # a path that was shortened, or removed by another correction
        return None
    return result if found else None


def _with_correction(tree: Any, path: str, violation: Violation) -> Any:
    """Return a copy of the tree with the value at the path corrected; only the containers on the path are copied.

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
    copied[key] = _with_correction(inner, rest, violation) if rest else violation.suggestion
    return copied


def _changed(holder: dict[str, Any], name: str, violation: Violation) -> dict[str, Any]:
    """Return the object with another name for a value, or with another value under its name."""
    if violation.reason != "unexpected":
        return {**holder, name: violation.suggestion}
    better = str(violation.suggestion)
    if better in holder:
        raise LookupError(better)
    return {better if key == name else key: value for key, value in holder.items()}


def _left_out(tree: Any, path: str) -> Any:
    """Return a copy of the tree without the argument at the path.

    Raises:
        LookupError, TypeError, ValueError: There is no such place.
    """
    if isinstance(tree, dict) and path in tree:
        return {name: value for name, value in tree.items() if name != path}
    step, _, rest = path.partition(".")
    key: Any = int(step) if isinstance(tree, list) else step
    copied = tree.copy()
    copied[key] = _left_out(tree[key], rest)
    return copied


def _is_there(tree: Any, path: str) -> bool:
    if isinstance(tree, dict) and path in tree:
        return True
    step, _, rest = path.partition(".")
    return bool(rest) and _is_there(tree[int(step) if isinstance(tree, list) else step], rest)


def with_value(arguments: Any, path: str, value: Any) -> dict[str, Any] | None:
    """Return a copy of the arguments with another value at a dotted path; None if there is no such place."""
    if not isinstance(arguments, (dict, Mapping)):
        return None
    fault = Violation(path=path, reason="value", message="", suggestion=value)
    try:
        changed: dict[str, Any] = _with_correction(dict(arguments), path, fault)
    except (LookupError, TypeError, ValueError):
        return None
    return changed


def value_at(arguments: Any, path: str) -> Any:
    """Return the value at a dotted path; None if there is none."""
    if isinstance(arguments, Mapping):
        if path in arguments:  # a name may have dots in it
            return arguments[path]
        step, _, rest = path.partition(".")
        return value_at(arguments.get(step), rest) if rest else None
    step, _, rest = path.partition(".")
    if not isinstance(arguments, list) or not step.isdecimal() or int(step[:9]) >= len(arguments):
        return None
    item = arguments[int(step[:9])]
    return value_at(item, rest) if rest else item
