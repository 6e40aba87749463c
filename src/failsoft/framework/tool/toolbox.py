"""`Toolbox`: the tools of a server, so that next steps name only tools that are served."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.errors.corrections import how_far, is_same_spelling

if TYPE_CHECKING:
    from failsoft.framework.tool.base import BaseTool
    from failsoft.framework.tool.bound_operation import BoundOperation


class Toolbox:
    """The operations of several toolsets by MCP name, in the order of registration.

    Raises:
        CONFIG_ERROR: Two operations have one name; the message says how to rename one of them.
    """

    __slots__ = ("_operations", "tools")

    def __init__(self, tools: Iterable[BaseTool]) -> None:
        self.tools: tuple[BaseTool, ...] = tuple(tools)
        self._operations: dict[str, BoundOperation] = {}
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
    def operations(self) -> Mapping[str, BoundOperation]:
        """The operations by MCP tool name."""
        return self._operations

    @property
    def names(self) -> tuple[str, ...]:
        """The MCP tool names, in the order of registration."""
        return tuple(self._operations)

    def find(self, name: str) -> BoundOperation | None:
        """Return the operation of that MCP name, or None."""
        return self._operations.get(name)

    def closest(self, name: str, arguments: Mapping[str, Any] | None = None) -> str | None:
        """Return the MCP name that an unknown name means, or None if that is not certain; see `closest_tool`."""

        def takes_them(own: str) -> bool:
            try:
                self._operations[own].arguments.validate(arguments)
            except Exception:  # noqa: BLE001 - an author's own validator may raise anything
                return False
            return True

        tools = {own: bound.read_only for own, bound in self._operations.items()}
        return closest_tool(name, tools, fits=takes_them if arguments is not None else None)

    def __iter__(self) -> Iterator[BoundOperation]:
        return iter(self._operations.values())


def closest_tool(name: str, tools: Mapping[str, bool], *, fits: Callable[[str], bool] | None = None) -> str | None:
    """Return the tool that an unknown name is in another spelling, or None if that is not certain.

    A tool with effects is returned only for a difference in case or separators, or of one letter.

    Args:
        name: As called.
        tools: Whether each tool is read-only, by name.
        fits: Whether a tool takes the arguments of the call, which decides between tools that are equally near.
    """
    near = [
        own
        for own, read_only in tools.items()
        if how_far(name, own, what="tool", changes=not read_only) in {"use", "ask"}
    ]
    near = [own for own in near if is_same_spelling(name, own)] or near
    if len(near) > 1 and fits is not None:
        near = list(filter(fits, near))
    return near[0] if len(near) == 1 else None
