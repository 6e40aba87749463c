"""Errors of pydantic and jsonschema raised by a handler's own checks: every problem named, values left out.

The arguments of an operation are checked before the handler runs; these are checks that authors make themselves, on
what a caller sent inside an argument as often as on what a service answered. The type does not tell the two apart, so
the faults are named, and the caller sees whether they are about something it can change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from failsoft.framework.errors import BadOutput, ConfigurationError, ToolError, ValidationFailed
from failsoft.framework.errors.violations import Violation, clause
from failsoft.framework.normalize.rules import FixedError, Table, read, type_name

__all__ = ["TABLES"]


def _pydantic(exc: Any) -> ToolError:
    from failsoft.framework.validation.pydantic_faults import violations_from_pydantic  # noqa: PLC0415 - it loads pydantic

    error = _failed(violations_from_pydantic(exc))
    error.operator_hint = f"{type_name(exc, full=True)} of {read(exc, 'title', '?')}"
    error.details["model"] = str(read(exc, "title", ""))
    return error


def _jsonschema(exc: Any) -> ToolError:
    from failsoft.framework.validation.json_schema_faults import violations_from_error  # noqa: PLC0415 - not before it is needed

    error = _failed(violations_from_error(exc))
    error.operator_hint = type_name(exc, full=True)
    return error


def _failed(violations: Sequence[Violation]) -> ToolError:
    """Return VALIDATION_ERROR for these violations, without received values or untrusted text."""
    shown = [
        replace(
            item,
            received=None,
            suggestion=item.suggestion if item.reason in {"enum", "unexpected"} else None,
            message="is not acceptable" if item.reason == "value" else item.message,
        )
        for item in violations
    ]
    count = f"{len(shown)} error{'' if len(shown) == 1 else 's'}"
    listed = "; ".join([clause(item) for item in shown[:5]])
    return ValidationFailed(message=f"Validation failed: {count} ({listed}).", violations=shown)


TABLES: dict[str, Table] = {
    "pydantic_core": {"ValidationError": _pydantic, "PydanticSerializationError": FixedError(BadOutput)},
    "jsonschema": {"ValidationError": _jsonschema},
    "pydantic_settings": {"SettingsError": FixedError(ConfigurationError, "A setting of this tool is not usable.")},
}
