"""What the commands print about one thing, and about their exit codes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Run

ONE = '''
from failsoft import BaseTool, operation


class One(BaseTool):
    """A toolset with one operation."""

    @operation(read_only=True)
    async def only(self) -> int:
        """Return one."""
        return 1
'''


@pytest.mark.parametrize("command", ["tools", "lint", "doctor"])
def test_one_of_a_thing_is_not_a_plural(inside: Run, folder: Path, command: str) -> None:
    (folder / "single.py").write_text(ONE)
    ran = inside(command, "--app", "single:One")
    if "only" not in ran.out + ran.err:
        raise RuntimeError(ran)
    assert re.findall(r"(?<![\d.-])1 [a-z]+s\b(?! is)", ran.out + ran.err) == []


def test_the_help_says_which_commands_end_well_with_ctrl_c(inside: Run) -> None:
    (line,) = [line for line in inside("--help").out.splitlines() if line.split()[:1] == ["130"]]
    assert "serve" in line
