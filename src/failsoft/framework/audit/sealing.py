"""One entry as one line: canonical JSON, and the hash that ties it to the entry before it.

A line is the canonical JSON of the entry (keys sorted, no blanks, ASCII only) with the hash of just that behind it, as
the last key. Only that form is accepted back: whoever parses JSON would not see a key that stands twice in a line, and
the hash of what they see would still fit.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["BEGINNING", "BadLine", "Head", "Seal", "canonical", "follow"]

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
_NO_JSON = "it is not JSON as this log writes it"
_OTHER_FORM = "it is not in the form that this log writes"
_NO_PLACE = "it has no number, or no place in the chain"
_CHANGED = "it was changed after it was written, or sealed with another key"
_NOT_NEXT = "it does not follow the entry before it"
_ADDED = frozenset({"alg", "prev", "seq"})
_HASH = re.compile(rb',"hash":"[0-9a-f]{64}"\}')
_HASH_LENGTH = len(b',"hash":""}') + 64


class BadLine(ValueError):
    """A line is not what was once written there; the text says what is wrong, without quoting the line."""


class Head(NamedTuple):
    """Where a chain ends: the number of its last entry, from 1, and that entry's hash."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


BEGINNING = Head(0, "0" * 64)
"""What the very first entry is tied to."""


def canonical(tree: Mapping[str, Any]) -> bytes:
    """Return a JSON object in the one form that is hashed: keys sorted, no blanks, ASCII only."""
    return _encode(tree).encode("ascii")


class Seal:
    """Makes lines and opens them.

    Args:
        key: With it the hashes are HMAC-SHA256: nobody without the key can make a line that passes. Without it they
            are SHA-256, which shows changes to whoever knows one later hash.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key
        self.algorithm = "sha256" if key is None else "hmac-sha256"

    def digest(self, data: bytes) -> str:
        """Return the hash of some bytes in hexadecimal."""
        if self._key is None:
            return hashlib.sha256(data).hexdigest()
        return hmac.digest(self._key, data, "sha256").hex()

    def line(self, facts: Mapping[str, Any], after: Head) -> tuple[bytes, Head]:
        """Return the line of an entry that follows `after`, and the new end of the chain."""
        entry = {**facts, "alg": self.algorithm, "prev": after.hash, "seq": after.seq + 1}
        body = canonical(entry)
        made = self.digest(body)
        return b'%s,"hash":"%s"}\n' % (body[:-1], made.encode()), Head(after.seq + 1, made)

    def open(self, line: bytes) -> dict[str, Any]:
        """Return the entry on a line, without its newline.

        Raises:
            BadLine: It is not JSON, not in canonical form, or its hash does not fit.
        """
        body, told = line[:-_HASH_LENGTH] + b"}", line[-_HASH_LENGTH:]
        found: Any = None
        try:
            found = json.loads(body)
            is_canonical = isinstance(found, dict) and canonical(found) == body
        except (ValueError, RecursionError):
            raise BadLine(_NO_JSON) from None
        if not is_canonical or not _HASH.fullmatch(told):
            raise BadLine(_OTHER_FORM)
        entry: dict[str, Any] = found
        if not entry.keys() >= _ADDED or type(entry["seq"]) is not int or not isinstance(entry["prev"], str):
            raise BadLine(_NO_PLACE)
        if entry["alg"] != self.algorithm:
            wanted = "without a key" if entry["alg"] == "sha256" else "with a key"
            msg = f"it was sealed {wanted}, which the others were not, or the key was not given"
            raise BadLine(msg)
        made = self.digest(body)
        if not hmac.compare_digest(told, b',"hash":"%s"}' % made.encode()):
            raise BadLine(_CHANGED)
        entry["hash"] = made
        return entry


def follow(entry: Mapping[str, Any], after: Head | None) -> Head:
    """Return the end of the chain with this entry.

    Args:
        entry: An entry that was opened.
        after: The end before it; None where nothing is known of what came before.

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
