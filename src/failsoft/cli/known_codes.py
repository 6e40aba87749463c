"""Look-up of error codes: the framework's, the toolsets', an application's."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from failsoft.cli.faults import missing
from failsoft.framework.errors import ToolError
from failsoft.framework.errors.catalogue import entries, lookup
from failsoft.framework.text import bounded

_FRAMEWORK = ("failsoft.framework.", "failsoft.recovery.")


def own_codes(toolsets: Sequence[str] = (), app: str | None = None) -> dict[str, type[ToolError]]:
    """Return the framework's codes and their classes, and those of the toolsets and the application that are named.

    Raises:
        CONFIG_ERROR: One of them does not exist or cannot be loaded.
    """
    from failsoft.cli.targets.toolsets import CommandTarget  # noqa: PLC0415 - most codes are known without

    target = CommandTarget(toolsets, app, command="failsoft codes {}")
    packages = {_package(type(tool).__module__) for tool in (target.tools() if target.is_named else ())}
    everything = {kind.code: kind for kind in entries()}
    framework = {code: kind for code, kind in everything.items() if kind.__module__.startswith(_FRAMEWORK)}
    return framework | {code: kind for code, kind in everything.items() if _package(kind.__module__) in packages}


def _package(module: str) -> str:
    """Return the package whose codes belong together: one of our toolsets, else the top-level one."""
    parts = module.split(".")
    return ".".join(parts[:3]) if module.startswith("failsoft.tools.") else parts[0]


def known_codes(toolsets: Sequence[str] = (), app: str | None = None) -> dict[str, type[ToolError]]:
    """Return every code and its class, by code. A toolset that cannot be loaded is named on standard error.

    Args:
        toolsets: Names or applications, whose codes are to be known too.
        app: `module:attribute` of an application, whose codes are to be known too.

    Raises:
        CONFIG_ERROR: The application cannot be loaded.
    """
    from failsoft.cli.targets.toolsets import CommandTarget  # noqa: PLC0415 - most codes are known without
    from failsoft.server.sources import find_toolsets  # noqa: PLC0415 - as above

    target = CommandTarget(toolsets, app, command="failsoft explain CODE {}")
    if target.is_named:
        target.tools()
    for name, entry_point in find_toolsets().items():
        try:
            entry_point.load()
        except Exception as error:  # noqa: BLE001 - a third party's toolset must not hide the codes of the others
            typer.echo(f"The codes of the toolset '{name}' are missing: {bounded(str(error))}", err=True)
    listed = sorted(entries(), key=lambda kind: not kind.__module__.startswith(_FRAMEWORK))
    return {kind.code: kind for kind in listed}


def find_code(code: str, toolsets: Sequence[str] = (), app: str | None = None) -> type[ToolError]:
    """Return the class of a code, in whatever case it was typed; a class's name or a format's alias does as well.

    Raises:
        NOT_FOUND: There is no such code; the closest one is named.
        CONFIG_ERROR: The application cannot be loaded.
    """
    wanted = code.replace("-", "_")
    if not toolsets and app is None and (found := lookup(wanted)) is not None:
        return found
    known = known_codes(toolsets, app)
    by_class = {kind.__name__.casefold(): kind for kind in known.values()}
    found = lookup(wanted) or by_class.get(code.strip().casefold())
    if found is None:
        raise missing(
            kind="error code",
            name=code,
            known=list(known),
            command="failsoft explain {}",
            listing="failsoft codes",
        )
    return found
