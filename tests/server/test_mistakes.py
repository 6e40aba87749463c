"""Mistakes of authors that an import finds: each names the line, the operation and the correction."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from failsoft import ConfigurationError, mcp_server
from tests.doors import load_app

HEAD = '''
from typing import Annotated
from failsoft import BaseTool, CircuitBreaker, Reference, Retry, operation


class Shelf(BaseTool):
    """A shelf."""

'''
HANDLER = '''    async def look(self, title: str) -> str:
        """Look."""
        return title
'''
MISTAKES = {
    "no annotation": (
        "    @operation(read_only=True)\n" + HANDLER.replace("title: str", "title"),
        ["Shelf.look", "'title' has no annotation"],
    ),
    "no such verifier": ('    @operation(verify_with="looked")\n' + HANDLER, ["Shelf.look", "'looked'"]),
    "undefined name": ("    @operation()\n" + HANDLER.replace("title: str", "title: Strr"), ["name 'Strr'"]),
    "the class of a strategy": ("    @operation(recovery=[Retry])\n" + HANDLER, ["Shelf.look", "make one, Retry(...)"]),
    "no list": ("    @operation(recovery=Retry())\n" + HANDLER, ["Shelf.look", "recovery=[Retry("]),
    "misspelt option": ("    @operation(recovery=[Retry(attemps=3)])\n" + HANDLER, ["did you mean 'attempts'?"]),
    "a number as text": ('    @operation(recovery=[Retry(attempts="3")])\n' + HANDLER, ["a number as attempts"]),
    "misspelt declaration": ("    @operation(read_onyl=True)\n" + HANDLER, ["did you mean 'read_only'?"]),
    "a time with a unit": ('    @operation(timeout="5s")\n' + HANDLER, ["Shelf.look", "did you mean timeout=5?"]),
    "a verifier that writes": (
        '    @operation(verify_with="look")\n' + HANDLER,
        ["Shelf.look", "names no read-only operation"],
    ),
    "no self": (
        "    @operation(read_only=True)\n" + HANDLER.replace("self, ", ""),
        ["Shelf.look takes no `self`"],
    ),
    "a name with a blank": ('    @operation(name="look up")\n' + HANDLER, ["Shelf.look", "letters, digits"]),
}


CLASSES = {
    "no operation": (HEAD + "    pass\n", "Shelf", 6, "give it at least one method with @operation"),
    "no base class": (HEAD.replace("(BaseTool)", "") + HANDLER, "Shelf", 6, "class Shelf(BaseTool)"),
    "more to make it of": (
        HEAD + "    def __init__(self, url: str) -> None: ...\n\n    @operation()\n" + HANDLER,
        "Shelf",
        6,
        "module:function",
    ),
}


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path / f"shelf_{tmp_path.name.replace('-', '_')}.py"


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_names_its_line_and_the_correction(module: Path, mistake: str) -> None:
    body, words = MISTAKES[mistake]
    module.write_text(HEAD + body)
    with pytest.raises(ConfigurationError) as caught:
        load_app(f"{module}:Shelf")
    said = caught.value.message
    assert [word for word in words if word not in said] == []
    lines = range(HEAD.count("\n") + 1, (HEAD + body).count("\n") + 1)
    assert any(f"{module}:{line}" in said for line in lines), said


@pytest.mark.parametrize("mistake", CLASSES)
def test_a_mistake_in_a_class_names_its_line_and_the_correction(module: Path, mistake: str) -> None:
    text, name, line, words = CLASSES[mistake]
    module.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        load_app(f"{module}:{name}")
    said = f"{caught.value.message} {caught.value.resolution}"
    assert words in said
    assert f"{module}:{line}" in said


def test_a_server_that_is_no_toolset_is_told_from_one() -> None:
    with pytest.raises(ConfigurationError, match="an object of type 'MCPServer'") as caught:
        mcp_server(MCPServer("shop"))  # type: ignore[arg-type]
    assert "failsoft proxy" in caught.value.resolution


def test_a_dot_before_the_class_is_corrected(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module.write_text(HEAD + "    @operation()\n" + HANDLER)
    monkeypatch.chdir(module.parent)
    with pytest.raises(ConfigurationError) as caught:
        load_app(f"{module.stem}.Shelf")
    assert f"'{module.stem}:Shelf'" in caught.value.resolution


def test_a_parameter_without_an_annotation_is_refused_by_the_import_and_found_by_lint(module: Path) -> None:
    module.write_text(HEAD + MISTAKES["no annotation"][0])
    spec: Any = importlib.util.spec_from_file_location(module.stem, module)
    with pytest.raises(TypeError, match="'title' has no annotation"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    module.write_text(HEAD + MISTAKES["no annotation"][0].replace("title)", "title: Any)").replace("look", "see"))
    text = module.read_text().replace("from typing import Annotated", "from typing import Annotated, Any")
    module.write_text(text)
    (tool,) = load_app(f"{module}:Shelf")
    assert list(tool.operations) == ["see"]


def test_a_misspelt_import_is_corrected(module: Path) -> None:
    module.write_text("from failsoft import BaseTol\n")
    with pytest.raises(ConfigurationError, match=r"did you mean 'BaseTool'\?") as caught:
        load_app(f"{module}:Shelf")
    assert f"{module}:1" in caught.value.message


def test_two_breakers_of_one_dependency_with_other_options_name_both_operations(module: Path) -> None:
    second = HANDLER.replace("look", "peek")
    breakers = [f'    @operation(recovery=[CircuitBreaker(dependency="x", open_s={number})])\n' for number in (1, 9)]
    module.write_text(HEAD + breakers[0] + HANDLER + breakers[1] + second)
    with pytest.raises(
        ConfigurationError, match=r"'shelf.look' .* and 'shelf.peek' .* different options \(open_s\)"
    ) as told:
        mcp_server(load_app(f"{module}:Shelf"))
    line = HEAD.count("\n") + 1
    assert f"({module}:{line} in look)" in told.value.message
    assert f"({module}:{line + 4} in peek)" in told.value.message
