"""The command `failsoft`; each command is one file in `commands`."""

from __future__ import annotations

from failsoft.server.garbage import collect_rarely

__all__ = ["main"]


def main() -> int:
    """Run the command line of this process and return its exit code."""
    collect_rarely()
    from failsoft.cli.app import run  # noqa: PLC0415 - imported with fewer collections

    return int(run())
