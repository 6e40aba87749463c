"""Serializes the outcome of a call to JSON and back: values by the operation's result type, errors by code."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic_core import from_json

from failsoft.framework.answer.response import RecoveryReceipt
from failsoft.framework.answer.result import Result, is_block, is_result
from failsoft.framework.call.call import Call
from failsoft.framework.clock import utc_timestamp
from failsoft.framework.errors import BadOutput, Effect, ResultTooLarge, ToolError, ToolSystemError
from failsoft.framework.errors.tool_error import registry
from failsoft.framework.errors.violations import Violation
from failsoft.framework.errors.vocabulary import OF_A_CATEGORY
from failsoft.framework.safe.json_safe import dumps, json_safe


@dataclass(frozen=True, slots=True)
class StoredOutcome:
    """The outcome of a call, read from its JSON text.

    Args:
        value: Its return value, if it succeeded.
        error: Its error, if it failed.
        attempts: The number of runs of its handler.
        effect: The effect of a failed call.
        warnings: Its warnings.
        documents_processed: As in its metadata.
        receipt: Its recovery receipt.
        at: When it was stored, as in logs; empty for one of an earlier version.
    """

    value: Any = None
    error: ToolError | None = None
    attempts: int = 0
    effect: Effect = "none"
    warnings: tuple[str, ...] = ()
    documents_processed: int | None = None
    receipt: RecoveryReceipt | None = None
    at: str = ""


def _value_text(value: Any, call: Call) -> str:
    """Return a value with the facts of its call as JSON text."""
    told = call.told
    receipt = None if told.receipt is None else told.receipt.to_dict()
    facts = {"attempts": call.attempt, "warnings": told.warnings, "documents_processed": told.documents_processed}
    others = dumps({"receipt": receipt, **facts, "at": utc_timestamp()})
    result = call.bound.result
    return f'{{"value":{_packed(value, result)},"schema":"{result.digest}",{others[1:]}'


def outcome_text(value: Any, call: Call) -> str:
    """Return the outcome to store: the value, or an error for repetitions if the value is too large."""
    text, limit = _value_text(value, call), call.bound.settings.max_response_bytes
    if len(text) <= limit:
        return text
    return error_text(ResultTooLarge(size_bytes=len(text), limit_bytes=limit), "applied", call)


def error_text(error: ToolError, effect: Effect, call: Call) -> str:
    """Return an error with its effect and the facts of its call as JSON text."""
    about = {"effect": effect, "attempts": call.attempt, "warnings": call.told.warnings, "at": utc_timestamp()}
    return dumps({"error": error_facts(error), **about})


def error_facts(error: ToolError) -> dict[str, Any]:
    """Return an error as JSON values, from which `error_from` makes it again."""
    step = error.next_step
    return {
        "code": error.code,
        "own": {name: vars(error)[name] for name in OF_A_CATEGORY if name in vars(error)},
        "message": error.message,
        "fields": {name: getattr(error, name) for name in error.fields},
        "suggestions": error.suggestions,
        "next_step": None if step is None else {"tool": step.tool, "arguments": step.arguments},
        "retry_after_seconds": error.retry_after_seconds,
        "details": error.details,
        "operator_hint": error.operator_hint,
        "violations": [
            {field.name: getattr(fault, field.name) for field in fields(Violation)} for fault in error.violations
        ],
    }


def read_outcome(text: str, result: Result) -> StoredOutcome:
    """Return the outcome in a JSON text; a value of another schema than today's is converted.

    Raises:
        BAD_OUTPUT: The value does not fit the declared result.
    """
    kept: Mapping[str, Any] = from_json(text)
    warnings, attempts, at = tuple(kept["warnings"]), int(kept["attempts"]), str(kept.get("at", ""))
    if "error" in kept:
        error = error_from(kept["error"], kept["effect"])
        return StoredOutcome(error=error, attempts=attempts, effect=kept["effect"], warnings=warnings, at=at)
    return StoredOutcome(
        value=_unpacked(kept["value"], result, is_unchanged=kept.get("schema") == result.digest),
        attempts=attempts,
        warnings=warnings,
        documents_processed=kept["documents_processed"],
        receipt=None if kept["receipt"] is None else RecoveryReceipt(**kept["receipt"]),
        at=at,
    )


def _packed(value: Any, result: Result) -> str:
    """Return the JSON of `{"data": value}`; with content blocks of `{"items": [...]}`, each data or a block.

    Of a result that is passed on whole it is `{"whole": tree}`.
    """
    whole = result.kept(value)
    if whole is not None:
        return dumps({"whole": whole})
    if is_result(value):
        blocks = [block for block in value.content if value.structured_content is None or block.type != "text"]
        value = blocks if value.structured_content is None else [value.structured_content, *blocks]
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    if not any(map(is_block, items)):
        return f'{{"data":{dumps(value)}}}'
    return dumps(
        {"items": [{"block": dumped_block(item)} if is_block(item) else {"data": json_safe(item)} for item in items]}
    )


def dumped_block(block: BaseModel) -> Any:
    """Return a content block as JSON values."""
    return block.model_dump(mode="json", by_alias=True, exclude_none=True)


def _unpacked(packed: Mapping[str, Any], result: Result, *, is_unchanged: bool) -> Any:
    if ("whole" in packed) != result.is_passed_on:
        raise BadOutput(details={"schema": "another kind"})
    if "whole" in packed:
        return result.restored(packed["whole"], is_unchanged=is_unchanged)
    if "items" in packed:
        items = [block_from(item["block"]) if "block" in item else item["data"] for item in packed["items"]]
        return items if is_unchanged else result.conform(items)
    if not is_unchanged:
        return result.converted(packed["data"])
    try:
        return result.conform(packed["data"])
    except BadOutput:
        return packed["data"]  # the type cannot be parsed from its own JSON; the answer on the wire is the same


def block_from(dumped: Any) -> Any:
    """Return a content block; the SDK is installed, since the block was made with its types."""
    union: Any = importlib.import_module("mcp_types").ContentBlock
    return TypeAdapter[Any](union).validate_python(dumped)


def error_from(facts: Mapping[str, Any], effect: Effect) -> ToolError:
    """Return the error of a code, or SYSTEM_ERROR with its message if the code is unknown here."""
    kind = registry.get(facts["code"], ToolSystemError)
    given = {name: value for name, value in facts["fields"].items() if name in kind.fields}
    error = kind(
        message=facts["message"],
        suggestions=facts["suggestions"],
        next_step=facts["next_step"],
        retry_after_seconds=facts["retry_after_seconds"],
        effect=effect,
        details=facts["details"],
        operator_hint=facts["operator_hint"],
        violations=[Violation(**{**fault, "allowed": tuple(fault["allowed"])}) for fault in facts["violations"]],
    )
    vars(error).update(given)
    vars(error).update({name: value for name, value in facts.get("own", {}).items() if name in OF_A_CATEGORY})
    return error
