"""`Toolbox`: the tools that one server offers together, so that a next step only ever names a tool that exists."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.operation import BoundOperation

__all__ = ["Served", "Toolbox"]


class Served(Protocol):
    """What a box needs of a toolset; `BaseTool` is the real one."""

    @property
    def name(self) -> str:
        """The toolset's name."""

    @property
    def operations(self) -> Mapping[str, BoundOperation[..., Any]]:
        """Its operations by MCP tool name."""


class Toolbox:
    """The operations of several toolsets under their MCP names, in the order of registration.

    Raises:
        CONFIG_ERROR: Two operations have one name; the message says how to rename one of them.
    """

    __slots__ = ("_operations", "tools")

    def __init__(self, tools: Iterable[Served]) -> None:
        self.tools: tuple[Served, ...] = tuple(tools)
        self._operations: dict[str, BoundOperation[..., Any]] = {}
        for tool in self.tools:
            for name, bound in tool.operations.items():
                taken = self._operations.get(name)
                if taken is not None:
                    where = f"in {taken.tool_name} and {tool.name}"
                    raise ConfigurationError(
                        issue=f"two tools are named '{name}' ({where}): prefix one of the names",
                        resolution=f'rename one: @operation(name="{tool.name}_{name}")',
                    )
                self._operations[name] = bound

    @property
    def operations(self) -> Mapping[str, BoundOperation[..., Any]]:
        """The operations by MCP tool name."""
        return self._operations

    @property
    def names(self) -> tuple[str, ...]:
        """The MCP tool names, in the order of registration."""
        return tuple(self._operations)

    def find(self, name: str) -> BoundOperation[..., Any] | None:
        """Return the operation of that MCP name, or None."""
        return self._operations.get(name)

    def closest(self, name: str) -> str | None:
        """Return the MCP name that is most like this one, or None if none is like it."""
        matches = difflib.get_close_matches(name[:128], self._operations, n=1, cutoff=0.6)
        return matches[0] if matches else None

    def __iter__(self) -> Iterator[BoundOperation[..., Any]]:
        return iter(self._operations.values())
