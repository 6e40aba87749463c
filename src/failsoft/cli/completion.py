"""Shell completion of toolsets, operations and error codes."""

from __future__ import annotations

from collections.abc import Iterable

from failsoft.framework.plugins import installed_points


def complete_toolsets(incomplete: str) -> list[str]:
    """Return the installed toolsets with this prefix."""
    return _beginning(incomplete, {found.name for found in installed_points("failsoft.toolsets")})


def complete_operations(incomplete: str) -> list[str]:
    """Return the operations with this prefix, of the project's application or of the installed toolsets."""
    from failsoft.cli.targets.toolsets import CommandTarget, installed_tools  # noqa: PLC0415 - as above

    try:
        target = CommandTarget()
        tools = target.tools() if target.is_named else installed_tools(None)
    except Exception:  # noqa: BLE001 - a shell shows nothing rather than an error in the middle of a line
        return []
    return _beginning(incomplete, {name for tool in tools for name in tool.operations})


def complete_codes(incomplete: str) -> list[str]:
    """Return the error codes with this prefix, ignoring case."""
    from failsoft.cli.known_codes import known_codes  # noqa: PLC0415 - as above

    return _beginning(incomplete.upper(), known_codes())


def _beginning(start: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(start))
