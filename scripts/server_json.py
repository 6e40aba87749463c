"""Write the server.json of a release, and start what it describes: `scripts/server_json.py FOLDER NAMESPACE`.

The MCP registry keeps one such file a version: which package a client installs, and the command that it then runs. The
command runs here with the wheel in FOLDER, under uvx and with the SDK's client.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

ROOT = Path(__file__).resolve().parents[1]
NOBODY = "org.example"
"""The namespace of a file that is not to be published."""
_STARTS_WITHIN_S = 120.0


def described(version: str, namespace: str, readme: str) -> dict[str, Any]:
    """Return the server.json of a version.

    Args:
        version: The version of the package.
        namespace: What the registry gives to the owner of an account or a domain, such as `com.example`.
        readme: The README, which becomes the description on PyPI: there the registry looks for the owner's line.

    Raises:
        ValueError: The README does not have the line.
    """
    name = f"{namespace}/failsoft"
    owner = f"<!-- mcp-name: {name} -->"
    if namespace != NOBODY and owner not in readme.splitlines():
        msg = f"README.md needs the line {owner}, by which the registry knows that the package has the same owner"
        raise ValueError(msg)
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": name,
        "title": "failsoft",
        "description": "Search and edit files below a folder; failed calls say which call to make next.",
        "version": version,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": "failsoft",
                "version": version,
                "runtimeHint": "uvx",
                "transport": {"type": "stdio"},
                "packageArguments": _ARGUMENTS,
                "environmentVariables": _VARIABLES,
            }
        ],
    }


_ARGUMENTS = [
    {"type": "positional", "value": "serve"},
    {
        "type": "positional",
        "valueHint": "toolset",
        "description": "docs: search and read Markdown pages. edit: read and change text files. "
        "workspace: change files by plans that another session approves.",
        "choices": ["docs", "edit", "workspace"],
        "default": "docs",
        "isRequired": True,
    },
    {
        "type": "named",
        "name": "--root",
        "description": "The folder to work in; nothing else is read or changed.",
        "format": "filepath",
        "isRequired": True,
    },
]
_VARIABLES = [
    {
        "name": "FAILSOFT_AUDIT_PATH",
        "description": "The file of the audit log of failures; without one, none is kept.",
        "format": "filepath",
    },
    {
        "name": "FAILSOFT_LOG_LEVEL",
        "description": "The least level that is logged, on standard error.",
        "choices": ["DEBUG", "INFO", "WARNING", "ERROR"],
        "default": "INFO",
    },
]


def command(server: dict[str, Any], given: dict[str, str]) -> tuple[str, list[str]]:
    """Return the program and the arguments that a client runs, with what its user gives by name."""
    package = server["packages"][0]
    words = [f"{package['identifier']}=={package['version']}"]
    for argument in package["packageArguments"]:
        words += [argument["name"]] if argument["type"] == "named" else []
        words.append(
            argument.get("value") or given.get(argument.get("valueHint") or argument["name"], argument.get("default"))
        )
    return package["runtimeHint"], words


async def start(server: dict[str, Any], wheels: Path, docs: Path) -> None:
    """Run the command with a wheel in the first folder over the pages in the second, and find `menu.md`."""
    program, words = command(server, {"--root": str(docs)})
    uv = {"UV_FIND_LINKS": str(wheels), "UV_CONSTRAINT": str(ROOT / "constraints.txt"), "UV_PYTHON": sys.executable}
    program = str(Path(sys.executable).with_name(program))
    async with asyncio.timeout(_STARTS_WITHIN_S):
        async with Client(StdioServerParameters(command=program, args=words, env={**os.environ, **uv})) as client:
            found = await client.call_tool("search_documents", {"query": "soup"})
    if found.is_error or "menu.md" not in str(found.content):
        msg = f"the server of server.json did not find its page: {found}"
        raise RuntimeError(msg)


def main() -> None:
    """Write the file, and start its server."""
    folder, namespace = Path(sys.argv[1]), sys.argv[2]
    (wheel,) = folder.glob("failsoft-*.whl")
    server = described(wheel.name.split("-")[1], namespace, (ROOT / "README.md").read_text(encoding="utf-8"))
    (folder / "server.json").write_text(json.dumps(server, indent=2) + "\n", encoding="utf-8")
    with tempfile.TemporaryDirectory() as docs:
        Path(docs, "menu.md").write_text("# Menu\n\nSoup and bread.\n", encoding="utf-8")
        asyncio.run(start(server, folder, Path(docs)))


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(str(error))
