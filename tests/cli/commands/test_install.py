"""`failsoft install`: the entry starts the server from anywhere, and the client's file keeps all else."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.cli.conftest import Run

FILES = {
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers"),
    "claude-code": (".mcp.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".vscode/mcp.json", "servers"),
    "codex": (".codex/config.toml", "mcp_servers"),
    "gemini": (".gemini/settings.json", "mcpServers"),
}


@pytest.fixture
def home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home folder, which is the project's folder as well."""
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    return folder


def parsed(client: str, text: str) -> dict[str, Any]:
    tree: dict[str, Any] = (tomllib.loads if client == "codex" else json.loads)(text)
    return tree


def started_by(entry: dict[str, Any], elsewhere: Path) -> list[str]:
    """Return the tools of the server that a client starts by this entry, in another folder."""
    server = StdioServerParameters(
        command=entry["command"], args=entry["args"], env=entry.get("env", {}), cwd=elsewhere
    )

    async def listed() -> list[str]:
        async with Client(stdio_client(server)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    return anyio.run(listed)


@pytest.mark.parametrize("client", FILES)
def test_the_entry_starts_the_server_in_another_folder(
    home: Path, inside: Run, tmp_path_factory: Any, client: str
) -> None:
    ran = inside("install", "docs", "--root", "docs", "--client", client)
    assert ran.code == 0, ran.err
    place, key = FILES[client]
    entry = parsed(client, (home / place).read_text())[key]["docs"]
    assert "get_documentation" in started_by(entry, tmp_path_factory.mktemp("elsewhere"))
    assert entry.get("type", "stdio") == "stdio"


def test_the_entry_of_an_application_starts_it_in_another_folder(home: Path, run: Run, tmp_path_factory: Any) -> None:
    assert run("install", "--client", "cursor", "--app", "library:Library").code == 0
    entry = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["library"]
    assert started_by(entry, tmp_path_factory.mktemp("elsewhere")) == ["get_book", "list_books"]


def test_a_toolset_is_installed_with_the_folder_that_it_works_in(home: Path, inside: Run) -> None:
    ran = inside("install", "docs", "--client", "vscode", "--print", "--name", "manual")
    assert ran.json["servers"]["manual"]["args"][2:] == ["serve", "docs", "--root", str(home)]
    ran = inside("install", "docs", "--root", "docs", "--client", "vscode", "--print")
    assert ran.json["servers"]["docs"]["args"][2:] == ["serve", "docs", "--root", str(home / "docs")]


@pytest.mark.parametrize("app", ["library.py:Library", "./library.py:Library", "library:Library"])
def test_an_application_is_installed_by_the_path_of_its_file(home: Path, run: Run, app: str) -> None:
    ran = run("install", "--client", "cursor", "--app", app, "--print", "--env", "FAILSOFT_ENVIRONMENT=development")
    entry = ran.json["mcpServers"]["library"]
    assert entry["args"][2:] == ["serve", "--app", f"{home / 'library.py'}:Library"]
    assert entry["env"] == {"FAILSOFT_ENVIRONMENT": "development"}
    assert not (home / ".cursor").exists()


def test_other_entries_and_settings_stay_as_they_are(home: Path, inside: Run) -> None:
    file = home / ".gemini" / "settings.json"
    file.parent.mkdir()
    before = {"theme": "dark", "mcpServers": {"other": {"command": "node"}, "library": {"command": "old"}}, "last": 1}
    file.write_text(json.dumps(before))
    assert inside("install", "--client", "gemini", "--app", "library:Library").code == 0
    after = json.loads(file.read_text())
    assert after.pop("mcpServers").pop("other") == {"command": "node"}
    assert after == {"theme": "dark", "last": 1}


def test_the_comments_of_a_toml_file_stay(home: Path, inside: Run) -> None:
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text(
        '# mine\nmodel = "x"\n\n[mcp_servers.library]\ncommand = "old"\n[mcp_servers.library.env]\nA = "1"\n'
        "\n[tui]\na = 1\n"
    )
    for _ in range(2):
        assert inside("install", "--client", "codex", "--app", "library:Library").code == 0
    text = file.read_text()
    assert text.startswith('# mine\nmodel = "x"\n\n[tui]\na = 1\n\n[mcp_servers.library]\n')
    assert list(tomllib.loads(text)["mcp_servers"]["library"]) == ["command", "args"]


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("vscode", '{"servers": {} // mine\n}'),
        ("vscode", "[]"),
        ("vscode", '{"servers": []}'),
        ("codex", "model = "),
        ("codex", 'mcp_servers = {library = {command = "old"}}'),
        ("codex", "mcp_servers = 3"),
    ],
)
def test_a_file_that_is_no_configuration_is_left_as_it_is(home: Path, inside: Run, client: str, text: str) -> None:
    file = home / FILES[client][0]
    file.parent.mkdir()
    file.write_text(text)
    ran = inside("install", "--client", client, "--app", "library:Library")
    assert (ran.code, file.read_text()) == (3, text)
    assert "--print" in ran.err
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]


def test_a_link_and_the_mode_of_its_file_stay(home: Path, inside: Run) -> None:
    kept = home / "dotfiles.json"
    kept.write_text("{}")
    kept.chmod(0o640)
    (home / ".mcp.json").symlink_to(kept)
    assert inside("install", "--client", "claude-code", "--app", "library:Library").code == 0
    assert (home / ".mcp.json").is_symlink()
    assert kept.stat().st_mode & 0o777 == 0o640
    assert "library" in json.loads(kept.read_text())["mcpServers"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--client", "curser", "--app", "library:Library"], 1, "did you mean 'cursor'?"),
        (["--client", "cursor"], 2, "nothing to install"),
        (["--client", "cursor", "--app", "library:Lib"], 3, "did you mean 'Library'?"),
        (["--client", "cursor", "--app", "library:Library", "--name", "a b"], 2, "is no name for a server"),
        (["--client", "cursor", "--app", "library:Library", "--env", "NOT_SET_HERE"], 2, "is not set here"),
    ],
)
def test_what_cannot_be_installed_is_said(home: Path, inside: Run, arguments: list[str], code: int, words: str) -> None:
    ran = inside("install", *arguments)
    assert ran.code == code
    assert words in ran.err
    assert not (home / ".cursor").exists()
