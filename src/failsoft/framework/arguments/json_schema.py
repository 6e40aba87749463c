"""A JSON Schema: checked before it is used, and values validated by it within bounds, whoever wrote it.

THE reader of schemas that are not ours: nothing is fetched, and depth, size, expansion and patterns are bounded.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from functools import cache, partial
from typing import Any, TypeAlias

import pydantic_core

from failsoft.framework.arguments.accepted import Accepted
from failsoft.framework.arguments.faults import COMBINING, explained, fault_of
from failsoft.framework.arguments.metaschema import is_plainly_valid
from failsoft.framework.arguments.patterns import found_in
from failsoft.framework.arguments.schemas import (
    NAMES,
    SlowPatterns,
    check_expansion,
    check_input_schema,
    check_patterns,
    check_references,
    measured,
    subschemas,
)
from failsoft.framework.arguments.values import is_multiple, is_of_format, same_json, unique_key
from failsoft.framework.arguments.wording import NOT_JSON
from failsoft.framework.errors import InvalidParameter
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded

_SLOW_FROM_BYTES = 20_000
"""Size of schema and value beyond which a validation is done in a worker thread: some milliseconds."""
_SECONDS_ON_LOOP = 0.02
"""Processor time after which a validation is left, to be done in a worker thread."""
_SECONDS_AT_MOST = 1.0
_Run: TypeAlias = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs a function in a worker thread."""
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

        self.size = measured(owner, schema)
        self.schema: dict[str, Any] = schema
        kind: Any = validator_for(schema, default=Draft202012Validator)
        try:
            if kind is not Draft202012Validator or not is_plainly_valid(schema):
                kind.check_schema(schema, format_checker=FormatChecker(formats=()))
        except SchemaError as error:
            msg = f"{owner}: not a valid JSON Schema: {bounded(error.message)}"
            raise TypeError(msg) from error
        except RecursionError as error:
            msg = f"{owner}: the schema is nested too deeply"
            raise TypeError(msg) from error
        check_references(owner, schema)
        check_expansion(owner, schema)
        check_patterns(owner, schema, slow_patterns=slow_patterns)
        self.accepted = Accepted.by(schema, changes=changes)
        self._validator = _bounded_kind(kind)(schema, registry=_registry(kind, schema), format_checker=_formats())

    def is_valid(self, value: Any) -> bool:
        """Return whether a value fits the schema; one that takes more than a moment to be checked does."""
        try:
            return self._is_valid(value, _SECONDS_ON_LOOP)
        except TooCostlyError:
            return True

    async def is_valid_beside(self, value: Any, run: _Run) -> bool:
        """Return whether a value fits the schema; one that takes too long to be checked does.

        Args:
            value: Any.
            run: Runs a function in a worker thread, where the validation takes long.
        """
        try:
            return bool(await self._beside(self._is_valid, value, run))
        except TooCostlyError:
            return True

    def violations(self, value: Any) -> list[Violation]:
        """Return every fault of a value."""
        try:
            return self._violations(value, _SECONDS_AT_MOST)
        except TooCostlyError:
            return [_TOO_COSTLY]

    async def violations_beside(self, value: Any, run: _Run) -> list[Violation]:
        """Return every fault of a value, as `violations` does; for `run`, see `is_valid_beside`."""
        try:
            found: list[Violation] = await self._beside(self._violations, value, run)
        except TooCostlyError:
            return [_TOO_COSTLY]
        return found

    async def _beside(self, check: Callable[[Any, float], Any], value: Any, run: _Run) -> Any:
        """Return what a check says: here, if that takes little time, else in a worker thread."""
        try:
            is_slow = self.size + len(pydantic_core.to_json(value)) > _SLOW_FROM_BYTES
        except (ValueError, RecursionError):
            is_slow = False
        if not is_slow:
            with suppress(TooCostlyError):
                return check(value, _SECONDS_ON_LOOP)
        return await run(partial(check, value, _SECONDS_AT_MOST))

    def _is_valid(self, value: Any, seconds: float) -> bool:
        try:
            return _first_error(self._validator, value, seconds) is None
        except TooCostlyError:
            raise
        except Exception:  # noqa: BLE001 - what cannot be evaluated is accepted
            return True

    def _violations(self, value: Any, seconds: float) -> list[Violation]:
        try:
            try:
                pydantic_core.to_json(value)
            except (ValueError, RecursionError):  # a cycle, or text that is not Unicode
                return explained(self.accepted, value) or [NOT_JSON]
            error = _first_error(self._validator, value, seconds)
            return [] if error is None else explained(self.accepted, value) or [fault_of(error)]
        except TooCostlyError:
            raise
        except (ValueError, RecursionError, TypeError, OverflowError):
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
        measured(owner, schema)
        closed = copy.deepcopy(dict(schema))
        check_input_schema(owner, closed)
        if closed.keys().isdisjoint({"additionalProperties", "patternProperties", "unevaluatedProperties"}):
            _close(closed)
        super().__init__(owner, closed, changes=changes, slow_patterns=slow_patterns)

    def validate(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the arguments, unchanged; see `events.Arguments`."""
        given: Any = {} if params is None else params
        return _accepted(given, self.violations(given))

    async def validate_beside(self, params: Mapping[str, Any] | None, run: _Run) -> dict[str, Any]:
        """Return the arguments, unchanged; see `events.Arguments`."""
        given: Any = {} if params is None else params
        return _accepted(given, await self.violations_beside(given, run))


def _accepted(given: Mapping[str, Any], violations: list[Violation]) -> dict[str, Any]:
    if violations:
        raise InvalidParameter.from_violations(violations)
    return dict(given)


def _close(schema: dict[str, Any]) -> None:
    """Forbid names that an object schema does not list, in its branches (`oneOf`, `$ref`) neither."""
    if COMBINING.isdisjoint(schema):
        schema["additionalProperties"] = False
    elif not any("patternProperties" in part for part in subschemas(schema)):  # which cannot be combined
        schema["unevaluatedProperties"] = False


@cache
def _formats() -> Any:
    """Return the checker of the formats that signatures check, as they check them; others depend on what is installed.

    Tools accept times without an offset and UUIDs without hyphens.
    """
    from jsonschema import FormatChecker  # noqa: PLC0415 - as above

    checker = FormatChecker(formats=())
    checker.checkers = {form: (partial(is_of_format, form), ()) for form in _CHECKED_FORMATS}
    return checker


def _registry(kind: Any, schema: dict[str, Any]) -> Any:
    """Return what references lead to; without it jsonschema would fetch, and search for an anchor at each reference."""
    from referencing import Registry  # noqa: PLC0415 - comes with jsonschema
    from referencing.jsonschema import specification_with  # noqa: PLC0415 - the same

    if all(part.keys().isdisjoint(NAMES) for part in subschemas(schema)):
        return Registry()
    resource = specification_with(kind.META_SCHEMA["$schema"]).create_resource(schema)
    return Registry().with_resource(resource.id() or "", resource).crawl()


_STEPS, _IN_A_STEP = 500, 64
"""Keywords that are evaluated between two looks at the clock; items and characters that one of them goes through."""
_left: ContextVar[list[float]] = ContextVar("failsoft_validation_left")
"""Steps up to the next look at the clock, and the thread's time at which the validation ends."""


class TooCostlyError(ValueError):
    """A value takes too long to be validated."""


def _first_error(validator: Any, value: Any, seconds: float) -> Any:
    """Return the first error of a value by a validator of a `_bounded_kind`, or None.

    Raises:
        TooCostlyError: It takes too long to tell.
    """
    token = _left.set([_STEPS, time.thread_time() + seconds])
    try:
        return next(validator.iter_errors(value), None)
    finally:
        _left.reset(token)


@cache  # making a class takes a millisecond; a draft has one
def _bounded_kind(kind: Any) -> Any:
    """Return a draft's validator class that validates in bounded time, for the numbers that JSON has."""
    from jsonschema.validators import extend  # noqa: PLC0415 - 30 ms that only tools with JSON Schemas pay for

    own: dict[str, Callable[..., Any]] = {
        "additionalProperties": _additional_properties,
        "anyOf": partial(_union, is_exclusive=False),
        "enum": _enum,
        "multipleOf": _multiple_of,
        "oneOf": partial(_union, is_exclusive=True),
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "uniqueItems": _unique_items,
    }
    keywords = {name: _counted(own.get(name, check)) for name, check in kind.VALIDATORS.items()}
    return extend(kind, keywords, type_checker=kind.TYPE_CHECKER.redefine("number", _is_number))  # type: ignore[no-untyped-call]  # jsonschema has no types here


def _pattern(validator: Any, wanted: str, value: Any, _schema: Any) -> Iterator[Any]:
    if validator.is_type(value, "string") and not found_in(wanted, value):
        yield _error("the pattern does not match")


def _pattern_properties(validator: Any, wanted: Mapping[str, Any], value: Any, _schema: Any) -> Iterator[Any]:
    for text, below in wanted.items() if validator.is_type(value, "object") else ():
        for name, item in value.items():
            if found_in(text, name):
                yield from validator.descend(item, below, path=name, schema_path=text)


def _additional_properties(validator: Any, wanted: Any, value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    if not validator.is_type(value, "object"):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, item in value.items():
        if name not in known and not any(found_in(text, name) for text in patterns):
            yield from validator.descend(item, wanted, path=name)


def _union(validator: Any, wanted: list[Any], value: Any, _schema: Any, *, is_exclusive: bool) -> Iterator[Any]:
    """Keep none of the branches' errors, unlike jsonschema: a recursive schema makes millions of them."""
    fitting = 0
    for index, below in enumerate(wanted):
        fitting += next(validator.descend(value, below, schema_path=index), None) is None
        if fitting > is_exclusive:
            break
    if not fitting or fitting > 1:
        yield _error("none of the forms, or several that exclude each other")


def _multiple_of(validator: Any, wanted: float, value: Any, _schema: Any) -> Iterator[Any]:
    if validator.is_type(value, "number") and not is_multiple(value, wanted):
        yield _error("not a multiple")


def _enum(_validator: Any, wanted: list[Any], value: Any, _schema: Any) -> Iterator[Any]:
    if not any(same_json(value, option) for option in wanted):
        yield _error("none of the listed values")


def _unique_items(validator: Any, wanted: Any, value: Any, _schema: Any) -> Iterator[Any]:
    if wanted and validator.is_type(value, "array") and len({unique_key(item) for item in value}) < len(value):
        yield _error("items are repeated")


def _error(said: str) -> Any:
    from jsonschema import ValidationError  # noqa: PLC0415 - the same

    return ValidationError(said)


def _counted(check: Callable[..., Any]) -> Callable[..., Any]:
    def keyword(validator: Any, wanted: Any, value: Any, schema: Any) -> Any:
        left = _left.get()
        left[0] -= 1 + (len(wanted) if isinstance(wanted, (list, dict)) else 0)
        left[0] -= len(value) // _IN_A_STEP if isinstance(value, (str, list, dict)) else 0
        if left[0] < 0:
            left[0] = _STEPS
            if time.thread_time() > left[1]:
                raise TooCostlyError
        return check(validator, wanted, value, schema)

    return keyword


def _is_number(_checker: Any, value: Any) -> bool:
    """Return whether JSON can represent this number: it is not NaN or infinite."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)
