"""Typed errors rebuilt from a server's answer: any format of failsoft, the draft record, foreign envelopes, text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, cast, get_args

from failsoft.framework.answer.result import reported_failure
from failsoft.framework.errors import (
    InvalidArgument,
    ReportedFailure,
    ToolError,
    Unavailable,
    UpstreamError,
    catalogue,
    categories,
)
from failsoft.framework.errors.violations import Reason, Violation
from failsoft.framework.errors.vocabulary import Effect, RetryWhen, is_code
from failsoft.framework.normalize.http_status import from_status
from failsoft.framework.safe.json_safe import encode
from failsoft.framework.text import bounded

ERROR_KEY = "dev.failsoft/error"
DRAFT_KEY = "io.modelcontextprotocol/toolFailure"
"""The protocol's own failure record, a draft: class, code, retryable, retryNotBefore, correlationId."""

_CATEGORIES: dict[str, type[ToolError]] = {
    cls.category: cls
    for cls in vars(categories).values()
    if isinstance(cls, type) and issubclass(cls, ToolError) and cls is not ToolError and cls.category
}
_DRAFT_CLASSES: dict[str, type[ToolError]] = {"transient": Unavailable, "invalid_input": InvalidArgument}
_MESSAGE_AT_MOST = 1_000
_LIST_AT_MOST = 50
_DETAILS_AT_MOST = 20_000
_ENVELOPE_AT_MOST = 1_000_000
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+")


def is_failure(result: Any) -> bool:
    """Return whether a tool result says that the call failed: by `isError`, or in its structured content."""
    return bool(getattr(result, "is_error", False)) or (
        reported_failure(getattr(result, "structured_content", None)) is not None
    )


def error_from_result(result: Any) -> ToolError:
    """Return the typed error for a failed result: the same class, code, retry advice and effect that the server knew.

    A code of failsoft's catalogue gives its class; a code that this process does not know gives its category with the
    code kept. A foreign result gives the error of the HTTP status in it, else REPORTED_FAILURE with its text.

    Args:
        result: A `CallToolResult`, or anything with its attributes.
    """
    text = _text_of(result)
    meta = _mapping(getattr(result, "meta", None))
    tree = _mapping(getattr(result, "structured_content", None)) or envelope_in(text)
    body = _body(tree)
    own = _mapping(meta.get(ERROR_KEY))
    code = own.get("code") or _code_of(body)
    if is_code(code) and (own or _is_ours(body)):
        return _rebuilt(code, own, body, text)
    return _with_draft(_foreign(tree, body, text), _mapping(meta.get(DRAFT_KEY)))


def stop_reason_of(result: Any) -> Any:
    """Return why a server of failsoft did not run a failed call again; None if it does not say."""
    own = _mapping(_mapping(getattr(result, "meta", None)).get(ERROR_KEY))
    return own.get("stop_reason") or _body(_mapping(getattr(result, "structured_content", None))).get("stop_reason")


def without_advice(message: str, tool: str) -> str:
    """Return a server's message without the sentences that say to call this tool of it again.

    Whoever reads the message of a handler that passes the failure on has the tools of another server.
    """
    sentences = _BETWEEN_SENTENCES.split(message)
    return " ".join(item for item in sentences if f"call `{tool}` again" not in item) or f"`{tool}` failed."


def _body(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of an answer that describes the failure: `error` of `tool_response`, else the answer itself."""
    return _mapping(tree.get("error")) or tree


def _code_of(body: Mapping[str, Any]) -> Any:
    return body.get("code") or body.get("error_code")


def _is_ours(body: Mapping[str, Any]) -> bool:
    return "effect" in body and "error_id" in body


def _rebuilt(code: str, own: Mapping[str, Any], body: Mapping[str, Any], text: str) -> ToolError:
    """Return the error of a failsoft server; `own` is `_meta`, `body` what the wire format says."""
    cls = catalogue.lookup(code)
    category = own.get("category") or body.get("category")
    if cls is None:
        cls = _CATEGORIES.get(str(category), UpstreamError)
    error = cls(
        message=_message(body, text),
        suggestions=_strings(body.get("suggestions") or body.get("recovery_hints")),
        next_step=_step(body.get("next_step")),
        effect=_effect(own.get("effect") or body.get("effect")),
        violations=_violations(body.get("violations")),
    )
    _advise(error, _mapping(own.get("retry") or body.get("retry")), body)
    if cls.code != code and catalogue.lookup(code) is None:
        error.code = code  # type: ignore[misc]  # a code of the server's own, which no class of this process has
    error.details = _details(body.get("details"))
    error_id = own.get("error_id") or body.get("error_id")
    if isinstance(error_id, str):
        error.details["error_id"] = bounded(error_id)
    return error


def _advise(error: ToolError, retry: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    """Set the server's own retry advice where it differs from the class's."""
    when = retry.get("when")
    if when is None and isinstance(body.get("retryable"), bool):
        when = error.retry if body["retryable"] == error.recoverable else "after_fix" if body["retryable"] else "never"
    if when in get_args(RetryWhen) and when != error.retry:
        error.retry = cast("RetryWhen", when)  # type: ignore[misc]  # of this failure, not of its class
    error.retry_after_seconds = _seconds(retry.get("after_seconds"))


def _foreign(tree: Mapping[str, Any], body: Mapping[str, Any], text: str) -> ToolError:
    status = next((body.get(name) for name in ("status", "statusCode", "status_code") if body.get(name)), None)
    message = bounded(_message(body, text))
    if isinstance(status, int) and not isinstance(status, bool) and 400 <= status < 600:  # noqa: PLR2004 - 4xx and 5xx
        error = from_status(status)
        if status < 500:  # noqa: PLR2004 - a 5xx body is no explanation for a caller
            error.message = f'{error.message} It says: "{message}"'
    else:
        error = ReportedFailure(report=message)
    wait = next((tree.get(n) or body.get(n) for n in ("retry_after", "retryAfter") if tree.get(n) or body.get(n)), None)
    if (wait_s := _seconds(wait)) is not None:
        error.retry_after_seconds = wait_s
    return error


def _with_draft(error: ToolError, draft: Mapping[str, Any]) -> ToolError:
    """Return the error as the protocol's draft record describes it, where the server sent one."""
    if not draft:
        return error
    kind = str(draft.get("class", "")).lower()
    cls = _DRAFT_CLASSES.get(kind) or _CATEGORIES.get(kind)
    if cls is not None and type(error) is ReportedFailure:
        error = cls(message=error.message)
    code = draft.get("code")
    if is_code(code):
        error.code = code  # type: ignore[misc]  # the server's own code
    if isinstance(draft.get("retryable"), bool):
        waits = draft["retryable"] and (draft.get("retryNotBefore") is not None or error.retry == "after_delay")
        error.retry = "never" if not draft["retryable"] else "after_delay" if waits else "after_fix"  # type: ignore[misc]  # its own
    not_before = draft.get("retryNotBefore")
    if isinstance(not_before, str):
        error.retry_after_seconds = _until(not_before)
    elif (moment := _seconds(not_before)) is not None:
        from failsoft.framework.normalize.http_status import parse_wait  # noqa: PLC0415 - rarely sent

        error.retry_after_seconds = parse_wait(moment)
    if draft.get("correlationId"):
        error.details["error_id"] = bounded(str(draft["correlationId"]))
    return error


def _until(moment: str) -> float | None:
    """Return the seconds from now to an RFC 3339 time, or None if it is no such time."""
    from datetime import UTC, datetime  # noqa: PLC0415 - as above

    try:
        then = datetime.fromisoformat(moment).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (then - datetime.now(UTC)).total_seconds())


def _seconds(value: Any) -> float | None:
    """Return a wait in seconds, or None if the value is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _message(body: Mapping[str, Any], text: str) -> str:
    for name in ("message", "human_message", "detail", "error", "title"):
        value = body.get(name)
        if isinstance(value, str) and value.strip():
            return bounded(value.strip(), _MESSAGE_AT_MOST)
    return bounded(text.strip(), _MESSAGE_AT_MOST) or "The server gave no reason."


def _details(value: Any) -> dict[str, Any]:
    """Return the details of a failure as JSON; more than anybody would read is left out."""
    details = encode(_mapping(value))
    if len(details.text) > _DETAILS_AT_MOST:
        return {}
    return {name: item for name, item in details.tree.items() if item is not None}


def _text_of(result: Any) -> str:
    blocks = getattr(result, "content", None) or ()
    return "\n".join(str(block.text) for block in blocks if getattr(block, "type", "") == "text")


def envelope_in(text: Any) -> Mapping[str, Any]:
    """Return the JSON object that a text is, or an empty one."""
    if not isinstance(text, str) or len(text) > _ENVELOPE_AT_MOST or not text.lstrip().startswith("{"):
        return {}
    try:
        return _mapping(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _strings(value: Any) -> tuple[str, ...]:
    listed = value if isinstance(value, (list, tuple)) else ()
    return tuple(bounded(item) for item in listed[:_LIST_AT_MOST] if isinstance(item, str))


def _step(value: Any) -> Mapping[str, Any] | None:
    step = _mapping(value)
    return step if isinstance(step.get("tool"), str) and isinstance(step.get("arguments", {}), Mapping) else None


def _effect(value: Any) -> Effect | None:
    return cast("Effect", value) if value in get_args(Effect) else None


def _small(value: Any) -> Any:
    """Return a value as JSON, or None if it is longer than a message may be."""
    encoded = encode(value)
    return encoded.tree if len(encoded.text) <= _MESSAGE_AT_MOST else None


def _violations(value: Any) -> tuple[Violation, ...]:
    listed = value if isinstance(value, (list, tuple)) else ()
    return tuple(_violation(item) for item in listed[:_LIST_AT_MOST] if isinstance(item, Mapping))


def _violation(item: Mapping[str, Any]) -> Violation:
    reason = item.get("reason")
    allowed, line = item.get("allowed"), item.get("line")
    return Violation(
        path=bounded(str(item.get("path", ""))),
        reason=cast("Reason", reason) if reason in get_args(Reason) else "value",
        message=bounded(str(item.get("message", ""))),
        expected=bounded(str(item.get("expected", ""))),
        allowed=tuple(_small(one) for one in allowed[:_LIST_AT_MOST]) if isinstance(allowed, list) else (),
        suggestion=_small(item.get("suggestion")),
        line=line if isinstance(line, int) and line >= 1 else None,
        at=bounded(str(item.get("at", ""))),
    )
