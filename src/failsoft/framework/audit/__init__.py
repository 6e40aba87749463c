"""Audit trail: failures are written and synced before the caller gets them, in a tamper-evident hash chain.

`call/audited.py` makes the entry of a call, `trail.py` queues entries for its thread, `chain.py` seals them, and
`log_file.py` writes the lines.
"""

from __future__ import annotations

from typing import Any

from failsoft.framework.clock import utc_timestamp


def change_entry(operation: str, *, principal: str, tool: str = "", **about: Any) -> dict[str, Any]:
    """Return the entry about a change that an operator makes, with further facts `about` it."""
    seed = {"code": None, "error_code": None, "cause": None, "tool_name": operation}
    entry = {"event": "success", "effect": "applied", "timestamp": utc_timestamp(), "operation": operation}
    return {**seed, **entry, **({"tool": tool} if tool else {}), "principal": principal, **about}
