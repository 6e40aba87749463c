"""What this process has open, for tests that look for a file left open."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

__all__ = ["all_open_files", "open_files"]


def all_open_files() -> set[tuple[str, Path]]:
    """Return the open descriptors, each with what it is open on."""
    found = set()
    for descriptor in list(Path("/proc/self/fd").iterdir()):
        with suppress(OSError):  # that of the listing itself is closed by now
            found.add((descriptor.name, descriptor.readlink()))
    return found


def open_files(own: Path) -> set[tuple[str, Path]]:
    """Return the open descriptors of what a test can have opened: files in its folder, those above it, and of `/etc`.

    Threads of earlier tests may open others. Compare with `<=`: the garbage collector may close what an earlier test
    left open.

    Args:
        own: The folder of the test that asks.
    """
    return {
        (number, target)
        for number, target in all_open_files()
        if target.is_relative_to(own) or own.is_relative_to(target) or target.is_relative_to("/etc")
    }
