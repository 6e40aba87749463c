"""Checks of a running server: descriptions, schemas, and how its read-only tools refuse arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mcp import Client
from mcp_types import Tool

from failsoft.cli.targets.remote import ask_server
from failsoft.framework.lint import LintFinding, description_faults

_PROBE = {"failsoft_lint_no_such_parameter": 1}


def lint_remote(url: str, token: str | None, *, strict: bool = False) -> tuple[list[str], list[LintFinding]]:
    """Return the names of the server's tools, and the findings.

    Only tools that are declared read-only are called, with one parameter that does not exist.

    Raises:
        UNAVAILABLE: No MCP server answers there.
        UNAUTHENTICATED: It asks for a token, or for another one.
    """

    async def check(client: Client) -> tuple[list[str], list[LintFinding]]:
        tools = (await client.list_tools()).tools
        names = [tool.name for tool in tools]
        findings = [LintFinding(tool.name, "", rule, text) for tool in tools for rule, text in _declared(tool)]
        if strict:
            findings += [LintFinding(tool.name, "", rule, text) for tool in tools for rule, text in _described(tool)]
        for tool in tools:
            if tool.annotations is not None and tool.annotations.read_only_hint:
                result = await client.call_tool(tool.name, dict(_PROBE))
                answer = result.structured_content or {}
                found = _refused(answer, names, is_error=bool(result.is_error))
                findings += [LintFinding(tool.name, _code(answer), rule, text) for rule, text in found]
        return names, findings

    return ask_server(url, token, check)


def _declared(tool: Tool) -> Iterator[tuple[str, str]]:
    if not (tool.description or "").strip():
        yield "description", "the tool has no description"
    undescribed = [name for name, schema in _properties(tool).items() if not isinstance(schema, Mapping)]
    if tool.input_schema.get("type") != "object" or undescribed:
        yield "schema", "its input schema does not describe an object with its parameters"


def _described(tool: Tool) -> Iterator[tuple[str, str]]:
    hints = tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool.annotations is not None else {}
    for rule, text in description_faults(tool.title, tool.description or "", tool.input_schema, hints):
        if tool.description or rule != "description":
            yield rule, text


def _properties(tool: Tool) -> Mapping[str, Any]:
    properties = tool.input_schema.get("properties", {})
    return properties if isinstance(properties, Mapping) else {}


def _refused(answer: Mapping[str, Any], names: list[str], *, is_error: bool) -> Iterator[tuple[str, str]]:
    if not is_error:
        yield "unknown_argument", "an argument that it does not have is ignored instead of refused"
        return
    if not _code(answer):
        yield "code", "a refused call has no error code in its structured content"
    step = (answer.get("error") if isinstance(answer.get("error"), Mapping) else answer).get("next_step")  # type: ignore[union-attr]  # a mapping either way
    if isinstance(step, Mapping) and step.get("tool") not in names:
        yield "next_step", f"names the tool '{step.get('tool')}', which this server does not have"


def _code(answer: Mapping[str, Any]) -> str:
    error = answer.get("error")
    inner = error if isinstance(error, Mapping) else answer
    return str(inner.get("code") or inner.get("error_code") or "")
