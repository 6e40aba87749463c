"""The regular expressions of the package, whatever the patch release of Python."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import failsoft

parser: Any = importlib.import_module("re._parser")  # it has no public name
constants: Any = importlib.import_module("re._constants")

_HEAVY = ("failsoft.adapters", "failsoft.tools.flux")
"""Packages whose patterns are looked for in their source: imports of theirs take seconds."""
_OF_ONE_CHARACTER = {constants.LITERAL, constants.NOT_LITERAL, constants.ANY, constants.IN, constants.CATEGORY}


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(failsoft.__path__, "failsoft."):
        if not found.name.endswith("__main__") and not found.name.startswith(_HEAVY):
            try:
                yield importlib.import_module(found.name)
            except ImportError:  # an extra that is not installed
                continue


def repeats(parsed: Any) -> Iterator[Any]:
    """Yield what is repeated possessively in a parsed pattern."""
    for operator, argument in parsed:
        if operator is constants.POSSESSIVE_REPEAT:
            yield argument[2]
        for part in argument if isinstance(argument, (tuple, list)) else (argument,):
            inner = part if isinstance(part, list) else [part]
            for one in inner:
                if isinstance(one, parser.SubPattern):
                    yield from repeats(one)


def has_possessive_group(pattern: str | bytes, flags: int = 0) -> bool:
    return any(len(item) != 1 or item[0][0] not in _OF_ONE_CHARACTER for item in repeats(parser.parse(pattern, flags)))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"a[bc]*+d{2,3}+\w++", False),
        (r"(?>(?:a|b)*)c", False),
        (r"(?:ab|c)*+d", True),
        (r"x(?:y(?:ab)++|z)", True),
        (r"(?P<name>(?!(?:ab)?+))", True),
    ],
)
def test_a_group_that_is_repeated_possessively_is_found(pattern: str, *, expected: bool) -> None:
    assert has_possessive_group(pattern) is expected


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python before 3.11.5 matches these wrongly (python/cpython#106052); `(?>(?:...)*)` says the same."""
    found = {
        f"{module.__name__}.{name}": value
        for module in modules()
        for name, value in vars(module).items()
        if isinstance(value, re.Pattern)
    }
    assert len(found) > 100
    wrong = [name for name, value in found.items() if has_possessive_group(value.pattern, value.flags & ~re.DEBUG)]
    assert wrong == []


def test_no_source_has_a_group_that_is_repeated_possessively(root: Path) -> None:
    found = re.compile(r"(?<!\\)\)(?:[*+?]|\{[\d,]+\})\+(?=.*[\"'])")
    for file in (root / "src").rglob("*.py"):
        assert not [line for line in file.read_text().splitlines() if "re.compile(" in line and found.search(line)]
