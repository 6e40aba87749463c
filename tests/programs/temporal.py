"""A real Temporal: its development server, with or without a database, killed and started again at the same address."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ports import reserved_ports
from tests.programs.no_orphan import NO_ORPHAN

__all__ = ["TemporalServer", "temporal", "temporal_program", "temporal_session"]

PATIENCE_S = 60.0


def temporal_program() -> str:
    """Return the path of the server, or skip the test."""
    fetched = Path(os.environ.get("TEMPORAL_SERVER", Path.home() / ".cache/failsoft-temporal-server"))
    program = shutil.which("temporal", path=f"{fetched}/cli/bin:{os.environ['PATH']}")
    if program is None:
        pytest.skip("the Temporal server was not fetched (scripts/fetch.sh temporal_server)")
    pytest.importorskip("temporalio", reason="the extra 'temporal' is not installed")
    return program


class TemporalServer:
    """A server in a process of its own. What waits there survives a kill if it has a database.

    Args:
        port: Where it listens, on loopback.
        database: Its file; None keeps everything in memory.
    """

    def __init__(self, port: int, database: Path | None = None) -> None:
        self.url = f"temporal://127.0.0.1:{port}/default"
        self._port = port
        self._command = [*NO_ORPHAN, temporal_program(), "server", "start-dev", "--headless", "--log-level", "error"]
        self._command += ["--port", str(port), *(("--db-filename", str(database)) if database else ())]
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE_S
        while not self._listens():
            assert self._process.poll() is None, "Temporal did not start"
            assert time.monotonic() < until, "Temporal takes too long to start"
            time.sleep(0.02)

    def kill(self) -> None:
        """End it at once, as a crash or the kernel would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE_S)

    def _listens(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self._port)) == 0


@pytest.fixture(scope="session")
def temporal_session() -> Iterator[TemporalServer]:
    """Return the server of this session; task queues keep tests apart."""
    with reserved_ports(1) as [port]:
        server = TemporalServer(port)
        yield server
        server.kill()


@pytest.fixture
def temporal(temporal_session: TemporalServer) -> TemporalServer:
    """Return the server of this session."""
    return temporal_session
