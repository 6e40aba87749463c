"""Servers in processes of their own."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from tests.zygote import PYTHON

__all__ = ["BOUND_S", "SERVING", "Served"]

SERVING = Path(__file__).parent / "serving.py"
BOUND_S = 60
"""How long anything may take before a test gives up; nothing is expected to come near it."""


class Served:
    """A server in a process of its own. Its stderr is read by a thread, so that it never blocks."""

    program: tuple[str, ...] = (str(SERVING),)
    """What Python runs, before the arguments."""
    python: str = PYTHON

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [self.python, *self.program, *arguments],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._folder = tempfile.mkdtemp(prefix="failsoft-gate-")
        self.gate = str(Path(self._folder) / "gate")
        self.errors: list[str] = []
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            text = line.decode(errors="replace").rstrip()
            self.errors.append(text)
            self._lines.put(text)
        self._lines.put("")

    def wait_for(self, start: str) -> str:
        """Return the rest of the first stderr line, or message of a JSON line, that starts so."""
        while line := self._lines.get(timeout=BOUND_S):
            said = json.loads(line).get("message", "") if line.startswith('{"') else line
            if said.startswith(start):
                return str(said.removeprefix(start).strip())
        pytest.fail(f"the server ended without saying {start!r}: {self.errors}")

    def open_gate(self) -> None:
        """Let the calls that wait for the file `gate` go on."""
        Path(self.gate).touch()

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def wait(self) -> int:
        """Return the exit code."""
        code = self.process.wait(BOUND_S)
        self._reader.join(BOUND_S)
        return code

    def close(self) -> None:
        """End the process, whatever its state."""
        shutil.rmtree(self._folder, ignore_errors=True)
        if self.process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.terminate()  # a supervisor has to end its workers first
                self.process.terminate()
                self.process.wait(BOUND_S)
        self.process.kill()
        self.process.wait(BOUND_S)
        self._reader.join(BOUND_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]
