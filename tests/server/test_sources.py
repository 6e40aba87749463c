"""Look-up of tools, and the errors of a wrong name."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from failsoft import BaseTool, ConfigurationError, Runtime, Settings, mcp_server, operation
from tests.doors import ToolSource, as_tools, find_toolsets, load_app, load_toolset


class Shop(BaseTool):
    """A shop."""

    @operation(read_only=True)
    async def price(self) -> int:
        """Return a price."""
        return 1


class Market(BaseTool):
    """A market."""

    @operation(read_only=True)
    async def price(self) -> int:
        """Return a price."""
        return 2


MODULE = """
from failsoft import BaseTool, operation

class Lamp(BaseTool):
    @operation()
    async def light(self) -> bool:
        return True

class Broken(Lamp):
    def __init__(self):
        raise OSError("no bulb")

lamp = Lamp()
lamps = [Lamp]
nothing = []
number = 5
mixed = [Lamp, 5]

def made(): return Lamp()
def made_class(): return [Lamp]
def failing(): raise KeyError("bulb")
async def later(): return Lamp()

class Room:
    lamp = lamp
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a module with things to serve, and with things not to."""
    name = f"lamps_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / f"{name}_bad.py").write_text("import a_module_that_is_not_there")
    (tmp_path / f"{name}_worse.py").write_text("1 / 0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return name


@pytest.mark.parametrize("attribute", ["Lamp", "lamp", "lamps", "made", "made_class", "Room.lamp"])
def test_an_app_may_be_a_toolset_a_class_a_list_or_a_function(module: str, attribute: str) -> None:
    assert [type(tool).__name__ for tool in load_app(f"{module}:{attribute}")] == ["Lamp"]


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "{}",
        "{}:",
        ":lamp",
        "{}:absent",
        "{}:number",
        "{}:nothing",
        "{}:mixed",
        "{}:failing",
        "{}:later",
        "{}:Broken",
        "{}:Room",
        "{}_bad:x",
        "{}_worse:x",
        "a_module_that_is_not_there:x",
        ".:x",
    ],
)
def test_whatever_else_an_app_is_becomes_a_configuration_error(module: str, spec: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_app(spec.format(module))
    assert caught.value.code == "CONFIG_ERROR"


def test_an_app_that_is_a_circle_of_links_is_a_configuration_error(tmp_path: Path) -> None:
    (tmp_path / "lamps.py").symlink_to(tmp_path / "more.py")
    (tmp_path / "more.py").symlink_to(tmp_path / "lamps.py")
    with pytest.raises(ConfigurationError, match="no Python file"):
        load_app(f"{tmp_path / 'lamps.py'}:lamp")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("{}:Lmap", "'Lamp'"),
        ("/srv/tools/{}.py:lamp", "no Python file /srv/tools/{}.py"),
        ("./{}", "no Python file"),
        ("a_module_that_is_not_there:x", "install it"),
    ],
)
def test_the_error_of_a_misspelt_app_says_how_apps_are_found(module: str, spec: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_app(spec.format(module))
    assert words.format(module) in f"{caught.value.message} {caught.value.resolution}"


def test_toolsets_come_from_entry_points_sorted_by_name() -> None:
    found = find_toolsets()
    assert "docs" in found
    assert list(found) == sorted(found)


def test_an_unknown_toolset_is_a_configuration_error_that_names_those_there_are() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_toolset("dosc")
    assert "docs" in caught.value.message


def test_a_source_of_nothing_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError):
        ToolSource()()


def test_a_source_gives_the_app(module: str) -> None:
    assert [tool.name for tool in ToolSource(app=f"{module}:lamp")()] == ["lamp"]


@pytest.mark.parametrize("value", [5, "text", object(), int, None, [Shop, 5], {"a": 1}])
def test_what_is_no_tool_is_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError):
        as_tools(value)


def test_two_tools_of_one_name_are_an_error_that_says_how_to_prefix() -> None:
    with pytest.raises(ConfigurationError) as caught:
        mcp_server([Shop, Market])
    assert "'price'" in caught.value.message
    assert "market_price" in caught.value.resolution


def test_a_server_is_named_for_its_only_toolset_or_as_given() -> None:
    runtime = Runtime(settings=Settings())
    assert mcp_server(Shop(runtime=runtime)).name == "shop"
    assert mcp_server([Shop]).instructions == "shop: A shop."
    assert mcp_server([Shop], name="mine", instructions="Ask.").name == "mine"


@pytest.mark.parametrize("spec", ["{}.py:lamp", "./{}.py:lamp", "{folder}/{}.py:lamp"])
def test_an_app_is_named_by_the_path_of_its_file(module: str, tmp_path: Path, spec: str) -> None:
    (tool,) = load_app(spec.format(module, folder=tmp_path))
    assert type(tool).__name__ == "Lamp"


def test_a_file_in_a_package_is_imported_as_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    package = tmp_path / "furniture" / "lights"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package / "lamps.py").write_text(MODULE)
    (tool,) = load_app(f"{package / 'lamps.py'}:lamp")
    assert type(tool).__module__ == "furniture.lights.lamps"


@pytest.mark.parametrize(("name", "words"), [("json.py", "another module is named 'json'"), ("a.b.py", "a dot")])
def test_a_file_that_cannot_be_imported_under_its_name_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / name).write_text(MODULE)
    with pytest.raises(ConfigurationError, match=words):
        load_app(f"{tmp_path / name}:lamp")
