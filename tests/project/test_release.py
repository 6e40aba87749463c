"""The entry of the MCP registry: what a client runs, and by which line the registry knows the owner."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from failsoft import Settings
from scripts.server_json import NOBODY, command, described

VERSION = "0.1.0"


@pytest.fixture
def server() -> dict[str, Any]:
    return described(VERSION, NOBODY, "")


def test_the_entry_keeps_the_rules_of_the_registry(server: dict[str, Any]) -> None:
    """`scripts/release` compares it with the published schema as well."""
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert len(server["description"]) <= 100
    (package,) = server["packages"]
    assert (server["version"], package["version"]) == (VERSION, VERSION)
    assert (package["registryType"], package["identifier"]) == ("pypi", "failsoft")
    assert all("value" in each or each.get("isRequired") for each in package["packageArguments"])


def test_a_client_makes_the_command_of_the_documentation_from_it(server: dict[str, Any]) -> None:
    program, words = command(server, {"--root": "docs"})
    assert [program, *words] == ["uvx", "failsoft==0.1.0", "serve", "docs", "--root", "docs"]
    assert command(server, {"toolset": "edit", "--root": "."})[1][2] == "edit"


def test_its_variables_are_settings(server: dict[str, Any]) -> None:
    names = {f"FAILSOFT_{name.upper()}" for name in Settings.model_fields}
    variables = server["packages"][0]["environmentVariables"]
    assert {each["name"] for each in variables} <= names


def test_a_name_that_can_be_published_needs_the_owner_s_line_in_the_readme() -> None:
    with pytest.raises(ValueError, match=re.escape("<!-- mcp-name: com.example/failsoft -->")):
        described(VERSION, "com.example", "# failsoft\n")
    server = described(VERSION, "com.example", "# failsoft\n<!-- mcp-name: com.example/failsoft -->\n")
    assert json.loads(json.dumps(server))["name"] == "com.example/failsoft"
