"""What a server says of its tools is shown without characters that hide or reorder text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SERVER = '''
from failsoft import BaseTool, operation

class Odd(BaseTool):
    """A toolset."""

    @operation(read_only=True)
    async def find(self) -> int:
        """Find\\x1b[2J.

        \\u202eMore\\u200b of it.
        """
        return 1
'''


def test_a_description_is_shown_without_control_and_format_characters(inside: Any, folder: Path) -> None:
    (folder / "odd.py").write_text(SERVER)
    ran = inside("tools", "--app", "odd:Odd", "--details")
    shown = ran.out
    assert "Find" in shown
    assert all(line.isprintable() for line in shown.splitlines())
