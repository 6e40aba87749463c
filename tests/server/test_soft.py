"""Plain functions with `@failsoft.soft`: the toolset of their module, and what is refused at import."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import failsoft
from failsoft import ConfigurationError, mcp_server
from failsoft.testing import connected, fails_with
from tests.doors import as_tools, lint_toolbox, load_app

SHELF = '''
"""Books on a shelf."""

from __future__ import annotations

import failsoft

BOOKS = {"Dune": 3}


@failsoft.soft(read_only=True, timeout=5.0)
def count(title: str) -> int:
    """Count the copies of a book."""
    if title not in BOOKS:
        raise failsoft.NotFound(f"There is no book {title}.")
    return BOOKS[title]


@failsoft.soft(verify_with="count")
async def take(title: str, number: int, call: failsoft.CallContext) -> int:
    """Take copies of a book."""
    call.warn("taken")
    BOOKS[title] -= number
    return count(title)


@failsoft.soft
def start(title: str) -> str:
    """Start to read: `BaseTool` has a method of this name."""
    return title


@failsoft.soft(read_only=True, input_schema={"type": "object", "properties": {"page": {"type": "integer"}}})
def open_at(**arguments: object) -> int:
    """Open a book at a page."""
    return len(arguments)


def no_tool() -> int:
    return 1
'''


def module_of(folder: Path, text: str, name: str = "shelf") -> Path:
    file = folder / f"{name}.py"
    file.write_text(text)
    return file


def imported(file: Path) -> ModuleType:
    spec: Any = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def shelf(tmp_path: Path) -> ModuleType:
    return imported(module_of(tmp_path, SHELF))


@pytest.mark.anyio
async def test_the_functions_of_a_module_are_a_toolset_with_its_name(shelf):
    (tool,) = as_tools(shelf)
    assert (tool.name, tool.introduction(), list(tool.operations)) == (
        "shelf",
        "Books on a shelf.",
        ["count", "take", "start", "open_at"],
    )
    counted = await tool.execute_with_error_handling("count", {"title": "Dune"})
    taken = await tool.execute_with_error_handling("take", {"title": "Dune", "number": 1})
    assert (counted.data, taken.data, taken.metadata.warnings) == (3, 2, ["taken"])
    missing = await tool.execute_with_error_handling("count", {"title": "Emma"})
    fails_with(missing, failsoft.NotFound, effect="none")
    broken = await tool.execute_with_error_handling("take", {"title": "Emma", "number": 1})
    assert broken.error is not None
    assert (broken.error.effect, broken.error.next_step.tool) == ("unknown", "count")
    started = await tool.execute_with_error_handling("start", {"title": "Dune"})
    assert started.data == "Dune"
    opened = await tool.execute_with_error_handling("open_at", {"page": 7})
    assert opened.data == 1
    fails_with(await tool.execute_with_error_handling("open_at", {"page": "x"}), failsoft.InvalidParameter)
    assert lint_toolbox(tool.toolbox) == []


def test_a_function_stays_a_plain_one(shelf):
    assert shelf.count("Dune") == 3
    with pytest.raises(failsoft.NotFound):
        shelf.count(title="Emma")


@pytest.mark.anyio
async def test_a_module_is_served_as_a_toolset_is(shelf):
    async with connected(shelf) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        answer = await client.call_tool("count", {"titel": "Dune"})
    assert listed["count"].description == "Count the copies of a book."
    assert listed["count"].input_schema["required"] == ["title"]
    assert answer.structured_content["error"]["code"] == "INVALID_PARAM"


def test_a_module_is_found_by_name_and_by_path(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    file = module_of(tmp_path, SHELF, "shelf_by_name")
    for spec in ("shelf_by_name", str(file)):
        (tool,) = load_app(spec)
        assert tool.name == "shelf_by_name"


REFUSED = {
    "misspelt option": ("@failsoft.soft(read_onyl=True)\ndef add(a: int): ...", "did you mean 'read_only'?"),
    "a time with a unit": ('@failsoft.soft(timeout="5s")\ndef add(a: int): ...', "number of seconds"),
    "no annotation": ("@failsoft.soft\ndef add(a): ...", "'a' has no annotation"),
    "undefined name": ("@failsoft.soft\ndef add(a: 'Numbr'): ...", "name 'Numbr'"),
    "no such verifier": ('@failsoft.soft(verify_with="ad")\ndef add(a: int): ...', "add: verify_with"),
    "a method": ("class Shelf:\n    @failsoft.soft\n    def add(self, a: int): ...", "@operation of a BaseTool"),
    "a class": ("@failsoft.soft\nclass Shelf: ...", "needs a function"),
    "a generator": ("@failsoft.soft\ndef add(a: int): yield a", "yields"),
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_a_mistake_names_its_line_and_the_correction(tmp_path, monkeypatch, mistake):
    monkeypatch.syspath_prepend(tmp_path)
    text, words = REFUSED[mistake]
    file = module_of(tmp_path, f"import failsoft\n{text}\n", f"shelf_{list(REFUSED).index(mistake)}")
    with pytest.raises(ConfigurationError) as caught:
        load_app(str(file))
    assert words in caught.value.message
    assert any(f"{file}:{line}" in caught.value.message for line in range(2, 5)), caught.value.message


def test_a_single_function_and_a_second_toolset_are_refused_with_what_to_name(shelf):
    with pytest.raises(ConfigurationError, match="name its module, shelf,"):
        mcp_server(shelf.count)
    shelf.Other = type("Other", (failsoft.BaseTool,), {"__module__": "shelf", "look": failsoft.operation(look)})
    with pytest.raises(ConfigurationError, match="several toolsets"):
        mcp_server(shelf)


def look(self: Any) -> int:
    """Look."""
    return 1
