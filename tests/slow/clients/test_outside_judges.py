"""Clients and judges that others wrote: they see success, recovery and the typed failure over both transports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.programs.node import Node
from tests.zygote import PYTHON

HERE = Path(__file__).parent
CALLS = [
    {"name": "get_documentation", "arguments": {"path": "guide/intro.mdx"}},
    {"name": "get_documentation", "arguments": {"path": "guide/intro.md"}},
    {"name": "get_documentation", "arguments": {"path": "guide/gone.md"}},
    {"name": "search_documents", "arguments": {"query": "setup", "limit": "ten", "sort": "date"}},
    {"name": "get_documentatoin", "arguments": {"path": "guide/intro.mdx"}},
]


def _check_calls(seen: dict[str, Any]) -> None:
    """Check what a client must have seen of `CALLS`."""
    assert {"get_documentation", "list_documents", "search_documents"} <= set(seen["tools"])
    found, recovered, missing, refused, unknown = seen["results"]
    for result in (found["result"], recovered["result"]):
        assert not result.get("isError")
        document = result["structuredContent"]["data"]["documents"][0]
        assert (document["path"], document["title"]) == ("guide/intro.mdx", "Introduction")
    receipt = recovered["result"]["structuredContent"]["metadata"]["recovery"]
    assert (receipt["strategy"], receipt["changed"]) == ("alternate_path", {"path": "guide/intro.mdx"})
    _check_failure(missing["result"], "DOC_NOT_FOUND")
    _check_failure(refused["result"], "INVALID_PARAM")
    violations = refused["result"]["structuredContent"]["error"]["violations"]
    assert {(item["path"], item["reason"]) for item in violations} == {("limit", "type"), ("sort", "unexpected")}
    assert unknown["thrown"]["code"] == -32602
    assert "get_documentation" in unknown["thrown"]["message"]


def _check_failure(result: dict[str, Any], code: str) -> None:
    assert result["isError"] is True
    assert result["structuredContent"]["error"]["code"] == code
    assert f"({code}): " in result["content"][0]["text"].partition("\n")[0]
    meta = result["_meta"]["dev.failsoft/error"]
    assert (meta["code"], meta["effect"], meta["retry"]) == (code, "none", {"when": "after_fix"})
    assert meta["error_id"] == result["structuredContent"]["error"]["error_id"]


@pytest.mark.parametrize("script", ["client_v1.mjs", "client_v2.mjs"])
def test_a_typescript_client_sees_all_of_it_over_http(node: Node, url: str, script: str) -> None:
    _check_calls(node.script(script, url, json.dumps(CALLS)))


@pytest.mark.parametrize("script", ["client_v1.mjs", "client_v2.mjs"])
def test_a_typescript_client_sees_all_of_it_over_stdio(node: Node, documents: Path, script: str) -> None:
    command = [PYTHON, "-m", "failsoft", "serve", "docs", "--root", str(documents)]
    _check_calls(node.script(script, json.dumps(command), json.dumps(CALLS)))


def _inspect(node: Node, url: str, tmp_path: Path, tool: str, *arguments: str) -> dict[str, Any]:
    """Call a tool with the Inspector's command line and return the result that it prints."""
    call = [
        "--method",
        "tools/call",
        "--tool-name",
        tool,
        *(part for pair in arguments for part in ("--tool-arg", pair)),
    ]
    done = node.run("mcp-inspector", "--cli", url, "--transport", "http", *call, cwd=tmp_path)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_the_inspector_sees_success_recovery_and_the_typed_failure(node: Node, url: str, tmp_path: Path) -> None:
    found = _inspect(node, url, tmp_path, "get_documentation", "path=guide/intro.mdx")
    assert found["structuredContent"]["success"] is True
    recovered = _inspect(node, url, tmp_path, "get_documentation", "path=guide/intro.md")
    assert recovered["structuredContent"]["metadata"]["recovery"]["strategy"] == "alternate_path"
    missing = _inspect(node, url, tmp_path, "get_documentation", "path=guide/gone.md")
    _check_failure(missing, "DOC_NOT_FOUND")


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_the_conformance_suite_finds_nothing_unexpected(node: Node, url: str, tmp_path: Path, revision: str) -> None:
    baseline = HERE / f"conformance-{revision}.yml"
    suite = ["--suite", "all", "--spec-version", revision, "--expected-failures", str(baseline)]
    done = node.run("conformance", "server", "--url", url, *suite, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-3_000:]
    assert "✓ tools-call-error" in done.stdout
