"""An entry as a line, sealed to the one before it, and checkpoints that close files.

A line is the canonical JSON of the entry (keys sorted, no blanks, ASCII only) with its hash appended as the last key.
Only that form is accepted when reading: JSON parsers hide duplicate keys, and the hash of the parsed object would
still match.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from failsoft.framework.clock import new_id, utc_timestamp
from failsoft.framework.files import opened_regular
from failsoft.framework.text import newer_format

_NO_JSON = "it is not JSON as this log writes it"
_OTHER_FORM = "it is not in the form that this log writes"
_NO_PLACE = "it has no number, or no place in the chain"
_CHANGED = "it was changed after it was written, or sealed with another key"
_NOT_NEXT = "it does not follow the entry before it"
_ADDED = frozenset({"alg", "prev", "seq"})
_ALGORITHM = "hmac-sha256"
FORMAT = 1
"""The format of entries; those of versions before it was noted have no `format`, and are of the first one."""
_HASH = re.compile(rb',"hash":"[0-9a-f]{64}"\}')
_HASH_LENGTH = len(b',"hash":""}') + 64
_EVENT = "checkpoint"
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


class BadLine(ValueError):
    """A line was changed or is malformed; the text says what is wrong, without quoting the line."""


class LogUnusable(Exception):
    """A log cannot be read here, though it may be whole; the text is a reason that fits into a sentence."""


class KeyUnusable(LogUnusable):
    """The key cannot be read or generated."""


class NewerFormat(LogUnusable):
    """A newer version of failsoft has written to it."""


class Head(NamedTuple):
    """End of a chain: the number of its last entry, from 1, and that entry's hash."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


BEGINNING = Head(0, "0" * 64)
"""The head before the first entry."""


class Seal:
    """Serializes entries to lines and verifies lines.

    Args:
        key: The key of the hashes, which are HMAC-SHA256: without it no valid line can be made. A function is called
            for the key when it is first needed, and may raise `KeyUnusable`.
    """

    def __init__(self, key: bytes | Callable[[], bytes]) -> None:
        self._key = key

    def digest(self, data: bytes) -> str:
        """Return the hash of some bytes in hexadecimal."""
        if not isinstance(self._key, bytes):
            self._key = self._key()
        return hmac.digest(self._key, data, "sha256").hex()

    def line(self, facts: Mapping[str, Any], after: Head) -> tuple[bytes, Head]:
        """Return the line of an entry that follows `after`, and the new end of the chain."""
        entry = {**facts, "alg": _ALGORITHM, "format": FORMAT, "prev": after.hash, "seq": after.seq + 1}
        body = canonical(entry)
        made = self.digest(body)
        return b'%s,"hash":"%s"}\n' % (body[:-1], made.encode()), Head(after.seq + 1, made)

    def open(self, line: bytes) -> dict[str, Any]:
        """Return the entry on a line, given without its newline.

        Raises:
            BadLine: It is not JSON, not in canonical form, or its hash does not match.
            NewerFormat: It is of a newer format.
        """
        body, given = line[:-_HASH_LENGTH] + b"}", line[-_HASH_LENGTH:]
        found: Any = None
        try:
            found = json.loads(body)
            is_canonical = isinstance(found, dict) and canonical(found) == body
        except (ValueError, RecursionError):
            raise BadLine(_NO_JSON) from None
        if not is_canonical or not _HASH.fullmatch(given):
            raise BadLine(_OTHER_FORM)
        entry: dict[str, Any] = found
        made = entry.get("format", FORMAT)
        if type(made) is int and made > FORMAT:
            raise NewerFormat(newer_format(made, FORMAT, "set another FAILSOFT_AUDIT_PATH"))
        if not entry.keys() >= _ADDED or type(entry["seq"]) is not int or not isinstance(entry["prev"], str):
            raise BadLine(_NO_PLACE)
        digest = self.digest(body)
        if entry["alg"] != _ALGORITHM or not hmac.compare_digest(given, b',"hash":"%s"}' % digest.encode()):
            raise BadLine(_CHANGED)
        entry["hash"] = digest
        return entry


def canonical(tree: Mapping[str, Any]) -> bytes:
    """Return a JSON object in canonical form: keys sorted, no blanks, ASCII only."""
    return _encode(tree).encode("ascii")


def follow(entry: Mapping[str, Any], after: Head | None) -> Head:
    """Return the end of the chain with this entry.

    Args:
        entry: An entry that was opened.
        after: The end before it; None if unknown.

    Raises:
        BadLine: It does not follow that end.
    """
    if after is None and entry["seq"] == 1:
        after = BEGINNING
    if after is not None:
        if entry["seq"] != after.seq + 1:
            msg = f"it is entry {entry['seq']} where {after.seq + 1} should be: entries are missing or out of order"
            raise BadLine(msg)
        if entry["prev"] != after.hash:
            raise BadLine(_NOT_NEXT)
    return Head(entry["seq"], entry["hash"])


def checkpoint(files: Iterable[tuple[Path, Head]], *, lost: Iterable[Head] = ()) -> dict[str, Any]:
    """Return the facts of a checkpoint that closes these files. Reads all of them.

    Args:
        files: Rotated files, in order, each with its last entry.
        lost: The last of entries that are missing and whose loss an operator has accepted; `BEGINNING` for that of the
            head.

    Raises:
        OSError: One cannot be read.
    """
    closed: list[dict[str, Any]] = [{"file": file.name, **_end(head), "sha256": _digest(file)} for file, head in files]
    missing: list[dict[str, Any]] = [{"file": None, **_end(head)} for head in lost]
    return log_event(_EVENT, reason="loss" if missing else "archive", closed=[*missing, *closed])


def checkpoint_ends(entry: Mapping[str, Any]) -> frozenset[Head]:
    """Return the ends that a checkpoint records; none if the entry is not a checkpoint."""
    if entry.get("event") != _EVENT or not isinstance(entry.get("closed"), list):
        return frozenset()
    return frozenset(Head(one["last"], one["last_hash"]) for one in entry["closed"])


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


def _end(head: Head) -> dict[str, Any]:
    return {"last": head.seq, "last_hash": head.hash}


def _digest(file: Path) -> str:
    with os.fdopen(opened_regular(file), "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
