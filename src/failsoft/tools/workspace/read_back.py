"""A second look at what was written: the one check of `WRITTEN_IS_ON_DISK`."""

from __future__ import annotations

from collections.abc import Callable

from failsoft.tools.files import FileFault, Transaction, Written
from failsoft.tools.workspace.invariants import WRITTEN_IS_ON_DISK, violated

__all__ = ["require_on_disk"]


def require_on_disk(work: Transaction, written: Written, *, warn: Callable[[str], None]) -> None:
    """Read a file again that was just committed, and raise unless it holds what was written.

    The lock keeps only those out who take it. Whoever does not, such as an editor, may have been faster than this look;
    the file then shows it, by its number, its time or its size, and the caller is told, but nothing is wrong here.

    Args:
        work: The transaction, still open.
        written: What it says that it has done.
        warn: Takes a remark for the caller.

    Raises:
        INVARIANT_VIOLATION: The file is the one that was written, and holds something else.
    """
    try:
        found = work.read(written.path, bytes_at_most=written.bytes)
    except FileFault:
        warn("The file is written; when it was read again, it was gone or somebody else had changed it.")
        return
    if found.sha256 == written.sha256:
        return
    if found.identity == written.identity:
        raise violated(WRITTEN_IS_ON_DISK, effect="applied")
    warn("The file is written; somebody else has changed it since.")
