"""Command line of modules with generated files: `--write FOLDER` writes them, `--check FOLDER` compares them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

__all__ = ["write_or_check"]


def write_or_check(
    module: str, pattern: str, wanted: Callable[[], Mapping[str, str]], arguments: Sequence[str] | None
) -> int:
    """Run the command line of a module; return 1 if `--check` found a difference, else 0.

    Args:
        module: The module, for the usage line.
        pattern: Glob of the files in the folder; others are left alone.
        wanted: Returns the text of each file by its name.
        arguments: By default those of the process.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}")
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--write", metavar="FOLDER", type=Path, help="write all files, and delete surplus ones")
    way.add_argument("--check", metavar="FOLDER", type=Path, help="list files that are missing, stale or surplus")
    options = parser.parse_args(arguments)
    return (
        _check(options.check, pattern, wanted()) if options.write is None else _write(options.write, pattern, wanted())
    )


def _write(folder: Path, pattern: str, wanted: Mapping[str, str]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob(pattern):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


def _check(folder: Path, pattern: str, wanted: Mapping[str, str]) -> int:
    present = {path.name: path.read_text(encoding="utf-8") for path in folder.glob(pattern)}
    wrong = [f"missing: {name}" for name in wanted.keys() - present.keys()]
    wrong += [f"surplus: {name}" for name in present.keys() - wanted.keys()]
    wrong += [f"stale: {name}" for name in wanted.keys() & present.keys() if wanted[name] != present[name]]
    for line in sorted(wrong):
        sys.stderr.write(f"{line}\n")
    return 1 if wrong else 0
