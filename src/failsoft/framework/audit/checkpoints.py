"""Signed checkpoints: entries that record the ends of closed files, so that these can be moved away.

A checkpoint is an entry of the chain with the end of each closed file. A log may begin after any of these ends.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from failsoft.framework.audit.sealing import Head
from failsoft.framework.clock import utc_timestamp
from failsoft.framework.ids import new_id
from failsoft.framework.services.regular_files import opened_regular

_EVENT = "checkpoint"
_BLOCK = 1 << 20


def checkpoint(files: Iterable[tuple[Path, Head]], *, lost: Head | None = None) -> dict[str, Any]:
    """Return the facts of a checkpoint that closes these files. Reads all of them.

    Args:
        files: Rotated files, in order, each with its last entry.
        lost: The last of the missing entries, if an operator has accepted their loss; `BEGINNING` for that of the head.

    Raises:
        OSError: One cannot be read.
    """
    closed: list[dict[str, Any]] = [{"file": file.name, **_end(head), "sha256": _digest(file)} for file, head in files]
    if lost is not None:
        closed.insert(0, {"file": None, **_end(lost)})
    return log_event(_EVENT, reason="archive" if lost is None else "loss", closed=closed)


def log_event(event: str, **facts: Any) -> dict[str, Any]:
    """Return the facts of an entry about the log itself."""
    return {
        "event": event,
        "error_id": new_id(),
        "timestamp": utc_timestamp(),
        "tool": "failsoft",
        "operation": "audit",
        "code": None,
        **facts,
    }


def checkpoint_ends(entry: Mapping[str, Any]) -> frozenset[Head]:
    """Return the ends that a checkpoint records; none if the entry is not a checkpoint."""
    if entry.get("event") != _EVENT or not isinstance(entry.get("closed"), list):
        return frozenset()
    return frozenset(Head(one["last"], one["last_hash"]) for one in entry["closed"])


def _end(head: Head) -> dict[str, Any]:
    return {"last": head.seq, "last_hash": head.hash}


def _digest(file: Path) -> str:
    digest = hashlib.sha256()
    descriptor = opened_regular(file)
    try:
        while block := os.read(descriptor, _BLOCK):
            digest.update(block)
    finally:
        os.close(descriptor)
    return digest.hexdigest()
