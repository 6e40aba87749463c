"""What another server answered: quoted whole, without secrets, and the same after it was stored."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
import pytest
from fastmcp.tools.base import ToolResult
from mcp.shared.exceptions import MCPError, NoBackChannelError

from tests.doors import (
    error_in,
    fault_from,
    foreign_quotation,
    from_raised,
    from_stored,
    read_answer,
    to_json,
)
from tests.each import each

BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": "tea \u2028 and cake", "annotations": {"audience": ["user"], "priority": 0.5}},
    {"type": "image", "data": "AAAA", "mimeType": "image/png", "_meta": {"com.example/x": None}},
    {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "tea://7", "name": "tea", "size": 3},
    {"type": "resource", "resource": {"uri": "tea://7", "text": "green", "mimeType": "text/plain"}},
    {"type": "resource", "resource": {"uri": "tea://8", "blob": "AAAA"}},
]
RAW: dict[str, Any] = {
    "content": BLOCKS,
    "structuredContent": {"left": None, "rows": [{"a": 1.5, "b": []}], "": {"deep": [[None]]}},
    "_meta": {"com.example/y": {"z": None}},
}


def wire(result: Any) -> Any:
    """Return what a client gets of a result."""
    model = types.CallToolResult.model_validate(from_stored(to_json(result)), by_alias=True, by_name=False)
    return model.model_dump(by_alias=True, mode="json")


def test_a_stored_result_is_the_same_for_clients_whatever_library_made_it() -> None:
    model = types.CallToolResult.model_validate(RAW, by_alias=True, by_name=False)
    expected = model.model_dump(by_alias=True, mode="json")
    for result in (RAW, model, ToolResult.from_mcp_result(model)):
        stored = json.loads(json.dumps(to_json(result)))
        assert stored == to_json(from_stored(stored))
        assert wire(result) == expected


def test_members_of_a_raw_result_that_nobody_knows_are_stored() -> None:
    raw = {**RAW, "resultType": "input_required", "inputRequests": {"a": {"method": "elicitation/create"}}}
    assert from_stored(to_json(raw)) == raw


def test_a_stored_failure_is_still_one() -> None:
    for result in ({"content": [], "isError": True}, types.CallToolResult(content=[], is_error=True)):
        assert read_answer(from_stored(to_json(result))).is_error


def failed(text: str = "", **more: Any) -> Any:
    return error_in(read_answer({"content": [{"type": "text", "text": text}], "isError": True, **more}))


@each(
    ("text", "more", "shown"),
    [
        ("no tea", {}, '"no tea"'),
        ("no tea", {"structuredContent": {"result": "no tea"}}, '"no tea"'),
        ('{"success": false, "error": {"message": "no tea"}}', {}, '"no tea"'),
        ('{"message": "no tea", "left": 3}', {}, "\"{'message':'no tea','left':3}\""),
        ("failed", {"structuredContent": {"message": "no tea", "left": 3}}, "\"failed {'message':'no tea','left':3}\""),
        ("no tea", {"structuredContent": {"message": "no tea", "left": 3}}, "\"{'message':'no tea','left':3}\""),
        ('["no tea", 3]', {}, "\"['no tea',3]\""),
        ('say "`rm`" \\', {}, '"say \\"\'rm\'\\" \\\\"'),
        ("Internal server error", {}, '"Internal server error"'),
    ],
)
def test_what_a_server_says_is_quoted_whole(text: str, more: dict[str, Any], shown: str) -> None:
    error = failed(text, **more)
    assert error.message == f"The tool reported a failure: {shown}."
    assert (error.code, error.category, error.retry) == ("REPORTED_FAILURE", "upstream_error", "after_fix")


def test_a_server_that_says_nothing_is_not_quoted() -> None:
    assert failed().message == "The tool reported a failure without a reason."


def test_the_text_of_a_resource_is_an_explanation_too() -> None:
    assert '"green"' in error_in(read_answer({"content": BLOCKS[4:], "isError": True})).message


SECRETS = [
    "password=hunter2hunter2",
    '{"message": "refused", "api_key": "hunter2hunter2"}',
    '{"error": {"token": ["hunter2hunter2"], "left": 3}}',
    "https://bob:hunter2hunter2@example.com/x",
    "pass\u200bword=hunter2hunter2",
    "Authorization: Bearer hunter2hunter2",
    'bad settings: {"tokens": {"api_key": ["hunter2hunter2"]}}',
    'bad settings: {"token": ["hunter2hunter2"]}\n{"why": "bad settings: {\\"token\\": [\\"hunter2hunter2\\"]}"}',
    json.dumps({"why": json.dumps({"why": 'no: {"token": ["hunter2hunter2"]}'})}),
    "x" * 1_990 + " password=hunter2hunter2",
]


@each("text", SECRETS)
def test_no_secret_is_quoted(text: str) -> None:
    errors = [
        failed(text),
        failed("", structuredContent={"message": text}),
        fault_from(MCPError(-32603, text, {"why": text}), server="shop"),
        from_raised(text, None),
        from_raised(text, RuntimeError(text)),
        from_raised(text, FileNotFoundError(2, text)),
    ]
    for error in errors:
        assert "hunter2" not in f"{error.message} {error.public()}"
    assert "hunter2" not in foreign_quotation(text)


def test_paths_of_a_stack_trace_or_an_exception_are_those_of_the_host() -> None:
    trace = 'Traceback (most recent call last):\n  File "/usr/lib/python3/shop.py", line 3, in sell\nValueError: only 3'
    assert "/usr" not in failed(trace).message
    assert "only 3" in failed(trace).message
    missing = FileNotFoundError(2, "No such file or directory", "/etc/shop.conf")
    assert "/etc" not in from_raised(str(missing), missing).message
    assert "/srv/parcels" in from_raised("No room in /srv/parcels", None).message


NOT_ASKABLE = NoBackChannelError("elicitation/create").error.message
CODES: list[tuple[int, str, str, str, str | None]] = [
    (-32602, "no such colour", "invalid_argument", "after_fix", "none"),
    (-32600, "no such colour", "invalid_argument", "after_fix", "none"),
    (-32600, NOT_ASKABLE, "invalid_argument", "after_fix", None),
    (-32601, "Method not found", "unsupported", "never", "none"),
    (-32002, "Resource not found", "not_found", "after_fix", None),
    (-32603, "Internal error", "upstream_error", "after_delay", None),
    (-32603, "Too many requests", "rate_limited", "after_delay", None),
    (-32000, "closed until nine", "upstream_error", "after_delay", None),
    (-32050, "closed until nine", "upstream_error", "after_delay", None),
]


@each(("code", "text", "category", "retry", "effect"), CODES)
def test_an_error_of_the_protocol_has_the_category_of_its_code(
    code: int, text: str, category: str, retry: str, effect: str | None
) -> None:
    for error in (fault_from(MCPError(code, text), server="shop"), from_raised(text, MCPError(code, text))):
        assert (error.code, error.category, error.retry, error.effect) == ("UPSTREAM_ERROR", category, retry, effect)
        assert f'"{text}"' in error.message


def test_the_text_that_an_author_raised_is_kept_beside_the_category_of_the_error_it_came_from() -> None:
    error = from_raised("There is no colour mauve, take red", MCPError(-32602, "no such colour"))
    assert (error.category, error.effect) == ("invalid_argument", "none")
    assert '"There is no colour mauve, take red"' in error.message


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        (-32000, "Connection closed", "UNAVAILABLE"),
        (-32600, "Session terminated", "UNAVAILABLE"),
        (-32000, "SSE stream ended without a response", "UNAVAILABLE"),
        (-32001, "Request 'tools/call' timed out", "TIMEOUT"),
        (-32700, "Failed to parse JSON response: 1 validation error", "BAD_OUTPUT"),
        (-32700, "Failed to parse SSE message: 4 validation errors for union[JSONRPCRequest]", "BAD_OUTPUT"),
        (-32600, "Unexpected content type: text/html", "BAD_OUTPUT"),
    ],
)
def test_what_the_sdk_says_in_place_of_a_server_is_not_quoted(code: int, text: str, expected: str) -> None:
    error = fault_from(MCPError(code, text), server="shop")
    assert error.code == expected
    assert '"' not in error.message


def test_only_a_server_that_somebody_starts_again_is_said_to_be() -> None:
    closed = MCPError(-32000, "Connection closed")
    kept, lost = fault_from(closed, server="shop", restarts=True), fault_from(closed, server="shop")
    assert (kept.retry, kept.effect, "started again" in kept.message) == ("after_delay", "unknown", True)
    assert (lost.retry, lost.effect, "started again" in lost.message) == ("never", "unknown", False)


def test_a_wait_that_a_text_asks_for_is_that_of_the_error() -> None:
    assert failed("Rate limit reached. Please try again in 20s.").retry_after_seconds == 20
    assert failed("Rate limit reached. Retry after 2 minutes").retry_after_seconds == 120


def test_arguments_that_an_sdk_refused_have_changed_nothing() -> None:
    error = failed("MCP error -32602: Input validation error: Invalid arguments for tool add: []")
    assert (error.category, error.effect) == ("invalid_argument", "none")
