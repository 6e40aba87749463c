"""What a wire format is: the renderings of a response, and their schemas."""

from __future__ import annotations

from typing import Any, Protocol

from failsoft.framework.failure import Failure
from failsoft.framework.response import Renderer
from failsoft.framework.schemas import inline_root
from failsoft.framework.stop_reason import STOP_REASONS

__all__ = [
    "DIALECT",
    "EXTRAS",
    "METADATA",
    "VIOLATIONS",
    "WireFormat",
    "causes",
    "either",
    "extras",
    "published_schema",
    "renamed",
    "succeeding",
    "violations",
]

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class WireFormat(Renderer, Protocol):
    """One way to write a response. Stateless; every fact comes from the `Failure` or the `ToolResponse`."""

    def output_schema(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON Schema of an answer whose data has this schema, the shape of a failure included.

        No `type` at the root but `object`, and what tells the two apart is in `anyOf`: clients of either protocol era
        and the strict TypeScript one accept that form.
        """

    def success_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a success alone, whatever its data."""

    def failure_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a failure alone."""


STRING: dict[str, Any] = {"type": "string"}
STRINGS: dict[str, Any] = {"type": "array", "items": STRING}
NEXT_STEP: dict[str, Any] = {
    "type": "object",
    "description": "The call to make next; its tool exists on this server and its arguments validate.",
    "properties": {"tool": STRING, "arguments": {"type": "object"}},
    "required": ["tool", "arguments"],
    "additionalProperties": False,
}
EFFECT: dict[str, Any] = {
    "enum": ["none", "unknown", "applied"],
    "description": "Whether the failed call changed anything.",
}
RETRY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "when": {"enum": ["after_fix", "after_delay", "never"]},
        "after_seconds": {"type": "number", "minimum": 0},
    },
    "required": ["when"],
    "additionalProperties": False,
}
VIOLATIONS: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "path": STRING,
            "reason": {
                "enum": [
                    "missing",
                    "unexpected",
                    "type",
                    "enum",
                    "range",
                    "length",
                    "pattern",
                    "format",
                    "value",
                    "reference",
                    "unknown_tool",
                ]
            },
            "message": STRING,
            "expected": STRING,
            "allowed": {"type": "array"},
            "suggestion": {},
            "received": {},
        },
        "required": ["path", "reason", "message"],
        "additionalProperties": False,
    },
}
METADATA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "execution_time_ms": {"type": "number", "minimum": 0},
        "cache_hit": {"type": "boolean"},
        "documents_processed": {"type": "integer", "minimum": 0},
        "warnings": STRINGS,
        "recovery": {
            "type": "object",
            "properties": {
                "strategy": STRING,
                "message": STRING,
                "attempts": {"type": "integer", "minimum": 0},
                "changed": {"type": "object"},
                "degraded": {"type": "boolean"},
            },
            "required": ["strategy", "message", "attempts", "changed", "degraded"],
            "additionalProperties": False,
        },
    },
    "required": ["execution_time_ms"],
    "additionalProperties": False,
}
STOP_REASON: dict[str, Any] = {
    "enum": list(STOP_REASONS),
    "description": "Why the call was not run again here.",
}
EXTRAS: dict[str, Any] = {
    "effect": EFFECT,
    "stop_reason": STOP_REASON,
    "next_step": NEXT_STEP,
    "violations": VIOLATIONS,
    "error_id": STRING,
}
"""What every seed format may carry after its own keys, so that a client that reads only the text can act."""


def extras(failure: Failure) -> dict[str, Any]:
    """Return the keys of `EXTRAS` for a failure; what there is nothing to say of is left out."""
    wire: dict[str, Any] = {"effect": failure.effect, "stop_reason": failure.stop_reason}
    if failure.next_step is not None:
        wire["next_step"] = failure.next_step.to_dict()
    if failure.violations:
        wire["violations"] = violations(failure)
    wire["error_id"] = failure.error_id
    return wire


def causes(failure: Failure) -> dict[str, Any]:
    """Return the keys `cause` and `stack_trace`, where the level of detail left them in."""
    told = {"cause": failure.cause, "stack_trace": failure.stack_trace}
    return {name: value for name, value in told.items() if value is not None}


def violations(failure: Failure) -> list[dict[str, Any]]:
    """Return the violations in wire form."""
    return [violation.to_dict() for violation in failure.violations]


def renamed(failure: Failure, wire_format: str) -> str:
    """Return the code under which a format knows this failure."""
    return failure.exception.code_in(wire_format)


def succeeding(flag: str, *, value: bool) -> dict[str, Any]:
    """Return the schema of a success that is told by a flag, with `data` and `metadata` beside it."""
    return {
        "type": "object",
        "properties": {flag: {"const": value}, "data": {}, "metadata": METADATA},
        "required": [flag, "data", "metadata"],
        "additionalProperties": False,
    }


def published_schema(wire: WireFormat) -> dict[str, Any]:
    """Return the schema that is published for a format: of its answers, success and failure."""
    shapes = [wire.success_schema(), wire.failure_schema()]
    for shape in shapes:
        shape.pop("$schema", None)
    return {"$schema": DIALECT, "title": f"{wire.name} response", "type": "object", "oneOf": shapes}


def either(
    success: dict[str, Any], failure: dict[str, Any], *, told_by: tuple[str, str], data: dict[str, Any]
) -> dict[str, Any]:
    """Return one object schema over the properties of both shapes, told apart by the key that each requires."""
    _, definitions = inline_root(data)
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {**failure, **success},
        "anyOf": [{"required": [told_by[0]]}, {"required": [told_by[1]]}],
    }
    if definitions:
        schema["$defs"] = definitions
    return schema
