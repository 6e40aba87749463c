"""Arguments declared by a JSON Schema, for handlers with `**arguments`: proxies and generated tools."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from failsoft.framework.argument_faults import violations_from_jsonschema
from failsoft.framework.arguments import NOT_JSON
from failsoft.framework.errors import InvalidParameter
from failsoft.framework.schemas import check_input_schema

__all__ = ["JsonSchemaArguments"]


class JsonSchemaArguments:
    """Arguments held to a JSON Schema (draft 2020-12 unless it says otherwise).

    Names that the schema does not list are refused, unless it speaks of `additionalProperties` or
    `patternProperties` itself: a misspelt optional argument must not pass in silence.

    Raises:
        TypeError: The schema is invalid, is no object schema, or refers to another document.
    """

    def __init__(self, owner: str, schema: Mapping[str, Any]) -> None:
        from jsonschema import SchemaError  # noqa: PLC0415 - 30 ms that only such tools pay for
        from jsonschema.validators import Draft202012Validator, validator_for  # noqa: PLC0415 - only tools with a schema of their own need it

        self.schema = copy.deepcopy(dict(schema))
        check_input_schema(owner, self.schema)
        kind = validator_for(self.schema, default=Draft202012Validator)
        try:
            kind.check_schema(self.schema)
        except SchemaError as error:
            msg = f"{owner}: the input schema is not valid JSON Schema: {error.message}"
            raise TypeError(msg) from error
        if not self.schema.keys() & {"additionalProperties", "patternProperties", "unevaluatedProperties"}:
            self.schema["additionalProperties"] = False
        self._validator = kind(self.schema, format_checker=kind.FORMAT_CHECKER)

    def validate(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the arguments, unchanged; see `ports.Arguments`."""
        given = dict(params or {})
        try:
            violations = violations_from_jsonschema(self._validator, given)
        except (ValueError, RecursionError, TypeError):
            violations = [NOT_JSON]
        if violations:
            raise InvalidParameter.from_violations(violations)
        return given
