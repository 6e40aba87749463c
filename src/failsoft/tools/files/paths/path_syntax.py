"""Validation of a path's text, before the disk is accessed."""

from __future__ import annotations

from failsoft.tools.files.faults import BadSpelling

PATH_BYTES_AT_MOST = 4096


def names_of(path: str, *, relative: bool = False) -> tuple[str, ...]:
    """Split a path into names; the last is `.` if the path ends in a slash, so that it must be a folder.

    `..` is always refused: with links in the path, its target cannot be known from the text.

    Args:
        path: As the caller wrote it.
        relative: Whether relative paths are accepted.

    Raises:
        BadSpelling: The path is malformed.
    """
    if not path:
        raise BadSpelling(path, reason="empty")
    if "\0" in path:
        raise BadSpelling(path, reason="nul")
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise BadSpelling(path, reason="encoding") from None
    if size >= PATH_BYTES_AT_MOST:
        raise BadSpelling(path, reason="long")
    if not relative and not path.startswith("/"):
        raise BadSpelling(path, reason="relative")
    parts = path.split("/")
    if ".." in parts:
        raise BadSpelling(path, reason="parent")
    names = [part for part in parts if part not in {"", "."}]
    if parts[-1] in {"", "."}:
        names.append(".")
    return tuple(names)
