"""JSON Schemas that are not ours are read in one place, which bounds what they cost; nothing else evaluates them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ALLOWED = {
    "framework/answer/result.py": "the schema of a tool's own result",
    "framework/arguments/json_schema.py": "the reader, with its bounded validators",
}
"""The modules that import `jsonschema` or `referencing`, and why."""
READERS = ("adapters", "proxy", "tools/docs")
"""Folders that get schemas of others."""


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the names of the packages that a module imports, in functions, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


def compiled_from_variables(tree: ast.AST) -> Iterator[int]:
    """Yield the lines where `re` is given a pattern that is not written there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            is_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
            if is_re and node.func.attr != "escape" and isinstance(node.args[0], (ast.Name, ast.Subscript)):
                yield node.lineno


def test_only_the_reader_evaluates_schemas(root: Path) -> None:
    source = root / "src" / "failsoft"
    packages = {"jsonschema", "referencing", "fastjsonschema"}
    texts = {path: path.read_text() for path in source.rglob("*.py")}
    naming = {path: text for path, text in texts.items() if any(name in text for name in packages)}
    found = {
        str(path.relative_to(source)) for path, text in naming.items() if packages & set(imported(ast.parse(text)))
    }
    assert found == ALLOWED.keys()


@pytest.mark.parametrize("folder", READERS)
def test_no_pattern_of_others_is_given_to_a_backtracking_engine(root: Path, folder: str) -> None:
    source = root / "src" / "failsoft"
    found = [
        f"{path.relative_to(source)}:{line}"
        for path in (source / folder).rglob("*.py")
        for line in compiled_from_variables(ast.parse(path.read_text()))
    ]
    assert found == []
