"""Repairs of arguments that need no guessing: pure functions over the violations and the schema.

A repair must be unambiguous. Text becomes a number only if it is one in JSON, a name is replaced only if a single
accepted name is one typo away and means the same, and text that may end up in a file or a message is never created or
changed. In a call that changes something names are replaced only for another case or other separators, and nothing is
left out.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from failsoft.framework.errors.corrections import is_same_spelling, is_slip, unique_names
from failsoft.framework.errors.violations import Violation
from failsoft.framework.safe.redaction import is_content, is_secret_name
from failsoft.framework.text import json_type, named
from failsoft.framework.validation.schema_words import Schema, accepted_names, alternatives, below, kinds_of

__all__ = ["Repair", "one_slip_away", "repaired_arguments", "same_value"]

_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,17})(\.\d{1,18})?([eE][+-]?\d{1,2})?")
_TRUTH = {"true": True, "false": False, "True": True, "False": False}
_EXACT = 2**53
"""Above this, not every integer is a float."""
_SEVERAL = re.compile(r"[,;|\n]")
_SHORT_NAME = 4
"""Shorter names are not corrected: one typo makes another word (`to`, `top`)."""
_WEIGHTLESS = str.maketrans("", "", " _-.")
_TEXT_AT_MOST = 200_000
"""The longest text that is parsed as JSON."""


@dataclass(slots=True)
class Repair:
    """Repaired arguments and the changes made.

    `changed` has the new values by their new names; None for a name that was left out.
    """

    arguments: dict[str, Any]
    changed: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def repaired_arguments(
    arguments: Mapping[str, Any], violations: Iterable[Violation], schema: Schema, *, read_only: bool
) -> Repair | None:
    """Return the arguments with every violation repaired, or None if one of them cannot be repaired with certainty.

    Missing names are ignored, since a misspelt one may be the missing one. The result has to be validated again.

    Args:
        arguments: As received; they are not changed.
        violations: All their violations.
        schema: The schema that they are validated against.
        read_only: Whether the operation is read-only; otherwise no text is created or unpacked.
    """
    repair = Repair(copy.deepcopy(dict(arguments)))
    for violation in violations:
        if violation.reason == "missing":
            continue
        place = _Place.find(repair.arguments, violation.path, schema)
        if place is None or is_secret_name(str(place.name)):
            return None
        if violation.reason == "unexpected":
            done = _rename(place, repair, read_only=read_only)
        else:
            done = violation.reason == "type" and _retype(place, repair, read_only=read_only)
        if not done:
            return None
    return repair if repair.changed else None


@dataclass(slots=True)
class _Place:
    """One value among the arguments: its container, its name or position, and the schemas of both."""

    path: str
    holder: Any
    name: str | int
    around: Sequence[Schema]
    schemas: Sequence[Schema]
    root: Schema
    is_in_content: bool

    @classmethod
    def find(cls, arguments: dict[str, Any], path: str, root: Schema) -> _Place | None:
        """Return the place that a path leads to; None if that is ambiguous (a name with a dot in it)."""
        holder: Any = arguments
        around = alternatives([root], root)
        steps = path.split(".")
        is_in_content = False
        for depth, text in enumerate(steps):
            step = int(text) if isinstance(holder, list) and text.isdecimal() else text
            if not _has(holder, step):
                return None
            schemas = below(around, step, root)
            is_in_content = is_in_content or is_content(step, holder[step])
            if depth == len(steps) - 1:
                return cls(path, holder, step, around, schemas, root, is_in_content)
            holder, around = holder[step], schemas
        return None


def _has(holder: Any, step: str | int) -> bool:
    if isinstance(holder, dict):
        return step in holder
    return isinstance(holder, list) and isinstance(step, int) and step < len(holder)


def _rename(place: _Place, repair: Repair, *, read_only: bool) -> bool:
    if not isinstance(place.holder, dict):
        return False
    free = [name for name in accepted_names(place.around) if name not in place.holder]
    meant = one_slip_away(str(place.name), free)
    if meant is None or is_secret_name(meant) or not (read_only or is_same_spelling(str(place.name), meant)):
        return False
    value = place.holder[meant] = place.holder.pop(place.name)
    path = ".".join([*place.path.split(".")[:-1], meant])
    repair.changed[path] = value
    repair.notes.append(f"{named(place.path)} was taken as {named(path)}")
    return True


def _retype(place: _Place, repair: Repair, *, read_only: bool) -> bool:
    value = place.holder[place.name]
    if value is None and read_only and _is_optional(place):
        del place.holder[place.name]
        repair.changed[place.path] = next((item["default"] for item in place.schemas if "default" in item), None)
        repair.notes.append(f"{named(place.path)} was null and left out")
        return True
    if place.is_in_content and not read_only:
        return False
    same = same_value(value, place.schemas, place.root, read_only=read_only)
    if same is None:
        return False
    place.holder[place.name] = repair.changed[place.path] = same
    repair.notes.append(f"{named(place.path)} was read as {json_type(same)}")
    return True


def _is_optional(place: _Place) -> bool:
    is_known = isinstance(place.holder, dict) and place.name in accepted_names(place.around)
    return is_known and not any(place.name in schema.get("required", ()) for schema in place.around)


def same_value(value: Any, schemas: Sequence[Schema], root: Schema, *, read_only: bool) -> Any:
    """Return the same value in the one JSON type that is accepted, or None if that is not certain.

    >>> whole = [{"type": "integer"}]
    >>> [same_value(given, whole, {}, read_only=False) for given in ("5", 5.0, "5.5", "007", "five")]
    [5, 5, None, None, None]
    """
    kinds = kinds_of(schemas) - {"null"}
    if isinstance(value, str):
        same = _from_text(value, kinds, read_only=read_only)
    elif isinstance(value, float) and "integer" in kinds and value.is_integer() and abs(value) < _EXACT:
        same = int(value)
    elif type(value) is int and kinds == {"string"} and read_only and abs(value) < _EXACT:
        same = str(value)
    else:
        same = None
    return [value] if same is None and _is_lone_item(value, schemas, root, read_only=read_only) else same


def _from_text(text: str, kinds: frozenset[str], *, read_only: bool) -> Any:
    found: list[Any] = []
    if "integer" in kinds and _WHOLE.fullmatch(text):
        found.append(int(text))
    elif "number" in kinds and _NUMBER.fullmatch(text):
        found.append(float(text) if not _WHOLE.fullmatch(text) else int(text))
    if "boolean" in kinds and text in _TRUTH:
        found.append(_TRUTH[text])
    if kinds & {"array", "object"} and text[:1] in {"[", "{"} and len(text) <= _TEXT_AT_MOST:
        found += _unpacked(text, kinds, read_only=read_only)
    return found[0] if len(found) == 1 else None


def _unpacked(text: str, kinds: frozenset[str], *, read_only: bool) -> list[Any]:
    """Return the array or object in a JSON text. Contents are not unpacked: their escaping is ambiguous."""
    try:
        parsed = json.loads(text, object_pairs_hook=unique_names)
    except (ValueError, RecursionError):
        return []
    is_safe = json_type(parsed) in kinds and (read_only or not _holds_content(parsed))
    return [parsed] if is_safe else []


def _holds_content(tree: Any) -> bool:
    if isinstance(tree, dict):
        return any(is_content(name, item) or _holds_content(item) for name, item in tree.items())
    return isinstance(tree, list) and any(map(_holds_content, tree))


def _is_lone_item(value: Any, schemas: Sequence[Schema], root: Schema, *, read_only: bool) -> bool:
    """Return whether a value is the only item of the intended list; text that may contain several is not."""
    kind = json_type(value)
    if kinds_of(schemas) - {"null"} != {"array"} or kind in {"null", "array", "value"}:
        return False
    items = kinds_of(below(schemas, 0, root))
    if kind not in items and not (kind == "integer" and "number" in items):
        return False
    if not isinstance(value, str):
        return True
    is_parted = _SEVERAL.search(value) is not None or (not read_only and " " in value.strip())
    return bool(value.strip()) and not is_parted and value.strip()[0] not in "[{"


def one_slip_away(name: str, options: Iterable[str]) -> str | None:
    """Return the only option that differs from the name by its spelling or by one typo; else None.

    Case, `_`, `-`, `.` and spaces are ignored. A typo is one letter added, missing or replaced, or two swapped, which
    makes no name of another meaning (`line1` and `line2`, `payee` and `payer`).

    >>> one_slip_away("limitt", ["limit", "offset"]), one_slip_away("maxResults", ["max_results"])
    ('limit', 'max_results')
    >>> one_slip_away("form", ["from", "for"]) is None
    True
    """
    plain = _plain(name)
    listed = [(option, _plain(option)) for option in options]
    same = [option for option, other in listed if other == plain]
    if same or len(plain) < _SHORT_NAME:
        return same[0] if len(same) == 1 else None
    near = [option for option, other in listed if len(other) >= _SHORT_NAME - 1 and _is_one_slip(plain, other)]
    near = [option for option in near if is_slip(name, option)]
    return near[0] if len(near) == 1 else None


def _plain(name: str) -> str:
    return name.translate(_WEIGHTLESS).casefold()


def _is_one_slip(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) > 1:
        return False
    start = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    one, other = one[start:], other[start:]
    return one[1:] == other or one == other[1:] or one[1:] == other[1:] or (one[1::-1] + one[2:]) == other
