"""What a real operating system refuses, set up for a test: mounts, and rights given up for a while."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

__all__ = ["NOBODY", "Mount", "as_nobody", "as_root", "mounts", "read_only"]

NOBODY = 65534

Mount = Callable[..., None]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up rights for a while")


@contextmanager
def mounts() -> Iterator[Mount]:
    """Give what mounts something until the end; a machine where nobody may skips the test."""
    with ExitStack() as stack:

        def mount(target: Path, *arguments: str | Path) -> None:
            made = subprocess.run(["mount", *arguments, target], capture_output=True, text=True, check=False)
            if made.returncode:
                pytest.skip(f"no mounts here: {made.stderr.strip()}")
            if "remount" not in str(arguments):
                stack.callback(subprocess.run, ["umount", "-l", target], check=True)

        yield mount


def read_only(mount: Mount, folder: Path) -> None:
    """Have a folder that is there become a read-only disk."""
    mount(folder, "--bind", folder)
    mount(folder, "-o", "remount,bind,ro")


@contextmanager
def as_nobody() -> Iterator[None]:
    """Give up root's rights for a while, which make every file readable."""
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
