"""What a session leaves for people: failure reports, and the audit entries of its workspace."""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import unicodedata
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from failsoft.framework.audit.trail import AuditLog
from failsoft.framework.errors import AuditLogFailed, ConfigurationError
from failsoft.framework.safe.redaction import redact_paths
from failsoft.framework.threads import is_given_up
from failsoft.tools.files import FileFault, Files
from failsoft.tools.files.resolving import names_of
from failsoft.tools.workspace.file_faults import to_error
from failsoft.tools.workspace.session_files import require_on_disk
from failsoft.tools.workspace.sessions import LockCause, Session
from failsoft.tools.workspace.signatures import AuditEntries, AuditEntry, WrittenReport

_SLUG_AT_MOST = 60
_NO_WORDS = re.compile(r"[^a-z0-9]+")
_LOOKED_THROUGH_AT_MOST = 8_000_000
_WRITE_ONLY = "this server cannot read it back"
_BYTES_AT_MOST = 200_000
_COPIED = (
    *("seq", "timestamp", "event", "tool_name", "error_id", "error_code", "effect", "role", "principal"),
    *("invariant_id", "phase_id", "plan_hash", "facts"),
)


class Reports:
    """The reports of all workspaces, in the same folder of each.

    Args:
        folder: Their folder, relative to the workspace; empty for the workspace itself.

    Raises:
        CONFIG_ERROR: It is not a folder within the workspace.
    """

    def __init__(self, folder: str) -> None:
        try:
            names = names_of(folder, relative=True)
        except FileFault as fault:
            raise _unusable() from fault
        if folder.startswith("/"):
            raise _unusable()
        self.folder = "/".join(name for name in names if name != ".")

    def write(
        self,
        files: Files,
        session: Session,
        *,
        title: str,
        body: str,
        cause: LockCause | None,
        warn: Callable[[str], None],
    ) -> WrittenReport:
        """Write a report as a new file. For a worker thread.

        Args:
            files: Confined to the workspace of the session.
            session: The session that reports.
            title: One line.
            body: Markdown.
            cause: What locked the session; None if it is not locked.
            warn: Adds a warning to the answer.

        Raises:
            ToolError: A code of the toolset's table.
        """
        now = datetime.now(UTC)
        path = "/".join(filter(None, (self.folder, report_name(title, now))))
        data = _text(session, title=title, body=body, cause=cause, now=now).encode()
        try:
            if files.roots.nearest(path).destination != f"{session.workspace_root}/{path}":  # a link on the way
                raise FileFault(path, "outside")  # noqa: TRY301 - as the walk of such a path raises it
            with files.roots.parents(path), files.transaction([path], give_up=is_given_up) as work:
                work.create(path, data)
                (written,) = work.commit()
                require_on_disk(work, written, warn=warn)
        except FileFault as fault:
            raise to_error(fault, "write", root=session.workspace_root) from fault
        return {
            "path": path,
            "bytes": written.bytes,
            "sha256": written.sha256,
            "error_id": None if cause is None else cause.error_id,
            "locked": False,
        }


def exclude_from_git(folder: Path, *patterns: str) -> None:
    """Have git ignore what the server keeps in a folder, if it is the top of a work tree. For a worker thread.

    Nothing is done where `.git/info/exclude` is a link, has several names, or cannot be written.

    Args:
        folder: The folder.
        patterns: As in a `.gitignore`.
    """
    with ExitStack() as opened, suppress(OSError):
        at = None
        for name in (str(folder), ".git", "info"):
            at = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            opened.callback(os.close, at)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        with os.fdopen(os.open("exclude", flags, 0o644, dir_fd=at), "rb+", buffering=0) as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > 1:
                return
            before = file.read()
            missing = [pattern for pattern in patterns if pattern.encode() not in before.splitlines()]
            if missing:
                start = "\n" if before and not before.endswith(b"\n") else ""
                file.write((start + "".join(f"{pattern}\n" for pattern in missing)).encode())


def report_name(title: str, now: datetime) -> str:
    """Return the name of a report's file: when, what (at most 60 plain letters and digits), and a unique end."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = _NO_WORDS.sub("-", plain)[:_SLUG_AT_MOST].strip("-") or "report"
    return f"{now:%Y%m%dT%H%M%SZ}-{slug}-{secrets.token_hex(4)}.md"


def _text(session: Session, *, title: str, body: str, cause: LockCause | None, now: datetime) -> str:
    line = " ".join(title.split())
    facts = {
        "title": line,
        "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "session_id": session.session_id,
        "role": session.role,
        "error_id": None if cause is None else cause.error_id,
        "invariant_id": None if cause is None else cause.invariant_id,
        "violations": 0 if cause is None else len(cause.violations),
    }
    # JSON is YAML, so that no title can add a key.
    head = "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in facts.items())
    return f"---\n{head}---\n\n# {line}\n\n{body.strip()}\n"


def _unusable() -> ConfigurationError:
    return ConfigurationError(
        issue="FAILSOFT_WORKSPACE_REPORTS is not a folder within a workspace",
        resolution="name a folder relative to the workspace, without '..'",
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
    return {"entries": entries[::-1], "has_more": has_more}


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
