"""Whether a schema is a valid JSON Schema: by a model of the newest draft, which tells in microseconds.

jsonschema evaluates the metaschema in Python, which takes a millisecond for a tool of five parameters: seconds for the
list of an upstream. What the model does not accept is left to it: other drafts, rare keywords, and the message.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import SchemaValidator, ValidationError, core_schema as core

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def _unique(items: list[Any]) -> list[Any]:
    if len(set(items)) < len(items):
        msg = "items are repeated"
        raise ValueError(msg)
    return items


def _model() -> SchemaValidator:
    text, flag, values = core.str_schema(strict=True), core.bool_schema(strict=True), core.list_schema(strict=True)
    number, count = core.float_schema(strict=True), core.int_schema(strict=True, ge=0)
    below = core.union_schema([core.definition_reference_schema("schema"), flag], mode="left_to_right")
    several, by_name = core.list_schema(below, min_length=1, strict=True), core.dict_schema(text, below)
    names = core.no_info_after_validator_function(_unique, core.list_schema(text, strict=True))
    kind = core.literal_schema(["array", "boolean", "integer", "null", "number", "object", "string"])
    kinds = core.no_info_after_validator_function(_unique, core.list_schema(kind, min_length=1, strict=True))
    keywords = {
        "$comment $ref contentEncoding contentMediaType description format pattern title": text,
        "additionalProperties contains contentSchema else if items not propertyNames then": below,
        "unevaluatedItems unevaluatedProperties": below,
        "allOf anyOf oneOf prefixItems": several,
        "$defs definitions dependentSchemas patternProperties properties": by_name,
        "exclusiveMaximum exclusiveMinimum maximum minimum": number,
        "multipleOf": core.float_schema(strict=True, gt=0),
        "maxContains maxItems maxLength maxProperties minContains minItems minLength minProperties": count,
        "deprecated readOnly uniqueItems writeOnly": flag,
        "enum examples": values,
        "required": names,
        "dependentRequired": core.dict_schema(text, names),
        "type": core.union_schema([kind, kinds], mode="left_to_right"),
        "$schema": core.literal_schema([_DRAFT]),
        # Left to jsonschema: no schema has this value.
        "$anchor $dynamicAnchor $dynamicRef $id $recursiveAnchor $recursiveRef $vocabulary dependencies": (
            core.is_instance_schema(_Left)
        ),
    }
    fields = {name: core.typed_dict_field(form) for listed, form in keywords.items() for name in listed.split()}
    schema = core.typed_dict_schema(fields, total=False, ref="schema", strict=True)
    return SchemaValidator(core.definitions_schema(core.definition_reference_schema("schema"), [schema]))


class _Left:
    """No value of a schema."""


_MODEL = _model()


def is_plainly_valid(schema: Any) -> bool:
    """Return whether a schema is certainly a valid one of the newest draft; False where only jsonschema can tell."""
    try:
        _MODEL.validate_python(schema)
    except (ValidationError, RecursionError):
        return False
    return True
