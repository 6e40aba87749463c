"""Failure reports: new Markdown files in the reports folder of a workspace."""

from __future__ import annotations

import json
import re
import secrets
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.threads import is_given_up
from failsoft.tools.files import FileFault, Files, destination
from failsoft.tools.files.resolving import names_of
from failsoft.tools.workspace.files.fault_mapping import to_error
from failsoft.tools.workspace.files.read_back import require_on_disk
from failsoft.tools.workspace.results import WrittenReport
from failsoft.tools.workspace.sessions.locks import LockCause
from failsoft.tools.workspace.sessions.sessions import Session

_SLUG_AT_MOST = 60
_NO_WORDS = re.compile(r"[^a-z0-9]+")


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
            if destination(files.roots, path) != f"{session.workspace_root}/{path}":  # a link on the way
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
        "violations": 0 if cause is None else cause.count,
    }
    # JSON is YAML, so that no title can add a key.
    head = "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in facts.items())
    return f"---\n{head}---\n\n# {line}\n\n{body.strip()}\n"


def _unusable() -> ConfigurationError:
    return ConfigurationError(
        issue="FAILSOFT_WORKSPACE_REPORTS is not a folder within a workspace",
        resolution="name a folder relative to the workspace, without '..'",
    )
