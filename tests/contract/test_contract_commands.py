"""Contract, section 8: the commands, run as a person runs them, and their exit codes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.zygote import PYTHON

APPLICATION = '''
from failsoft import BaseTool, NotFound, operation


class Shop(BaseTool):
    """A shop."""

    @operation(read_only=True)
    async def price(self, item: str, count: int = 1) -> int:
        """Return a price."""
        if item != "apple":
            raise NotFound(message=f"There is no item '{item}'.", suggestions=["apple"])
        return 3 * count


class Rival(BaseTool):
    """Another shop."""

    @operation(read_only=True)
    async def price(self) -> int:
        """Return a price."""
        return 1


class Silent(BaseTool):
    """A shop that explains nothing."""

    @operation(read_only=True)
    async def hum(self) -> int:
        return 1


shop = Shop()
shops = [Shop]
rivals = [Shop, Rival]


def make():
    return [Shop()]
'''


@dataclass
class Ran:
    """What a command left."""

    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with an application and a document."""
    (tmp_path / "shop.py").write_text(APPLICATION)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "intro.mdx").write_text("# Introduction\n\nIt begins.\n")
    return tmp_path


def failsoft(folder: Path, *arguments: str, **environment: str) -> Ran:
    ran = subprocess.run(
        [PYTHON, "-m", "failsoft", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def test_the_demo_shows_the_main_job_and_ends_well(folder: Path) -> None:
    ran = failsoft(folder, "demo", "--json")
    assert ran.code == 0, ran.err
    outcomes = {scene["outcome"] for scene in json.loads(ran.out)["scenes"]}
    assert {"ok", "recovered", "error"} <= outcomes
    assert "mcp_tool_calls_total" in ran.out


# call.


@pytest.mark.parametrize("attribute", ["Shop", "shop", "shops", "make"])
def test_an_application_is_an_instance_a_class_a_list_or_a_function(folder: Path, attribute: str) -> None:
    ran = failsoft(folder, "call", "price", "item=apple", "count=2", "--app", f"shop:{attribute}")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["data"] == 6


def test_a_call_takes_json_and_a_toolset_and_a_root(folder: Path) -> None:
    ran = failsoft(
        folder, "call", "get_documentation", "--json", '{"path": "intro.md"}', "--toolset", "docs", "--root", "docs"
    )
    assert ran.code == 0, ran.err
    answer = json.loads(ran.out)
    assert answer["data"]["documents"][0]["path"] == "intro.mdx"
    assert answer["metadata"]["recovery"]["changed"] == {"path": "intro.mdx"}


def test_a_failed_call_is_printed_and_ends_with_1(folder: Path) -> None:
    ran = failsoft(folder, "call", "price", "item=pear", "--app", "shop:Shop")
    assert ran.code == 1
    assert json.loads(ran.out)["error"]["code"] == "NOT_FOUND"


def test_the_environment_decides_about_details_and_format(folder: Path) -> None:
    arguments = ("call", "price", "item=pear", "--app", "shop:Shop")
    ran = failsoft(folder, *arguments, FAILSOFT_WIRE_FORMAT="problem", DEBUG_STACK="true")
    problem = json.loads(ran.out)
    assert problem["status"] == 404
    assert "NotFound" in problem["stack_trace"]


def test_a_package_adds_its_toolset_through_the_entry_point_group(folder: Path) -> None:
    info = folder / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[failsoft.toolsets]\nshop = shop:Shop\n")
    ran = failsoft(folder, "call", "price", "item=apple", "--toolset", "shop", PYTHONPATH=str(folder))
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["data"] == 3


# explain, codes.


def test_explain_prints_the_page_of_a_code(folder: Path) -> None:
    ran = failsoft(folder, "explain", "DOC_NOT_FOUND")
    assert ran.code == 0
    page = Path(__file__).resolve().parents[2] / "docs" / "reference" / "errors" / "not_found.md"
    head, *sections = page.read_text().split("\n## ")
    (section,) = [text for text in sections if text.startswith("DOC_NOT_FOUND\n")]
    printed, known = ran.out.split("\n"), {f"# {section}".split("\n")[0], *section.split("\n")[1:]}
    assert known <= set(printed)
    rest = iter(printed)
    assert [line for line in f"# {section}".split("\n") if line not in rest] == []  # in the order of the page
    assert [line for line in printed if line not in known | set(head.split("\n"))] == [
        "- Category: [`not_found`](not_found.md)",
    ]
    ran = failsoft(folder, "explain", "DOC_NOT_FUND")
    assert ran.code == 1
    assert "DOC_NOT_FOUND" in ran.err


@pytest.mark.parametrize("kind", ["table", "json", "markdown"])
def test_codes_come_as_a_table_json_or_markdown(folder: Path, kind: str) -> None:
    ran = failsoft(folder, "codes", "--format", kind)
    assert ran.code == 0
    assert "DOC_NOT_FOUND" in ran.out
    if kind == "json":
        assert {"DOC_NOT_FOUND", "INVALID_PARAM", "UNKNOWN_ERROR"} <= {entry["code"] for entry in json.loads(ran.out)}


# lint, doctor.


def test_lint_passes_good_tools_and_names_what_is_wrong_with_others(folder: Path) -> None:
    assert failsoft(folder, "lint", "shop:Shop").code == 0
    ran = failsoft(folder, "lint", "shop:Silent")
    assert ran.code == 1
    assert "hum" in ran.out


def test_doctor_lists_every_setting(folder: Path) -> None:
    from failsoft import Settings  # noqa: PLC0415 - only here

    ran = failsoft(folder, "doctor", "--json", FAILSOFT_ENVIRONMENT="staging", FAILSOFT_AUTH_TOKEN="a secret token")
    assert ran.code == 0, ran.out
    rows = {row["name"]: row for row in json.loads(ran.out)["settings"]}
    assert set(rows) == set(Settings.model_fields)
    assert rows["environment"]["value"] == "staging"
    assert "a secret token" not in ran.out


def test_a_bad_setting_is_a_start_up_error_that_names_the_variable(folder: Path) -> None:
    ran = failsoft(folder, "serve", "docs", FAILSOFT_MAX_RESPONSE_BYTES="many")
    assert ran.code == 3
    assert "CONFIG_ERROR" in ran.err
    assert "FAILSOFT_MAX_RESPONSE_BYTES" in ran.err
    assert "Traceback" not in ran.err


# serve.


@pytest.mark.parametrize(
    ("environment", "warned"),
    [
        ({"DEBUG_STACK": "true"}, True),
        ({"FAILSOFT_DEBUG_STACK": "true"}, True),
        ({"DEBUG_STACK": "true", "FAILSOFT_ENVIRONMENT": "development"}, False),
        ({}, False),
    ],
    ids=["alias", "variable", "development", "off"],
)
def test_stacks_in_production_are_warned_of_at_start_up(
    folder: Path, environment: dict[str, str], warned: bool
) -> None:
    ran = failsoft(folder, "serve", "--app", "shop:Shop", **environment)
    assert ran.code == 0, ran.err
    levels = [json.loads(line)["level"] for line in ran.err.splitlines() if "DEBUG_STACK" in line]
    assert levels == (["WARNING"] if warned else [])


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["docs", "--transport", "http", "--host", "0.0.0.0", "--port", "0"], "--insecure"),
        (["dosc"], "docs"),
        (["--app", "shop:rivals"], "prefix"),
        (["--app", "shop:nothing"], "nothing"),
    ],
    ids=["open to everybody", "unknown toolset", "one name twice", "no such attribute"],
)
def test_what_cannot_be_served_is_a_typed_error(folder: Path, arguments: list[str], reported: str) -> None:
    ran = failsoft(folder, "serve", *arguments)
    assert ran.code == 3
    assert ran.err.startswith("CONFIG_ERROR")
    assert reported in ran.err
    assert ran.out == ""


def test_serve_answers_a_client_over_stdio(folder: Path) -> None:
    arguments = ["-m", "failsoft", "serve", "docs", "--root", "docs", "--app", "shop:Shop"]
    server = StdioServerParameters(command=PYTHON, args=arguments, cwd=folder, env=dict(os.environ))

    async def ask() -> tuple[Any, ...]:
        async with Client(server) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            found = await client.call_tool("get_documentation", {"path": "intro.mdx"})
            recovered = await client.call_tool("get_documentation", {"path": "intro.md"})
            failed = await client.call_tool("get_documentation", {"path": "none/gone.md"})
            return names, found, recovered, failed

    names, found, recovered, failed = asyncio.run(ask())
    assert {"get_documentation", "list_documents", "search_documents", "price"} <= set(names)
    assert found.structured_content["success"] is True
    assert recovered.structured_content["metadata"]["recovery"]["strategy"] == "alternate_path"
    assert failed.is_error
    assert failed.structured_content["error"]["next_step"]["tool"] in names


# The library itself.


def test_the_names_of_the_library_are_importable_from_its_face() -> None:
    import failsoft as face  # noqa: PLC0415 - only here

    for name in ("BaseTool", "DocumentNotFound", "RecoveryManager", "ToolResponse", "operation", "mcp_server"):
        assert getattr(face, name)
    for name in ("asgi_app", "serve", "configure_logging", "Settings", "Runtime", "CallContext", "Reference", "Fault"):
        assert getattr(face, name)


def test_nothing_but_failsoft_is_installed_at_the_top_level() -> None:
    from importlib.metadata import packages_distributions  # noqa: PLC0415 - only here

    tops = {name for name, owners in packages_distributions().items() if "failsoft" in owners}
    assert tops <= {"failsoft", "_failsoft", "__editable___failsoft"}
