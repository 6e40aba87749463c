"""Faults that a handler's own checks found with pydantic or jsonschema: every fault named, no value told.

The arguments of an operation are checked before the handler runs; these are checks that authors make themselves, on
what a caller sent inside an argument as often as on what a service answered. The type does not tell the two apart, so
the faults are named, and the caller sees whether they are about something it can change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from failsoft.framework.errors import BadOutput, ConfigurationError, ToolError, ValidationFailed
from failsoft.framework.normalize.rules import Table, Verdict, read, type_name
from failsoft.framework.violations import Violation, clause

__all__ = ["TABLES"]


def _pydantic(exc: Any) -> ToolError:
    from failsoft.framework.argument_faults import violations_from_pydantic  # noqa: PLC0415 - it loads pydantic

    error = _failed(violations_from_pydantic(exc))
    error.operator_hint = f"{type_name(exc, full=True)} of {read(exc, 'title', '?')}"
    error.details["model"] = str(read(exc, "title", ""))
    return error


def _jsonschema(exc: Any) -> ToolError:
    from failsoft.framework.json_schema_faults import violations_from_error  # noqa: PLC0415 - not before it is needed

    error = _failed(violations_from_error(exc))
    error.operator_hint = type_name(exc, full=True)
    return error


def _failed(violations: Sequence[Violation]) -> ToolError:
    """Return VALIDATION_ERROR for these faults, without what was received and without foreign sentences."""
    told = [
        replace(
            item,
            received=None,
            suggestion=item.suggestion if item.reason in {"enum", "unexpected"} else None,
            message="is not acceptable" if item.reason == "value" else item.message,
        )
        for item in violations
    ]
    count = f"{len(told)} error{'' if len(told) == 1 else 's'}"
    listed = "; ".join([clause(item) for item in told[:5]])
    return ValidationFailed(message=f"Validation failed: {count} ({listed}).", violations=told)


TABLES: dict[str, Table] = {
    "pydantic_core": {"ValidationError": _pydantic, "PydanticSerializationError": Verdict(BadOutput)},
    "jsonschema": {"ValidationError": _jsonschema},
    "pydantic_settings": {"SettingsError": Verdict(ConfigurationError, "A setting of this tool is not usable.")},
}
