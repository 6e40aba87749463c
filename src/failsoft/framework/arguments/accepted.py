"""`Accepted`: the values a schema accepts at one location, in words, cached."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from failsoft.framework.arguments.schemas import (
    ALLOWED_AT_MOST,
    Schema,
    accepted_names,
    alternatives,
    below,
    enumerated,
    kinds_of,
    resolved,
)
from failsoft.framework.arguments.values import FORMATS
from failsoft.framework.text import bounded, json_type, printable, quoted

_SHOWN_AT_MOST = 8
"""Accepted values that a sentence names; the list holds more."""
_NAME_AT_MOST = 128
_SOURCE_AT_MOST = 100
_SOURCE = re.compile(
    r"\b(?:[Aa]s|[Tt]hat|which) (`?[a-z][a-z0-9]*_[a-z0-9_]+`?(?:(?:, | or |, or | and )`?[a-z][a-z0-9_]+`?)*)"
    r" ((?:return|report|list|show|give|print)(?:s|ed)?|gave)\b(?: (it|them)\b)?",
    re.ASCII,
)
"""The tool that returns a value, as descriptions of parameters name it: with an underscore, so that no word is one."""


class Accepted:
    """What a schema accepts at one location of the arguments.

    The same few faults recur, so descriptions and child locations are cached. The cache key of a location is its set
    of schemas, so a recursive schema has finitely many, however deep the arguments are.

    Args:
        schemas: The alternative schemas of a value, references resolved (see `schemas.alternatives`).
        root: The schema that references are resolved in.
        places: The cached locations of that schema.
        changes: Whether the operation may change something; suggestions then keep to the spelling of what was sent.
    """

    def __init__(
        self,
        schemas: Sequence[Schema],
        root: Schema,
        places: dict[tuple[int, ...], Accepted],
        *,
        changes: bool = False,
    ) -> None:
        self.changes = changes
        self.aliases: Mapping[str, str] = {}
        self._schemas = schemas
        self._root = root
        self._places = places
        self._below: dict[Any, Accepted] = {}

    @property
    def schema(self) -> Schema:
        """The whole schema."""
        return self._root

    def resolved(self, reference: Any) -> Any:
        """Return what a reference leads to; None if it leads out of the schema, or nowhere."""
        return resolved(reference, self._root)

    @classmethod
    def by(cls, schema: Schema, *, changes: bool = False, aliases: Mapping[str, str] | None = None) -> Accepted:
        """Return what a whole schema accepts; its names may have aliases."""
        whole = cls([], schema, {}, changes=changes).held_to([schema])
        whole.aliases = aliases or {}
        return whole

    def held_to(self, schemas: Iterable[Any]) -> Accepted:
        """Return the location with these subschemas."""
        spread = alternatives(schemas, self._root)
        key = tuple(map(id, spread))  # the location keeps them alive, so that no id is reused
        known = self._places.get(key)
        if known is None:
            known = self._places[key] = Accepted(spread, self._root, self._places, changes=self.changes)
        return known

    def below(self, step: str | int) -> Accepted:
        """Return what is accepted at a property or a list position of a value."""
        found = self._below.get(step)
        if found is None:
            key = step if step in self._declared else type(step)  # all undeclared names have the same schema
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
    def readable_names(self) -> tuple[str, ...]:
        """The property names that hide nothing."""
        return tuple([name for name in self.names if printable(name) == name])

    @cached_property
    def listed_names(self) -> tuple[str, ...]:
        """The first property names, without those that hide something or that nobody would read."""
        first = self.names[:ALLOWED_AT_MOST]
        return tuple([name for name in first if len(name) <= _NAME_AT_MOST and printable(name) == name])

    @cached_property
    def required(self) -> frozenset[str]:
        """The property names that an alternative requires."""
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
    def kinds_of_values(self) -> frozenset[str]:
        """The JSON types of the values that are listed."""
        return frozenset(map(json_type, self.values))

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The JSON types."""
        return kinds_of(self._schemas)

    @cached_property
    def description(self) -> str:
        """What the schema says of a value."""
        return " ".join([text for schema in self._schemas if isinstance(text := schema.get("description"), str)])

    def described(self, name: str) -> str:
        """Return what the schema says of a property, beside its type: an optional one is described there."""
        known = [declared[name] for schema in self._schemas if name in (declared := schema.get("properties") or {})]
        return " ".join([str(schema.get("description", "")) for schema in known if isinstance(schema, dict)])

    @cached_property
    def sources(self) -> Mapping[str | int, str]:
        """Which tool returns the value of a property, by its name, for those whose description says so."""
        about = {name: f"{self.described(name)} {self.below(name).description}" for name in self.names}
        return {name: source for name, text in about.items() if (source := source_of(text))}

    @cached_property
    def words(self) -> str:
        """What a value must be: `integer`, `array of string`, `one of 'a', 'b'`."""
        return bounded(describe(self._schemas, self._root))

    @cached_property
    def words_of_type(self) -> str:
        """The same with the JSON types of listed values in place of the values."""
        return bounded(describe(self._schemas, self._root, by_type=True))

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
        """The message about an unknown property."""
        return bounded(f"no such parameter; accepted: {', '.join(self.names)}" if self.names else "no such parameter")


NOTHING_KNOWN = Accepted([], {}, {})
"""Used for a location that the schema does not describe."""


def source_of(description: str) -> str:
    """Return the clause of a description that says which tool the value comes from; empty if there is none.

    >>> source_of("Id of a model, as load_model returned it. Left out, the last one")
    'as load_model returned it'
    >>> source_of("The version that `get_lot` returned")
    'as get_lot returned it'
    """
    found = _SOURCE.search(description)
    if found is None or len(found[0]) > _SOURCE_AT_MOST:
        return ""
    tools, verb, what = found.groups("it")
    return f"as {tools.replace('`', '')} {verb} {what}"


def one_of(values: Sequence[Any]) -> str:
    """Return `one of "a", "b"`, or the value itself if it is the only one."""
    shown = [_literal(value) for value in values[:_SHOWN_AT_MOST]]
    if len(values) == 1:
        return shown[0]
    tail = f" and {len(values) - len(shown)} more" if len(values) > len(shown) else ""
    return f"one of {', '.join(shown)}{tail}"


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value, 60)
    return bounded(json.dumps(value, default=str, skipkeys=True), 60)


def describe(schemas: Sequence[Schema], root: Schema, depth: int = 2, *, by_type: bool = False) -> str:
    """Describe what these alternatives accept: `integer`, `array of string`, `one of 'a', 'b'`.

    Args:
        schemas: The alternatives, as `alternatives` returns them.
        root: The schema that references are resolved in.
        depth: How many levels of arrays are described.
        by_type: Name the JSON types of listed values, not the values.
    """
    words: list[str] = []
    listed: list[Schema] = []
    for schema in schemas:
        if "enum" in schema or "const" in schema:
            listed.append(schema)
        else:
            words.append(_phrase(schema, root, depth))
    if listed and (values := enumerated(listed)):
        words = [*(map(json_type, values) if by_type else [one_of(values)]), *words]
    return words[0] if len(words) == 1 else bounded(" or ".join(dict.fromkeys(word for word in words if word)))


def _phrase(schema: Schema, root: Schema, depth: int) -> str:
    kind = schema.get("type", "")
    if isinstance(kind, list):
        return " or ".join(_phrase({**schema, "type": one}, root, depth) for one in kind)
    if kind == "string" and isinstance(schema.get("format"), str):
        form = schema["format"]
        return f"string: {FORMATS.get(form, form)}"
    if kind == "array" and depth:
        inner = describe(alternatives([schema.get("items")], root), root, depth - 1)
        return f"array of {inner}" if inner and inner != "null" else "array"
    return kind if isinstance(kind, str) else ""
