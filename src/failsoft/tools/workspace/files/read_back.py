"""Verify a written file by reading it back: the check of `WRITTEN_IS_ON_DISK`."""

from __future__ import annotations

from collections.abc import Callable

from failsoft.tools.files import FileFault, Transaction, Written
from failsoft.tools.workspace.sessions.invariants import WRITTEN_IS_ON_DISK, violated


def require_on_disk(work: Transaction, written: Written, *, warn: Callable[[str], None]) -> None:
    """Read a file again that was just committed, and raise unless it holds what was written.

    A process that takes no lock, such as an editor, may have changed the file before this check. Inode, time or size
    then differ, and the caller gets a warning: no invariant is violated.

    Args:
        work: The transaction, still open.
        written: The result of its commit.
        warn: Adds a warning to the answer.

    Raises:
        INVARIANT_VIOLATION: The file is the one that was written, and has another content.
    """
    try:
        found = work.read(written.path, bytes_at_most=written.bytes)
    except FileFault:
        warn("The file was written; another process has removed or changed it since.")
        return
    if found.sha256 == written.sha256:
        return
    if found.identity == written.identity:
        raise violated(WRITTEN_IS_ON_DISK, effect="applied")
    warn("The file was written; another process has changed it since.")
