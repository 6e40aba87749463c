"""Tests import public names from where users do, and inner ones through one file."""

from __future__ import annotations

import ast
import re
import symtable
from collections import Counter
from pathlib import Path

import pytest

import tests.doors
from scripts.public_api import MODULES

SOURCE = Path(__file__).resolve().parents[2] / "src"
PUBLIC = {*MODULES, "failsoft.__main__"}
IN_A_PROGRAM = re.compile(r"^\s*(?:from (failsoft\.[\w.]+) import|import (failsoft\.[\w.]+))", re.MULTILINE)
MENTIONED = re.compile(r"(?:from|import)\s+(failsoft\.[\w.]+)")


def _inner_imports(path: Path) -> set[str]:
    """Return the modules that are imported, by the file itself or by programs in its texts, and are not public."""
    text = path.read_text()
    if set(MENTIONED.findall(text)) <= PUBLIC:
        return set()  # most files: reading them closely takes a second
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= {first or second for first, second in IN_A_PROGRAM.findall(node.value)}
    return {module for module in found if module.startswith("failsoft.") and module not in PUBLIC}


def test_inner_names_come_through_doors_alone(root: Path) -> None:
    files = [path for path in (root / "tests").rglob("*.py") if path.name not in {"doors.py", "test_doors.py"}]
    wrong = {str(path.relative_to(root)): inner for path in files if (inner := _inner_imports(path))}
    assert wrong == {}


def test_an_inner_import_would_be_found(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text('import failsoft.cli.app\nPROGRAM = """\nfrom failsoft.framework.clock import new_id\n"""\n')
    assert _inner_imports(file) == {"failsoft.cli.app", "failsoft.framework.clock"}


def _bound(module: str) -> set[str]:
    """Return the names that a module binds, and its submodules, without loading it: COBRApy alone takes a second."""
    place = SOURCE.joinpath(*module.split("."))
    text = (place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).read_text()
    symbols = symtable.symtable(text, module, "exec").get_symbols()
    names = {symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()}
    return names | {path.stem for path in place.glob("[a-z]*")}


def test_every_door_opens_and_is_used(root: Path) -> None:
    doors = {
        home: [door.partition(" as ")[0] for door in names.split(", ")] for home, names in tests.doors.HOMES.items()
    }
    closed = [f"{home}.{name}" for home, names in doors.items() for name in set(names) - _bound(home)]
    words = {
        word
        for path in (root / "tests").rglob("*.py")
        if path.name != "doors.py"
        for word in re.findall(r"\w+", path.read_text())
    }
    assert (closed, [door for door in dir(tests.doors) if door not in words]) == ([], [])


def test_no_two_doors_have_one_name() -> None:
    names = [door.rpartition(" as ")[2] for names in tests.doors.HOMES.values() for door in names.split(", ")]
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_what_has_no_door_is_said() -> None:
    with pytest.raises(AttributeError, match="no door 'nothing'"):
        _ = tests.doors.nothing
