"""The transports and eras that every test of a call runs over."""

from __future__ import annotations

__all__ = ["TRANSPORTS"]

TRANSPORTS = ("memory-modern", "memory-legacy", "stdio-modern", "stdio-legacy", "http-modern", "http-legacy")
