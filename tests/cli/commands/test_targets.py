"""Every command names its target alike: toolsets, --app, the project's application, or --url."""

from __future__ import annotations

import contextlib
import json

import httpx2
import pytest

from tests.cli.serving import serving
from tests.doors import ExitCode

PROJECT = '[project]\nname = "shelf"\nversion = "3.2.1"\n[tool.failsoft]\napp = "library:Library"\n'


def test_a_module_alone_finds_its_only_toolset(run, folder):
    (folder / "single.py").write_text("from library import Library as _L\n\n\nclass Only(_L):\n    '''Books.'''\n")
    assert run("call", "get_book", "title=Dune", "--app", "single").json["data"] == 2
    ran = run("call", "get_book", "title=Dune", "--app", "library")
    assert ran.code == ExitCode.CONFIGURATION
    assert "library:Library" in ran.err


@pytest.mark.parametrize(
    "command", [("call", "get_book", "title=Dune"), ("tools",), ("lint",), ("codes",), ("explain", "BOOK_NOT_FOUND")]
)
def test_the_application_of_the_project_is_the_default(run, folder, command):
    (folder / "pyproject.toml").write_text(PROJECT)
    ran = run(*command)
    assert (ran.code, ran.err) == (ExitCode.OK, "")


def test_a_named_target_takes_the_place_of_the_projects(run, folder):
    (folder / "pyproject.toml").write_text(PROJECT)
    names = {tool["name"] for tool in run("tools", "--json", "docs", "--root", "docs").json["tools"]}
    assert "get_documentation" in names
    assert "get_book" not in names


def test_tools_shows_what_a_model_is_shown_with_its_size(run):
    ran = run("tools", "--json", "--app", "library:Library")
    assert [tool["name"] for tool in ran.json["tools"]] == ["get_book", "list_books"]
    first = ran.json["tools"][0]
    shown = {key: value for key, value in first.items() if key not in {"bytes", "limits"}}
    assert first["bytes"] == len(json.dumps(shown, separators=(",", ":"), ensure_ascii=False).encode())
    assert ran.json["bytes"] == sum(tool["bytes"] for tool in ran.json["tools"])
    assert "list_books" in run("tools", "--app", "library:Library").out


def test_an_import_that_fails_names_file_and_line(run, folder):
    (folder / "broken.py").write_text("import os\n\n\nraise NameError('no shelf')\n")
    ran = run("call", "x", "--app", "broken")
    assert ran.code == ExitCode.CONFIGURATION
    assert "NameError: no shelf" in ran.err
    assert f"{folder / 'broken.py'}:4" in ran.err


@pytest.fixture
def start(folder):
    """Return what starts a server and returns its URL."""
    with contextlib.ExitStack() as servers:
        yield lambda *arguments, **options: servers.enter_context(serving(folder, *arguments, **options))[0]


def test_a_running_server_is_a_target(start, inside):
    url = start("--app", "library:Library")
    assert inside("call", "get_book", "title=Dune", "--url", url).json["data"] == 2
    failed = inside("call", "list_books", "limit=many", "--url", url)
    assert (failed.code, failed.json["error"]["code"]) == (ExitCode.FAILED, "INVALID_PARAM")
    assert [tool["name"] for tool in inside("tools", "--json", "--url", url).json["tools"]] == [
        "get_book",
        "list_books",
    ]
    assert inside("lint", "--url", url).code == ExitCode.OK
    shown = inside("top", url, "--once")
    assert shown.out.splitlines()[0].startswith("library ")
    assert {"get_book", "list_books", "workers:"} <= {*shown.out.split()}
    listed = {one["operation"]: one["calls"] for one in inside("top", url, "--once", "--json").json["operations"]}
    assert (listed["get_book"]["ok"], listed["list_books"]["rejected"]) == (1, 1)  # lint has called nothing
    assert inside("top", url, "--json").code == ExitCode.USAGE
    unknown = inside("call", "get_bok", "--url", url)
    assert (unknown.code, unknown.out) == (ExitCode.FAILED, "")
    assert "get_book" in unknown.err


def test_a_token_is_asked_for_and_sent(start, inside):
    url = start("--app", "library:Library", env={"FAILSOFT_AUTH_TOKEN": "swordfish-0123456789"})
    refused = inside("tools", "--url", url)
    assert refused.code == ExitCode.FAILED
    assert refused.err.startswith(f"UNAUTHENTICATED: {url}/mcp asks for a token.\n")
    assert "ExceptionGroup" not in refused.err
    refused = inside("tools", "--url", url, "--token", "marlin-0123456789")
    assert refused.err.startswith(f"UNAUTHENTICATED: {url}/mcp does not accept this token.\n")
    assert inside("tools", "--url", url, "--token", "swordfish-0123456789").code == ExitCode.OK
    assert inside("tools", "--url", url, env={"FAILSOFT_TOKEN": "swordfish-0123456789"}).code == ExitCode.OK
    assert inside("top", url, "--once").err.startswith(f"UNAUTHENTICATED: {url} asks for a token.\n")
    assert inside("top", url, "--once", "--token", "swordfish-0123456789").code == ExitCode.OK


def test_where_nothing_answers_is_said(inside):
    ran = inside("tools", "--url", "http://127.0.0.1:1")
    assert ran.code == ExitCode.FAILED
    assert ran.err.startswith("UNAVAILABLE: No MCP server answers at http://127.0.0.1:1/mcp")


def test_the_name_and_version_of_the_project_are_the_servers(start, folder):
    (folder / "pyproject.toml").write_text(PROJECT)
    url = start()
    status = httpx2.get(f"{url}/status.json", trust_env=False).json()
    assert (status["name"], status["version"]) == ("shelf", "3.2.1")


def test_details_show_the_defaults_that_calls_run_under(run):
    limits = run("tools", "--json", "--app", "library:Library").json["tools"][0]["limits"]
    assert limits["deadline"] == {"timeout_s": 30.0}
    assert limits["retry"]["attempts"] == 3
