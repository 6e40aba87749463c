"""`Accepted`: the values a schema accepts at one location, in words, cached."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from failsoft.framework.arguments.schemas import (
    ALLOWED_AT_MOST,
    Schema,
    accepted_names,
    alternatives,
    below,
    combined,
    enumerated,
    kinds_of,
    resolved,
    subschemas,
)
from failsoft.framework.arguments.values import FORMATS
from failsoft.framework.safe.tokens import REDACTED
from failsoft.framework.text import bounded, json_type, printable, quoted

_SHOWN_AT_MOST = 8
"""Accepted values that a sentence names; the list holds more."""
_NAME_AT_MOST = 128
_LEVELS_AT_MOST = 100
_TEXT_AT_LEAST = 6
"""Characters from which on a secret is searched for in other texts."""
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
        is_secret: Whether the schema marks the value as secret (`writeOnly`, `format: password`).
        marks_secrets: Whether the whole schema marks anything as secret; those of most tools do not.
    """

    def __init__(
        self,
        schemas: Sequence[Schema],
        root: Schema,
        places: dict[tuple[int, ...], Accepted],
        *,
        changes: bool = False,
        is_secret: bool = False,
        marks_secrets: bool = False,
    ) -> None:
        self.changes = changes
        self.is_secret = is_secret
        self.marks_secrets = marks_secrets
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
        marks_secrets = any(_is_marked(part, schema, depth=1) for part in subschemas(schema))
        whole = cls([], schema, {}, changes=changes, marks_secrets=marks_secrets).held_to([schema])
        whole.aliases = aliases or {}
        return whole

    def held_to(self, schemas: Iterable[Any]) -> Accepted:
        """Return the location with these subschemas."""
        held = [*schemas]
        spread = alternatives(held, self._root)
        is_secret = self.marks_secrets and any(_is_marked(schema, self._root) for schema in held)
        key = (is_secret, *map(id, spread))  # the location keeps them alive, so that no id is reused
        known = self._places.get(key)
        if known is None:
            known = self._places[key] = Accepted(
                spread,
                self._root,
                self._places,
                changes=self.changes,
                is_secret=is_secret,
                marks_secrets=self.marks_secrets,
            )
        return known

    def below(self, step: str | int) -> Accepted:
        """Return what is accepted at a property or a list position of a value."""
        found = self._below.get(step)
        if found is None:
            key = step if step in self._declared else type(step)  # all undeclared names have the same schema
            found = self._below.get(key)
            if found is None:
                found = self._below[key] = self.held_to(below(self._schemas, step))
        return found

    @cached_property
    def holds_secrets(self) -> bool:
        """Whether the value, an item of it or a property is marked as secret."""
        steps: tuple[str | int, ...] = (0, *self.names, "")  # an undeclared name stands for all of them
        return self.marks_secrets and (self.is_secret or any(self.below(step).is_secret for step in steps))

    def secrets_in(self, value: Any) -> tuple[str, ...]:
        """Return the texts of a value that are marked as secret, but for short ones, which others hold by chance."""
        return tuple([text for text in self.marked(value) if isinstance(text, str) and len(text) >= _TEXT_AT_LEAST])

    def marked(self, value: Any, depth: int = _LEVELS_AT_MOST) -> Iterator[Any]:
        """Yield what is marked as secret in a value; what is nested too deeply is left out."""
        if isinstance(value, (Mapping, list, tuple)):
            parts: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, Mapping) else enumerate(value)
            for step, item in parts if self.marks_secrets and depth else ():
                yield from (self if self.is_secret else self._part(step)).marked(item, depth - 1)
        elif self.is_secret:
            yield value

    def without_secrets(self, value: Any, depth: int = _LEVELS_AT_MOST) -> Any:
        """Return a JSON tree without what is marked as secret; what is nested too deeply is left as it is."""
        if self.is_secret:
            return value if value is None else REDACTED
        if not self.marks_secrets or not depth:
            return value
        if isinstance(value, Mapping):
            return {name: self._part(name).without_secrets(item, depth - 1) for name, item in value.items()}
        if isinstance(value, list):
            return [self.below(place).without_secrets(item, depth - 1) for place, item in enumerate(value)]
        return value

    def _part(self, step: Any) -> Accepted:
        """Return what is accepted at a step of a value, under any of its names."""
        return self.below(self.aliases.get(step, step))

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


def _is_marked(schema: Any, root: Schema, depth: int = 12) -> bool:
    """Return whether a schema marks its value as secret, by itself or by what it combines or refers to."""
    if not isinstance(schema, dict) or depth == 0:
        return False
    is_marked = schema.get("writeOnly") is True or schema.get("format") == "password"
    return is_marked or any(_is_marked(part, root, depth - 1) for part in combined(schema, root))


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
