"""`Accepted`: what a schema accepts at one place, and the words for it, worked out once and kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from failsoft.framework.schema_words import (
    Schema,
    accepted_names,
    alternatives,
    below,
    describe,
    enumerated,
    kinds_of,
    one_of,
)
from failsoft.framework.text import bounded

__all__ = ["NOTHING_KNOWN", "Accepted"]


class Accepted:
    """What is accepted at one place of the arguments.

    The same few faults come again and again, so every fact is kept once it was asked for, and so are the places below.
    A place is known by the schemas that it is held to: one that refers to itself has finitely many, however deep a
    caller's arguments go.

    Args:
        schemas: The alternatives that a value is held to, references followed (see `schema_words.alternatives`).
        root: The schema that references are looked up in.
        places: All places of that schema that are known so far.
    """

    def __init__(self, schemas: Sequence[Schema], root: Schema, places: dict[tuple[int, ...], Accepted]) -> None:
        self._schemas = schemas
        self._root = root
        self._places = places
        self._below: dict[Any, Accepted] = {}

    @classmethod
    def by(cls, schema: Schema) -> Accepted:
        """Return what a whole schema accepts."""
        return cls([], schema, {}).held_to([schema])

    def held_to(self, schemas: Iterable[Any]) -> Accepted:
        """Return the place whose values are held to these parts of the same schema."""
        spread = alternatives(schemas, self._root)
        key = tuple(map(id, spread))  # the place keeps them alive, so that no id is given twice
        return self._places.get(key) or self._places.setdefault(key, Accepted(spread, self._root, self._places))

    def below(self, step: str | int) -> Accepted:
        """Return what is accepted at a property or a list position of a value."""
        key = step if step in self._declared else type(step)  # all undeclared names are held to the same
        found = self._below.get(key)
        if found is None:
            found = self._below[key] = self.held_to(below(self._schemas, step, self._root))
        return found

    @cached_property
    def _declared(self) -> frozenset[str | int]:
        """The steps that have a schema of their own: names, and positions at the head of a list."""
        positions = [len(prefix) for schema in self._schemas if isinstance(prefix := schema.get("prefixItems"), list)]
        return frozenset([*self.names, *range(max(positions, default=0))])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The property names, in the order of their declaration."""
        return tuple(accepted_names(self._schemas))

    @cached_property
    def required(self) -> frozenset[str]:
        """The property names that one of the alternatives cannot do without."""
        return frozenset(name for schema in self._schemas for name in schema.get("required") or ())

    @cached_property
    def patterns(self) -> tuple[str, ...]:
        """The patterns of further property names."""
        return tuple(pattern for schema in self._schemas for pattern in schema.get("patternProperties") or ())

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """The values that are listed one by one."""
        return tuple(enumerated(self._schemas))

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The JSON types."""
        return kinds_of(self._schemas)

    @cached_property
    def is_formatted(self) -> bool:
        """Whether texts are held to a format (a date, a URL)."""
        return any("format" in schema for schema in self._schemas)

    @cached_property
    def words(self) -> str:
        """What a value must be: `integer`, `array of string`, `one of 'a', 'b'`."""
        return describe(self._schemas, self._root)

    @cached_property
    def words_of_type(self) -> str:
        """The same with the JSON types of listed values in place of the values."""
        return describe(self._schemas, self._root, by_type=True)

    @cached_property
    def words_beside_values(self) -> str:
        """What a value must be if it is none of those listed."""
        others = [schema for schema in self._schemas if "enum" not in schema and "const" not in schema]
        return describe(others, self._root)

    @cached_property
    def words_of_names(self) -> str:
        """The property names as `one of 'a', 'b'`, or nothing where there are none."""
        return bounded(one_of(self.names)) if self.names else ""

    @cached_property
    def refusal_of_a_name(self) -> str:
        """What is said of a property that has another name."""
        return bounded(f"is not accepted; accepted: {', '.join(self.names)}" if self.names else "is not accepted")


NOTHING_KNOWN = Accepted([], {}, {})
"""Stands for a place that no schema speaks of."""
