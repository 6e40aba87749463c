"""What this process has open, for tests that look for a file left open."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

__all__ = ["all_open_files", "open_files"]

_OF_TESTS = ("pytest-of-", "/dev/shm/failsoft-", "failsoft-tests-")  # noqa: S108 - parts of paths, nothing is made
"""Parts of paths that only the folders of tests have."""


def all_open_files() -> set[tuple[str, Path]]:
    """Return the open descriptors, each with what it is open on."""
    found = set()
    for descriptor in list(Path("/proc/self/fd").iterdir()):
        with suppress(OSError):  # that of the listing itself is closed by now
            found.add((descriptor.name, descriptor.readlink()))
    return found


def open_files(own: Path) -> set[tuple[str, Path]]:
    """Return the open descriptors without those in folders of other tests, of which threads may go on for a while.

    Compare with `<=`: the garbage collector may close meanwhile what an earlier test left open.

    Args:
        own: The folder of the test that asks.
    """
    return {
        (number, target)
        for number, target in all_open_files()
        if target.is_relative_to(own) or not any(part in str(target) for part in _OF_TESTS)
    }
