"""True of every tool that ships: what a model reads before it calls says what it needs, in few words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest
from mcp import Client
from pydantic import Field
from typing_extensions import TypedDict

from failsoft import BaseTool, mcp_server, operation
from tests.doors import lint_descriptions, load_toolset
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio

KNOWN_GAPS: dict[str, set[tuple[str, str]]] = {
    "docs": set(),
    "edit": set(),
    "workspace": set(),
    "flux": set(),
}
"""Toolset -> operation and rule of what is still to be written; it only shrinks."""
in_flux = pytest.mark.xdist_group("flux")  # it imports cobra, as do the tests of that group
TOOLSETS = ["docs", "edit", "workspace", pytest.param("flux", marks=in_flux)]


@pytest.mark.parametrize("name", TOOLSETS)
def test_a_toolset_that_ships_describes_itself(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n")
    if name == "flux":
        pytest.importorskip("cobra")
    box = load_toolset(name, root=tmp_path).toolbox
    found = {(finding.operation, finding.name) for finding in lint_descriptions(box)}
    assert found <= KNOWN_GAPS[name], lint_descriptions(box)


class Part(TypedDict):
    """One part."""

    size: int


class Talkative(BaseTool):
    """Says too much, and too little."""

    @operation()
    async def do(
        self,
        what: str,
        how: Annotated[str, Field(description="In which way")],
        mode: Literal["a", "b"],
        parts: list[Part],
    ) -> str:
        """Do something.

        Args:
            what: Is for readers of the code.
        """
        return what + how + mode + str(parts)

    @operation(read_only=True)
    async def look(self) -> None:
        """Look."""


def test_what_a_model_would_have_to_guess_is_found() -> None:
    box = Talkative(runtime=quiet_runtime()).toolbox
    assert [(item.operation, item.name) for item in lint_descriptions(box)] == [
        ("do", "title"),
        ("do", "description"),
        ("do", "parameter"),  # `what`
        ("do", "parameter"),  # `parts`
        ("do", "parameter"),  # `size` of a part
        ("do", "annotations"),
        ("do", "annotations"),
        ("look", "title"),
        ("look", "annotations"),
    ]


class Silent(BaseTool):
    @operation(read_only=True, open_world=False, title="Look")
    async def look(self) -> None:
        """Look."""


class Copied(Silent):
    """Says what is for readers of the code."""

    def introduction(self) -> str:
        return "Looks.\n\nArgs:\n    runtime: Its runtime."


@pytest.mark.parametrize(("kind", "rules"), [(Silent, ["instructions"]), (Copied, ["instructions"]), (Talkative, [])])
def test_what_the_server_instructions_lack_is_found(kind: type[BaseTool], rules: list[str]) -> None:
    found = lint_descriptions(kind(runtime=quiet_runtime()).toolbox)
    assert [item.name for item in found if item.name == "instructions"] == rules


@pytest.mark.parametrize("name", TOOLSETS)
async def test_instructions_name_the_root_and_the_order_of_calls_and_hold_no_docstring(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "flux":
        pytest.importorskip("cobra")
    toolset = load_toolset(name, root=tmp_path)
    for part in filter(None, (getattr(toolset, "workers", None), getattr(toolset, "database", None))):
        monkeypatch.setattr(part, "warm_up", lambda: None)  # nothing is computed here
    async with Client(mcp_server(toolset)) as client:
        said = client.instructions or ""
        tools = (await client.list_tools()).tools
    assert f'Root: "{tmp_path}".' in said
    assert "Usual order: " in said
    assert sum(tool.name in said for tool in tools) >= 2
    assert not any(word in said for word in ("Args:", "Raises:", "runtime", "CONFIG_ERROR", "FAILSOFT_"))
    if name == "workspace":
        assert "Roles: ANTIGRAVITY (may approve, plan and read); WINDSURF (may read and write)." in said


@pytest.mark.parametrize(
    ("name", "tool", "parameter"),
    [
        ("docs", "activate_project", "config_path"),
        ("edit", "multi_edit", "file_path"),
        ("workspace", "begin_session", "workspace_root"),
        pytest.param("flux", "load_model", "path", marks=in_flux),
    ],
)
def test_the_schema_of_a_path_names_the_root_of_this_server(
    name: str, tool: str, parameter: str, tmp_path: Path
) -> None:
    if name == "flux":
        pytest.importorskip("cobra")
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        own = load_toolset(name, root=folder).operations[tool].input_schema["properties"][parameter]
        assert f'below "{folder}"' in own["description"]
        assert "/srv/project" not in str(own)


class Sectioned(Talkative):
    """Books: find them, then borrow one.

    Parameters
    ----------
    runtime
        Its surroundings.
    """


class Described(Talkative):
    """Books.

    :param runtime: Its surroundings.
    """

    def introduction(self) -> str:
        return f"{super().introduction()} Find first."


@pytest.mark.parametrize(
    ("kind", "said"),
    [(Sectioned, "sectioned: Books: find them, then borrow one."), (Described, "described: Books. Find first.")],
)
async def test_instructions_of_anybodys_toolset_are_its_docstring_without_python(
    kind: type[BaseTool], said: str
) -> None:
    async with Client(mcp_server(kind(runtime=quiet_runtime()))) as client:
        assert client.instructions == said
