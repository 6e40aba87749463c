"""Arguments validated by a JSON Schema, for handlers with `**arguments` (proxies, generated tools)."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Mapping
from typing import Any

from failsoft.framework.arguments.signature import NOT_JSON
from failsoft.framework.errors import InvalidParameter
from failsoft.framework.validation.linear_patterns import with_linear_patterns
from failsoft.framework.validation.plain_fit import plain_fit
from failsoft.framework.validation.pydantic_faults import violations_from_jsonschema
from failsoft.framework.validation.schemas import check_input_schema, references

__all__ = ["JsonSchemaArguments"]


class JsonSchemaArguments:
    """Arguments validated by a JSON Schema (draft 2020-12 unless it names another one).

    Unlisted names are rejected unless the schema declares `additionalProperties` or `patternProperties`, so that a
    misspelt optional argument does not go unnoticed.

    Raises:
        TypeError: The schema is invalid, not an object schema, or refers to another document.
    """

    def __init__(self, owner: str, schema: Mapping[str, Any]) -> None:
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
        self._validator = _strict(kind)(self.schema, format_checker=kind.FORMAT_CHECKER)

    def validate(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the arguments, unchanged; see `ports.Arguments`."""
        given: Any = {} if params is None else params
        if self._fits is not None and self._fits(given):
            return dict(given)
        try:
            violations = violations_from_jsonschema(self._validator, given)
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


def _is_number(_checker: Any, value: Any) -> bool:
    """Return whether JSON can represent this number: it is not NaN or infinite."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _check_references(owner: str, schema: dict[str, Any]) -> None:
    """Reject dangling references, on which every call would fail.

    Raises:
        TypeError: A reference does not resolve within the schema.
    """
    from referencing import Registry, exceptions  # noqa: PLC0415 - comes with jsonschema
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415 - the same

    registry: Registry[Any] = Registry()
    resolver = registry.resolver_with_root(DRAFT202012.create_resource(schema))
    for reference in references(schema):
        try:
            resolver.lookup(reference)
        except exceptions.Unresolvable as error:
            msg = f"{owner}: the schema refers to {reference!r}, which it does not have"
            raise TypeError(msg) from error
