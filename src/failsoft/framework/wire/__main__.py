"""`python -m failsoft.framework.wire --write docs/schemas` writes the formats' schemas; `--check` compares them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from failsoft.framework.wire import schema_files, write_schemas

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the published schemas; the exit code is 1 if `--check` found a difference."""
    parser = argparse.ArgumentParser(prog="python -m failsoft.framework.wire", description=main.__doc__)
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--write", metavar="FOLDER", type=Path, help="write the schema of every format")
    way.add_argument("--check", metavar="FOLDER", type=Path, help="name the schemas that are missing, stale or surplus")
    options = parser.parse_args(arguments)
    return _write(options.write) if options.write is not None else _check(options.check)


def _write(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for surplus in {path.name for path in folder.glob("*.schema.json")} - schema_files().keys():
        (folder / surplus).unlink()
    write_schemas(folder)
    return 0


def _check(folder: Path) -> int:
    wanted = schema_files()
    present = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.schema.json")}
    wrong = [f"missing: {name}" for name in wanted.keys() - present.keys()]
    wrong += [f"surplus: {name}" for name in present.keys() - wanted.keys()]
    wrong += [f"stale: {name}" for name in wanted.keys() & present.keys() if wanted[name] != present[name]]
    for line in sorted(wrong):
        sys.stderr.write(f"{line}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
