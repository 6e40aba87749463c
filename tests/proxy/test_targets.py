"""The upstreams of a proxy, and the operator's overrides: read from files, every fault named."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from failsoft import ConfigurationError
from tests.doors import (
    UpstreamTarget,
    behind_proxy,
    check_programs,
    from_command,
    from_file,
    from_url,
    headers_of_proxy,
    read_overrides,
)

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def written(folder: Path, tree: object) -> Path:
    file = folder / "mcp.json"
    file.write_text(json.dumps(tree))
    return file


def test_the_file_of_the_usual_clients_names_several_servers(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "t0ken")
    servers = {
        "files": {"command": "npx", "args": ["pkg", "${HOME_OF_FILES:-/data}"], "env": {"A": "1"}, "cwd": "/data"},
        "shop": {"type": "http", "url": "https://127.0.0.1/mcp", "headers": {"Authorization": "Bearer ${SHOP_TOKEN}"}},
        "off": {"command": "false", "disabled": True},
    }
    files, shop = from_file(written(tmp_path, {"mcpServers": servers}))
    assert (files.name, files.command, files.environment) == ("files", ("npx", "pkg", "/data"), {"A": "1"})
    assert (shop.url, shop.headers) == ("https://127.0.0.1/mcp", {"Authorization": "Bearer t0ken"})


def test_a_header_takes_its_secret_from_a_variable(monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "t0ken")
    assert headers_of_proxy(["Authorization: Bearer ${SHOP_TOKEN}"]) == {"Authorization": "Bearer t0ken"}
    with pytest.raises(ConfigurationError):
        headers_of_proxy(["X-Key: ${NOT_SET}"])


def test_the_token_of_a_probed_server_is_in_no_command_line(monkeypatch):
    behind = behind_proxy(from_url("https://127.0.0.1/mcp", headers={"Authorization": "Bearer t0ken"}))
    assert "t0ken" not in " ".join(behind.command)
    for name, value in behind.environment.items():
        monkeypatch.setenv(name, value)
    given = behind.command[behind.command.index("--header") + 1]
    assert headers_of_proxy([given]) == {"Authorization": "Bearer t0ken"}


def test_the_configuration_on_the_page_can_be_used():
    for name in ("proxy_before.json", "proxy_after.json"):
        assert from_file(EXAMPLES / name)[0].name == "files"
    overrides = read_overrides(EXAMPLES / "tools.toml")
    assert overrides.of("read_file").annotations() == {"readOnlyHint": True}
    assert overrides.of("upsert").name == "save"


@pytest.mark.parametrize(
    "tree",
    [
        [],
        {},
        {"mcpServers": {}},
        {"mcpServers": {"a": {}}},
        {"mcpServers": {"a": {"command": "x", "args": [1]}}},
        {"mcpServers": {"a": {"command": "${NO_SUCH_VARIABLE}"}}},
        {"mcpServers": {"": {"command": "x"}}},
        {"servers": {"a": {"command": "x", "env": {"TOKEN": "${input:token}"}}}},
        {"mcpServers": {"a": {"url": "ftp://127.0.0.1"}}},
        {"mcpServers": {"a": {"command": "x", "disabled": True}}},
    ],
)
def test_a_file_that_names_no_usable_server_is_refused(tmp_path, tree):
    with pytest.raises(ConfigurationError):
        from_file(written(tmp_path, tree))


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "large", "missing", "no text"])
def test_what_is_no_file_of_at_most_a_megabyte_is_refused(tmp_path, kind):
    file = tmp_path / "mcp.json"
    if kind == "folder":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "device":
        file = Path("/dev/zero")
    elif kind == "large":
        with file.open("wb") as sparse:
            sparse.truncate(100_000_000)
    elif kind == "no text":
        file.write_bytes(b"\xff\xfe\xfd")
    with pytest.raises(ConfigurationError):
        from_file(file)


def test_a_name_that_no_tool_may_have_is_adapted(tmp_path):
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"Brave Search (beta)": {"command": "x"}}}))
    assert from_file(file)[0].name == "Brave-Search-beta"


def test_a_command_is_named_after_what_it_starts():
    words = ["npx", "-y", "@modelcontextprotocol/server-filesystem@1.2", "/data"]
    assert from_command(words).name == "server-filesystem"
    assert from_command(["python", "-m", "shop.server"]).name == "shop"
    script = "/opt/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
    assert from_command(["node", script, "/data"]).name == "server-filesystem"
    assert from_command(["uvx", "mcp-server-git@2.0"]).name == "mcp-server-git"
    assert from_url("http://127.0.0.1:1/mcp", name="x").name == "x"
    with pytest.raises(ConfigurationError):
        from_command([])


def test_faults_of_an_overrides_file_have_their_keys_and_the_closest_one(tmp_path):
    file = tmp_path / "tools.toml"
    file.write_text('[tools.read]\nreadonly = true\ntimeout_s = -1\nattempts = "3"\n[default]\n')
    with pytest.raises(ConfigurationError) as raised:
        read_overrides(file)
    faulty = {"tools.read.readonly", "tools.read.timeout_s", "tools.read.attempts", "default"}
    assert {key for key in faulty if f" {key}: " in raised.value.message} == faulty
    assert all(f"did you mean '{key}'" in raised.value.message for key in ("read_only", "defaults"))
    assert "pydantic" not in raised.value.message


@pytest.mark.parametrize("name", ["/dev/zero", "pipe"])
def test_an_overrides_file_that_is_no_file_is_refused(tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigurationError):
        read_overrides(tmp_path / name)


def test_commands_whose_programs_are_missing_are_refused_only_if_nothing_else_can_be_started(tmp_path):
    gone, here = from_command(["no-such-program"]), from_command([sys.executable])
    with pytest.raises(ConfigurationError) as raised:
        check_programs([gone, from_command([str(tmp_path / "x")], name="other")])
    assert all(part in raised.value.message for part in ("no-such-program", "other"))
    check_programs([gone, here])
    check_programs([gone, from_url("http://127.0.0.1:1/mcp")])


def test_a_program_is_looked_for_where_the_server_will_be_started(tmp_path):
    program = tmp_path / "bin" / "server"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    check_programs([UpstreamTarget(name="a", command=("bin/server",), folder=str(tmp_path))])
    check_programs([UpstreamTarget(name="a", command=("server",), environment={"PATH": str(program.parent)})])
    for wrong in (
        UpstreamTarget(name="a", command=("bin/server",)),
        UpstreamTarget(name="a", command=("server",)),
        UpstreamTarget(name="a", command=("server",), folder=str(tmp_path / "none")),
    ):
        with pytest.raises(ConfigurationError):
            check_programs([wrong])


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("http://shop.example/mcp", "http://me:pw@SHOP.example/mcp?token=a1#part", True),
        ("http://shop.example/mcp?token=a1", "http://shop.example/mcp?token=b2", True),
        ("http://shop.example/mcp?team=a", "http://shop.example/mcp?team=b", False),
        ("http://shop.example/mcp", "https://shop.example/mcp", False),
        ("http://shop.example/mcp", "http://shop.example:81/mcp", False),
    ],
)
def test_a_url_identifies_its_server_without_its_secrets(one, other, is_same):
    assert (from_url(one).identity == from_url(other, name="x").identity) is is_same


def test_a_command_identifies_its_server_with_its_folder_and_its_declared_variables(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    here, linked, elsewhere, told, secret, other = (
        UpstreamTarget(name="a", command=("server", "--all"), **facts).identity
        for facts in (
            {"folder": str(tmp_path)},
            {"folder": str(link)},
            {"folder": "/"},
            {"folder": str(tmp_path), "environment": {"TEAM": "a"}},
            {"folder": str(tmp_path), "environment": {"API_KEY": "k3y"}},
            {"folder": str(tmp_path), "environment": {"API_KEY": "other"}},
        )
    )
    assert (here == linked, secret == other) == (True, True)
    assert len({here, elsewhere, told}) == 3
    assert from_command(["server"]).identity != from_command(["server", "x"]).identity
