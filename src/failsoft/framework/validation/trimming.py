"""Truncates arguments far beyond the bounds of their schema, which limits the cost of rejecting them.

A validator checks every item of an oversized list and lists every fault. Items beyond the bound do not change the
result, so only enough of them are kept to show that the bound is exceeded.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

__all__ = ["TRIMMED_FROM_BYTES", "trimmed"]

TRIMMED_FROM_BYTES = 50_000
"""Arguments that are shorter as JSON are validated as they are."""
_UNKNOWN_AT_MOST = 20
"""Number of unknown names of an object that are kept, to be listed in the error."""
_MORE = 10
"""Items that are kept beyond a bound."""


def trimmed(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a value without the parts far beyond the bounds of its schema; the value itself if there are none.

    Args:
        value: As received.
        schema: The JSON Schema of this value.
    """
    return _Trimmer(schema).trimmed(value, schema)


class _Trimmer:
    """Truncates the values of one call; the branches of each schema are found once."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._definitions = root.get("$defs", {})
        self._known: dict[int, list[Mapping[str, Any]]] = {}

    def trimmed(self, value: Any, schema: Mapping[str, Any]) -> Any:
        """Return a value of this schema, truncated."""
        if isinstance(value, str):
            if len(value) <= _MORE:
                return value
            limit = _largest(self._branches(schema), "string", "maxLength")
            return value if limit is None or len(value) <= limit + _MORE else value[: limit + _MORE]
        if isinstance(value, list):
            return self._list(value, self._branches(schema))
        return self._object(value, self._branches(schema)) if isinstance(value, dict) else value

    def _list(self, value: list[Any], branches: list[Mapping[str, Any]]) -> list[Any]:
        arrays = [one for one in branches if one.get("type") == "array"]
        if not arrays:
            return value[:_MORE]
        limit = _largest(arrays, "array", "maxItems")
        kept = value if limit is None or len(value) <= limit + _MORE else value[: limit + _MORE]
        items = arrays[0].get("items")
        if not isinstance(items, Mapping) or len(arrays) > 1:
            return kept
        found = [self.trimmed(item, items) for item in kept]
        return kept if all(new is old for new, old in zip(found, kept, strict=True)) else found

    def _object(self, value: dict[str, Any], branches: list[Mapping[str, Any]]) -> dict[str, Any]:
        objects = [one for one in branches if one.get("type") == "object"]
        if not objects:
            return dict(islice(value.items(), _MORE))
        if len(objects) > 1:
            return value
        properties, others = objects[0].get("properties", {}), objects[0].get("additionalProperties")
        limit = _UNKNOWN_AT_MOST if others is False else objects[0].get("maxProperties")
        known = {name: self.trimmed(item, properties[name]) for name, item in value.items() if name in properties}
        unknown = [name for name in value if name not in properties]
        if limit is not None and len(unknown) > limit + _MORE:
            unknown = unknown[: limit + _MORE]
        kept = {
            name: self.trimmed(value[name], others) if isinstance(others, Mapping) else value[name] for name in unknown
        }
        is_same = len(known) + len(kept) == len(value)
        is_same = is_same and all(value[name] is item for one in (known, kept) for name, item in one.items())
        return value if is_same else {**known, **kept}

    def _branches(self, schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Return the schemas that a value may fit, references followed."""
        found = self._known.get(id(schema))
        if found is None:
            found = self._known[id(schema)] = self._found_branches(schema)
        return found

    def _found_branches(self, schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        for _ in range(20):
            reference = schema.get("$ref")
            if not isinstance(reference, str) or not reference.startswith("#/$defs/"):
                break
            schema = self._definitions.get(reference.removeprefix("#/$defs/"), {})
        choices = schema.get("anyOf") or schema.get("oneOf")
        if not choices:
            return [schema]
        return [branch for choice in choices for branch in self._branches(choice)]


def _largest(branches: list[Mapping[str, Any]], kind: str, bound: str) -> int | None:
    """Return the largest bound of the branches of a kind; None where one has none, or there is no such branch."""
    bounds = [one.get(bound) for one in branches if one.get("type") == kind]
    known = [one for one in bounds if isinstance(one, int)]
    return max(known) if known and len(known) == len(bounds) else None
