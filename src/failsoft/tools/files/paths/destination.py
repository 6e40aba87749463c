"""The destination of a path whose folders may not exist yet, for checks before a write."""

from __future__ import annotations

import errno
from pathlib import PurePosixPath

from failsoft.tools.files.faults import BadSpelling, DiskFault
from failsoft.tools.files.paths.path_syntax import names_of
from failsoft.tools.files.paths.roots import Roots

_LACKING_AT_MOST = 33
"""Names at the end of a path that need not exist: the folders that one call creates, and the file."""


def destination(roots: Roots, path: str) -> str:
    """Return the absolute path without links of the file that would be written.

    Args:
        roots: The allowed folders.
        path: As the caller wrote it.

    Raises:
        BadSpelling: No file can have this path here, or (`deep`) it lacks too many folders.
        OutsideRoots: It leads out of the roots, or to what is off limits.
        DiskFault: The operating system reports an error.
    """
    names = names_of(path, relative=roots.relative)
    beginning = "/" if path.startswith("/") else ""
    for count in range(len(names), max(0, len(names) - _LACKING_AT_MOST - 1), -1):
        try:
            with roots.place(beginning + "/".join(names[:count])) as place:
                return "/".join((place.real_path, *names[count:]))
        except DiskFault as fault:
            if fault.errno != errno.ENOENT or count == 1:
                raise DiskFault(path, errno=fault.errno, step=fault.step) from fault
    raise BadSpelling(path, reason="deep")


def name_within(roots: Roots, path: str, folder: str) -> str:
    """Return a path as it was named, relative to a folder: without empty names and `.`, and with links as they are.

    Args:
        roots: The allowed folders.
        path: As the caller wrote it.
        folder: The folder that relative paths are relative to, without links.

    Raises:
        BadSpelling: No file can have this path here.
        OutsideRoots: It is absolute, and does not lie in the folder.
    """
    names = names_of(path, relative=roots.relative)
    if not path.startswith("/"):
        return str(PurePosixPath(*names))
    root, rest = roots.enter(names, path)
    return str(PurePosixPath(root, *rest).relative_to(folder))
