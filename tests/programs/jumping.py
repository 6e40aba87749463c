"""A system clock that jumps: libfaketime in a program of its own, whose other clocks go on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

__all__ = ["JumpingClock"]


class JumpingClock:
    """The clock of the programs that it runs; a jump is there for those that run already, too.

    Args:
        folder: Holds the file that says how far it is off.
    """

    def __init__(self, folder: Path) -> None:
        program = shutil.which("faketime")
        if program is None:
            pytest.skip("faketime is not installed (Debian: faketime)")
        command = [program, "-m", "-f", "+0", "/usr/bin/env"]
        shown = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        library = next(line for line in shown.splitlines() if line.startswith("LD_PRELOAD="))
        self._file = folder / "clock"
        self._environment = {
            "LD_PRELOAD": library.removeprefix("LD_PRELOAD="),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        self.jump(0)

    def jump(self, seconds: int) -> None:
        """Let the clock be so far ahead, or behind."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{seconds:+d}", encoding="ascii")
        new.rename(self._file)

    def start(self, program: Path, *arguments: str) -> subprocess.Popen[str]:
        """Start a Python program; each line that it reads from its stdin is answered by one on its stdout."""
        command = [sys.executable, str(program), *arguments]
        environment = {**os.environ, **self._environment, "PYTHONPATH": str(Path(__file__).parents[2])}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return subprocess.Popen(command, env=environment, text=True, bufsize=1, **pipes)
