"""Corrects arguments by applying the suggestion of every violation, if the judge lets all of them pass."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from failsoft.framework.errors import InvalidArgument
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import json_type

_ROUNDS_AT_MOST = 3
"""Rounds of corrections: after a name is corrected, its value may need a correction too."""
_JSON_AT_MOST = 100_000
"""Characters of JSON in a text that are parsed."""
_INTEGER = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(\d{1,18}(\.\d{0,18})?|\.\d{1,18})([eE][+-]?\d{1,2})?")
_MEASURED = re.compile(r"([+-]?\d{1,15}(?:\.\d{1,15})?)\s*(?:[^\W\d_]{1,20}|[%°])")
_BOOLEANS = {"true": True, "false": False}
_WRAPPERS = frozenset(
    {"arguments", "args", "body", "data", "input", "kwargs", "params", "parameters", "payload", "request"}
)
"""Names of an object around all arguments that say nothing of their own; so does `order` of `place_order`."""


@dataclass(slots=True)  # never changed; `frozen` would cost a call for every field
class Corrected:
    """Arguments that are accepted, and the faults that were corrected in them, in this order."""

    arguments: dict[str, Any]
    faults: tuple[Violation, ...]


def corrected_call(
    arguments: Any,
    violations: Sequence[Violation],
    validate: Callable[[dict[str, Any]], Any],
    *,
    judged: Callable[[Sequence[Violation], Any], Sequence[Violation]] = lambda violations, _: violations,
) -> Corrected | None:
    """Return the arguments with all faults corrected, including those found only afterwards; None if one cannot be.

    Args:
        arguments: The arguments as received.
        violations: Their faults.
        validate: Stage 1 of the tool.
        judged: Returns violations of given arguments, with how far their suggestions may go.
    """
    faults: list[Violation] = []
    for _ in range(_ROUNDS_AT_MOST):
        violations = judged(violations, arguments)
        better = corrected(arguments, violations)
        if better is None:
            return None
        arguments, faults = better, [*faults, *violations]
        try:
            validate(better)
        except InvalidArgument as remaining:
            violations = remaining.violations
        except Exception:  # noqa: BLE001 - an author's own validator may raise anything
            return None
        else:
            return Corrected(better, tuple(faults))
    return None


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
        for violation in map(_told, violations):
            if violation.reason == "missing":
                missing.append(violation.path)
            elif violation.omit:
                result = _left_out(result, violation.path)
            elif violation.suggestion is None or violation.how_far not in {None, "use"}:
                return None
            else:
                result = _with_correction(result, violation.path, violation)
        for path in missing:
            if not _is_there(result, path):
                return None
    except (LookupError, TypeError, ValueError):  # a path that was shortened, or removed by another correction
        return None
    return result  # type: ignore[no-any-return]  # a copy of the arguments


def _told(violation: Violation) -> Violation:
    """Return a violation with its suggestion, though that is not echoed."""
    return violation if violation.unsaid is None else replace(violation, suggestion=violation.unsaid)


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


def unwrapped(
    arguments: dict[str, Any], known: Container[str], operation: str, *, is_read: bool
) -> dict[str, Any] | None:
    """Return the arguments that were sent as one object under a name of their own: `{"order": {"item": ...}}`."""
    ((name, inner),) = arguments.items()
    if not isinstance(inner, dict) or not inner or name in known or any(own not in known for own in inner):
        return None
    plain = str(name).casefold()  # a caller in this process may send any key
    is_neutral = plain in _WRAPPERS or plain in operation.casefold().split("_")
    return dict(inner) if is_read or is_neutral else None  # `draft`, `example` may mean something


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


def leaves_of(tree: Any) -> Iterator[Any]:
    """Yield every name and every scalar in a JSON tree."""
    if isinstance(tree, (Mapping, list, tuple)):
        for item in tree:
            yield from leaves_of(item)
        if isinstance(tree, Mapping):
            for item in tree.values():
                yield from leaves_of(item)
    else:
        yield tree


def in_another_form(value: Any, kinds: frozenset[str], items: frozenset[str] = frozenset()) -> Any:
    """Return a value in one of the JSON types `kinds`, for the judge to decide on; None if there is none.

    A number is never converted to text, because an id, a path or a name would be a guess.

    Args:
        value: As received.
        kinds: The accepted JSON types.
        items: The JSON types of a list's items, where a list is accepted; empty for any.

    >>> in_another_form("5", frozenset({"integer"})), in_another_form("10 mM", frozenset({"number"}))
    (5, 10.0)
    >>> in_another_form("a", frozenset({"array"})), in_another_form("a", frozenset({"array"}), frozenset({"object"}))
    (['a'], None)
    >>> in_another_form("4", frozenset({"array"}), frozenset({"integer"}))
    [4]
    """
    same: Any = None
    if isinstance(value, str):
        same = _from_text(value.strip(), kinds)
        if same is None and "array" in kinds and "string" not in items:
            item = _from_text(value.strip(), items)
            same = None if item is None else [item]
    elif isinstance(value, float) and "integer" in kinds and value.is_integer() and abs(value) < 2**53:
        same = int(value)
    if same is None and "array" in kinds and value is not None and not isinstance(value, (list, tuple)):
        kind = json_type(value)
        fits = not items or kind in items or (kind == "integer" and "number" in items)
        same = [value] if fits and kind in {"string", "integer", "number", "boolean", "object"} else None
    return same


def _from_text(text: str, kinds: frozenset[str]) -> Any:
    if "boolean" in kinds and text.casefold() in _BOOLEANS:
        return _BOOLEANS[text.casefold()]
    if text[:1] in {"[", "{"} and kinds & {"array", "object"} and len(text) <= _JSON_AT_MOST:
        return _parsed(text, kinds)
    return _number(text, kinds) if text[:1].isdecimal() or text.startswith(("+", "-", ".")) else None


def _number(text: str, kinds: frozenset[str]) -> Any:
    """Return the number that a text is, or that it has before a unit (`10 mM`)."""
    if "integer" in kinds and _INTEGER.fullmatch(text):
        return int(text)
    if "number" in kinds and _NUMBER.fullmatch(text):
        return float(text)
    measured = _MEASURED.fullmatch(text) if kinds & {"integer", "number"} else None
    number = None if measured is None else float(measured[1])
    if number is None or "number" in kinds:
        return number
    return int(number) if number.is_integer() else None


def _parsed(text: str, kinds: frozenset[str]) -> Any:
    """Return a list or an object that was sent as JSON text; a single object becomes a list if one is expected."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if json_type(parsed) in kinds:
        return parsed
    return [parsed] if isinstance(parsed, dict) and "array" in kinds else None
