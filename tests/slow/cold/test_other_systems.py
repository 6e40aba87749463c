"""failsoft where the modules, names and files of Linux are missing: it works, or refuses in one sentence.

This simulates macOS and Windows as far as Linux can (`tests/programs/other_system.py`); neither was tried itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.zygote import ROOT

PROGRAM = str(ROOT / "tests" / "programs" / "other_system.py")
APP = ("--app", "library:Library")
SYSTEMS = pytest.mark.parametrize("system", ["darwin", "win32"])
KEYED = {"dev.failsoft/idempotency-key": "order-1"}
WRITER = '''

class Writer(BaseTool):
    """Orders."""

    @operation
    async def order(self, title: str) -> str:
        """Order a book."""
        return title


def tools():
    return [Library(), Writer()]
'''


def run(
    system: str, folder: Path, *arguments: str, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command as on another system."""
    command = [sys.executable, PROGRAM, system, *arguments]
    surroundings = {"HOME": str(folder), "APPDATA": str(folder / "AppData"), **(env or {})}
    return subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True, check=False)


def error_of(result: Any) -> Any:
    return (result.structured_content or {}).get("error", {}).get("code")


@SYSTEMS
@pytest.mark.parametrize("is_behind_proxy", [False, True])
@pytest.mark.anyio
async def test_a_server_over_stdio(system: str, folder: Path, *, is_behind_proxy: bool) -> None:
    (folder / "library.py").write_text((folder / "library.py").read_text() + WRITER)
    served = ["serve", "--app", "library:tools"]
    arguments = ["proxy", "--", sys.executable, "-m", "failsoft", *served] if is_behind_proxy else served
    surroundings = {"HOME": str(folder)}
    server = StdioServerParameters(
        command=sys.executable, args=[PROGRAM, system, *arguments], cwd=folder, env=surroundings
    )
    async with Client(stdio_client(server)) as client:
        found = await client.call_tool("get_book", {"title": "Dune"})
        misspelt = await client.call_tool("get_book", {"titel": "Dune"})
        ordered = await client.call_tool("order", {"title": "Dune"})
        keyed = await client.call_tool("order", {"title": "Dune"}, meta=KEYED)
    assert [error_of(one) for one in (found, misspelt, ordered)] == [None, "INVALID_PARAM", None]
    assert error_of(keyed) == ("STATE_UNUSABLE" if system == "win32" else None)


@SYSTEMS
def test_the_commands_of_an_application(system: str, folder: Path) -> None:
    answer = run(system, folder, "call", "get_book", "title=Dune", *APP)
    assert json.loads(answer.stdout)["data"] == 2
    ran = run(system, folder, "doctor", "--json")
    assert json.loads(ran.stdout)["healthy"], ran.stdout


@SYSTEMS
def test_an_entry_is_installed_where_the_client_looks(system: str, folder: Path) -> None:
    ran = run(system, folder, "install", "--client", "claude-desktop", *APP)
    assert ran.returncode == 0, ran.stderr
    place = "AppData/Claude" if system == "win32" else "Library/Application Support/Claude"
    entries = json.loads((folder / place / "claude_desktop_config.json").read_text())["mcpServers"]
    assert entries["library"]["args"][-1] == str(folder / "library.py") + ":Library"


@pytest.mark.parametrize(
    ("arguments", "env"),
    [
        (("demo",), {}),
        (("serve", *APP), {"FAILSOFT_AUDIT_PATH": "audit.log"}),
        (("serve", *APP, "--transport", "http", "--port", "0", "--workers", "2"), {}),
    ],
)
def test_what_windows_cannot_do_is_said_in_one_sentence(
    folder: Path, arguments: tuple[str, ...], env: dict[str, str]
) -> None:
    ran = run("win32", folder, *arguments, env=env)
    first, *_ = ran.stderr.splitlines()
    assert ran.returncode == 3
    assert first.endswith("a POSIX system such as Linux, and this is Windows.")
