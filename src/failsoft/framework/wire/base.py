"""The `WireFormat` protocol: renderings of a response, and their schemas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, get_args

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.response import Renderer
from failsoft.framework.answer.stop_reason import STOP_REASONS
from failsoft.framework.errors.violations import Reason
from failsoft.framework.validation.schemas import inline_root

__all__ = [
    "DIALECT",
    "EXTRAS",
    "METADATA",
    "OPEN",
    "VIOLATIONS",
    "WireFormat",
    "causes",
    "either",
    "extras",
    "failing",
    "general_hint",
    "published_schema",
    "renamed",
    "succeeding",
    "violations",
]

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class WireFormat(Renderer, Protocol):
    """A rendering of responses. Stateless; all facts come from the `Failure` or the `ToolResponse`."""

    def output_schema(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON Schema of a response whose data has this schema, including the form of a failure.

        The root has the type `object`, and `anyOf` distinguishes the two forms: clients of both protocol generations
        and the strict TypeScript client accept that.
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
            "at": {"type": "string", "description": "The positions of the list that `*` covers: `0-3,7`."},
            "reason": {"enum": list(get_args(Reason))},
            "message": STRING,
            "expected": STRING,
            "allowed": {"type": "array"},
            "suggestion": {},
            "received": {},
            "line": {"type": "integer", "minimum": 1},
        },
        "required": ["path", "reason"],
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
                "rule": STRING,
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
    "description": "Why the call was not run again here, where that was a question.",
}
OPEN: dict[str, Any] = {"type": "object"}
"""An object without details in a tool's output schema; the published schema of the format has them."""
EXTRAS: dict[str, Any] = {
    "effect": EFFECT,
    "stop_reason": STOP_REASON,
    "next_step": NEXT_STEP,
    "violations": VIOLATIONS,
    "error_id": STRING,
}
"""Keys that every seed format may have after its own, so that a client that reads only the text can act."""


def extras(failure: Failure, *, with_violations: bool = True) -> dict[str, Any]:
    """Return the keys of `EXTRAS` for a failure, without empty ones; the violations only if asked for."""
    wire: dict[str, Any] = {"effect": failure.effect}
    if failure.sent_stop_reason is not None:
        wire["stop_reason"] = failure.sent_stop_reason
    if failure.next_step is not None:
        wire["next_step"] = failure.next_step.to_dict()
    if with_violations and failure.violations:
        wire["violations"] = violations(failure)
    wire["error_id"] = failure.error_id
    return wire


def causes(failure: Failure) -> dict[str, Any]:
    """Return the keys `cause` and `stack_trace` if the level of detail includes them."""
    known = {"cause": failure.cause, "stack_trace": failure.stack_trace}
    return {name: value for name, value in known.items() if value is not None}


def general_hint(failure: Failure) -> str:
    """Return a hint for formats whose list of hints is never empty."""
    if failure.recoverable:
        return "Do what the message says before calling again"
    if failure.exception.actor == "caller":
        return "Repeating the call does not help: use another tool"
    return "Repeating the call does not help: report the error id to the user"


def violations(failure: Failure) -> list[dict[str, Any]]:
    """Return the violations in wire form."""
    return [violation.to_dict(failure.message) for violation in failure.violations]


def renamed(failure: Failure, wire_format: str) -> str:
    """Return the code of this failure in a format."""
    return failure.exception.code_in(wire_format)


def failing(title: str, properties: dict[str, Any], required: Iterable[str]) -> dict[str, Any]:
    """Return the schema of a failure with these properties; `effect` and `error_id` are always required."""
    return {
        "$schema": DIALECT,
        "title": f"{title} failure",
        "type": "object",
        "properties": properties,
        "required": [*required, "effect", "error_id"],
        "additionalProperties": False,
    }


def succeeding(flag: str, *, value: bool) -> dict[str, Any]:
    """Return the schema of a success marked by a flag, with `data` and `metadata`."""
    return {
        "type": "object",
        "properties": {flag: {"const": value}, "data": {}, "metadata": METADATA},
        "required": [flag, "data", "metadata"],
        "additionalProperties": False,
    }


def published_schema(wire: WireFormat) -> dict[str, Any]:
    """Return the published schema of a format, for success and failure."""
    shapes = [wire.success_schema(), wire.failure_schema()]
    for shape in shapes:
        shape.pop("$schema", None)
    return {"$schema": DIALECT, "title": f"{wire.name} response", "type": "object", "oneOf": shapes}


def either(
    success: dict[str, Any], failure: dict[str, Any], *, decided_by: tuple[str, str], data: dict[str, Any]
) -> dict[str, Any]:
    """Return one object schema over the properties of both shapes, distinguished by the key that each requires."""
    _, definitions = inline_root(data)
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {**failure, **success},
        "anyOf": [{"required": [decided_by[0]]}, {"required": [decided_by[1]]}],
    }
    if definitions:
        schema["$defs"] = definitions
    return schema
