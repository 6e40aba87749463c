"""What toolsets leave open when one server serves them, said at its start and by the security check."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.text import enumerated

_NAMED_AT_MOST = 5


def open_risks(tools: Sequence[BaseTool]) -> Iterator[tuple[str, str, str]]:
    """Yield what these toolsets leave open in one server: a setting or a folder, what it allows, and a remedy."""
    for tool in tools:
        yield from getattr(tool, "open_risks", tuple)()
    governed = [tool for tool in tools if tool.governed]
    for tool, other in itertools.product(governed, [one for one in tools if not one.governed]):
        shared = sorted(inner for one in tool.roots for two in other.roots if (inner := _inner(one, two)))
        names = [name for name, bound in other.operations.items() if not bound.read_only]
        if shared and names:
            allows = f"{enumerated(names, _NAMED_AT_MOST)} of '{other.name}' need no session, role or plan there"
            yield (
                shared[0],
                f"{allows}, as the calls of '{tool.name}' do",
                f"serve '{other.name}' with another server, or not at all",
            )


def _inner(one: Path, two: Path) -> str:
    """Return the folder that both folders contain; empty if there is none."""
    one, two = one.resolve(), two.resolve()
    return str(one) if one.is_relative_to(two) else str(two) if two.is_relative_to(one) else ""
