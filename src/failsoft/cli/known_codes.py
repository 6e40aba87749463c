"""The error codes that a command can be asked about: ours, those of the installed toolsets, those of an application."""

from __future__ import annotations

import typer

from failsoft.cli.faults import missing
from failsoft.framework.catalogue import entries, lookup
from failsoft.framework.errors import ToolError
from failsoft.framework.text import bounded

__all__ = ["find_code", "known_codes"]


def known_codes(app: str | None = None) -> dict[str, type[ToolError]]:
    """Return every code and its class, by code. A toolset that cannot be loaded is named on standard error.

    Args:
        app: `module:attribute` of an application, whose codes are to be known too.

    Raises:
        CONFIG_ERROR: The application cannot be loaded.
    """
    from failsoft.server.registry import find_toolsets, load_app  # noqa: PLC0415 - most codes are known without

    if app is not None:
        load_app(app)
    for name, entry_point in find_toolsets().items():
        try:
            entry_point.load()
        except Exception as error:  # noqa: BLE001 - somebody else's toolset; the other codes are there all the same
            typer.echo(f"The codes of the toolset '{name}' are missing: {bounded(str(error))}", err=True)
    return {kind.code: kind for kind in entries()}


def find_code(code: str, app: str | None = None) -> type[ToolError]:
    """Return the class of a code, in whatever case it was typed; a class's name or a format's alias does as well.

    Raises:
        NOT_FOUND: There is no such code; the closest one is named.
        CONFIG_ERROR: The application cannot be loaded.
    """
    wanted = code.replace("-", "_")
    if app is None and (found := lookup(wanted)) is not None:
        return found
    known = known_codes(app)
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
