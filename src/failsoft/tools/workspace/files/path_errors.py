"""Errors of paths (seed 001, section 2)."""

from __future__ import annotations

from typing import ClassVar

from failsoft.framework.errors import Actor, InvalidArgument, NotFound, PermissionDenied, Public, Words

__all__ = ["InvalidPath", "OutsideWorkspace", "PathNotFound", "PathTraversalBlocked"]


class InvalidPath(InvalidArgument):
    """The path cannot name what is wanted.

    Raised when: it is empty, too long, holds a NUL character, cannot be written as a file name, or leads to something
    of another kind: a file where a folder is wanted.
    Caller: correct the path as the reason says.
    Operator: nothing to do.
    Example:
        >>> code_of(InvalidPath(reason="it is empty"))
        'INVALID_PATH'
    """

    reason: Public[Words]
    code: ClassVar[str] = "INVALID_PATH"
    message: str = "The path cannot be used: {reason}."
    since: ClassVar[str] = "0.1.0"


class PathNotFound(NotFound):
    """There is nothing at this path.

    Raised when: a folder that was named, or one on the way to it, does not exist.
    Caller: correct the path.
    Operator: nothing to do.
    Example:
        >>> code_of(PathNotFound(path="src"))
        'PATH_NOT_FOUND'
    """

    path: Public[str]
    code: ClassVar[str] = "PATH_NOT_FOUND"
    message: str = "There is nothing at {path}."
    since: ClassVar[str] = "0.1.0"


class PathTraversalBlocked(InvalidArgument):
    """A path contains `..`.

    Raised when: one of the names in the path is `..`, wherever it would lead.
    Caller: give the path without `..`.
    Operator: nothing to do.
    Example:
        >>> code_of(PathTraversalBlocked())
        'PATH_TRAVERSAL_BLOCKED'
    """

    code: ClassVar[str] = "PATH_TRAVERSAL_BLOCKED"
    message: str = "The path contains '..'."
    hints: ClassVar[tuple[str, ...]] = ("Give the path without '..'",)
    since: ClassVar[str] = "0.1.0"


class OutsideWorkspace(PermissionDenied):
    """The path leads out of the folders of this server, or of the session's workspace.

    Raised when: the path, or a link on the way, leads outside, or to what is closed within: `.failsoft/`, the audit log
    and the server's own settings; or the file has more than one name (hard links), and one of them may lie outside.
    Caller: use a path within the workspace.
    Operator: name the folder with `--root` if it should be served; set `FAILSOFT_WORKSPACE_HARD_LINKS` where files of
    the workspace have several names, all of them in the workspace.
    Example:
        >>> code_of(OutsideWorkspace())
        'OUTSIDE_WORKSPACE'
    """

    code: ClassVar[str] = "OUTSIDE_WORKSPACE"
    message: str = "The path lies outside the workspace."
    actor: ClassVar[Actor] = "caller"
    hints: ClassVar[tuple[str, ...]] = ("Use a path within the workspace of the session",)
    since: ClassVar[str] = "0.1.0"
