"""`failsoft install`: the entry starts the server from anywhere, and the client's file keeps all else."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.cli.conftest import Run
from tests.doors import install_module
from tests.zygote import PYTHON

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
    """Return the tools of the server that a client starts by this entry, in a folder with a module `mcp`."""
    (elsewhere / "mcp.py").write_text("raise SystemExit(1)")
    server = StdioServerParameters(
        command=entry["command"], args=entry["args"], env=entry.get("env", {}), cwd=elsewhere
    )

    async def listed() -> list[str]:
        async with Client(stdio_client(server)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    return anyio.run(listed)


def test_the_entry_starts_the_server_in_another_folder(home: Path, inside: Run, tmp_path_factory: Any) -> None:
    entries = {}
    for client, (place, key) in FILES.items():
        ran = inside("install", "docs", "--root", "docs", "--client", client)
        assert ran.code == 0, ran.err
        entries[client] = parsed(client, (home / place).read_text())[key]["docs"]
    typed = {client for client, entry in entries.items() if entry.pop("type", None) == "stdio"}
    assert typed == {"claude-code", "cursor", "vscode"}
    first, *others = entries.values()
    assert others == [first] * 5
    assert "get_documentation" in started_by(first, tmp_path_factory.mktemp("elsewhere"))


def test_the_entry_of_an_application_starts_it_in_another_folder(home: Path, run: Run, tmp_path_factory: Any) -> None:
    assert run("install", "--client", "cursor", "--app", "library:Library").code == 0
    entry = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["library"]
    assert started_by(entry, tmp_path_factory.mktemp("elsewhere")) == ["get_book", "list_books"]


def test_a_toolset_is_installed_with_the_folder_that_it_works_in(home: Path, inside: Run) -> None:
    ran = inside("install", "docs", "--client", "vscode", "--print", "--name", "manual")
    assert ran.json["servers"]["manual"]["args"][3:] == ["serve", "docs", "--root", str(home)]
    ran = inside("install", "docs", "--root", "docs", "--client", "vscode", "--print")
    assert ran.json["servers"]["docs"]["args"][3:] == ["serve", "docs", "--root", str(home / "docs")]


@pytest.mark.parametrize("app", ["library.py:Library", "./library.py:Library", "library:Library"])
def test_an_application_is_installed_by_the_path_of_its_file(home: Path, run: Run, app: str) -> None:
    ran = run("install", "--client", "cursor", "--app", app, "--print", "--env", "FAILSOFT_ENVIRONMENT=development")
    entry = ran.json["mcpServers"]["library"]
    assert entry["args"][3:] == ["serve", "--app", f"{home / 'library.py'}:Library"]
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
        ("codex", 'a = """\n[mcp_servers.library]\n"""'),
        ("codex", '[mcp_servers."library"]\ncommand = "old"'),
        ("gemini", '{"a": 1, "a": 2}'),
        ("cursor", '{"mcpServers": {"x": {}}, "mcpServers": {}}'),
        ("cursor", '\ufeff{"mcpServers": {}}'),
        ("cursor", "[" * 100_000),
        ("codex", f"a = {'[' * 5_000}"),
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


def test_an_entry_starts_the_server_without_any_environment(home: Path, inside: Run, tmp_path_factory: Any) -> None:
    entry = inside("install", "--client", "cursor", "--app", "library:Library", "--print").json["mcpServers"]["library"]
    started = subprocess.run(
        [entry["command"], *entry["args"]],
        env={},
        cwd=tmp_path_factory.mktemp("elsewhere"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert (started.returncode, started.stderr) == (0, b"")


def test_no_entry_gets_lost_where_several_are_installed_at_once(home: Path, inside: Run) -> None:
    words = ["install", "--client", "cursor", "--app", "library:Library", "--name"]
    names = [f"shelf-{number}" for number in range(4)]
    started = [subprocess.Popen([PYTHON, "-m", "failsoft", *words, name], cwd=home) for name in names]
    assert [process.wait(60) for process in started] == [0] * 4
    assert sorted(json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]) == names


def test_what_another_program_writes_meanwhile_is_read_again(
    home: Path, inside: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / ".mcp.json"
    before = json.dumps({"mcpServers": {"other": {"command": "node"}}})
    merge = install_module._with_json

    def merged(*given: Any) -> str:
        if not file.exists():
            file.write_text(before)
        return merge(*given)

    monkeypatch.setattr(install_module, "_with_json", merged)
    assert inside("install", "--client", "claude-code", "--app", "library:Library").code == 0
    assert sorted(json.loads(file.read_text())["mcpServers"]) == ["library", "other"]


def test_what_a_killed_command_has_left_is_replaced_and_followed_nowhere(home: Path, inside: Run) -> None:
    (home / "kept").write_text("mine")
    (home / "..mcp.json.failsoft").symlink_to(home / "kept")
    assert inside("install", "--client", "claude-code", "--app", "library:Library").code == 0
    assert (home / "kept").read_text() == "mine"
    assert [entry.name for entry in home.glob("*.failsoft")] == []
    assert (home / ".mcp.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "read-only", "no folder", "binary"])
def test_a_place_that_cannot_be_written_is_left_as_it_is(
    home: Path, inside: Run, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    file = home / ".vscode" / "mcp.json"
    file.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "loop":
        file.symlink_to(file)
    elif kind == "no folder":
        file.parent.rmdir()
        file.parent.write_text("")
    else:
        file.write_bytes(b"\xff" if kind == "binary" else b"{}")
        if kind == "read-only":
            monkeypatch.setattr(os, "access", lambda *_: False)
    ran = inside("install", "--client", "vscode", "--app", "library:Library")
    assert (ran.code, ran.out) == (3, "")
    assert "was left as it is" in ran.err
    assert [entry.name for entry in home.rglob("*.failsoft")] == []


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--client", "curser", "--app", "library:Library"], 1, "did you mean 'cursor'?"),
        (["--client", "cursor"], 2, "next: failsoft install --client cursor --app MODULE:CLASS"),
        (["--client", "cursor", "--app", "library:Lib"], 3, "did you mean 'Library'?"),
        (["--client", "cursor", "--app", "library:Library", "--name", "a b"], 2, "is not a valid name for a server"),
        (["--client", "cursor", "--app", "library:Library", "--env", "NOT_SET_HERE"], 2, "is not set here"),
    ],
)
def test_what_cannot_be_installed_is_said(home: Path, inside: Run, arguments: list[str], code: int, words: str) -> None:
    ran = inside("install", *arguments)
    assert ran.code == code
    assert words in ran.err
    assert not (home / ".cursor").exists()
