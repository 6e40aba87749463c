"""The configuration files of the page on clients lead a client to a server that answers."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from failsoft.client import Client as TypedClient
from tests.cli.serving import serving
from tests.zygote import PYTHON

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
TOKEN = "t0ken-of-the-library"
COMMAND = [PYTHON, "-m", "failsoft"]


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    shutil.copy(EXAMPLES / "library.py", tmp_path)
    return tmp_path


def entries(name: str, shelf: Path, **replaced: str) -> dict[str, dict[str, Any]]:
    """Return the servers of a configuration, with the places of the page replaced by those of the test."""
    text = (EXAMPLES / name).read_text().replace("/home/me/shelf/.venv/bin/failsoft", "FAILSOFT")
    text = text.replace("/home/me/shelf", str(shelf))
    for word, other in replaced.items():
        text = text.replace({"token": "Bearer ...", "url": "http://127.0.0.1:8321"}[word], other)
    tree = tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
    (found,) = (tree[key] for key in ("mcpServers", "servers", "mcp_servers") if key in tree)
    return found


def books_over_stdio(entry: dict[str, Any], elsewhere: Path) -> list[str]:
    """Return the names of the tools of the server that a client starts by this entry, from another folder."""
    assert entry["command"] == "FAILSOFT" or entry["args"][:3] == ["-P", *COMMAND[1:]]
    elsewhere.mkdir()
    parameters = StdioServerParameters(
        command=COMMAND[0],
        args=[*(COMMAND[1:] if entry["command"] == "FAILSOFT" else ()), *entry["args"]],
        env={**os.environ, **entry.get("env", {})},
        cwd=entry.get("cwd", elsewhere),
    )

    async def listed() -> list[str]:
        async with Client(parameters) as client:
            assert (await client.call_tool("get_book", {"title": "Dune"})).is_error is not True
            return [tool.name for tool in (await client.list_tools()).tools]

    return anyio.run(listed)


@pytest.mark.parametrize(
    ("file", "name"),
    [("connect_stdio.json", "library"), ("connect_vscode.json", "library-here"), ("connect_codex.toml", "library")],
)
def test_a_client_starts_the_server(shelf: Path, file: str, name: str) -> None:
    assert "get_book" in books_over_stdio(entries(file, shelf)[name], shelf / "elsewhere")


def test_a_client_reaches_a_running_server_with_its_token_and_through_the_bridge(shelf: Path) -> None:
    with serving(shelf, "--app", "library:Library", env={"FAILSOFT_AUTH_TOKEN": TOKEN}) as (url, _):
        for file in ("connect_http.json", "connect_vscode.json"):
            entry = entries(file, shelf)["library"]
            assert entry["type"] == "http"
            assert entry["url"] == "http://127.0.0.1:8321/mcp"
            assert entry["headers"]["Authorization"].startswith("Bearer ${")

        async def first_book() -> Any:
            async with TypedClient(f"{url}/mcp", token=TOKEN) as client:
                return await client.call("get_book", {"title": "Dune"})

        assert anyio.run(first_book)["author"] == "Frank Herbert"
        bridge = entries("connect_bridge.json", shelf, url=url, token=f"Bearer {TOKEN}")["library"]
        assert "get_book" in books_over_stdio(bridge, shelf / "elsewhere")
