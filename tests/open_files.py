"""What this process has open, for tests of what must be closed again."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

__all__ = ["open_files"]


def open_files() -> set[tuple[str, Path]]:
    """Return the open descriptors, each with what it is open on.

    Compare with `<=`: the garbage collector may close meanwhile what an earlier test left open. Databases are left out:
    the index of an earlier test's docs may open its own in the background.
    """
    found = set()
    for descriptor in list(Path("/proc/self/fd").iterdir()):
        with suppress(OSError):  # that of the listing itself is closed by now
            if ".sqlite3" not in (target := descriptor.readlink()).name:
                found.add((descriptor.name, target))
    return found
