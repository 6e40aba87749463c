"""A real PostgreSQL with pgvector, on a socket of its own: one for the session, which a test may kill.

Tests that need the one of the session are of one group, `IN_POSTGRES`, so that one worker alone starts it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.programs.no_orphan import NO_ORPHAN

__all__ = ["IN_POSTGRES", "PostgresServer", "mortal_postgres", "postgres", "postgres_url"]

IN_POSTGRES = pytest.mark.xdist_group("postgres")
"""Marks the tests that use the server of the session."""

PATIENCE_S = 60.0
_NOBODY = 65_534


def _linked(source: str, target: str) -> None:
    """Give a file another name, or copy it where that is another disk."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


class PostgresServer:
    """One server. It does not run as root, so what it needs is copied to where another user may read it."""

    def __init__(self) -> None:
        pgserver = pytest.importorskip("pgserver", reason="pgserver is not installed (PyPI: pgserver)")
        pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
        package = Path(pgserver.__file__).parent
        self.folder = Path(tempfile.mkdtemp(prefix="fs"))  # not pytest's: the path of a socket is 108 bytes at most
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            self._user = {"user": _NOBODY, "group": _NOBODY, "extra_groups": ()}
            for name in ("pgserver", "pgserver.libs"):  # the programs, and the libraries that they find beside them
                if package.with_name(name).is_dir():
                    copied = self.folder / "program" / name
                    shutil.copytree(package.with_name(name), copied, symlinks=True, copy_function=_linked)
            package = self.folder / "program/pgserver"
            for folder in (self.folder, self.folder / "program"):
                folder.chmod(0o755)
        (self.folder / "state").mkdir()
        if self._user:
            os.chown(self.folder / "state", _NOBODY, _NOBODY)
        self._bin = package / "pginstall/bin"
        self._data = self.folder / "state/data"
        self._process: subprocess.Popen[bytes] | None = None
        made = ("initdb", "-D", self._data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "-N")
        try:
            self._run(*made)
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        return self.url_of("postgres")

    def url_of(self, name: str) -> str:
        """Return the address of one of its databases."""
        return f"postgresql://postgres@/{name}?host={self.folder / 'state'}"

    def create(self, name: str) -> None:
        """Make an empty database."""
        import psycopg  # noqa: PLC0415 - an extra

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')

    def start(self) -> None:
        """Start it, and wait until it answers."""
        until = time.monotonic() + PATIENCE_S
        while not self._try_to_start(until):
            assert time.monotonic() < until, (self.folder / "log").read_text()

    def _try_to_start(self, until: float) -> bool:
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        sockets = self.folder / "state"
        command = [*NO_ORPHAN, self._bin / "postgres", "-D", self._data, "-k", sockets, "-c", "listen_addresses=", "-F"]
        log = (self.folder / "log").open("ab")
        self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", **self._user)
        log.close()
        while not self._answers():
            assert time.monotonic() < until, "PostgreSQL takes too long to start"
            if self._process.poll() is not None:  # children of a killed server may still hold its memory
                return False
            time.sleep(0.01)
        return True

    def kill(self) -> None:
        """End the server and its children at once, as a crash of the machine would."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)  # so that it has no more children than are read below
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        for process in (self._process.pid, *map(int, children)):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._process.wait()

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)  # without writing anything more
            self._process.wait(PATIENCE_S)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self) -> bool:
        import psycopg  # noqa: PLC0415 - an extra

        try:
            with psycopg.connect(self.url, connect_timeout=2):
                return True
        except psycopg.OperationalError:
            return False

    def _run(self, program: str, *arguments: str | Path) -> None:
        subprocess.run([self._bin / program, *arguments], check=True, capture_output=True, cwd="/", **self._user)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Return the server of this session."""
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    """Return the address of an empty database."""
    name = f"t{uuid.uuid4().hex}"
    postgres.create(name)
    return postgres.url_of(name)


@pytest.fixture
def mortal_postgres(postgres: PostgresServer) -> Iterator[PostgresServer]:
    """Return the server of this session for a test that kills it; afterwards it runs again."""
    yield postgres
    if not postgres.runs:
        postgres.start()
