"""The present moment as the wire formats write it."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["utc_timestamp"]


def utc_timestamp() -> str:
    """Return now in UTC as ISO 8601 with milliseconds and `Z`."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
