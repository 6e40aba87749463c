"""A server over HTTP, started with the command."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.zygote import PYTHON

__all__ = ["serving"]


@contextmanager
def serving(
    folder: Path, *arguments: str, env: Mapping[str, str] | None = None, python: str = PYTHON
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `failsoft serve` on a free port, and yield the URL that it announces, and the process."""
    with subprocess.Popen(
        [python, "-m", "failsoft", "serve", *arguments, "--transport", "http", "--port", "0"],
        cwd=folder,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            lines = iter(process.stderr.readline, "")
            announced = next((found for line in lines if (found := re.search(r"(http://\S+)/mcp", line))), None)
            assert announced is not None
            yield announced[1], process
        finally:
            process.kill()
