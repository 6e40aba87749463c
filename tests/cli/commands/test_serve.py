"""Serving, as a client that starts its server sees it, and as one that finds it on the network."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.cli.serving import serving
from tests.doors import ExitCode
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio
SERVE = ("-m", "failsoft", "serve")


async def _ask(client: Client, tool: str, arguments: dict[str, object]) -> dict[str, object]:
    async with client:
        return dict((await client.call_tool(tool, arguments)).structured_content or {})


@pytest.mark.parametrize(
    "arguments", [("docs", "--root", "docs"), ("docs", "--app", "library:Library", "--root", "docs")]
)
async def test_a_client_starts_it_and_talks_over_its_standard_streams(folder: Path, arguments: Sequence[str]) -> None:
    server = StdioServerParameters(command=PYTHON, args=[*SERVE, *arguments], cwd=folder)
    answer = await _ask(Client(server), "get_documentation", {"path": "intro.md"})
    assert answer["metadata"]["recovery"]["changed"] == {"path": "intro.mdx"}  # type: ignore[index]


async def test_it_answers_over_http_and_ends_well_on_a_signal(folder: Path) -> None:
    with serving(folder, "--app", "library:Library") as (url, process):
        answer = await _ask(Client(f"{url}/mcp"), "get_book", {"title": "Duna"})
        assert answer["error"]["code"] == "BOOK_NOT_FOUND"  # type: ignore[index]
        async with httpx2.AsyncClient() as http:
            counted = (await http.get(f"{url}/metrics")).text
        assert 'code="BOOK_NOT_FOUND"' in counted
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == ExitCode.OK


async def test_several_workers_serve_the_same_tools(folder: Path) -> None:
    with serving(folder, "docs", "--root", "docs", "--workers", "2") as (url, process):
        for _ in range(4):
            answer = await _ask(Client(f"{url}/mcp"), "get_documentation", {"path": "intro.mdx"})
            assert answer["success"] is True
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == ExitCode.OK


@pytest.mark.parametrize(
    ("command", "code"),
    [(["serve", "docs"], ExitCode.CONFIGURATION), (["call", "list_documents", "--json", "-"], ExitCode.USAGE)],
)
def test_a_standard_input_that_is_closed_is_a_typed_error(folder: Path, command: list[str], code: ExitCode) -> None:
    words = ["sh", "-c", 'exec "$0" "$@" <&-', PYTHON, "-m", "failsoft", *command]
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert ended.stderr.startswith(("CONFIG_ERROR", "INVALID_PARAM"))


def test_a_port_that_is_taken_is_reported_with_a_way_out(run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = run("serve", "docs", "--app", "failsoft.tools.edit:Edit", "--transport", "http", "--port", port)
    assert (ran.code, ran.out) == (ExitCode.NOT_STARTED, "")
    hint = "  next: failsoft serve docs --app failsoft.tools.edit:Edit --transport http --port 0"
    assert hint in ran.err.splitlines()


def test_an_address_that_is_not_of_this_machine_is_reported_with_a_way_out(run):
    ran = run("serve", "docs", "--transport", "http", "--host", "192.0.2.1", "--insecure")
    assert (ran.code, ran.out) == (ExitCode.NOT_STARTED, "")
    assert "  next: failsoft serve docs --transport http --host 127.0.0.1" in ran.err.splitlines()
    assert not [line for line in ran.err.splitlines() if line.startswith("  cause:")]


def test_options_that_mean_nothing_over_stdio_are_named(run):
    ran = run("serve", "docs", "--root", "docs", "--port", "9000", "--workers", "2")
    assert (ran.code, ran.out) == (ExitCode.OK, "")
    (line,) = ran.err.splitlines()
    assert "--port, --workers" in line
    assert "--transport http" in line
    assert run("serve", "docs", "--root", "docs").err == ""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["dosc"], ExitCode.CONFIGURATION),
        ([], ExitCode.CONFIGURATION),
        (["docs", "--root", "nowhere"], ExitCode.CONFIGURATION),
        (["--app", "library:Library", "--app", "library"], ExitCode.CONFIGURATION),
        (["docs", "--transport", "http", "--host", "0.0.0.0"], ExitCode.CONFIGURATION),
        (["--app", "library:Stuck"], ExitCode.NOT_STARTED),
        (["--app", "library:Stuck", "--transport", "http", "--port", "0"], ExitCode.NOT_STARTED),
    ],
)
def test_what_cannot_be_served_is_a_typed_error_on_standard_error(run, arguments, code):
    ran = run("serve", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert re.search(r"^[A-Z_]+: ", ran.err, re.MULTILINE)
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_toolset_that_does_not_come_up_is_reported_with_its_reason(run, transport):
    ran = run("serve", "--app", "library:Stuck", "--transport", transport, "--port", "0")
    cause = next(line for line in ran.err.splitlines() if line.startswith("  cause: "))
    assert cause.startswith("  cause: RuntimeError: no fuel (")
    assert "library.py:" in cause


def test_an_unknown_toolset_is_answered_with_the_closest_and_with_all(run):
    ran = run("serve", "dosc")
    assert ran.err.startswith("CONFIG_ERROR: ")
    assert "  next: failsoft serve docs" in ran.err.splitlines()


def test_standard_output_belongs_to_the_protocol(run):
    ran = run("serve", "docs", "--root", "docs", env={**os.environ, "FAILSOFT_LOG_LEVEL": "DEBUG"})
    assert (ran.code, ran.out) == (ExitCode.OK, "")
