"""The files of one log: the current one, and the rotated ones.

A full file is renamed to its name plus the number of its last entry, so that names sort in the order of the chain.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_DIGITS = 12
_BLOCK = 65_536


def segment_name(path: Path, last_seq: int) -> Path:
    """Return the name of a rotated file."""
    return path.with_name(f"{path.name}.{last_seq:0{_DIGITS}}")


def segments(path: Path) -> list[Path]:
    """Return the rotated files of a log, oldest first."""
    pattern = re.compile(re.escape(path.name) + rf"\.\d{{{_DIGITS},}}")
    try:
        aside = [file for file in path.parent.iterdir() if pattern.fullmatch(file.name)]
    except OSError:
        return []
    return sorted(aside, key=lambda file: int(file.suffix[1:]))


def last_line(path: Path) -> bytes:
    """Return the last complete line of a file, without its newline; empty if there is none."""
    with path.open("rb") as file:
        position = file.seek(0, os.SEEK_END)
        found = b""
        while position and found.count(b"\n") <= 1:  # the newline that ends it, and the one before it
            start = max(0, position - _BLOCK)
            file.seek(start)
            found = file.read(position - start) + found
            position = start
    complete = found.rpartition(b"\n")[0]
    return complete.rpartition(b"\n")[2]
