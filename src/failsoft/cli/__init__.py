"""The command `failsoft`: one file per command."""

from __future__ import annotations

from failsoft.cli.commands import app, run

__all__ = ["app", "main"]


def main() -> int:
    """Run the command line of this process and return its exit code."""
    return int(run())
