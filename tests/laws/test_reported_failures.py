"""Whether a value says that a call failed is one question with one answer, whoever returned it and whoever asks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastmcp.tools.base import ToolResult
from mcp_types import CallToolResult, TextContent
from typing_extensions import TypedDict

from failsoft import BaseTool, ToolError, operation
from failsoft.client import Client
from failsoft.testing import fresh_runtime
from tests.doors import failure_in, from_stored, read_answer, to_json
from tests.each import each
from tests.proxy.test_foreign_lists import client_of, command

pytestmark = pytest.mark.anyio


class Scores(TypedDict, total=False):
    """A result that has an `error` among its data."""

    error: Any
    success: bool
    steps: int


class Models(BaseTool):
    """Returns a value that it was given, without and with a declared type."""

    value: Any = None

    @operation(read_only=True)
    async def anything(self) -> Any:
        """Return the value."""
        return self.value

    @operation(read_only=True)
    async def scores(self) -> Scores:
        """Return the value as scores."""
        return self.value

    @operation(read_only=True)
    async def text(self) -> str:
        """Return the value as text."""
        return self.value


MESSAGE = {"message": "no tea"}
FAILURES: list[dict[str, Any]] = [
    {"success": False},
    {"success": False, "error": "no tea"},
    {"success": False, "data": [1], "error": None},
    {"success": False, "message": "no tea"},
    {"success": False, "error": MESSAGE, "data": None},
    {"error": "no tea"},
    {"error": MESSAGE},
    {"error": True},
    {"error": True, "message": "no tea"},
    {"error": "no tea", "data": None},
    {"error": "no tea", "results": None},
    {"error": "no tea", "steps": 7},
    {"error": "no tea", "success": None},
    {"ok": False, "error": "no tea", "retry": False},
    {"error": {"status": 404, "message": "no tea"}},
    {"isError": True, "content": [{"type": "text", "text": "no tea"}]},
]
DATA: list[dict[str, Any]] = [
    {},
    {"success": True},
    {"ok": False},
    {"success": "false"},
    {"success": 0},
    {"success": True, "error": "one of ten rows was skipped"},
    {"error": None},
    {"error": ""},
    {"error": False},
    {"error": {}},
    {"error": 0.02, "steps": 7},
    {"error": 3},
    {"error": ["a"]},
    {"errors": ["no tea"]},
    {"error": "one of ten rows was skipped", "results": [1, 2]},
    {"error": "partly", "data": {"rows": 9}},
    {"error": MESSAGE, "items": []},
    {"error": "rounding", "value": 0},
    {"error_code": 0, "message": "fine"},
    {"isError": "true"},
    {"rows": [{"success": False}]},
    {"status": "error"},
]
DECLARED_DATA = [{"error": "no tea"}, {"error": MESSAGE}, {"error": True}, {"error": "no tea", "steps": 7}]
DECLARED_FAILURES: list[dict[str, Any]] = [{"success": False, "error": "no tea"}, {"success": False}]
TEXTS = ["no tea", "error", '{"success": 1}', '{"broken": ', '["error"]', "{}", '"error"', 'say {"error": "no tea"}']
FAILED_TEXTS = ['{"error": "no tea"}', ' {"success": false, "error": {"message": "no tea"}}\n', '{"success":false}']

CASES: list[tuple[str, Any, bool]] = [
    *(("anything", value, True) for value in FAILURES),
    *(("anything", value, False) for value in DATA),
    *(("scores", value, True) for value in DECLARED_FAILURES),
    *(("scores", value, False) for value in DECLARED_DATA),
    *(("anything", value, False) for value in TEXTS),
    *(("anything", value, True) for value in FAILED_TEXTS),
    *(("text", value, False) for value in (*TEXTS, *FAILED_TEXTS)),
]
SCHEMAS = {name: bound.result.schema for name, bound in Models(runtime=fresh_runtime()).operations.items()}


def answer_of(value: Any) -> dict[str, Any]:
    """Return what a server sends for a value."""
    if isinstance(value, str):
        return {"content": [{"type": "text", "text": value}]}
    return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}


@each(("name", "value", "is_failure"), CASES)
async def test_a_tool_of_our_own_fails_where_its_value_says_so(name: str, value: Any, *, is_failure: bool) -> None:
    tool = Models(runtime=fresh_runtime())
    tool.value = value
    response = await tool.execute_with_error_handling(name, {})
    assert response.success is not is_failure
    assert response.error is None or response.error.code == "REPORTED_FAILURE"


@each(("name", "value", "is_failure"), CASES)
def test_the_answer_of_another_server_fails_where_its_value_says_so(name: str, value: Any, *, is_failure: bool) -> None:
    raw = answer_of(value)
    blocks = [TextContent(type="text", text=block["text"]) for block in raw["content"]]
    structured = raw.get("structuredContent")
    results = [
        raw,
        CallToolResult(content=[*blocks], structured_content=structured),
        ToolResult(content=blocks, structured_content=structured),
        {"content": raw["content"]},
        from_stored(to_json(CallToolResult(content=[*blocks], structured_content=structured))),
    ]
    for result in results:
        assert (failure_in(read_answer(result), declared=SCHEMAS[name]) is not None) is is_failure


def test_a_value_in_a_wrapper_is_judged_as_without_it() -> None:
    for name, value, is_failure in CASES:
        declared = {"type": "object", "properties": {"result": SCHEMAS[name]}, "x-fastmcp-wrap-result": True}
        answer = read_answer({"content": [], "structuredContent": {"result": value}})
        assert (failure_in(answer, declared=declared) is not None) is is_failure


async def test_the_client_and_the_proxy_say_the_same_of_a_server(tmp_path) -> None:
    cases = {f"tool_{number}": case for number, case in enumerate(CASES) if case[0] != "text"}
    tools = [
        {
            "name": tool,
            "inputSchema": {"type": "object"},
            **({"outputSchema": SCHEMAS["scores"]} if case[0] == "scores" else {}),
        }
        for tool, case in cases.items()
    ]
    answers = {tool: answer_of(case[1]) for tool, case in cases.items()}
    expected = {tool for tool, case in cases.items() if case[2]}
    failed: dict[str, set[str]] = {"client": set(), "proxy": set()}
    async with Client(command(tmp_path, tools, **answers)) as client:
        for tool in cases:
            try:
                await client.call(tool)
            except ToolError:
                failed["client"].add(tool)
    async with client_of(tmp_path, tools, **answers) as proxied:
        for tool in cases:
            if (await proxied.call_tool(tool, {})).is_error:
                failed["proxy"].add(tool)
    assert failed == {"client": expected, "proxy": expected}
