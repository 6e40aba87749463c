"""The command `failsoft`; each command is one file in `commands`."""

from __future__ import annotations

from failsoft.cli.app import app, run

__all__ = ["app", "main"]


def main() -> int:
    """Run the command line of this process and return its exit code."""
    return int(run())
