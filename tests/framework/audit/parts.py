"""Logs to write to, and a look at what is in them."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path
from typing import Any

from tests.doors import HeadFile, LogFile, Seal, default_head, key_from

__all__ = ["fact", "log_file", "on_disk", "seconds", "write"]


def log_file(path: Path, *, key: bytes | None = None, max_bytes: int = 1 << 24) -> LogFile:
    """Return a log, by default with the key and the head in the user's state folder."""
    seal = Seal(key if key is not None else partial(key_from, None))
    return LogFile(path, seal=seal, head=HeadFile(default_head(path), seal), max_bytes=max_bytes)


def fact(number: int, **more: Any) -> dict[str, Any]:
    """Return the facts of an entry that can be told from others."""
    return {"error_id": f"id-{number}", "code": "NOT_FOUND", **more}


def seconds(limit: float = 30.0) -> float:
    """Return the point in time so many seconds from now."""
    return time.monotonic() + limit


def write(path: Path, *numbers: int, **options: Any) -> None:
    """Append entries, each in a batch of its own, by a writer that leaves afterwards."""
    file = log_file(path, **options)
    for number in numbers:
        file.append([fact(number)], seconds())
    file.close()


def on_disk(path: Path) -> list[dict[str, Any]]:
    """Return the complete lines of one file."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
