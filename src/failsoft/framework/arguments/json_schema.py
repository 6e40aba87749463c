"""A JSON Schema: checked before it is used, and values validated by it within bounds, whoever wrote it.

THE reader of schemas that are not ours: nothing is fetched, and depth, size, expansion and patterns are bounded.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from functools import cache, partial
from typing import Any, Literal, TypeAlias

import pydantic_core

from failsoft.framework.arguments.accepted import Accepted
from failsoft.framework.arguments.bounded import (
    TooCostlyError,
    bounded_kind,
    first_error,
    is_linear,
    is_of_format,
    trust,
)
from failsoft.framework.arguments.faults import COMBINING, NOT_JSON, explained, fault_of
from failsoft.framework.arguments.schemas import REFERENCES, check_input_schema, check_references, resolved, subschemas
from failsoft.framework.errors import InvalidParameter
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded

_BYTES_AT_MOST = 256_000
_DEPTH_AT_MOST = 128
"""Levels of objects and lists; 64 schemas in one another."""
_EXPANDED_AT_MOST = 10_000
"""Schemas that apply to one value, references followed."""
SLOW_FROM_BYTES = 20_000
"""Size of schema and value beyond which a validation belongs in a worker thread: some milliseconds."""
_ONE = ("not", "if", "then", "else")
_SEVERAL = ("allOf", "anyOf", "oneOf", "dependentSchemas")
"""Keywords whose subschemas apply to the same value as the schema that has them; so do references."""
SlowPatterns: TypeAlias = Literal["refuse", "skip", "trust"]
_CHECKED_FORMATS = ("date", "date-time", "duration", "time", "uuid")
_TOO_COSTLY = Violation(
    path="", reason="value", message="they take too long to be checked against the schema", expected="smaller arguments"
)


class JsonSchema:
    """A schema by which values are validated (draft 2020-12 unless it names another one).

    Args:
        owner: What has the schema, for messages.
        schema: The schema. It is not changed.
        changes: Whether the values are arguments of a tool that may change something.
        slow_patterns: What is done with patterns that have no linear time (look-around, back-references): `refuse` the
            schema, `skip` them, where somebody else checks them, too, or `trust` an author with them.

    Raises:
        TypeError: It is invalid, too large, too deep or too branched, or has a reference to another document, to
            nothing or to itself, or a pattern that has no linear time.
    """

    def __init__(
        self, owner: str, schema: Any, *, changes: bool = False, slow_patterns: SlowPatterns = "refuse"
    ) -> None:
        from jsonschema import FormatChecker, SchemaError  # noqa: PLC0415 - 30 ms that only such tools pay for
        from jsonschema.validators import Draft202012Validator, validator_for  # noqa: PLC0415 - the same
        from referencing import Registry  # noqa: PLC0415 - comes with jsonschema

        self.size = _measured(owner, schema)
        self.schema: dict[str, Any] = schema
        kind: Any = validator_for(schema, default=Draft202012Validator)
        try:
            kind.check_schema(schema, format_checker=FormatChecker(formats=()))
        except SchemaError as error:
            msg = f"{owner}: not a valid JSON Schema: {bounded(error.message)}"
            raise TypeError(msg) from error
        except RecursionError as error:
            msg = f"{owner}: the schema is nested too deeply"
            raise TypeError(msg) from error
        check_references(owner, schema)
        _check_expansion(owner, schema)
        _check_patterns(owner, schema, slow_patterns=slow_patterns)
        registry: Registry[Any] = Registry()  # without it jsonschema would fetch a remote reference from the network
        self.accepted = Accepted.by(schema, changes=changes)
        self._validator = bounded_kind(kind)(schema, registry=registry, format_checker=_formats())

    def is_slow(self, value: Any) -> bool:
        """Return whether the validation of a value takes long enough to be done in a worker thread."""
        try:
            return self.size + len(pydantic_core.to_json(value)) > SLOW_FROM_BYTES
        except (ValueError, RecursionError):
            return False

    def is_valid(self, value: Any) -> bool:
        """Return whether a value fits the schema; one that takes too long to be checked does."""
        try:
            return first_error(self._validator, value) is None
        except Exception:  # noqa: BLE001 - what cannot be evaluated is accepted
            return True

    def violations(self, value: Any) -> list[Violation]:
        """Return every fault of a value."""
        try:
            try:
                pydantic_core.to_json(value)
            except (ValueError, RecursionError):  # a cycle, or text that is not Unicode
                return explained(self.accepted, value) or [NOT_JSON]
            error = first_error(self._validator, value)
            return [] if error is None else explained(self.accepted, value) or [fault_of(error)]
        except TooCostlyError:
            return [_TOO_COSTLY]
        except (ValueError, RecursionError, TypeError):
            return [NOT_JSON]


class JsonSchemaArguments(JsonSchema):
    """Arguments validated by a JSON Schema, for handlers with `**arguments` (proxies, generated tools).

    Names that neither the schema nor its branches list are rejected unless it declares `additionalProperties` or
    `patternProperties`, so that a misspelt optional argument does not go unnoticed.

    Args:
        owner: The tool, for messages.
        schema: Its input schema.
        changes: Whether the tool may change something.
        slow_patterns: See `JsonSchema`.

    Raises:
        TypeError: See `JsonSchema`; or it is not the schema of an object.
    """

    aliases: Mapping[str, str] = {}

    def __init__(
        self, owner: str, schema: Mapping[str, Any], *, changes: bool = False, slow_patterns: SlowPatterns = "trust"
    ) -> None:
        _measured(owner, schema)
        closed = copy.deepcopy(dict(schema))
        check_input_schema(owner, closed)
        if closed.keys().isdisjoint({"additionalProperties", "patternProperties", "unevaluatedProperties"}):
            _close(closed)
        super().__init__(owner, closed, changes=changes, slow_patterns=slow_patterns)

    def validate(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the arguments, unchanged; see `ports.Arguments`."""
        given: Any = {} if params is None else params
        violations = self.violations(given)
        if violations:
            raise InvalidParameter.from_violations(violations)
        return dict(given)


def _close(schema: dict[str, Any]) -> None:
    """Forbid names that an object schema does not list, in its branches (`oneOf`, `$ref`) neither."""
    if COMBINING.isdisjoint(schema):
        schema["additionalProperties"] = False
    elif not any("patternProperties" in part for part in subschemas(schema)):  # which cannot be combined
        schema["unevaluatedProperties"] = False


def _measured(owner: str, schema: Any) -> int:
    """Return the size of a schema in bytes.

    Raises:
        TypeError: It is no JSON object, is too large, or is nested too deeply.
    """
    if not isinstance(schema, Mapping):
        msg = f"{owner}: the schema is no JSON object"
        raise TypeError(msg)
    level: list[Any] = [schema]
    for _ in range(_DEPTH_AT_MOST):
        level = [
            below
            for item in level
            for below in (item.values() if isinstance(item, Mapping) else item)
            if isinstance(below, (Mapping, list, tuple))
        ][:_BYTES_AT_MOST]
        if not level:
            break
    else:
        msg = f"{owner}: the schema is nested in more than {_DEPTH_AT_MOST} levels"
        raise TypeError(msg)
    try:
        size = len(pydantic_core.to_json(schema))
    except ValueError as error:
        msg = f"{owner}: the schema is no JSON: {bounded(str(error))}"
        raise TypeError(msg) from error
    if size > _BYTES_AT_MOST:
        msg = f"{owner}: the schema has {size:,} bytes; {_BYTES_AT_MOST:,} are allowed"
        raise TypeError(msg)
    return size


def _check_expansion(owner: str, schema: dict[str, Any]) -> None:
    """Reject references on which calls would fail or take too long: to nothing, to themselves, ever more of them.

    Raises:
        TypeError: There is one.
    """
    counts: dict[int, int] = {}

    def expanded(part: Any, above: frozenset[int]) -> int:
        if not isinstance(part, dict):
            return 1
        if id(part) in above:
            msg = f"{owner}: a reference of the schema leads back to itself, so that no value can be validated"
            raise TypeError(msg)
        if id(part) not in counts:
            below = [part[keyword] for keyword in _ONE if keyword in part]
            for keyword in _SEVERAL:
                parts = part.get(keyword) or ()
                below += parts.values() if isinstance(parts, dict) else parts
            below += [_target(owner, part[keyword], schema) for keyword in REFERENCES if keyword in part]
            counts[id(part)] = 1 + sum(expanded(each, above | {id(part)}) for each in below)
            if counts[id(part)] > _EXPANDED_AT_MOST:
                msg = f"{owner}: the references of the schema multiply: one value has more than {_EXPANDED_AT_MOST:,}"
                raise TypeError(msg)
        return counts[id(part)]

    try:
        for part in subschemas(schema):
            expanded(part, frozenset())
    except RecursionError as error:
        msg = f"{owner}: the schema refers from one part to the next too often"
        raise TypeError(msg) from error


def _target(owner: str, reference: Any, schema: dict[str, Any]) -> Any:
    target = resolved(reference, schema) if str(reference).startswith(("#/", "#")) else None
    if "/" not in str(reference) and reference != "#":  # an anchor
        anchors = ("$anchor", "$dynamicAnchor")
        target = next((p for p in subschemas(schema) if str(reference)[1:] in map(p.get, anchors)), None)
    if not isinstance(target, (dict, bool)):
        msg = f"{owner}: the schema refers to {bounded(str(reference))!r}, which it does not have"
        raise TypeError(msg)
    return target


def _check_patterns(owner: str, schema: dict[str, Any], *, slow_patterns: SlowPatterns) -> None:
    """Reject patterns that are invalid, and those that may take very long for some texts.

    Raises:
        TypeError: There is one.
    """
    has_unevaluated = any("unevaluatedProperties" in part for part in subschemas(schema))
    for part in subschemas(schema):
        names = part.get("patternProperties")
        own = [part["pattern"]] if isinstance(part.get("pattern"), str) else []
        for pattern in [*own, *(names if isinstance(names, dict) else ())]:
            if is_linear(pattern):
                continue
            is_usable = slow_patterns != "refuse" and _is_valid(pattern)
            if is_usable and slow_patterns == "trust":
                trust(pattern)
            elif not is_usable or pattern not in own:
                said = "which is invalid or too long, or has look-around or back-references"
                msg = f"{owner}: the schema has the pattern {bounded(pattern)!r}, {said}"
                raise TypeError(msg)
        if names and has_unevaluated:
            msg = f"{owner}: the schema has `patternProperties` and `unevaluatedProperties`, which cannot be combined"
            raise TypeError(msg)


def _is_valid(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


@cache
def _formats() -> Any:
    """Return the checker of the formats that signatures check, as they check them; others depend on what is installed.

    Tools accept times without an offset and UUIDs without hyphens.
    """
    from jsonschema import FormatChecker  # noqa: PLC0415 - as above

    checker = FormatChecker(formats=())
    checker.checkers = {form: (partial(is_of_format, form), ()) for form in _CHECKED_FORMATS}
    return checker
