"""Read the audit entries of one workspace."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Literal

from failsoft.framework.audit.trail import AuditLog
from failsoft.framework.errors import AuditLogFailed
from failsoft.framework.safe.redaction import redact_paths
from failsoft.tools.workspace.results import AuditEntries, AuditEntry
from failsoft.tools.workspace.sessions.sessions import Session

_LOOKED_THROUGH_AT_MOST = 8_000_000
_VERIFIED_AT_MOST = 4_000_000
"""Bytes up to which the log is verified for every reader, in some tenths of a second."""
_WRITE_ONLY = "this server cannot read it back"
_BYTES_AT_MOST = 200_000
_COPIED = (
    *("seq", "timestamp", "event", "tool_name", "error_id", "error_code", "effect", "role", "principal"),
    *("invariant_id", "phase_id", "plan_hash", "facts"),
)


def read_entries(log: AuditLog | None, session: Session, limit: int) -> AuditEntries:
    """Return the last entries of a session's workspace, oldest first. For a worker thread.

    Ids of other sessions are omitted: over HTTP without tokens, an id is enough to use a session.

    Args:
        log: The audit log.
        session: The session that reads.
        limit: Entries at most.

    Raises:
        AUDIT_LOG_FAILED: The log cannot be read.
    """
    if not isinstance(log, AuditLog):
        raise _unreadable(_WRITE_ONLY)
    try:
        found, has_more = log.newest(
            "workspace_root", session.workspace_root, limit=limit, bytes_at_most=_LOOKED_THROUGH_AT_MOST
        )
        chain = _chain(log)
    except OSError as error:
        raise _unreadable(os.strerror(error.errno or 0).lower()) from error
    entries: list[AuditEntry] = []
    left = _BYTES_AT_MOST
    for entry in reversed(found):
        one = _entry(entry, session)
        left -= len(json.dumps(one))
        if left < 0:
            has_more = True
            break
        entries.append(one)
    return {"entries": entries[::-1], "has_more": has_more, "chain": chain}


def _chain(log: AuditLog) -> Literal["whole", "broken", "not_checked"]:
    if log.size_bytes() > _VERIFIED_AT_MOST:
        return "not_checked"
    return "whole" if log.verify().is_whole else "broken"


def _entry(entry: Mapping[str, Any], session: Session) -> AuditEntry:
    is_own = entry.get("session_id") == session.session_id
    message = entry.get("message")
    return {
        **{name: entry.get(name) for name in _COPIED},  # type: ignore[typeddict-item]  # keys of its own
        "session_id": session.session_id if is_own else None,
        "own": is_own,
        "message": redact_paths(message, [session.workspace_root]) if isinstance(message, str) else None,
    }


def _unreadable(reason: str) -> AuditLogFailed:
    return AuditLogFailed(message=f"The audit log could not be read: {reason}.", reason=reason, effect="none")
