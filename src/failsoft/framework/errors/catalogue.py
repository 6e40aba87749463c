"""The catalogue of errors: from code to class, and the pages that are rendered from the classes alone.

`python -m failsoft.framework.errors.catalogue --write docs/reference/errors` writes the pages, `--check` compares them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from failsoft.framework.did_you_mean import closest_name
from failsoft.framework.errors import ToolError
from failsoft.framework.errors.base import is_code, registry
from failsoft.framework.errors.pages import index_of, page_of
from failsoft.framework.text import bounded

__all__ = ["closest", "entries", "faults", "lookup", "pages", "render_page"]


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
    """Return every page of failsoft's own documentation of errors, by file name."""
    own = [entry for entry in entries() if entry.__module__.startswith("failsoft.")]
    return {"index.md": index_of(own), **{f"{entry.code}.md": page_of(entry) for entry in own}}


def _load_toolsets() -> None:
    """Import the toolsets that ship with failsoft: the pages contain their errors, but no third-party ones."""
    from importlib.metadata import distribution  # noqa: PLC0415 - only the writing of pages needs it

    for point in distribution("failsoft").entry_points.select(group="failsoft.toolsets"):
        point.load()


def _write(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for surplus in {path.name for path in folder.glob("*.md")} - wanted.keys():
        (folder / surplus).unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


def _check(folder: Path) -> int:
    """Print pages that are missing, stale or surplus and return 1; return 0 if there are none."""
    wanted = pages()
    present = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    wrong = [f"missing: {name}" for name in wanted.keys() - present.keys()]
    wrong += [f"surplus: {name}" for name in present.keys() - wanted.keys()]
    wrong += [f"stale: {name}" for name in wanted.keys() & present.keys() if wanted[name] != present[name]]
    for line in sorted(wrong):
        sys.stderr.write(f"{line}\n")
    return 1 if wrong else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the pages of the errors; the exit code is 1 if `--check` found a difference."""
    import argparse  # noqa: PLC0415 - only the writing of pages needs it

    parser = argparse.ArgumentParser(prog="python -m failsoft.framework.errors.catalogue", description=main.__doc__)
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument(
        "--write", metavar="FOLDER", type=Path, help="write all pages, delete those of codes that are gone"
    )
    way.add_argument("--check", metavar="FOLDER", type=Path, help="name the pages that are missing, stale or surplus")
    options = parser.parse_args(arguments)
    _load_toolsets()
    return _write(options.write) if options.write is not None else _check(options.check)


if __name__ == "__main__":
    raise SystemExit(main())
