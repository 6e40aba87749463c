"""Signed checkpoints: entries that record the ends of closed files, so that these can be moved away.

A checkpoint is an entry of the keyed chain with the end of each closed file. A log may begin after any of these ends.
The keyed chain can continue an unkeyed log of an earlier version only through a checkpoint.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from failsoft.framework.audit.sealing import BadLine, Head
from failsoft.framework.clock import utc_timestamp
from failsoft.framework.ids import new_id
from failsoft.framework.services.regular_files import opened_regular

__all__ = ["EVENT", "HEAD_MISSING", "Reason", "checkpoint", "closed_ends", "noted", "require_closing"]

EVENT = "checkpoint"
HEAD_MISSING = "head_missing"
"""The event of the first entry after a start at which the head was gone: cuts before it would not show."""
Reason: TypeAlias = Literal["archive", "unkeyed", "loss"]
_BLOCK = 1 << 20
_NOT_CLOSED = "the entries before it were sealed without a key, and no checkpoint closes them"


def checkpoint(files: Iterable[tuple[Path, Head]], reason: Reason, *, lost: Head | None = None) -> dict[str, Any]:
    """Return the facts of a checkpoint that closes these files. Reads all of them.

    Args:
        files: Rotated files, in order, each with its last entry.
        reason: Why they are closed: to be archived, because they carry no key, or because a beginning was lost.
        lost: The last of the missing entries whose loss an operator has accepted.

    Raises:
        OSError: One cannot be read.
    """
    closed: list[dict[str, Any]] = [{"file": file.name, **_end(head), "sha256": _digest(file)} for file, head in files]
    if lost is not None:
        closed.insert(0, {"file": None, **_end(lost)})
    return noted(EVENT, reason=reason, closed=closed)


def noted(event: str, **facts: Any) -> dict[str, Any]:
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


def closed_ends(entry: Mapping[str, Any]) -> frozenset[Head]:
    """Return the ends that a checkpoint records; none if the entry is not a checkpoint."""
    if entry.get("event") != EVENT or not isinstance(entry.get("closed"), list):
        return frozenset()
    return frozenset(Head(one["last"], one["last_hash"]) for one in entry["closed"])


def require_closing(entry: Mapping[str, Any], end: Head) -> None:
    """Raise unless the entry is a checkpoint that closes the unkeyed entries up to `end`.

    Raises:
        BadLine: It is not.
    """
    if end not in closed_ends(entry):
        raise BadLine(_NOT_CLOSED)


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
