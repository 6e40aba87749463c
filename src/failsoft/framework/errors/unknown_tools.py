"""The tools that a call of an unknown name may mean: the one that is certain, else up to ten, the likeliest first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from failsoft.framework.errors.core import UnknownTool
from failsoft.framework.errors.corrections import how_far, is_same_spelling, near_names
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded, named, quoted

_NAME_AT_MOST = 128
_LISTED_AT_MOST = 10
_JUDGED_AT_MOST = 50
_VALIDATED_AT_MOST = 20
"""Tools whose arguments are validated, of those with the names that were sent: a proxy may have thousands."""


class Offered(NamedTuple):
    """A tool that is there: whether it is read-only, the schema of its arguments, and what validates them."""

    read_only: bool
    schema: Mapping[str, Any]
    validate: Callable[[dict[str, Any]], Any]


def unknown_tool(name: str, arguments: Mapping[str, Any], tools: Mapping[str, Offered]) -> UnknownTool:
    """Return the error of a call of a name that no tool has, with the tool that is meant, or a list of the likeliest.

    In the list, tools that take the arguments come first, read-only ones before others, then those of similar names.

    Args:
        name: As called.
        arguments: Those of the call.
        tools: What there is, by name.
    """
    shown = bounded(name, _NAME_AT_MOST)
    similar = [*dict.fromkeys([*near_names(shown, tools, at_least=0, at_most=None), *tools])]
    fitting = _fitting(arguments, similar, tools)
    meant = _certain(shown, similar[:_JUDGED_AT_MOST], tools, fitting)

    def rank(own: str) -> tuple[bool, bool]:
        return own not in fitting, not tools[own].read_only

    listed = () if meant else tuple(sorted(similar, key=rank)[:_LISTED_AT_MOST])
    is_lone_write = len(listed) == 1 and not tools[listed[0]].read_only  # a list of one would be read as advice
    violation = Violation(
        path="",
        reason="unknown_tool",
        message=f"there is no tool named {quoted(shown)}",
        expected="the name of a tool of this server",
        allowed=() if is_lone_write else listed,
        suggestion=meant,
        is_standard=True,
    )
    return UnknownTool(name=shown, violations=[violation])


def tools_meant(error: UnknownTool) -> str:
    """Return which tool is meant as a question, or the names of those that there are; empty if it is not known."""
    meant, names = next(((item.suggestion, item.allowed) for item in error.violations), (None, ()))
    if meant is not None:
        return f"Did you mean {named(meant)}?"
    title = "Tools" if len(names) < _LISTED_AT_MOST else "Some of the tools"
    return f"{title}: {', '.join(map(named, names))}." if names else ""


def _certain(name: str, similar: Sequence[str], tools: Mapping[str, Offered], fitting: Sequence[str]) -> str | None:
    """Return the tool that a name is in another spelling, or None if that is not certain.

    A tool with effects is returned only for a difference in case or separators, or of one letter. Of several that are
    equally near, the one that takes the arguments is meant.
    """
    likely = [
        own for own in similar if how_far(name, own, what="tool", changes=not tools[own].read_only) in {"use", "ask"}
    ]
    likely = [own for own in likely if is_same_spelling(name, own)] or likely
    if len(likely) > 1:
        likely = [own for own in likely if own in fitting]
    return likely[0] if len(likely) == 1 else None


def _fitting(arguments: Mapping[str, Any], similar: Sequence[str], tools: Mapping[str, Offered]) -> list[str]:
    """Return the tools that take the arguments, the most similar names first."""
    given = arguments.keys()
    alike: list[str] = []
    for own in similar:
        schema = tools[own].schema
        if given <= schema.get("properties", {}).keys() and given >= {*schema.get("required", ())}:
            alike.append(own)
    return [own for own in alike[:_VALIDATED_AT_MOST] if _takes(tools[own], arguments)]


def _takes(tool: Offered, arguments: Mapping[str, Any]) -> bool:
    try:
        tool.validate(dict(arguments))
    except Exception:  # noqa: BLE001 - an author's own validator may raise anything
        return False
    return True
