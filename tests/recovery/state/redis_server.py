"""A real Redis server for tests, on a socket of its own: started, killed, stopped for a while, started again."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

__all__ = ["RedisServer"]

PATIENCE_S = 60.0


class RedisServer:
    """One server. What it holds is gone when it is killed, as with a cache."""

    def __init__(self, *options: str) -> None:
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("redis-server is not installed (Debian: redis-server)")
        self._folder = tempfile.mkdtemp(prefix="fs")  # not pytest's: the path of a socket is 108 bytes at most
        self.socket = Path(self._folder) / "redis.sock"
        self._command = [program, "--port", "0", "--unixsocket", str(self.socket), "--save", "", "--dir", self._folder]
        self._command += options
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> None:
        self.socket.unlink(missing_ok=True)
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE_S
        while not self._answers():
            assert self._process.poll() is None, "redis-server did not start"
            assert time.monotonic() < until, "redis-server takes too long to start"
            time.sleep(0.005)

    def _answers(self) -> bool:
        """Return whether it answers a PING: the socket is there before the server accepts connections."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1.0)
            try:
                client.connect(str(self.socket))
                client.sendall(b"PING\r\n")
                return client.recv(7) in {b"+PONG\r\n", b"-NOAUTH"}
            except OSError:
                return False

    def kill(self) -> None:
        """End it at once, as a crash or the kernel would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE_S)

    def suspend(self) -> None:
        """Let it hang: it takes connections and never answers."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGCONT)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)
