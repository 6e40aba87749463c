"""Patterns of JSON Schemas matched in linear time, whatever the pattern and the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic_core import SchemaError, SchemaValidator, core_schema

__all__ = ["is_linear", "with_linear_patterns"]

_PATTERNS_AT_MOST = 512


@lru_cache(maxsize=_PATTERNS_AT_MOST)
def _search(pattern: str) -> Callable[[str], bool] | None:
    """Return a search by the engine of pydantic-core, which does not backtrack; None if it refuses the pattern."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern)).isinstance_python
    except SchemaError:
        return None


def is_linear(pattern: str) -> bool:
    """Return whether a pattern can be matched in linear time: it has no look-around and no back-references."""
    return _search(pattern) is not None


def with_linear_patterns(kind: Any) -> Any:
    """Return a validator class of jsonschema that matches `pattern` in linear time where the pattern allows that.

    Patterns with look-around or back-references are left to Python's `re`, which may take very long for some texts.
    """
    from jsonschema import ValidationError  # noqa: PLC0415 - 30 ms that only tools with JSON Schemas pay for
    from jsonschema.validators import extend  # noqa: PLC0415 - the same

    def pattern(validator: Any, wanted: str, instance: Any, _schema: Mapping[str, Any]) -> Iterator[ValidationError]:
        if not validator.is_type(instance, "string"):
            return
        search = _search(wanted)
        if not (search(instance) if search is not None else re.search(wanted, instance)):
            yield ValidationError(f"{instance!r} does not match {wanted!r}")

    def pattern_properties(
        validator: Any, wanted: Mapping[str, Any], instance: Any, _schema: Mapping[str, Any]
    ) -> Iterator[ValidationError]:
        if not validator.is_type(instance, "object"):
            return
        for text, schema in wanted.items():
            search = _search(text) or re.compile(text).search
            for name, value in instance.items():
                if search(name):
                    yield from validator.descend(value, schema, path=name, schema_path=text)

    return extend(kind, {"pattern": pattern, "patternProperties": pattern_properties})  # type: ignore[no-untyped-call]  # jsonschema has no types here
