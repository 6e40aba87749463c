"""The catalogue of errors: from code to class, and the pages that are rendered from the classes alone."""

from __future__ import annotations

from collections.abc import Iterator

from failsoft.framework.errors import ToolError
from failsoft.framework.errors.base import is_code, registry
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.errors.pages import index_of, page_of, pages_of
from failsoft.framework.text import bounded


def entries() -> tuple[type[ToolError], ...]:
    """Return the classes of all errors that have been imported, sorted by code."""
    return tuple(registry[code] for code in sorted(registry))


def lookup(code: str) -> type[ToolError] | None:
    """Return the class of a code, or of a name that a wire format gives it, or None; case does not matter.

    Where one class has the name as its code and another as an alias, the code wins.
    """
    wanted = code.strip().upper()
    if wanted in registry:
        return registry[wanted]
    return next((entry for entry in entries() if wanted in _aliases(entry)), None)


def faults() -> list[str]:
    """Return the faults of the entries: a class may have been modified after its definition."""
    found = []
    for code, entry in sorted(registry.items()):
        if entry.code != code:
            found.append(f"{entry.__qualname__} is registered as {code}, but has the code {entry.code}")
        if not (entry.__doc__ or "").strip():
            found.append(f"{code} is not documented")
        found += [f"{code} has the malformed name {bounded(name)}" for name in _aliases(entry) if not is_code(name)]
    return found


def _aliases(entry: type[ToolError]) -> Iterator[str]:
    """Yield every other name of a class."""
    yield from entry.aliases.values()
    for by_reason in entry.aliases_by_reason.values():
        yield from by_reason.values()


def closest(code: str) -> str | None:
    """Return the code that is closest to an unknown one, or None if none is close."""
    return closest_name(code, registry)


def render_page(code: str | type[ToolError]) -> str:
    """Return the documentation of one error as Markdown, rendered from its class.

    Raises:
        KeyError: There is no such code.
    """
    entry = lookup(code) if isinstance(code, str) else code
    if entry is None:
        raise KeyError(code)
    return page_of(entry)


def pages() -> dict[str, str]:
    """Return every page of failsoft's own documentation of errors, one for each category, by file name."""
    own = [entry for entry in entries() if entry.__module__.startswith("failsoft.")]
    return {"index.md": index_of(own), **pages_of(own)}
