"""The pages for authors show every public name once; its docstring explains every argument, and has an example."""

from __future__ import annotations

import ast
import asyncio
import doctest
import importlib
import inspect
import itertools
import re
import runpy
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args

import pytest
from pydantic import Field
from typing_extensions import is_typeddict

import failsoft.recovery
from failsoft import BaseTool, Failure, ToolError, operation
from failsoft.errors import CatalogueError
from failsoft.events import Event
from failsoft.recovery import Call, Circuit, CircuitView
from failsoft.testing import InstantLoop

ROOT = Path(__file__).resolve().parents[2]
MODULES = runpy.run_path(str(ROOT / "scripts" / "public_api.py"))["MODULES"]
DIRECTIVE = re.compile(r"^::: (\S+)", re.MULTILINE)
NOT_SHOWN = {"__version__"}
MADE_BY_FAILSOFT = {Call}


def _public() -> dict[str, Any]:
    """Return the public objects by the first path that names each."""
    found: dict[int, tuple[str, Any]] = {}
    for module in MODULES:
        loaded = importlib.import_module(module)
        for name in sorted(set(loaded.__all__) - NOT_SHOWN):
            found.setdefault(id(getattr(loaded, name)), (f"{module}.{name}", getattr(loaded, name)))
    return dict(found.values())


def _is_error(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, ToolError) and value is not ToolError


def _shown() -> Iterator[tuple[str, Any]]:
    for page in sorted((ROOT / "docs" / "reference" / "api").glob("*.md")):
        for path in DIRECTIVE.findall(page.read_text()):
            module, _, name = path.rpartition(".")
            yield path, getattr(importlib.import_module(module), name)


PUBLIC = _public()
CALLABLE = {
    path: value
    for path, value in PUBLIC.items()
    if (inspect.isclass(value) or inspect.isfunction(value)) and not _is_error(value) and value not in MADE_BY_FAILSOFT
}


def test_every_public_name_that_is_no_error_class_is_on_one_page_for_authors() -> None:
    shown = [id(value) for _, value in _shown()]
    expected = {path: id(value) for path, value in PUBLIC.items() if not _is_error(value)}
    assert [path for path, key in expected.items() if key not in shown] == []
    assert len(shown) == len(set(shown))


def test_every_public_error_class_has_a_section_on_the_page_of_its_category() -> None:
    pages = {page.stem: page.read_text() for page in (ROOT / "docs" / "reference" / "errors").glob("*.md")}
    errors = {path: value for path, value in PUBLIC.items() if _is_error(value)}
    assert [path for path, value in errors.items() if f"\n## {value.code}\n" not in pages[value.category]] == []


def _attribute_docstrings(cls: type[Any]) -> Iterator[str]:
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0].body  # type: ignore[attr-defined]  # a class has one
    for statement, following in itertools.pairwise(body):
        is_text = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        if is_text and isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id


@pytest.mark.parametrize("path", sorted(CALLABLE))
def test_every_argument_of_a_public_name_is_explained(path: str) -> None:
    value = CALLABLE[path]
    text = inspect.getdoc(value) or ""
    known: set[str] = set()
    if inspect.isclass(value):
        for base in value.__mro__:
            if base.__module__.startswith("failsoft"):
                text += f"\n{inspect.getdoc(base) or ''}\n{inspect.getdoc(base.__init__) or ''}"
                known |= {*_attribute_docstrings(base)}
    signature = inspect.signature(value.__init__ if inspect.isclass(value) else value)
    named = [item.name for item in signature.parameters.values() if item.kind.name[:3] != "VAR" and item.name != "self"]
    unexplained = [name for name in named if name not in known and not re.search(rf"\b{re.escape(name)}\b", text)]
    assert text
    assert unexplained == []


class Shelf(BaseTool):
    """The toolset of the examples, which is defined in that of `BaseTool`."""

    @operation(read_only=True)
    async def count(self, title: str) -> int:
        """Count the copies of a book."""
        return len(title) // 2


NAMES = {name: getattr(module, name) for module in (failsoft.recovery, failsoft) for name in module.__all__}
NAMES |= {"Annotated": Annotated, "Any": Any, "Field": Field, "Shelf": Shelf, "asyncio": asyncio}
READ_ONLY = {CatalogueError, Call, Circuit, CircuitView, Failure, InstantLoop, *get_args(Event)}
"""Made by failsoft for authors, who only read them, as they do results of its toolsets."""


def _example(path: str) -> doctest.DocTest:
    module, _, name = path.rpartition(".")
    room = vars(importlib.import_module(module))
    text = inspect.getdoc(inspect.unwrap(CALLABLE[path])) or ""
    return doctest.DocTestParser().get_doctest(text, {**room, **NAMES, "__name__": name}, path, None, 0)


EXAMPLES = {path: example for path in sorted(CALLABLE) if (example := _example(path)).examples}


@pytest.mark.parametrize("path", EXAMPLES)
def test_the_example_of_a_public_name_prints_what_it_says(path: str) -> None:
    told: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(EXAMPLES[path], out=told.append)
    assert "".join(told) == ""


def test_every_public_name_that_authors_use_is_in_an_example() -> None:
    shown = set(re.findall(r"\w+", "\n".join(part.source for each in EXAMPLES.values() for part in each.examples)))
    used = {path for path, value in CALLABLE.items() if value not in READ_ONLY and not is_typeddict(value)}
    assert sorted(path for path in used - EXAMPLES.keys() if path.rpartition(".")[2] not in shown) == []
