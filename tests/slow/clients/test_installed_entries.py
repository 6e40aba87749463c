"""The entry of each client of `failsoft install`, started by the Inspector elsewhere and without an environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands.test_install import FILES, parsed
from tests.cli.conftest import folder, run_in  # noqa: F401 - a fixture
from tests.programs.node import Node


@pytest.mark.parametrize("client", FILES)
def test_the_inspector_calls_a_tool_of_the_installed_server(
    node: Node,
    folder: Path,  # noqa: F811 - the fixture
    tmp_path_factory: pytest.TempPathFactory,
    client: str,
) -> None:
    home = {"HOME": str(folder), "CODEX_HOME": str(folder / ".codex")}
    ran = run_in(folder, "install", "--client", client, "--app", "library:Library", env=home)
    assert ran.code == 0, ran.err
    place, key = FILES[client]
    entry = parsed(client, (folder / place).read_text())[key]["library"]
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "mcp.py").write_text("raise SystemExit(1)")
    (elsewhere / "mcp.json").write_text(json.dumps({"mcpServers": {"library": entry}}))
    assert called(node, elsewhere, "Dune")["data"] == 2
    assert called(node, elsewhere, "Duna")["error"]["next_step"] == {"tool": "list_books", "arguments": {}}


def called(node: Node, elsewhere: Path, title: str) -> Any:
    """Return the structured content that the Inspector prints of a call."""
    call = ["--method", "tools/call", "--tool-name", "get_book", "--tool-arg", f"title={title}"]
    bare = {"PATH": node.environment["PATH"]}
    server = ["--config", "mcp.json", "--server", "library"]
    done = node.run("mcp-inspector", "--cli", *server, *call, cwd=elsewhere, only=bare)
    return json.loads(done.stdout)["structuredContent"]
