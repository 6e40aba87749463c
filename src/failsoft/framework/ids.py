"""Ids of failures and requests."""

from __future__ import annotations

import os
import random

__all__ = ["new_id"]

_random = random.Random()  # noqa: S311 - ids are no secrets, and a system call for each would take 3 % of a failed call
if hasattr(os, "register_at_fork"):  # a child would go on with its parent's ids
    os.register_at_fork(after_in_child=_random.seed)


def new_id() -> str:
    """Return 16 hexadecimal digits that no other call has, in no other process either."""
    return f"{_random.getrandbits(64):016x}"
