"""Mistakes in raising errors are found in the source, without running it."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.doors import Toolbox, lint_toolbox, raise_site_faults

SHELVES = """
from typing import ClassVar

import failsoft as fs
from failsoft import BaseTool, DocumentNotFound, NextStep, NotFound, Unavailable, operation


class Shelves(BaseTool):
    \"\"\"Shelves.\"\"\"

    @operation(read_only=True)
    async def find(self, number: int) -> str:
        \"\"\"Find a shelf.\"\"\"
        path, more = str(number), {}
        raise RAISED
"""


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    def load(raised: str) -> ModuleType:
        name = f"shelves_{abs(hash(raised))}"
        file = tmp_path / f"{name}.py"
        file.write_text(SHELVES.replace("RAISED", raised))
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("DocumentNotFound(pth=path)", "has no field pth; did you mean path?"),
        ("fs.DocumentNotFound()", "needs path"),
        ("DocumentNotFound(path=3)", "takes path as str, not int"),
        ("NotFound('No shelf.', effect='nothing')", "effect is 'nothing'"),
        ("NotFound('No shelf.', next_step={'tol': 'find', 'arguments': {}})", "next_step is without a tool"),
        ("NotFound('No shelf.', next_step={'tool': 'find', 'argumnts': {}})", "did you mean 'arguments'?"),
        ("NotFound('No shelf.', next_step={'tool': 'fnd', 'arguments': {'number': number}})", "names the tool 'fnd'"),
        ("NotFound('No shelf.', next_step=NextStep('fnd', {'number': number}))", "names the tool 'fnd'"),
    ],
)
def test_a_mistake_in_raising_is_found_with_its_line(
    loaded: Callable[[str], ModuleType], raised: str, said: str
) -> None:
    module = loaded(raised)
    found = list(raise_site_faults(module, {"find"}))
    assert [line for line, _, _ in found] == [15] * len(found)
    assert any(said in fault for _, _, fault in found), found
    rows = [finding for finding in lint_toolbox(Toolbox([module.Shelves()])) if finding.rule == "raising"]
    assert [row.text.split(": ")[0] for row in rows] == [f"{module.__name__}.py:15"] * len(found)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("{'tool': 'find', 'arguments': {'number': 'three'}}", ["number"]),
        ("{'tool': 'find', 'arguments': {}}", ["number"]),
        ("{'tool': 'find'}", ["number"]),
        ("{'tool': 'find', 'arguments': {'numbr': number}}", ["number", "numbr"]),
        ("NextStep('find', {'number': 'three'})", ["number"]),
        ("NextStep(tool='find', arguments={'number': 3, 'shelf': path})", ["shelf"]),
        ("NextStep('find', {'number': number})", []),
        ("NextStep('find', {'number': 3})", []),
        ("NextStep('find', more)", []),
        ("{'tool': 'find', 'arguments': {**more}}", []),
    ],
)
def test_arguments_of_a_next_step_that_its_tool_refuses_are_found(
    loaded: Callable[[str], ModuleType], step: str, said: list[str]
) -> None:
    module = loaded(f"NotFound('No shelf.', next_step={step})")
    found = [one.text for one in lint_toolbox(Toolbox([module.Shelves()])) if one.rule == "raising"]
    assert sorted(text.split("refuses: ")[1].split()[0] for text in found) == said


@pytest.mark.parametrize(
    "raised",
    [
        "DocumentNotFound(path=path, suggestions=[path], next_step={'tool': 'find', 'arguments': {'number': number}})",
        "DocumentNotFound(**more)",
        "NotFound('No shelf.', next_step=NextStep('find', {'number': 1}), effect='none')",
        "NotFound(message=path, next_step=more)",
        "Unavailable('Closed.', retry_after_seconds=number)",
        "ValueError(pth=path)",
    ],
)
def test_what_is_right_or_cannot_be_judged_is_not_reported(loaded: Callable[[str], ModuleType], raised: str) -> None:
    assert list(raise_site_faults(loaded(raised), {"find"})) == []


def test_what_lint_finds_is_what_a_call_reports(
    loaded: Callable[[str], ModuleType], failsoft_reports: list[object]
) -> None:
    module = loaded("DocumentNotFound(pth=path)")
    said = {fault for _, _, fault in raise_site_faults(module, {"find"})}
    asyncio.run(module.Shelves().find(number=1))
    reported = " ".join(str(report) for report in failsoft_reports)
    assert said
    assert [fault for fault in said if fault not in reported] == []
