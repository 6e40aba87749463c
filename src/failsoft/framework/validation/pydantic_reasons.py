"""Maps every error type of pydantic to the reason of a violation and the accepted value, in JSON's terms.

A test iterates over pydantic's own list of error types, so that a new one cannot be missed.
"""

from __future__ import annotations

from failsoft.framework.errors.violations import Reason
from failsoft.framework.validation.schema_words import FORMATS

__all__ = ["CONSEQUENCES", "REASONS", "TAGS"]

_DATE = FORMATS["date"]
_DATE_TIME = FORMATS["date-time"]
_TIME = FORMATS["time"]
_DURATION = FORMATS["duration"]

CONSEQUENCES = frozenset({"default_factory_not_called"})
"""Errors that follow from another one of the same call; reported only if there is no other."""

TAGS = frozenset({"union_tag_invalid", "union_tag_not_found"})
"""Errors about a union's discriminator, which is one step below the location that they give."""

_MISSING = dict.fromkeys(
    (
        "missing",
        "missing_argument",
        "missing_keyword_only_argument",
        "missing_positional_only_argument",
        "union_tag_not_found",
    ),
    "",
)

_UNEXPECTED = dict.fromkeys(
    (
        "extra_forbidden",
        "unexpected_keyword_argument",
        "unexpected_positional_argument",
        "multiple_argument_values",
        "no_such_attribute",
    ),
    "",
)

_TYPE = {
    "string_type": "string",
    "string_sub_type": "string",
    "bool_type": "boolean",
    "bool_parsing": "boolean",
    "int_type": "integer",
    "int_parsing": "integer",
    "int_from_float": "integer",
    "float_type": "number",
    "float_parsing": "number",
    "decimal_type": "number",
    "fraction_type": "number",
    "complex_type": "number",
    "bytes_type": "string",
    "none_required": "null",
    "missing_sentinel_error": "no value",
    "ellipsis_error": "no value",
    "list_type": "array",
    "tuple_type": "array",
    "set_type": "array",
    "frozen_set_type": "array",
    "deque_type": "array",
    "iterable_type": "array",
    "named_tuple_type": "array or object",
    "dict_type": "object",
    "frozen_dict_type": "object",
    "ordered_dict_type": "object",
    "counter_type": "object",
    "mapping_type": "object",
    "model_type": "object",
    "model_attributes_type": "object",
    "dataclass_type": "object",
    "dataclass_exact_type": "object",
    "arguments_type": "object",
    "invalid_key": "string as name",
    "json_type": "string (JSON text)",
    "date_type": f"string ({_DATE})",
    "datetime_type": f"string ({_DATE_TIME})",
    "time_type": f"string ({_TIME})",
    "time_delta_type": f"string ({_DURATION})",
    "url_type": f"string ({FORMATS['uri']})",
    "uuid_type": f"string ({FORMATS['uuid']})",
    "is_instance_of": "value of another type",
    "is_subclass_of": "value of another type",
    "callable_type": "value of another type",
    "set_item_not_hashable": "string, number or boolean",
}

_ENUM = dict.fromkeys(("enum", "literal_error", "union_tag_invalid"), "")

_RANGE = {
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "multiple_of": "a multiple of {multiple_of}",
    "finite_number": "a finite number",
    "int_parsing_size": "an integer of fewer digits",
    "decimal_max_digits": "at most {max_digits} digit{s}",
    "decimal_max_places": "at most {decimal_places} decimal place{s}",
    "decimal_whole_digits": "at most {whole_digits} digit{s} before the decimal point",
    "date_past": "a date in the past",
    "date_future": "a date in the future",
    "datetime_past": "a date and time in the past",
    "datetime_future": "a date and time in the future",
}

_LENGTH = {
    "too_short": "at least {min_length} item{s}",
    "too_long": "at most {max_length} item{s}",
    "string_too_short": "at least {min_length} character{s}",
    "string_too_long": "at most {max_length} character{s}",
    "bytes_too_short": "at least {min_length} byte{s}",
    "bytes_too_long": "at most {max_length} byte{s}",
    "url_too_long": "a URL of at most {max_length} character{s}",
}

_FORMAT = {
    "string_unicode": "Unicode text",
    "string_not_ascii": "ASCII characters only",
    "bytes_invalid_encoding": "{encoding} text",
    "json_invalid": "JSON text",
    "date_parsing": _DATE,
    "date_from_datetime_parsing": _DATE,
    "date_from_datetime_inexact": "a date without a time of day",
    "time_parsing": _TIME,
    "datetime_parsing": _DATE_TIME,
    "datetime_object_invalid": _DATE_TIME,
    "datetime_from_date_parsing": _DATE_TIME,
    "timezone_naive": "a time without a time zone",
    "timezone_aware": "a time with a time zone",
    "timezone_offset": "a time at the offset {tz_expected}",
    "time_delta_parsing": _DURATION,
    "url_parsing": FORMATS["uri"],
    "url_syntax_violation": FORMATS["uri"],
    "url_scheme": "a URL that starts with {expected_schemes}",
    "uuid_parsing": FORMATS["uuid"],
    "uuid_version": "a UUID of version {expected_version}",
    "decimal_parsing": "a decimal number",
    "fraction_parsing": "a fraction",
    "complex_str_parsing": "a complex number",
}

_VALUE = dict.fromkeys(
    (
        "value_error",
        "assertion_error",
        "iteration_error",
        "recursion_loop",
        "get_attribute_error",
        "needs_python_object",
        "frozen_field",
        "frozen_instance",
        "default_factory_not_called",
    ),
    "",
) | {"recursion_depth_exceeded": "a value that is nested less deeply"}

_PATTERN = {"string_pattern_mismatch": "{pattern}"}

_GROUPS: tuple[tuple[Reason, dict[str, str]], ...] = (
    ("missing", _MISSING),
    ("unexpected", _UNEXPECTED),
    ("type", _TYPE),
    ("enum", _ENUM),
    ("range", _RANGE),
    ("length", _LENGTH),
    ("pattern", _PATTERN),
    ("format", _FORMAT),
    ("value", _VALUE),
)

REASONS: dict[str, tuple[Reason, str]] = {
    kind: (reason, expected) for reason, kinds in _GROUPS for kind, expected in kinds.items()
}
"""Error type -> reason and template over pydantic's context; `{s}` is the plural of the number before it."""
