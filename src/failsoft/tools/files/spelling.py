"""A path as text: what can be said about it before the disk is asked."""

from __future__ import annotations

import unicodedata

from failsoft.tools.files.faults import BadSpelling

__all__ = ["PATH_BYTES_AT_MOST", "folded", "names_of"]

PATH_BYTES_AT_MOST = 4096


def names_of(path: str, *, relative: bool = False) -> tuple[str, ...]:
    """Return the names that a path is made of; the last is `.` if it ends in a slash, so that it must be a folder.

    `..` is refused although it may lead somewhere allowed: with links on the way nobody can tell where by reading.

    Args:
        path: As the caller wrote it.
        relative: Whether a path may be relative, too.

    Raises:
        BadSpelling: No file can have this path here.
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


def folded(name: str) -> str:
    """Return what all spellings of a name share that some file system holds for the same: case and composition."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
