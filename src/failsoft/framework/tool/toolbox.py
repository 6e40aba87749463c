"""`Toolbox`: the tools of a server, so that next steps name only tools that are served."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from failsoft.framework.did_you_mean import certain_name, is_one_edit_away, same_name
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.errors.corrections import means_something_else

if TYPE_CHECKING:
    from failsoft.framework.tool.base import BaseTool
    from failsoft.framework.tool.bound_operation import BoundOperation

_READING = re.compile(r"(?i)(get|list|read|find|search|show|look|fetch|describe|count|check|view|query)(?![a-z])")
"""Prefixes of names of read-only tools."""
_NEAR_ENOUGH = 80
"""Minimum similarity of a suggested read-only tool; `read_file` is not `delete_file`."""
_LENGTH_AT_MOST = 128
_WORD = 3
"""Minimum length of a shortened word."""
_STEM = 8
"""Minimum length of a common prefix for which the only matching read-only tool is suggested."""


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

    def closest(self, name: str) -> str | None:
        """Return the MCP name that an unknown name means, or None if that is not certain; see `closest_tool`."""
        return closest_tool(name, {own: bound.read_only for own, bound in self._operations.items()})

    def __iter__(self) -> Iterator[BoundOperation]:
        return iter(self._operations.values())


def closest_tool(name: str, tools: Mapping[str, bool]) -> str | None:
    """Return the tool that an unknown name means, or None if that is not certain.

    A tool with effects is returned only for a difference in case or separators, or of one edit, and never for a
    name that begins with another verb of reading. Verbs of reading are equal: `search_rooms` is the only `find_rooms`.

    Args:
        name: As called.
        tools: Whether each tool is read-only, by name.
    """
    same = [own for own in tools if same_name(name, own)]
    if same:
        return same[0]
    verb = _READING.match(name)
    near = [own for own in tools if is_one_edit_away(name, own) and (tools[own] or _is_misspelt(name, own, verb))]
    if len(near) == 1:
        return near[0]
    readable = [own for own, read_only in tools.items() if read_only]
    abbreviated = [own for own in readable if _is_abbreviated(name, own)]
    if len(abbreviated) == 1:
        return abbreviated[0]
    rest = name[verb.end() :] if verb is not None else ""
    of_the_same = [own for own in readable if rest and same_name(rest, _READING.sub("", own, count=1))]
    if len(of_the_same) == 1:
        return of_the_same[0]
    stems = [own for own in readable if min(len(name), len(own)) >= _STEM and len(name) <= _LENGTH_AT_MOST]
    same_start = [own for own in stems if own.startswith(name) or name.startswith(own)]
    return same_start[0] if len(same_start) == 1 else certain_name(name, readable, at_least=_NEAR_ENOUGH)


def _is_misspelt(name: str, own: str, verb: re.Match[str] | None) -> bool:
    """Return whether a name one edit away from that of a tool with effects is a misspelling of it."""
    is_of_the_same_verb = verb is None or own.casefold().startswith(verb[0].casefold())
    return is_of_the_same_verb and not means_something_else(name, own)


def _is_abbreviated(name: str, own: str) -> bool:
    """Return whether two names have the same words, some of them shortened: `list_document_types`, `list_doc_types`."""
    pairs = [name[:_LENGTH_AT_MOST].casefold().split("_"), own.casefold().split("_")]
    return len(pairs[0]) == len(pairs[1]) and all(
        long.startswith(short) and (long == short or len(short) >= _WORD)
        for short, long in (sorted(pair, key=len) for pair in zip(*pairs, strict=True))
    )
