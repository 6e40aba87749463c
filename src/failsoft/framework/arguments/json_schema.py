"""Arguments validated by a JSON Schema, for handlers with `**arguments` (proxies, generated tools)."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any
from uuid import UUID

from failsoft.framework.arguments.signature import NOT_JSON
from failsoft.framework.errors import InvalidParameter
from failsoft.framework.validation.accepted import Accepted
from failsoft.framework.validation.linear_patterns import with_linear_patterns
from failsoft.framework.validation.plain_fit import plain_fit
from failsoft.framework.validation.pydantic_faults import violations_from_jsonschema
from failsoft.framework.validation.schemas import check_input_schema, references

__all__ = ["JsonSchemaArguments"]

_REFERENCES = frozenset({"$ref", "$dynamicRef"})
_ONE = frozenset({"not", "if", "then", "else"})
_SEVERAL = frozenset({"allOf", "anyOf", "oneOf", "dependentSchemas"})
"""Keywords whose subschemas apply to the same value as the schema that has them; so do references."""


class JsonSchemaArguments:
    """Arguments validated by a JSON Schema (draft 2020-12 unless it names another one).

    Unlisted names are rejected unless the schema declares `additionalProperties` or `patternProperties`, so that a
    misspelt optional argument does not go unnoticed.

    Args:
        owner: The tool, for messages.
        schema: Its input schema.
        changes: Whether the tool may change something.

    Raises:
        TypeError: The schema is invalid, not an object schema, or has a reference to another document or to itself.
    """

    aliases: Mapping[str, str] = {}

    def __init__(self, owner: str, schema: Mapping[str, Any], *, changes: bool = False) -> None:
        from jsonschema import SchemaError  # noqa: PLC0415 - 30 ms that only such tools pay for
        from jsonschema.validators import Draft202012Validator, validator_for  # noqa: PLC0415 - the same

        self.schema = copy.deepcopy(dict(schema))
        check_input_schema(owner, self.schema)
        kind = validator_for(self.schema, default=Draft202012Validator)
        try:
            kind.check_schema(self.schema)
        except SchemaError as error:
            msg = f"{owner}: the input schema is not valid JSON Schema: {error.message}"
            raise TypeError(msg) from error
        _check_references(owner, self.schema)
        if not self.schema.keys() & {"additionalProperties", "patternProperties", "unevaluatedProperties"}:
            self.schema["additionalProperties"] = False
        self._fits = plain_fit(self.schema)
        self._accepted = Accepted.by(self.schema, changes=changes)
        self._validator = _strict(kind)(self.schema, format_checker=_formats(kind))

    def validate(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the arguments, unchanged; see `ports.Arguments`."""
        given: Any = {} if params is None else params
        if self._fits is not None and self._fits(given):
            return dict(given)
        try:
            violations = violations_from_jsonschema(self._validator, given, self._accepted)
        except (ValueError, RecursionError, TypeError):
            violations = [NOT_JSON]
        if violations:
            raise InvalidParameter.from_violations(violations)
        return dict(given)


@functools.cache  # making a class takes a millisecond; a draft has one
def _strict(kind: Any) -> Any:
    """Return the draft's validator class for numbers that JSON has, with patterns matched in linear time."""
    from jsonschema.validators import extend  # noqa: PLC0415 - as above

    return extend(with_linear_patterns(kind), type_checker=kind.TYPE_CHECKER.redefine("number", _is_number))  # type: ignore[no-untyped-call]  # jsonschema has no types here


@functools.cache
def _formats(kind: Any) -> Any:
    """Return the draft's format checker, relaxed where tools accept more than the standard.

    Tools accept times without an offset and UUIDs without hyphens. Whether jsonschema checks a time depends on which
    packages are installed.
    """
    checker = copy.copy(kind.FORMAT_CHECKER)
    checker.checkers = {name: check for name, check in checker.checkers.items() if name not in {"date-time", "time"}}
    checker.checkers["uuid"] = (lambda value: not isinstance(value, str) or bool(UUID(value)), ValueError)
    return checker


def _is_number(_checker: Any, value: Any) -> bool:
    """Return whether JSON can represent this number: it is not NaN or infinite."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _check_references(owner: str, schema: dict[str, Any]) -> None:
    """Reject references on which every call would fail: dangling ones, and those that lead back to themselves.

    Raises:
        TypeError: A reference does not resolve within the schema, or resolves to itself for the same value.
    """
    from referencing import Registry, exceptions  # noqa: PLC0415 - comes with jsonschema
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415 - the same

    registry: Registry[Any] = Registry()
    resolver = registry.resolver_with_root(DRAFT202012.create_resource(schema))
    targets: dict[str, Any] = {}
    for reference in references(schema):
        try:
            targets[reference] = resolver.lookup(reference).contents
        except exceptions.Unresolvable as error:
            msg = f"{owner}: the schema refers to {reference!r}, which it does not have"
            raise TypeError(msg) from error
    try:
        TopologicalSorter(_in_place(targets)).prepare()
    except CycleError as error:
        msg = f"{owner}: a reference of the schema leads back to itself, so that no value can be validated"
        raise TypeError(msg) from error


def _in_place(targets: Mapping[str, Any]) -> dict[int, list[int]]:
    """Return which subschemas each schema that is referred to applies to the same value, by their ids."""
    graph: dict[int, list[int]] = {}
    waiting = list(targets.values())
    while waiting:
        schema = waiting.pop()
        if not isinstance(schema, dict) or id(schema) in graph:
            continue
        below = [schema[keyword] for keyword in _ONE & schema.keys()]
        for keyword in _SEVERAL & schema.keys():
            below += schema[keyword].values() if isinstance(schema[keyword], dict) else schema[keyword]
        below += [targets.get(schema[keyword]) for keyword in _REFERENCES & schema.keys()]
        graph[id(schema)] = [id(item) for item in below]
        waiting += below
    return graph
