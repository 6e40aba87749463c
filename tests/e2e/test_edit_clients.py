"""A client edits files over stdio: what worked, what failed, and where the next step leads."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from tests.zygote import PYTHON

TEXT = "one\ntwo\nthree\n"
DIGEST = hashlib.sha256(TEXT.encode()).hexdigest()


def edit(old: str, new: str) -> dict[str, str]:
    return {"old_string": old, "new_string": new}


def command(root: Path) -> list[str]:
    return [PYTHON, "-m", "failsoft", "serve", "edit", "--root", str(root)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(TEXT)
    return folder


def calls(root: Path) -> list[dict[str, Any]]:
    """Return what every client sends: a dry run, an edit, the same again, a miss, two files, and bad arguments."""
    a, b = str(root / "a.txt"), str(root / "b.txt")
    once = {"file_path": a, "edits": [edit("two", "two\n2")], "expected_hash": DIGEST}
    several = [{"file_path": a, "edits": [edit("one", "1")]}, {"file_path": b, "edits": [edit("one", "1")]}]
    return [
        {"name": "multi_edit", "arguments": {**once, "dry_run": True}},
        {"name": "multi_edit", "arguments": once},
        {"name": "multi_edit", "arguments": once},
        {"name": "multi_edit", "arguments": {"file_path": a, "edits": [edit("e", "E")]}},
        {"name": "multi_edit_files", "arguments": {"files": several, "backup": True}},
        {"name": "multi_edit", "arguments": {"file_path": "a.txt", "edits": []}},
    ]


def check(root: Path, answers: list[dict[str, Any]]) -> None:
    """Check what a client must have been answered, and what is on the disk afterwards."""
    dry, once, again, miss, several, refused = answers
    assert "+2\n" in dry["diff"]
    assert (dry["sha256"], dry["sha256_before"]) == (once["sha256"], DIGEST)
    assert (again["error_code"], again["context"]["actual_hash"]) == ("HASH_MISMATCH", once["sha256"])
    assert again["next_step"]["arguments"]["dry_run"] is True
    assert (miss["error_code"], len(miss["context"]["match_locations"])) == ("AMBIGUOUS_MATCH", 3)
    assert [Path(entry["backup_path"]).name for entry in several["files"]] == ["a.txt.bak", "b.txt.bak"]
    assert (refused["error_code"], len(refused["violations"])) == ("RELATIVE_PATH", 2)
    assert (root / "a.txt").read_text() == "1\ntwo\n2\nthree\n"
    assert (root / "b.txt").read_text() == "1\ntwo\nthree\n"


@pytest.mark.anyio
@pytest.mark.parametrize("era", ["2026-07-28", "legacy"])
async def test_the_python_client_edits_files(root: Path, era: str) -> None:
    program, *arguments = command(root)
    server = StdioServerParameters(command=program, args=arguments, env=dict(os.environ))
    answers = []
    async with Client(server, mode=era) as client:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        for call in calls(root):
            result = await client.call_tool(call["name"], call["arguments"])
            answer = result.structured_content
            assert answer is not None
            assert json.loads(result.content[0].text) == answer  # type: ignore[union-attr]
            assert result.is_error is not answer["success"]
            jsonschema.validate(answer, schemas[call["name"]] or {})
            answers.append(answer)
        step = answers[2]["next_step"]
        assert (await client.call_tool(step["tool"], step["arguments"])).structured_content["success"]  # type: ignore[index]
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("multi_edt", {})
    assert unknown.value.error.code == -32602
    check(root, answers)
