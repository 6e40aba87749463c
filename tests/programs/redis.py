"""A real Redis on a socket of its own: one for the session, empty for each test, and one for a test that kills it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs.no_orphan import NO_ORPHAN

__all__ = ["RedisServer", "RunningRedis", "own_redis", "redis_server", "redis_session"]

PATIENCE_S = 60.0


class RunningRedis:
    """A server that others use, too: it must not be ended."""

    def __init__(self, path: Path) -> None:
        self.socket = path

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def flush(self) -> None:
        """Make it as empty as a new one: no keys, no scripts."""
        for command in (b"FLUSHALL", b"SCRIPT FLUSH"):
            answer = self.ask(command)
            assert answer == b"+OK\r\n", answer

    def ask(self, command: bytes) -> bytes:
        """Return the first bytes of its answer to one command."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE_S)
            client.connect(str(self.socket))
            client.sendall(command + b"\r\n")
            return client.recv(100)


class RedisServer(RunningRedis):
    """A server of its own: started, killed, stopped for a while, started again.

    What it holds is gone when it is killed, as with a cache. The test that makes one closes it.
    """

    def __init__(self, *options: str) -> None:
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("redis-server is not installed (Debian: redis-server)")
        self._folder = tempfile.mkdtemp(prefix="fs")  # not pytest's: the path of a socket is 108 bytes at most
        super().__init__(Path(self._folder) / "redis.sock")
        self._command = [*NO_ORPHAN, program, "--port", "0", "--unixsocket", str(self.socket), "--save", ""]
        self._command += ["--dir", self._folder, *options]
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

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
        try:
            return self.ask(b"PING").startswith((b"+PONG", b"-NOAUTH"))
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


@pytest.fixture(scope="session")
def redis_session() -> Iterator[RunningRedis]:
    """Return the server of this session, for fixtures of a wider scope than a test; tests flush it."""
    server = RedisServer()
    yield RunningRedis(server.socket)
    server.close()


@pytest.fixture
def redis_server(redis_session: RunningRedis) -> RunningRedis:
    """Return the server of this session, with nothing in it."""
    redis_session.flush()
    return redis_session


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """Return a server that the test may kill, stop or configure."""
    server = RedisServer()
    yield server
    server.close()
