"""Strict TypeScript clients edit files over stdio."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_edit_clients import calls, check, command, root  # noqa: F401 - one is a fixture


@pytest.mark.parametrize("script", ["client_v1.mjs", "client_v2.mjs"])
def test_a_strict_typescript_client_edits_files(node: Any, root: Path, script: str) -> None:  # noqa: F811 - the fixture
    seen = node.script(script, json.dumps(command(root)), json.dumps(calls(root)))
    assert seen["tools"] == ["multi_edit", "multi_edit_files"]
    results = [answer["result"] for answer in seen["results"]]
    for result in results:
        assert bool(result.get("isError")) is not result["structuredContent"]["success"]
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    check(root, [result["structuredContent"] for result in results])
