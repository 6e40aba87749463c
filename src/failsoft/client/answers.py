"""What a server answered to `tools/call`, and the typed error of a failed answer: ours, a foreign envelope, or text."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast, get_args

from mcp_types import TextContent

from failsoft.client.known_texts import class_of, class_of_code
from failsoft.client.reports import categorize, json_in, quoted, reported
from failsoft.framework.answer.failure import EFFECTS, SAID_AGAIN
from failsoft.framework.answer.response import ERROR_KEY
from failsoft.framework.answer.result import object_in, reported_failure
from failsoft.framework.errors import ToolError, UpstreamError, catalogue, categories
from failsoft.framework.errors.violations import Reason, Violation
from failsoft.framework.errors.vocabulary import Effect, RetryWhen, is_code
from failsoft.framework.normalize.http_status import from_status
from failsoft.framework.safe.json_safe import dumps, encode, json_safe
from failsoft.framework.safe.redaction import redact
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.text import bounded

_OWN_KEYS = "dev.failsoft/"

_CATEGORIES: dict[str, type[ToolError]] = {
    cls.category: cls
    for cls in vars(categories).values()
    if isinstance(cls, type) and issubclass(cls, ToolError) and cls is not ToolError and cls.category
}
_ENVELOPE = frozenset({"data", "error", "metadata", "success"})
_WRAPPED = "x-fastmcp-wrap-result"
_MESSAGE_AT_MOST = 2_500
_VALUE_AT_MOST = 1_000
_LIST_AT_MOST = 50
_DETAILS_AT_MOST = 20_000
_REPEATED = re.compile(" " + SAID_AGAIN.format(r"\w+") + r"( Repeating the call does not help\.)?")
"""What a server says of repeats, which are those of all callers of this client; whoever answers one counts its own."""
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a server answered to `tools/call`, whatever library read it.

    Args:
        content: The content blocks, as JSON objects by their names on the wire.
        structured: The structured content; None if there is none.
        meta: The `_meta` of the result.
        is_error: Whether `isError` is set.
    """

    content: Sequence[Any]
    structured: Any
    meta: Mapping[str, Any]
    is_error: bool


def read_answer(result: Any) -> ToolAnswer:
    """Return what a result says.

    Args:
        result: A raw result (a mapping by the names on the wire), a `CallToolResult` of the SDK, or a `ToolResult` of
            FastMCP.
    """
    if isinstance(result, Mapping):
        blocks, structured, meta = result.get("content"), result.get("structuredContent"), result.get("_meta")
        is_error: Any = result.get("isError")
    else:
        blocks, structured, meta = result.content, result.structured_content, result.meta
        is_error = result.is_error
    listed = blocks if isinstance(blocks, (list, tuple)) else ()
    # Clients take 1 and "true" for it, too.
    return ToolAnswer([*map(_block, listed)], structured, _mapping(meta), str(is_error).lower() in {"true", "1"})


def _block(block: Any) -> Any:
    if isinstance(block, TextContent) and block.annotations is None and block.meta is None:
        return {"type": "text", "text": block.text}  # in a tenth of the time
    return block.model_dump(by_alias=True, mode="json", exclude_none=True) if hasattr(block, "model_dump") else block


def to_json(result: Any) -> dict[str, Any]:
    """Return a result as the JSON object that a client would have got, for a replay.

    Args:
        result: As for `read_answer`.
    """
    if isinstance(result, Mapping):
        return dict(json_safe(result))
    answer = read_answer(getattr(result, "_raw_mcp_result", None) or result)
    tree: dict[str, Any] = {"content": answer.content}
    if answer.structured is not None:
        tree["structuredContent"] = answer.structured
    if answer.meta:
        tree["_meta"] = answer.meta
    if answer.is_error:
        tree["isError"] = True
    return dict(json_safe(tree))


def from_json(tree: Any) -> dict[str, Any]:
    """Return the raw result of which `to_json` has made this tree."""
    return {"content": [], **_mapping(tree)}


def data_in(result: Any, *, declared: Mapping[str, Any] | None = None) -> Any:
    """Return the data of a `CallToolResult`: that of a failsoft answer, else the structured content, text or blocks.

    Args:
        result: The result of a call that worked.
        declared: The tool's output schema, if it is known.
    """
    tree = result.structured_content
    if tree is None:
        if all(block.type == "text" for block in result.content):
            return "\n".join(block.text for block in result.content)
        return list(result.content)
    if isinstance(tree, Mapping) and (tree.get("success") is True or tree.get("error") is False):
        return tree["data"] if "data" in tree else {key: tree[key] for key in tree if key not in _ENVELOPE}
    return tree["result"] if _is_wrapped(tree, declared) else tree


def failure_in(answer: ToolAnswer, *, declared: Mapping[str, Any] | None = None) -> ToolError | None:
    """Return the typed error of an answer that says that the call failed; None if it worked.

    Args:
        answer: The answer.
        declared: The tool's output schema, if it is known: an `error` that it declares is data.
    """
    value: Any = answer.structured
    is_wrapped = _is_wrapped(value, declared)
    if value is None and len(answer.content) == 1:
        value = _mapping(answer.content[0]).get("text")
    elif is_wrapped:
        value, declared = value["result"], _mapping(_mapping((declared or {}).get("properties")).get("result"))
    if not answer.is_error and reported_failure(value, declared) is None:
        return None
    return error_in(replace(answer, structured=value) if is_wrapped else answer)


def _is_wrapped(tree: Any, declared: Mapping[str, Any] | None) -> bool:
    """Return whether the structured content only wraps the tool's value, as FastMCP does with all but objects."""
    return bool(declared and declared.get(_WRAPPED)) and isinstance(tree, Mapping) and tree.keys() == {"result"}


def error_in(answer: ToolAnswer) -> ToolError:
    """Return the typed error for a failed answer: the same class, code, retry advice and effect that the server knew.

    A code of failsoft's catalogue gives its class; a code that this process does not know gives its category with the
    code kept. A foreign result gives the error of the HTTP status in it, else REPORTED_FAILURE. Its message quotes what
    the server said, and a well-known text or code gives it a category of its own.
    """
    text = _text_of(answer)
    tree = _mapping(answer.structured) or object_in(text)
    body = _body(tree)
    own = _mapping(answer.meta.get(ERROR_KEY))
    if is_code(own.get("code")):
        return _rebuilt(own, body, text)
    return _foreign(tree, body, *_said(answer, text.strip()))


def without_own_keys(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `_meta` of another server's result without the keys that its reader would take for ours."""
    return {name: item for name, item in meta.items() if not name.startswith(_OWN_KEYS)}


def has_own_keys(meta: Mapping[str, Any]) -> bool:
    """Return whether metadata has keys of ours."""
    return any(name.startswith(_OWN_KEYS) for name in meta)


def stop_reason_of(answer: ToolAnswer) -> Any:
    """Return why a server of failsoft did not run a failed call again; None if it does not say."""
    own = _mapping(answer.meta.get(ERROR_KEY))
    return own.get("stop_reason") or _body(_mapping(answer.structured)).get("stop_reason")


def without_advice(message: str, tool: str) -> str:
    """Return a server's message without what it says to do: of the effect, and to call this tool of it again.

    Whoever reads the message of a handler or proxy that passes the failure on has the tools of another server, and
    reads there what became of the whole call.
    """
    said = message.partition(EFFECTS["unknown"])[0].partition(EFFECTS["applied"])[0]
    sentences = _BETWEEN_SENTENCES.split(said.strip())
    return " ".join([item for item in sentences if f"call `{tool}` again" not in item]) or f"`{tool}` failed."


def _body(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of an answer that describes the failure: `error` of `tool_response`, else the answer itself."""
    return _mapping(tree.get("error")) or tree


def _code_of(body: Mapping[str, Any]) -> Any:
    return body.get("code") or body.get("error_code")


def _rebuilt(own: Mapping[str, Any], body: Mapping[str, Any], text: str) -> ToolError:
    """Return the error of a failsoft server; `own` is `_meta`, `body` what the wire format says."""
    code: str = own["code"]
    cls = catalogue.lookup(code)
    category = str(own.get("category") or body.get("category"))
    if cls is None:
        cls = _CATEGORIES.get(category, UpstreamError)
    error = cls(
        message=_REPEATED.sub("", _message(body, text), count=1),
        suggestions=_strings(body.get("suggestions") or body.get("recovery_hints")),
        next_step=_step(body.get("next_step")),
        effect=_effect(own.get("effect") or body.get("effect")),
        violations=_violations(body.get("violations")),
    )
    if category in _CATEGORIES and category != error.category:
        categorize(error, _CATEGORIES[category])
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


def _foreign(tree: Mapping[str, Any], body: Mapping[str, Any], text: str, also: Any) -> ToolError:
    status = next((body.get(name) for name in ("status", "statusCode", "status_code") if body.get(name)), None)
    if isinstance(status, int) and not isinstance(status, bool) and 400 <= status < 600:  # noqa: PLR2004 - 4xx and 5xx
        error = from_status(status)
        error.message = f"{error.message} It says: {quoted(text, also)}."
    else:
        error = reported(text, also, cls=class_of_code(_code_of(body)) or class_of(_message(body, text)))
    wait = next((tree.get(n) or body.get(n) for n in ("retry_after", "retryAfter") if tree.get(n) or body.get(n)), None)
    if (wait_s := _seconds(wait)) is not None:
        error.retry_after_seconds = wait_s
    return error


def _said(answer: ToolAnswer, text: str) -> tuple[str, Any]:
    """Return all that a server says of a failure: its text, and structured content that says something else."""
    tree = answer.structured
    if not tree or tree == {"result": text} or json_in(text) == tree:
        return text, None
    whole = dumps(tree)
    is_repeated = text in {"", "{}", "[]"} or dumps(text) in whole
    return (whole, None) if is_repeated else (text, tree)


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


def _text_of(answer: ToolAnswer) -> str:
    """Return the texts of an answer: of its blocks, and of resources in them."""
    blocks = [_mapping(block) for block in answer.content]
    texts = [block.get("text") or _mapping(block.get("resource")).get("text") for block in blocks]
    return "\n".join(str(text) for text in texts if text)


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
    encoded = encode(redact(value))
    return encoded.tree if len(encoded.text) <= _VALUE_AT_MOST else None


def _violations(value: Any) -> tuple[Violation, ...]:
    listed = value if isinstance(value, (list, tuple)) else ()
    return tuple(_violation(item) for item in listed[:_LIST_AT_MOST] if isinstance(item, Mapping))


def _violation(item: Mapping[str, Any]) -> Violation:
    reason = item.get("reason")
    allowed, line = item.get("allowed"), item.get("line")
    return Violation(
        path=_line(item.get("path", "")),
        reason=cast("Reason", reason) if reason in get_args(Reason) else "value",
        message=_line(item.get("message", "")),
        expected=_line(item.get("expected", "")),
        allowed=tuple(_small(one) for one in allowed[:_LIST_AT_MOST]) if isinstance(allowed, list) else (),
        suggestion=_small(item.get("suggestion")),
        line=line if isinstance(line, int) and line >= 1 else None,
        at=_line(item.get("at", "")),
    )


def _line(value: Any) -> str:
    return redact_text(bounded(str(value)))
