"""`failsoft serve docs` over HTTP."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.zygote import PYTHON

__all__ = ["BOUND_S", "docs_served", "documents_in"]

BOUND_S = 120


def documents_in(root: Path) -> Path:
    """Return the folder, with two documents in it."""
    (root / "guide").mkdir()
    (root / "guide" / "intro.mdx").write_text("---\ntitle: Introduction\n---\nWelcome.\n", encoding="utf-8")
    (root / "guide" / "setup.md").write_text("# Setup\nHow to set it up.\n", encoding="utf-8")
    return root


@contextmanager
def docs_served(documents: Path, log: Path, *options: str, **variables: str) -> Iterator[str]:
    """Yield the address of a server of these documents, once it listens."""
    command = [PYTHON, "-m", "failsoft", "serve", "docs", "--root", str(documents), *options]
    command += ["--transport", "http", "--port", "0"]
    with log.open("wb") as errors:  # a pipe would have to be read all the time
        server = subprocess.Popen(command, env={**os.environ, **variables}, stderr=errors, stdout=subprocess.DEVNULL)
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
